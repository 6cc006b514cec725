"""The two servers, asked in the same way: one over HTTPS, the other in this process."""

import asyncio
import base64
import contextlib
import datetime
import pathlib
import socket
import ssl
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final, Protocol

import aiohttp
import msgspec
import yarl

from e2e.differential.writes import NAMESPACE
from jobset.admission import certificates, claims, leaders, metrics, reviews, server
from jobset.api import features, keys
from jobset.kube import auth, client, requests, transport
from jobset.local import installation, plane
from jobset.local.objects import Object
from jobset.local.server import answers
from jobset.local.store import storage

USER_AGENT: Final = 'differential/1'
READY_SECONDS: Final = 60
"""How long a new control plane may take until it knows JobSets and asks their webhooks."""

_FIRST: Final = (
    ('/api/v1/namespaces', {'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': NAMESPACE}}),
    (
        f'/api/v1/namespaces/{NAMESPACE}/serviceaccounts',
        {'apiVersion': 'v1', 'kind': 'ServiceAccount', 'metadata': {'name': 'default'}},
    ),
    (
        f'/api/v1/namespaces/{NAMESPACE}/serviceaccounts',
        {
            'apiVersion': 'v1',
            'kind': 'ServiceAccount',
            'metadata': {'name': 'worker'},
            'imagePullSecrets': [{'name': 's'}],
        },
    ),
    (
        '/apis/scheduling.k8s.io/v1/priorityclasses',
        {
            'apiVersion': 'scheduling.k8s.io/v1',
            'kind': 'PriorityClass',
            'metadata': {'name': 'h-c-high'},
            'value': 1000,
            'preemptionPolicy': 'Never',
        },
    ),
)
"""What the writes refer to."""


@dataclass(frozen=True)
class Said:
    """An answer."""

    code: int
    """0 when the server broke off without one."""

    body: Any
    warnings: tuple[str, ...] = ()


class Side(Protocol):
    """One of the two servers."""

    async def ask(self, method: str, path: str, body: bytes = b'', media: str = answers.JSON) -> Said:
        """The answer to a request; ``path`` may have a query."""


class Real:
    """A kube-apiserver."""

    def __init__(self, session: aiohttp.ClientSession, credentials: auth.Credentials) -> None:
        self._session = session
        self._credentials = credentials

    async def ask(self, method: str, path: str, body: bytes = b'', media: str = answers.JSON) -> Said:
        """The answer; code 0 when the connection breaks: a handler that panics does that."""
        headers = {**self._credentials.headers(), 'User-Agent': USER_AGENT, 'Accept': answers.JSON}
        if body:
            headers['Content-Type'] = media
        url = yarl.URL(self._credentials.server.rstrip('/') + path, encoded=True)
        try:
            async with self._session.request(
                method, url, data=body or None, headers=headers, ssl=self._credentials.ssl or True
            ) as answer:
                return Said(answer.status, _decoded(await answer.read()), tuple(answer.headers.getall('Warning', ())))
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError, ConnectionError):
            return Said(0, None)


class Ours:
    """The embedded server, without HTTP."""

    def __init__(self, served: plane.Plane) -> None:
        self._server = served.server

    async def ask(self, method: str, path: str, body: bytes = b'', media: str = answers.JSON) -> Said:
        """The answer."""
        where, _, query = path.partition('?')
        call = answers.Call(method, where, query, body, media if body else '', answers.JSON, USER_AGENT)
        answer = await self._server.answer(call)
        assert isinstance(answer, answers.Answer)
        warnings = tuple(value for key, value in answer.headers if key == 'Warning')
        return Said(answer.status, _decoded(answer.body), warnings)


def _decoded(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        return body.decode()


@contextlib.asynccontextmanager
async def both(kubeconfig: str) -> AsyncIterator[tuple[Real, Ours]]:
    """The servers with JobSets, their webhooks and what the writes refer to, for the length of the block."""
    credentials = await auth.load(kubeconfig)
    async with (
        aiohttp.ClientSession(trust_env=False) as session,
        transport.Transport(credentials, user_agent=USER_AGENT) as carrier,
        plane.serving(storage.Store()) as served,
        _webhooks(carrier) as (address, authority),
    ):
        real, ours = Real(session, credentials), Ours(served)
        await served.install()
        await _install(client.Client(carrier), address, authority)
        for side in (real, ours):
            for path, obj in _FIRST:
                said = await side.ask('POST', path, msgspec.json.encode(obj))
                assert said.code in (201, 409), said
        await _until_ready(real)
        yield real, ours


@contextlib.asynccontextmanager
async def _webhooks(carrier: transport.Transport) -> AsyncIterator[tuple[str, bytes]]:
    """Our webhook server: its address, and the authority of its certificate."""
    bundle = certificates.renew(
        None, certificates.Due.ALL, server_name='localhost', now=datetime.datetime.now(datetime.UTC)
    )
    api = client.Client(carrier)
    look_up = claims.Claims(api).look_up
    routes = reviews.routes(gates=features.FeatureGates(), look_up=look_up, leaders=leaders.Leaders(api))
    context = _context(bundle.server.certificate, bundle.server.key)
    where = socket.create_server(('127.0.0.1', 0))
    port = where.getsockname()[1]
    async with server.Server(routes, metrics.Metrics()).listening(where, context):
        yield f'https://localhost:{port}', bundle.authority


def _context(certificate: bytes, key: bytes) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    with tempfile.TemporaryDirectory() as scratch:
        files = pathlib.Path(scratch, 'tls.crt'), pathlib.Path(scratch, 'tls.key')
        for file, content in zip(files, (certificate, key), strict=True):
            file.write_bytes(content)
        context.load_cert_chain(*files)
    return context


async def _install(api: client.Client, address: str, authority: bytes) -> None:
    """The definition of JobSets and the configurations of their webhooks, which are called by address."""
    await installation.install(api)
    for resource, obj in (
        (installation.MUTATING, installation.mutating()),
        (installation.VALIDATING, installation.validating()),
    ):
        for webhook in obj['webhooks']:
            path = webhook['clientConfig'].pop('service')['path']
            webhook['clientConfig'] = {'url': address + path, 'caBundle': base64.b64encode(authority).decode()}
        name, kind = obj['metadata']['name'], requests.Patch.APPLY
        await api.send(requests.patch(resource, None, name, obj, kind, field_manager=installation.MANAGER, force=True))


async def _until_ready(real: Real) -> None:
    """Wait until the server knows JobSets and asks both webhooks: it learns of them a moment after they are stored."""
    path = f'/apis/{keys.API_VERSION}/namespaces/{NAMESPACE}/{keys.PLURAL}?dryRun=All'
    fine: Object = {'apiVersion': keys.API_VERSION, 'kind': keys.KIND, 'metadata': {'name': 'asked'}, 'spec': {}}
    wrong = fine | {'spec': {'network': {'subdomain': 'a_b'}}}
    async with asyncio.timeout(READY_SECONDS):
        while True:
            completed = await real.ask('POST', path, msgspec.json.encode(fine))
            judged = await real.ask('POST', path, msgspec.json.encode(wrong))
            if completed.code == 201 and 'successPolicy' in completed.body['spec'] and judged.code in (403, 422):
                return
            await asyncio.sleep(0.1)
