"""The server over HTTPS: the token, the certificate, connections, streams, and the client of this project on top."""

import asyncio
import contextlib
import json
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from jobset.api import meta
from jobset.kube import auth, client, errors, informer, requests, transport
from jobset.local.server import identity, listener
from jobset.local.server.server import Server
from tests.local.server import standins
from tests.local.server.standins import MOMENT, configmap

MAPS = requests.Resource('', 'v1', 'configmaps', 'ConfigMap')
PATH = '/api/v1/namespaces/default/configmaps'


class Object(meta.Partial, frozen=True, kw_only=True):
    data: dict[str, str] = msgspec.field(default_factory=dict)


@pytest.fixture
def server() -> Server:
    return standins.server()


@pytest.fixture
def known() -> identity.Identity:
    import datetime

    return identity.make(datetime.datetime.now(tz=datetime.UTC))


@pytest.fixture
async def listening(server: Server, known: identity.Identity) -> AsyncIterator[listener.Listener]:
    found = listener.Listener(server, known)
    async with found.listening():
        yield found


def trusted(known: identity.Identity) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=known.authority.decode())


@contextlib.asynccontextmanager
async def session(known: identity.Identity, token: str | None = None) -> AsyncIterator[aiohttp.ClientSession]:
    headers = {'Authorization': f'Bearer {known.token if token is None else token}'}
    connector = aiohttp.TCPConnector(ssl=trusted(known))
    async with aiohttp.ClientSession(connector=connector, headers=headers) as opened:
        yield opened


@pytest.mark.parametrize('token', ['', 'wrong', 'é'])
async def test_without_the_token_nothing_is_answered(
    listening: listener.Listener, known: identity.Identity, token: str
) -> None:
    async with session(known, token) as http:
        for path in (PATH, '/version', '/'):
            async with http.get(listening.url + path) as answer:
                assert (answer.status, await answer.json()) == (
                    401,
                    {
                        'kind': 'Status',
                        'apiVersion': 'v1',
                        'metadata': {},
                        'status': 'Failure',
                        'message': 'Unauthorized',
                        'reason': 'Unauthorized',
                        'code': 401,
                    },
                )


async def test_nothing_listens_outside_of_loopback(listening: listener.Listener) -> None:
    assert listening.url == f'https://127.0.0.1:{listening.port}'
    sockets = await asyncio.to_thread(Path('/proc/net/tcp').read_text)
    found = {
        line.split()[1].split(':')[0]
        for line in sockets.splitlines()[1:]
        if line.split()[1].endswith(f':{listening.port:04X}') and line.split()[3] == '0A'
    }
    assert found == {'0100007F'}


async def test_the_certificate_is_for_this_server_only(listening: listener.Listener, known: identity.Identity) -> None:
    async with aiohttp.ClientSession() as http:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await http.get(listening.url)
    async with session(known) as http, http.get(f'https://localhost:{listening.port}/version') as answer:
        assert answer.status == 200


async def test_objects_over_one_connection(listening: listener.Listener, known: identity.Identity) -> None:
    async with session(known) as http:
        async with http.post(listening.url + PATH, json=configmap('a', x='ü')) as made:
            assert (made.status, made.headers['Content-Type']) == (201, 'application/json')
            body = await made.json()
        async with http.get(listening.url + PATH + '/a') as read:
            assert await read.json() == body
        async with http.patch(
            listening.url + PATH + '/a',
            data=b'{"unknown":1}',
            headers={'Content-Type': 'application/merge-patch+json'},
        ) as warned:
            assert warned.headers.getall('Warning') == ['299 - "unknown field \\"unknown\\""']


async def test_bodies_that_are_too_large(listening: listener.Listener, known: identity.Identity) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b'x' * 100_000

    async with session(known) as http:
        for data in (b'x' * 3_200_000, pieces()):
            headers = {'Content-Type': 'application/json'}
            try:
                async with http.post(listening.url + PATH, data=data, headers=headers) as answer:
                    assert (answer.status, (await answer.json())['message']) == (
                        413,
                        'Request entity too large: limit is 3145728',
                    )
            except aiohttp.ClientError:
                # The server may hang up while the client is still talking.
                pass


async def test_a_watch_tells_at_once_and_ends_with_its_client(
    listening: listener.Listener, known: identity.Identity, server: Server
) -> None:
    async with session(known) as http, http.get(listening.url + PATH + '?watch=1&resourceVersion=2') as watch:
        async with http.post(listening.url + PATH, json=configmap('a')):
            pass
        async with asyncio.timeout(10):
            line = json.loads(await watch.content.readline())
    async with asyncio.timeout(10):
        while server.store._listeners['configmaps']:
            await asyncio.sleep(0.001)

    assert (line['type'], line['object']['metadata']['name']) == ('ADDED', 'a')


async def test_a_server_that_stops_ends_its_watches(server: Server, known: identity.Identity) -> None:
    found = listener.Listener(server, known)
    async with session(known) as http:
        async with found.listening():
            watch = await http.get(found.url + PATH + '?watch=1&resourceVersion=2')
        async with asyncio.timeout(10):
            assert await watch.content.read() == b''


async def test_a_fault_is_not_shown(
    listening: listener.Listener, known: identity.Identity, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError('secret')

    monkeypatch.setattr(server.registry, 'target', fail)
    async with session(known) as http, http.get(listening.url + PATH) as answer:
        body = await answer.text()

    assert (answer.status, 'secret' in body, json.loads(body)['reason']) == (500, False, 'InternalError')


async def test_a_taken_port_is_named(listening: listener.Listener, known: identity.Identity) -> None:
    other = listener.Listener(standins.server(), known)

    with pytest.raises(listener.PortTakenError, match=f'127.0.0.1:{listening.port} is taken by another process'):
        async with other.listening(listening.port):
            pass


async def test_a_fixed_port_is_taken_again_after_a_restart(server: Server, known: identity.Identity) -> None:
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    for _ in range(2):
        found = listener.Listener(server, known)
        async with found.listening(port), session(known) as http, http.get(found.url + '/version') as answer:
            assert (found.port, answer.status) == (port, 200)


async def test_the_kubeconfig_leads_here(
    tmp_path: Path, listening: listener.Listener, known: identity.Identity, server: Server
) -> None:
    path = tmp_path / 'kubeconfig'
    identity.write_private(path, known.kubeconfig(listening.url, 'local').encode())
    credentials = await auth.load(kubeconfig=str(path))
    async with transport.Transport(credentials, user_agent='tests') as carrier:
        api = client.Client(carrier)
        await api.send(requests.create(MAPS, 'default', configmap('a', x='1')))
        follower = informer.Informer(api, MAPS, Object, namespace='default')
        task = asyncio.create_task(follower.run())
        async with asyncio.timeout(10):
            await follower.synced()
            with pytest.raises(errors.AlreadyExists):
                await api.send(requests.create(MAPS, 'default', configmap('a')))
        task.cancel()
        await asyncio.wait([task])
        found = follower.get('default', 'a')

    assert oct(path.stat().st_mode & 0o777) == '0o600'
    assert found is not None
    assert found.data == {'x': '1'}


def test_an_identity_is_kept(tmp_path: Path) -> None:
    import datetime

    folder = tmp_path / 'folder'
    first = identity.kept_in(folder, MOMENT)
    again = identity.kept_in(folder, MOMENT + datetime.timedelta(days=300))
    late = identity.kept_in(folder, MOMENT + datetime.timedelta(days=360))

    assert again == first
    assert late.token != first.token
    assert {oct(path.stat().st_mode & 0o777) for path in folder.iterdir()} == {'0o600'}
    assert {path.name for path in folder.iterdir()} == {'ca.crt', 'server.crt', 'server.key', 'token'}
    assert first.token not in repr(first)
