"""How leaders are found: in a cache, at the server, in time. The server is the embedded one, and time is virtual."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import pytest

from jobset.admission import leaders, pods
from jobset.core import placement
from jobset.kube import client, errors, requests
from jobset.local import clock, plane
from jobset.local.simulated import simulation
from jobset.local.store import storage
from tests.core.placing import UNSCHEDULABLE, manifest, pod

T = TypeVar('T')

NAME = placement.LeaderName('default', 'js-a-0-0')
FOLLOWER = pod('js-a-0-1-', index=1)


class Line:
    """The way of the webhooks to the server; it can be slow, refuse, and lose sight of changes."""

    def __init__(self, carrier: client.Carrier) -> None:
        self._carrier = simulation.Calm(carrier)
        self.asked: list[str] = []
        self.seconds = 0.0
        self.refusal: errors.ApiError | None = None
        self.is_blind = False

    async def send(self, request: requests.Request) -> bytes:
        self.asked.append(str(request))
        await asyncio.sleep(self.seconds)
        if self.refusal is not None:
            raise self.refusal
        return await self._carrier.send(request)

    @contextlib.asynccontextmanager
    async def stream(self, request: requests.Request, *, idle_timeout: float) -> AsyncIterator[Any]:
        if self.is_blind:
            await asyncio.get_running_loop().create_future()
        async with self._carrier.stream(request, idle_timeout=idle_timeout) as pieces:
            yield pieces


class Cluster:
    """A server with two nodes, and what happens there."""

    def __init__(self, served: plane.Plane) -> None:
        self._api = served.api
        self.line = Line(served.carrier)
        self.leaders = leaders.Leaders(client.Client(self.line))

    async def node(self, name: str, **labels: str) -> None:
        await self._api.send(requests.create(requests.NODES, None, {'metadata': {'name': name, 'labels': labels}}))

    async def relabel(self, name: str, **labels: str) -> None:
        change = {'metadata': {'labels': labels}}
        await self._api.send(requests.patch(requests.NODES, None, name, change, requests.Patch.MERGE))

    async def leader(self, name: str = 'js-a-0-0-abcde', **what: Any) -> None:
        await self._api.send(requests.create(requests.PODS, 'default', manifest(name, namespace='default', **what)))

    async def bind(self, node: str, name: str = 'js-a-0-0-abcde') -> None:
        body = requests.encode({'metadata': {'name': name}, 'target': {'kind': 'Node', 'name': node}})
        await self._api.send(requests.Request('POST', requests.PODS.subresource('default', name, 'binding'), body=body))

    async def status(self, name: str = 'js-a-0-0-abcde', **status: Any) -> None:
        change = {'status': status}
        request = requests.patch(requests.PODS, 'default', name, change, requests.Patch.MERGE, subresource='status')
        await self._api.send(request)

    async def delete(self, name: str = 'js-a-0-0-abcde') -> None:
        await self._api.send(requests.delete(requests.PODS, 'default', name, grace_seconds=0))

    async def find(self) -> str:
        """The node of the leader, or why there is none."""
        found = await self.leaders.find(FOLLOWER, NAME)
        return found.text if isinstance(found, placement.NoLeader) else found.spec.node_name or 'unbound'


def play(story: Callable[[Cluster], Coroutine[Any, Any, T]], *, follows: bool = True) -> T:
    """What comes out of a story that begins with two nodes and a cache that is filled."""

    async def begin() -> T:
        async with simulation.serving(storage.Store(), clock=clock.Clock()) as served:
            await served.install(has_webhooks=False)
            cluster = Cluster(served)
            await cluster.node('n1', rack='r1')
            await cluster.node('n2', rack='r2')
            if not follows:
                return await story(cluster)
            following = asyncio.ensure_future(cluster.leaders.follow())
            try:
                await asyncio.sleep(1)
                return await story(cluster)
            finally:
                following.cancel()

    return clock.run(begin())


async def took(doing: Awaitable[T]) -> tuple[T, float]:
    loop = asyncio.get_running_loop()
    began = loop.time()
    found = await doing
    return found, round(loop.time() - began, 3)


def test_a_bound_leader_is_known_without_asking() -> None:
    async def story(cluster: Cluster) -> tuple[str, list[str]]:
        await cluster.leader()
        await cluster.bind('n1')
        await asyncio.sleep(1)
        return await cluster.find(), cluster.line.asked

    assert play(story) == ('n1', [])


def test_a_cache_that_has_not_heard_of_it_is_not_believed() -> None:
    async def story(cluster: Cluster) -> tuple[str, list[str]]:
        cluster.line.is_blind = True
        await cluster.leader()
        await cluster.bind('n1')
        return await cluster.find(), cluster.line.asked

    assert play(story, follows=False) == ('n1', ['GET /api/v1/namespaces/default/pods'])


def test_what_was_looked_up_is_kept() -> None:
    async def story(cluster: Cluster) -> tuple[str, str, int]:
        cluster.line.is_blind = True
        following = asyncio.ensure_future(cluster.leaders.follow())
        await asyncio.sleep(1)
        await cluster.leader()
        await cluster.bind('n1')
        try:
            return await cluster.find(), await cluster.find(), len(cluster.line.asked)
        finally:
            following.cancel()

    assert play(story, follows=False) == ('n1', 'n1', 1)


def test_a_follower_waits_while_its_leader_is_about_to_be_bound() -> None:
    async def story(cluster: Cluster) -> tuple[str, float]:
        await cluster.leader()
        finding = asyncio.ensure_future(took(cluster.find()))
        await asyncio.sleep(0.1)
        await cluster.bind('n2')
        return await finding

    assert play(story) == ('n2', 0.1)


def test_it_does_not_wait_long() -> None:
    async def story(cluster: Cluster) -> tuple[str, float]:
        await cluster.leader()
        return await took(cluster.find())

    assert play(story) == ('unbound', 0.4)


def test_it_does_not_wait_for_a_leader_without_room() -> None:
    async def story(cluster: Cluster) -> tuple[str, float]:
        await cluster.leader()
        await cluster.status(conditions=[UNSCHEDULABLE])
        await asyncio.sleep(1)
        return await took(cluster.find())

    assert play(story) == ('unbound', 0)


def test_it_waits_no_longer_once_there_is_no_room() -> None:
    async def story(cluster: Cluster) -> tuple[str, float]:
        await cluster.leader()
        finding = asyncio.ensure_future(took(cluster.find()))
        await asyncio.sleep(0.1)
        await cluster.status(conditions=[UNSCHEDULABLE])
        return await finding

    assert play(story) == ('unbound', 0.1)


def test_it_does_not_wait_for_nobody() -> None:
    async def story(cluster: Cluster) -> tuple[str, float]:
        return await took(cluster.find())

    assert play(story) == ('expected 1 leader pod (js-a-0-0), but got 0. this is an expected, transient error', 0)


def test_a_leader_that_goes_while_it_is_waited_for() -> None:
    async def story(cluster: Cluster) -> tuple[str, float]:
        await cluster.leader()
        finding = asyncio.ensure_future(took(cluster.find()))
        await asyncio.sleep(0.1)
        await cluster.delete()
        return await finding

    assert play(story) == ('expected 1 leader pod (js-a-0-0), but got 0. this is an expected, transient error', 0.1)


def test_a_new_leader_takes_the_place_of_the_old_one() -> None:
    async def story(cluster: Cluster) -> str:
        await cluster.leader()
        await cluster.bind('n1')
        await asyncio.sleep(1)
        await cluster.delete()
        await cluster.leader('js-a-0-0-fghij')
        await cluster.bind('n2', 'js-a-0-0-fghij')
        await asyncio.sleep(1)
        return await cluster.find()

    assert play(story) == 'n2'


def test_those_who_ask_the_same_at_once_share_an_answer() -> None:
    async def story(cluster: Cluster) -> tuple[set[str], int]:
        cluster.line.is_blind = True
        cluster.line.seconds = 0.05
        await cluster.leader()
        await cluster.bind('n1')
        found = await asyncio.gather(*(cluster.find() for _ in range(20)))
        return set(found), len(cluster.line.asked)

    assert play(story, follows=False) == ({'n1'}, 1)


def test_a_server_that_does_not_answer_is_not_waited_for() -> None:
    async def story(cluster: Cluster) -> list[tuple[str, float]]:
        cluster.line.seconds = 3600

        async def refused() -> str:
            with pytest.raises(pods.UnknownError) as told:
                await cluster.find()
            return str(told.value)

        return await asyncio.gather(*(took(refused()) for _ in range(3)))

    expected = 'leader pod js-a-0-0: no answer from the API server within 2 s'
    assert play(story, follows=False) == [(expected, 2)] * 3


def test_a_refusal_of_the_server_is_told() -> None:
    async def story(cluster: Cluster) -> str:
        cluster.line.refusal = errors.Forbidden(403, 'Forbidden', 'no')
        with pytest.raises(pods.UnknownError) as told:
            await cluster.find()
        return str(told.value)

    assert play(story, follows=False) == 'leader pod js-a-0-0: 403 Forbidden: no'


def test_labels_of_nodes_are_kept_for_a_while() -> None:
    async def story(cluster: Cluster) -> list[str]:
        found = [await cluster.leaders.domain('n1', 'rack')]
        await cluster.relabel('n1', rack='r9')
        found.append(await cluster.leaders.domain('n1', 'rack'))
        await asyncio.sleep(11)
        found.append(await cluster.leaders.domain('n1', 'rack'))
        return found + cluster.line.asked

    assert play(story, follows=False) == ['r1', 'r1', 'r9', 'GET /api/v1/nodes/n1', 'GET /api/v1/nodes/n1']


def test_a_label_that_was_missing_is_looked_for_again() -> None:
    async def story(cluster: Cluster) -> tuple[str, str]:
        with pytest.raises(pods.NotYetError) as told:
            await cluster.leaders.domain('n1', 'zone')
        await asyncio.sleep(0.001)
        await cluster.relabel('n1', zone='z1')
        return str(told.value), await cluster.leaders.domain('n1', 'zone')

    assert play(story, follows=False) == ('node does not have topology label: zone', 'z1')


def test_a_node_that_is_not_there() -> None:
    async def story(cluster: Cluster) -> str:
        with pytest.raises(pods.NodeNotFoundError) as told:
            await cluster.leaders.domain('gone', 'rack')
        return str(told.value)

    assert play(story, follows=False) == 'Node "gone" not found'
