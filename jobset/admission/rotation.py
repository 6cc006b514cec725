"""Certificates of our own: made and renewed in a Secret, told to the API server, shown by this replica.

Each replica does all of this. They do not fight: the Secret is written only if it is still what was read, so the first
one wins and the others take what it made. Configurations are read *before* the Secret and written only if unchanged
since, so a replica that has read an old Secret cannot undo what another one has told the API server since.
"""

import asyncio
import base64
import datetime
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from jobset.admission import certificates, handshake, upkeep
from jobset.api import keys
from jobset.kube import client, errors, requests

logger = logging.getLogger(__name__)

SECRETS: Final = requests.Resource('', 'v1', 'secrets', 'Secret')
_GROUP: Final = 'admissionregistration.k8s.io'
MUTATING: Final = requests.Resource(
    _GROUP, 'v1', 'mutatingwebhookconfigurations', 'MutatingWebhookConfiguration', namespaced=False
)
VALIDATING: Final = requests.Resource(
    _GROUP, 'v1', 'validatingwebhookconfigurations', 'ValidatingWebhookConfiguration', namespaced=False
)

CONFIGURATIONS: Final = ((MUTATING, keys.MUTATING_CONFIGURATION), (VALIDATING, keys.VALIDATING_CONFIGURATION))

AUTHORITY: Final = 'ca.crt'
AUTHORITY_KEY: Final = 'ca.key'
CERTIFICATE: Final = 'tls.crt'
KEY: Final = 'tls.key'

ROUNDS: Final = 3
"""How often a look starts over at once because another replica was faster. More means something else is at work."""

Object = dict[str, Any]
"""An object that is written back as it came, but for what is ours."""

Clock = Callable[[], datetime.datetime]


def utc_now() -> datetime.datetime:
    """The wall clock, aware: certificates are about calendar time."""
    return datetime.datetime.now(datetime.UTC)


@dataclass(frozen=True, kw_only=True)
class Place:
    """Whose certificate it is, and where it is kept."""

    namespace: str
    secret: str
    service: str

    @property
    def server_name(self) -> str:
        """The name by which the API server calls the webhooks."""
        return f'{self.service}.{self.namespace}.svc'


class Rotation:
    """Keeps Secret, webhook configurations and what is shown in step."""

    def __init__(
        self,
        api: client.Client,
        place: Place,
        presenter: handshake.Presenter,
        *,
        clock: Clock = utc_now,
    ) -> None:
        self._api = api
        self._place = place
        self._presenter = presenter
        self._clock = clock
        self._absent: set[str] = set()

    async def keep(self, *, pace: upkeep.Pace, sleep: upkeep.Sleep = asyncio.sleep) -> None:
        """Look again and again, until cancelled."""
        expected = (errors.ApiError, certificates.UnusableError, OSError)
        what = f'webhook certificate in secret {self._place.namespace}/{self._place.secret}'
        await upkeep.keep(self.look, what=what, expected=expected, pace=pace, sleep=sleep)

    async def look(self) -> None:
        """Put right whatever is not. Raises :class:`errors.ApiError`, or OSError when a login fails."""
        for _ in range(ROUNDS - 1):
            try:
                return await self._round()
            except errors.Conflict as error:
                logger.info('%s; reading again', error)
        return await self._round()

    async def _round(self) -> None:
        configurations, trouble = await self._configurations()
        bundle = await self._bundle()
        for resource, configuration in configurations:
            changed = trusting(configuration, bundle.authority, place=self._place)
            if changed is None:
                continue
            try:
                await self._api.send(requests.replace(resource, None, configuration['metadata']['name'], changed))
            except errors.Conflict:
                raise
            except errors.ApiError as error:
                trouble = error
            else:
                logger.info('%s: told of our authority', resource)
        if trouble is None or self._presenter.shown is None:
            # At the start also after trouble: the API server may know the authority from before.
            self._presenter.show(bundle.server)
        if trouble is not None:
            raise trouble

    async def _configurations(self) -> tuple[list[tuple[requests.Resource, Object]], errors.ApiError | None]:
        found: list[tuple[requests.Resource, Object]] = []
        trouble = None
        for resource, name in CONFIGURATIONS:
            try:
                found.append((resource, await self._api.request(requests.read(resource, None, name), Object)))
                self._absent.discard(name)
            except errors.NotFound:
                # Webhooks may be left out on purpose; when they are installed later, that is seen.
                if name not in self._absent:
                    logger.warning('%s "%s": not there; the API server will not call its webhooks', resource, name)
                self._absent.add(name)
            except errors.ApiError as error:
                trouble = error
        return found, trouble

    async def _bundle(self) -> certificates.Bundle:
        place = self._place
        try:
            secret = await self._api.request(requests.read(SECRETS, place.namespace, place.secret), Object)
        except errors.NotFound as error:
            # The right to create Secrets cannot be bound to one name: we do not have it.
            error.message += '; create it, empty, as config/components/internalcert does'
            raise
        bundle = read(secret)
        now = self._clock()
        verdict = certificates.judge(bundle, server_name=place.server_name, now=now)
        if verdict.due is certificates.Due.NOTHING and bundle is not None:
            return bundle
        logger.info('making %s anew: %s', verdict.due.value, verdict.why)
        # A key takes a moment to find, and requests are waiting for the loop.
        made = await asyncio.to_thread(certificates.renew, bundle, verdict.due, server_name=place.server_name, now=now)
        await self._api.send(requests.replace(SECRETS, place.namespace, place.secret, write(secret, made)))
        return made


def read(secret: Mapping[str, Any]) -> certificates.Bundle | None:
    """What the Secret holds; None where a part is missing or is not base64."""
    data = secret.get('data') or {}
    try:
        parts = {
            name: base64.b64decode(data[name], validate=True) for name in (AUTHORITY, AUTHORITY_KEY, CERTIFICATE, KEY)
        }
    except (KeyError, TypeError, ValueError):
        return None
    return certificates.Bundle(
        authority=parts[AUTHORITY],
        authority_key=parts[AUTHORITY_KEY],
        server=certificates.Pair(certificate=parts[CERTIFICATE], key=parts[KEY]),
    )


def write(secret: Mapping[str, Any], bundle: certificates.Bundle) -> Object:
    """The Secret with ``bundle`` in it, everything else as it was, the resource version included."""
    parts = {
        AUTHORITY: bundle.authority,
        AUTHORITY_KEY: bundle.authority_key,
        CERTIFICATE: bundle.server.certificate,
        KEY: bundle.server.key,
    }
    encoded = {name: base64.b64encode(part).decode() for name, part in parts.items()}
    return {**secret, 'data': {**(secret.get('data') or {}), **encoded}}


def trusting(configuration: Object, authority: bytes, *, place: Place) -> Object | None:
    """The configuration with ``authority`` in each webhook that calls our Service; None where nothing is to change."""
    wanted = base64.b64encode(authority).decode()
    webhooks = [_trusting(webhook, wanted, place) for webhook in configuration.get('webhooks') or ()]
    return None if webhooks == (configuration.get('webhooks') or []) else {**configuration, 'webhooks': webhooks}


def _trusting(webhook: Object, wanted: str, place: Place) -> Object:
    called = webhook.get('clientConfig') or {}
    service = called.get('service') or {}
    if (service.get('namespace'), service.get('name')) != (place.namespace, place.service):
        return webhook
    return {**webhook, 'clientConfig': {**called, 'caBundle': wanted}}
