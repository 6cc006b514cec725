"""The server as a carrier: the clients and informers of this project over it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import msgspec
import pytest

from jobset.api import meta
from jobset.kube import client, errors, informer, requests
from jobset.local.server import feeds
from jobset.local.server.direct import Direct
from jobset.local.server.server import Server
from tests.kube import virtual
from tests.local.server import standins
from tests.local.server.standins import configmap, job

MAPS = requests.Resource('', 'v1', 'configmaps', 'ConfigMap')


class Object(meta.Partial, frozen=True, kw_only=True):
    data: dict[str, str] = msgspec.field(default_factory=dict)


@pytest.fixture
def server() -> Server:
    return standins.server()


def made(server: Server) -> client.Client:
    return client.Client(Direct(server, user_agent='tests/1'))


async def test_values_come_back(server: Server) -> None:
    api = made(server)

    created = await api.request(requests.create(MAPS, 'default', configmap('a', x='1')), Object)
    read = await api.request(requests.read(MAPS, 'default', 'a'), Object)
    patched = await api.request(
        requests.patch(MAPS, 'default', 'a', {'data': {'x': '2'}}, requests.Patch.MERGE), Object
    )
    await api.send(requests.delete(MAPS, 'default', 'a', uid=created.metadata.uid))

    assert read == created
    assert patched.data == {'x': '2'}
    with pytest.raises(errors.NotFound, match='configmaps "a" not found'):
        await api.request(requests.read(MAPS, 'default', 'a'), Object)


async def test_refusals_are_those_of_the_transport(server: Server) -> None:
    api = made(server)
    await api.send(requests.create(MAPS, 'default', configmap('a')))

    with pytest.raises(errors.AlreadyExists):
        await api.send(requests.create(MAPS, 'default', configmap('a')))
    with pytest.raises(errors.Invalid) as invalid:
        await api.send(requests.create(requests.JOBS, 'default', job('b', bad='x')))
    with pytest.raises(errors.Conflict):
        await api.send(requests.delete(MAPS, 'default', 'a', uid='other'))

    assert [cause.field for cause in invalid.value.causes] == ['spec.bad']
    assert invalid.value.where == 'POST /apis/batch/v1/namespaces/default/jobs'


async def test_silence_is_told() -> None:
    @virtual.timed
    async def silent() -> float:
        direct = Direct(standins.server())
        request = requests.watch(MAPS, 'default', since='2', timeout_seconds=1000)
        async with direct.stream(request, idle_timeout=20) as pieces:
            with pytest.raises(errors.Silent):
                await pieces.readany()
        return virtual.now()

    assert await asyncio.to_thread(silent) == 20


async def test_giving_up_on_a_stream_ends_it(server: Server) -> None:
    direct = Direct(server)
    request = requests.watch(MAPS, 'default', since='2', timeout_seconds=1000)
    async with direct.stream(request, idle_timeout=20) as pieces:
        pass

    assert await pieces.readany() == b''


@contextlib.asynccontextmanager
async def following(follower: informer.Informer[Object]) -> AsyncIterator[None]:
    task = asyncio.create_task(follower.run())
    try:
        async with asyncio.timeout(10):
            await follower.synced()
            yield
    finally:
        task.cancel()
        await asyncio.wait([task])


class Told:
    """What an informer has told, to wait for."""

    def __init__(self, follower: informer.Informer[Object]) -> None:
        self.changes: list[tuple[str, str]] = []
        self._more = asyncio.Event()
        follower.subscribe(self._take)

    def _take(self, old: Object | None, new: Object | None) -> None:
        what = 'new' if old is None else 'gone' if new is None else 'changed'
        one = new or old
        assert one is not None
        self.changes.append((what, one.metadata.name))
        self._more.set()

    async def until(self, count: int) -> list[tuple[str, str]]:
        while len(self.changes) < count:
            self._more.clear()
            await self._more.wait()
        return self.changes


def follow(server: Server, *, stream: bool = True, page: int = 500) -> informer.Informer[Object]:
    settings = informer.Watching(stream_lists=stream, page_size=page, backoff_base=0.001)
    return informer.Informer(made(server), MAPS, Object, namespace='default', settings=settings)


@pytest.mark.parametrize('stream', [True, False])
async def test_an_informer_lists_and_follows(server: Server, stream: bool) -> None:
    api = made(server)
    for name in ('a', 'b', 'c'):
        await api.send(requests.create(MAPS, 'default', configmap(name)))
    follower = follow(server, stream=stream, page=2)
    told = Told(follower)

    async with following(follower):
        await api.send(requests.create(MAPS, 'default', configmap('d', x='1')))
        await api.send(requests.replace(MAPS, 'default', 'd', configmap('d', x='2')))
        await api.send(requests.delete(MAPS, 'default', 'a'))

        assert await told.until(6) == [
            ('new', 'a'),
            ('new', 'b'),
            ('new', 'c'),
            ('new', 'd'),
            ('changed', 'd'),
            ('gone', 'a'),
        ]
        assert sorted(one.metadata.name for one in follower.values()) == ['b', 'c', 'd']


async def test_an_informer_gets_over_a_lost_history(server: Server) -> None:
    api = made(server)
    await api.send(requests.create(MAPS, 'default', configmap('a')))
    await api.send(requests.create(MAPS, 'default', configmap('b')))
    follower = follow(server)
    told = Told(follower)

    async with following(follower):
        # The watch is cut, and before it is taken up again what has happened since is forgotten.
        server.close()
        await api.send(requests.delete(MAPS, 'default', 'a'))
        await api.send(requests.create(MAPS, 'default', configmap('c')))
        server.store.forget()

        assert sorted((await told.until(4))[2:]) == [('gone', 'a'), ('new', 'c')]


@virtual.timed
async def test_bookmarks_keep_an_informer_alive() -> None:
    server = standins.server(settings=feeds.Watching(bookmark_seconds=60))
    follower = follow(server)
    task = asyncio.create_task(follower.run())
    await follower.synced()
    await asyncio.sleep(3600)

    assert follower.trouble is None
    assert follower.age() <= 60
    task.cancel()
    await asyncio.wait([task])


async def test_what_is_no_longer_selected_is_gone(server: Server) -> None:
    api = made(server)
    chosen = informer.Informer(api, MAPS, Object, label_selector='team=a')
    told = Told(chosen)
    label, other = ({'metadata': {'labels': {'team': team}}} for team in 'ab')

    async with following(chosen):
        await api.send(requests.create(MAPS, 'default', configmap('x') | {'metadata': {'name': 'x'}}))
        await api.send(requests.patch(MAPS, 'default', 'x', label, requests.Patch.MERGE))
        await api.send(requests.patch(MAPS, 'default', 'x', {'data': {'y': '1'}}, requests.Patch.MERGE))
        await api.send(requests.patch(MAPS, 'default', 'x', other, requests.Patch.MERGE))

        assert await told.until(3) == [('new', 'x'), ('changed', 'x'), ('gone', 'x')]


async def test_an_object_that_cannot_be_read_stays_as_it_was(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    api = made(server)
    await api.send(requests.create(MAPS, 'default', configmap('a', x='1')))
    follower = follow(server)
    told = Told(follower)

    async with following(follower):
        await api.send(requests.patch(MAPS, 'default', 'a', {'data': {'x': 1}}, requests.Patch.MERGE))
        await api.send(requests.create(MAPS, 'default', configmap('b')))
        await told.until(2)

        held = follower.get('default', 'a')
        assert held is not None
        assert held.data == {'x': '1'}
    assert 'configmaps default/a: cannot be read, its last known state is kept' in caplog.text


class Listener:
    """Knows nothing, and fails at the second change."""

    def __init__(self) -> None:
        self.told: list[bool] = []

    def knows(self, namespace: str, name: str, version: int) -> bool:
        return False

    def change(self, state: bytes, *, is_deletion: bool) -> None:
        if self.told:
            raise ArithmeticError('enough')
        self.told.append(is_deletion)

    def bookmark(self, version: int) -> None:
        raise AssertionError('nobody waits so long')


async def test_the_fault_of_a_listener_is_for_whoever_follows(server: Server) -> None:
    api, direct, listener = made(server), Direct(server), Listener()
    request = requests.watch(MAPS, 'default', since='2', timeout_seconds=1000)

    async with direct.stream(request, idle_timeout=20) as changes:
        assert isinstance(changes, client.Follows)
        for name in ('a', 'b', 'c'):
            await api.send(requests.create(MAPS, 'default', configmap(name)))
        with pytest.raises(ArithmeticError, match='enough'):
            await changes.follow(listener)

    assert listener.told == [False]


async def test_a_table_is_not_followed(server: Server) -> None:
    request = requests.watch(MAPS, 'default', since='2', timeout_seconds=1000)
    table = msgspec.structs.replace(request, accept='application/json;as=Table;v=v1;g=meta.k8s.io')

    async with Direct(server).stream(table, idle_timeout=20) as pieces:
        assert not isinstance(pieces, client.Follows)
