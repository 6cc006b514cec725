"""Certificates in a Secret: filled, renewed, told to the API server; by several replicas at once."""

import asyncio
import base64
import datetime
import itertools
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, cast

import pytest

from jobset.admission import certificates, handshake, rotation, upkeep
from jobset.api import keys
from jobset.kube import client, errors, requests, transport
from tests.kube import fakes

NOW = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
DAY = datetime.timedelta(days=1)
PLACE = rotation.Place(namespace='jobset-system', secret='jobset-webhook-server-cert', service='jobset-webhook-service')
NAME = 'jobset-webhook-service.jobset-system.svc'

SECRET_PATH = '/api/v1/namespaces/jobset-system/secrets/jobset-webhook-server-cert'
CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1'
MUTATING_PATH = f'{CONFIGURATIONS}/mutatingwebhookconfigurations/jobset-mutating-webhook-configuration'
VALIDATING_PATH = f'{CONFIGURATIONS}/validatingwebhookconfigurations/jobset-validating-webhook-configuration'

LOOK = [f'GET {MUTATING_PATH}', f'GET {VALIDATING_PATH}', f'GET {SECRET_PATH}']
"""What is read in each look, in this order."""


def service(namespace: str, name: str) -> dict[str, Any]:
    return {'service': {'namespace': namespace, 'name': name, 'path': '/p'}}


OURS = service('jobset-system', 'jobset-webhook-service')


class Cluster:
    """An API server as the installation leaves it, a clock, and replicas."""

    def __init__(self) -> None:
        self.server = fakes.Server()
        self.now = NOW
        self.server.put(rotation.SECRETS, 'jobset-system', 'jobset-webhook-server-cert', type='Opaque')
        self.configure()

    def configure(self, mutating: Any = OURS, validating: Any = OURS) -> None:
        for resource, name, called in (
            (rotation.MUTATING, keys.MUTATING_CONFIGURATION, mutating),
            (rotation.VALIDATING, keys.VALIDATING_CONFIGURATION, validating),
        ):
            self.server.put(resource, '', name, webhooks=[{'name': 'w.kb.io', 'clientConfig': called}])

    def replica(self, *, before: Callable[[requests.Request], Awaitable[None]] | None = None) -> 'Replica':
        return Replica(self, before)

    @property
    def bundle(self) -> certificates.Bundle | None:
        return rotation.read(self.server.objects[SECRET_PATH])

    def trusted(self) -> list[bytes]:
        """The authority that the API server knows for each webhook."""
        return [
            base64.b64decode(webhook['clientConfig'].get('caBundle', ''))
            for path in (MUTATING_PATH, VALIDATING_PATH)
            for webhook in self.server.objects[path]['webhooks']
        ]

    def requests(self) -> list[str]:
        """The requests since the last call."""
        seen = [str(one) for one in self.server.seen]
        self.server.seen.clear()
        return seen


class Replica:
    """One process: its way to the server, and what it shows."""

    def __init__(self, cluster: Cluster, before: Callable[[requests.Request], Awaitable[None]] | None) -> None:
        carrier = fakes.Carrier(cluster.server)
        send = carrier.send

        async def hooked(request: requests.Request) -> bytes:
            if before is not None:
                await before(request)
            return await send(request)

        carrier.send = hooked  # type: ignore[method-assign]
        api = client.Client(cast('transport.Transport', carrier), settings=client.Retrying(attempts=1))
        self.presenter = handshake.Presenter(handshake.context())
        self.rotation = rotation.Rotation(api, PLACE, self.presenter, clock=lambda: cluster.now)

    @property
    def shown(self) -> certificates.Pair | None:
        return self.presenter.shown

    async def look(self) -> None:
        await self.rotation.look()


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture(scope='module')
def good() -> certificates.Bundle:
    return certificates.renew(None, certificates.Due.ALL, server_name=NAME, now=NOW)


def store(cluster: Cluster, bundle: certificates.Bundle) -> None:
    secret = rotation.write(cluster.server.objects[SECRET_PATH], bundle)
    cluster.server.put(rotation.SECRETS, 'jobset-system', 'jobset-webhook-server-cert', data=secret['data'])


async def test_an_empty_secret_is_filled(cluster: Cluster) -> None:
    replica = cluster.replica()
    await replica.look()

    made = cluster.bundle
    assert made is not None
    assert certificates.judge(made, server_name=NAME, now=NOW).due is certificates.Due.NOTHING
    assert replica.shown == made.server
    assert cluster.trusted() == [made.authority, made.authority]
    # First the Secret, then the API server's trust, and only then is the certificate shown.
    assert cluster.requests() == [*LOOK, f'PUT {SECRET_PATH}', f'PUT {MUTATING_PATH}', f'PUT {VALIDATING_PATH}']


async def test_nothing_is_written_when_all_is_well(cluster: Cluster) -> None:
    await cluster.replica().look()
    cluster.requests()
    other = cluster.replica()
    for _ in range(3):
        await other.look()
    assert cluster.requests() == LOOK * 3
    assert other.shown == cast('certificates.Bundle', cluster.bundle).server


async def test_what_else_is_in_the_secret_stays(cluster: Cluster) -> None:
    extra = {'metadata': {**cluster.server.objects[SECRET_PATH]['metadata'], 'labels': {'a': 'b'}}}
    cluster.server.put(rotation.SECRETS, 'jobset-system', 'jobset-webhook-server-cert', data={'note': 'eA=='}, **extra)
    await cluster.replica().look()
    secret = cluster.server.objects[SECRET_PATH]
    assert (secret['type'], secret['metadata']['labels'], secret['data']['note']) == ('Opaque', {'a': 'b'}, 'eA==')
    assert sorted(secret['data']) == ['ca.crt', 'ca.key', 'note', 'tls.crt', 'tls.key']


@pytest.mark.parametrize(
    'data',
    [
        pytest.param(None, id='null'),
        pytest.param({'ca.crt': 'eA=='}, id='a part'),
        pytest.param(dict.fromkeys(('ca.crt', 'ca.key', 'tls.crt', 'tls.key'), 'eA=='), id='not certificates'),
        pytest.param(dict.fromkeys(('ca.crt', 'ca.key', 'tls.crt', 'tls.key'), 'ä'), id='not base64'),
        pytest.param(dict.fromkeys(('ca.crt', 'ca.key', 'tls.crt', 'tls.key'), None), id='nulls'),
    ],
)
async def test_an_unusable_secret_is_made_anew(cluster: Cluster, data: Any) -> None:
    cluster.server.put(rotation.SECRETS, 'jobset-system', 'jobset-webhook-server-cert', data=data)
    replica = cluster.replica()
    await replica.look()
    assert certificates.judge(cluster.bundle, server_name=NAME, now=NOW).due is certificates.Due.NOTHING
    assert replica.shown == cast('certificates.Bundle', cluster.bundle).server


async def test_the_serving_certificate_is_renewed_ahead_of_time(cluster: Cluster, good: certificates.Bundle) -> None:
    store(cluster, good)
    replica = cluster.replica()
    cluster.now = NOW + 274 * DAY
    await replica.look()
    assert replica.shown == good.server

    cluster.now = NOW + 275 * DAY
    await replica.look()

    renewed = cast('certificates.Bundle', cluster.bundle)
    assert renewed.authority == good.authority
    assert renewed.server != good.server
    assert replica.shown == renewed.server


async def test_a_renewed_authority_is_trusted_beside_the_old_one(cluster: Cluster, good: certificates.Bundle) -> None:
    store(cluster, good)
    cluster.now = NOW + 3600 * DAY
    await cluster.replica().look()
    trusted = cast('certificates.Bundle', cluster.bundle).authority
    assert trusted != good.authority
    assert trusted.endswith(good.authority)
    assert cluster.trusted() == [trusted, trusted]


async def test_of_two_replicas_one_makes_the_certificate(cluster: Cluster) -> None:
    both_have_read = asyncio.Barrier(2)
    arrived = set()

    def before(name: str) -> Callable[[requests.Request], Awaitable[None]]:
        async def wait(request: requests.Request) -> None:
            # The first attempt of each to write meets that of the other.
            if request.method == 'PUT' and name not in arrived:
                arrived.add(name)
                await both_have_read.wait()

        return wait

    one, other = cluster.replica(before=before('one')), cluster.replica(before=before('other'))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(one.look())
        tasks.create_task(other.look())

    made = cast('certificates.Bundle', cluster.bundle)
    assert one.shown == other.shown == made.server
    assert cluster.trusted() == [made.authority, made.authority]
    # The one that came second has written nothing: its attempt was refused, and it took what it found.
    assert cluster.requests().count(f'PUT {SECRET_PATH}') == 2
    assert sum(change.path == SECRET_PATH for change in cluster.server.changes) == 2


async def test_an_old_secret_cannot_undo_what_another_replica_has_told(
    cluster: Cluster, good: certificates.Bundle
) -> None:
    store(cluster, good)
    slow_may_go_on, slow_waits = asyncio.Event(), asyncio.Event()

    has_read = False

    async def before(request: requests.Request) -> None:
        # Whatever it wants once it knows the old Secret comes after all that the other one does.
        nonlocal has_read
        if has_read:
            slow_waits.set()
            await slow_may_go_on.wait()
        has_read = request.path == SECRET_PATH

    slow = cluster.replica(before=before)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(slow.look())
        await slow_waits.wait()
        cluster.now = NOW + 3600 * DAY
        await cluster.replica().look()
        told = cluster.trusted()
        slow_may_go_on.set()

    made = cast('certificates.Bundle', cluster.bundle)
    assert told == cluster.trusted() == [made.authority, made.authority]
    assert slow.shown == made.server


@pytest.mark.parametrize(
    ('called', 'changed'),
    [
        pytest.param(OURS, True, id='our Service'),
        pytest.param(service('other', 'jobset-webhook-service'), False, id='a Service elsewhere'),
        pytest.param(service('jobset-system', 'other'), False, id='another Service'),
        pytest.param({'url': 'https://127.0.0.1:9443/p', 'caBundle': 'eA=='}, False, id='a URL'),
    ],
)
def test_which_webhooks_are_told(called: dict[str, Any], changed: bool) -> None:
    untouched = {'name': 'b', 'clientConfig': {'url': 'https://elsewhere'}}
    metadata = {'name': 'c', 'resourceVersion': '7'}
    webhooks = [untouched, {'name': 'a', 'clientConfig': called, 'sideEffects': 'None'}]
    told = rotation.trusting({'metadata': metadata, 'webhooks': webhooks}, b'authority', place=PLACE)
    if not changed:
        assert told is None
        return
    expected = {'name': 'a', 'clientConfig': {**called, 'caBundle': 'YXV0aG9yaXR5'}, 'sideEffects': 'None'}
    assert told == {'metadata': metadata, 'webhooks': [untouched, expected]}
    assert rotation.trusting(told, b'authority', place=PLACE) is None


@pytest.mark.parametrize('webhooks', [None, []])
def test_a_configuration_without_webhooks(webhooks: Any) -> None:
    assert rotation.trusting({'metadata': {}, 'webhooks': webhooks}, b'authority', place=PLACE) is None


async def test_configurations_that_are_installed_anew_are_told(cluster: Cluster) -> None:
    replica = cluster.replica()
    await replica.look()
    cluster.configure()
    assert cluster.trusted() == [b'', b'']
    await replica.look()
    assert cluster.trusted() == [cast('certificates.Bundle', cluster.bundle).authority] * 2


async def test_missing_configurations_keep_nobody_from_serving(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.server.drop(rotation.MUTATING, '', keys.MUTATING_CONFIGURATION)
    replica = cluster.replica()
    await replica.look()
    await replica.look()
    made = cast('certificates.Bundle', cluster.bundle)
    assert replica.shown == made.server
    assert (
        base64.b64decode(cluster.server.objects[VALIDATING_PATH]['webhooks'][0]['clientConfig']['caBundle'])
        == made.authority
    )
    # Said once, not at each look.
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    where = 'mutatingwebhookconfigurations.admissionregistration.k8s.io "jobset-mutating-webhook-configuration"'
    assert warnings == [f'{where}: not there; the API server will not call its webhooks']


async def test_a_missing_secret_is_named_with_what_to_do(cluster: Cluster) -> None:
    cluster.server.drop(rotation.SECRETS, 'jobset-system', 'jobset-webhook-server-cert')
    replica = cluster.replica()
    with pytest.raises(errors.NotFound) as raised:
        await replica.look()
    assert str(raised.value) == (
        f'GET {SECRET_PATH}: 404 NotFound: secrets "jobset-webhook-server-cert" not found; '
        'create it, empty, as config/components/internalcert does'
    )
    assert replica.shown is None


FORBIDDEN = fakes.refusal(403, 'Forbidden', 'no')


async def test_a_certificate_is_shown_at_the_start_although_configurations_are_forbidden(
    cluster: Cluster, good: certificates.Bundle
) -> None:
    store(cluster, good)
    cluster.server.faults.extend([FORBIDDEN, FORBIDDEN])
    replica = cluster.replica()
    with pytest.raises(errors.Forbidden):
        await replica.look()
    # After a restart the API server knows the authority from before.
    assert replica.shown == good.server


async def test_a_new_certificate_is_not_shown_before_its_authority_is_told(
    cluster: Cluster, good: certificates.Bundle
) -> None:
    store(cluster, good)
    replica = cluster.replica()
    await replica.look()
    cluster.now = NOW + 3600 * DAY
    # Three reads and the write of the Secret pass; one of the two writes that tell does not.
    cluster.server.faults.extend([None, None, None, None, FORBIDDEN])
    with pytest.raises(errors.Forbidden):
        await replica.look()
    assert replica.shown == good.server

    await replica.look()
    assert replica.shown == cast('certificates.Bundle', cluster.bundle).server


async def test_endless_conflicts_are_given_up_until_later(cluster: Cluster) -> None:
    conflict = fakes.refusal(409, 'Conflict', 'changed')
    cluster.server.faults.extend([None, None, None, conflict] * rotation.ROUNDS)
    with pytest.raises(errors.Conflict):
        await cluster.replica().look()
    assert cluster.requests() == [*LOOK, f'PUT {SECRET_PATH}'] * rotation.ROUNDS


class EnoughError(Exception):
    """Ends a loop that would go on."""


def pauses(most: int) -> tuple[list[float], upkeep.Sleep]:
    taken: list[float] = []

    async def sleep(seconds: float) -> None:
        taken.append(seconds)
        if len(taken) == most:
            raise EnoughError

    return taken, sleep


async def test_failures_are_retried_more_and_more_slowly(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    broken = fakes.refusal(503, 'ServiceUnavailable', 'not now')
    cluster.server.faults.extend([broken] * 3 * 8)
    taken, sleep = pauses(10)
    replica = cluster.replica()
    with pytest.raises(EnoughError):
        await replica.rotation.keep(pace=upkeep.Pace(), sleep=sleep)
    for pause, least in zip(taken[:8], (1, 2, 4, 8, 16, 32, 60, 60), strict=True):
        assert least <= pause <= 1.5 * least
    # And at an even pace once it works.
    assert all(12 <= pause <= 18 for pause in taken[8:])
    assert replica.shown == cast('certificates.Bundle', cluster.bundle).server
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 8
    assert all(
        text.startswith('webhook certificate in secret jobset-system/jobset-webhook-server-cert: ') for text in warnings
    )
    assert 'PRIVATE KEY' not in caplog.text


async def test_a_look_that_hangs_is_given_up() -> None:
    looks: Iterator[int] = itertools.count()

    async def hang() -> None:
        if next(looks) == 0:
            await asyncio.Event().wait()

    taken, sleep = pauses(2)
    with pytest.raises(EnoughError):
        await upkeep.keep(hang, what='it', expected=(), pace=upkeep.Pace(patience=0.01), sleep=sleep)
    assert 1 <= taken[0] <= 1.5
    assert 12 <= taken[1] <= 18


async def test_what_nobody_expects_comes_out() -> None:
    async def fail() -> None:
        raise KeyError('a mistake of ours')

    with pytest.raises(KeyError):
        await upkeep.keep(fail, what='it', expected=(errors.ApiError,), pace=upkeep.Pace())
