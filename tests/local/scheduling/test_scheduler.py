"""The scheduler against a server: what it writes, and what it makes of refusals."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from jobset.kube import client, errors, requests
from jobset.local import clock
from jobset.local.scheduling import model, scheduler
from jobset.local.simulated import nodes, simulation
from jobset.local.store import storage

EVENTS = requests.Resource('events.k8s.io', 'v1', 'events', 'Event')


class Flaky:
    """A carrier that refuses some bindings."""

    def __init__(self, carrier: client.Carrier) -> None:
        self._carrier = carrier
        self.refusals: list[errors.ApiError] = []
        self.bindings: list[float] = []

    async def send(self, request: requests.Request) -> bytes:
        if request.path.endswith('/binding'):
            self.bindings.append(asyncio.get_running_loop().time())
            if self.refusals:
                raise self.refusals.pop(0)
        return await self._carrier.send(request)

    def stream(
        self, request: requests.Request, *, idle_timeout: float
    ) -> contextlib.AbstractAsyncContextManager[client.Pieces]:
        return self._carrier.stream(request, idle_timeout=idle_timeout)


class Place:
    """A server with one node of two CPUs, and a scheduler."""

    def __init__(self, api: client.Client, carrier: Flaky) -> None:
        self.api = api
        self.carrier = carrier

    async def make(self, resource: requests.Resource, name: str, spec: dict[str, Any]) -> None:
        body = {'apiVersion': resource.api_version, 'kind': resource.kind, 'metadata': {'name': name}, 'spec': spec}
        await self.api.send(requests.create(resource, 'default', body))

    async def pod(self, name: str, cpu: str = '1', **spec: Any) -> None:
        container = {'name': 'main', 'image': 'x', 'resources': {'requests': {'cpu': cpu}}}
        await self.make(requests.PODS, name, {'containers': [container], **spec})

    async def read(self, resource: requests.Resource, name: str) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.json.decode(await self.api.send(requests.read(resource, 'default', name)))
        return found

    async def events(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = msgspec.json.decode(await self.api.send(requests.list_(EVENTS, 'default')))[
            'items'
        ]
        return found


@contextlib.asynccontextmanager
async def _place() -> AsyncIterator[Place]:
    time = clock.Clock()
    async with simulation.serving(storage.Store(), clock=time) as served:
        await served.install()
        await nodes.create(served.api, nodes.Pool(count=1, cpu='2'), now=time.now)
        carrier = Flaky(simulation.Calm(served.carrier))
        api = client.Client(carrier, settings=client.Retrying(attempts=1))
        async with asyncio.TaskGroup() as group:
            working = group.create_task(scheduler.Scheduler(api, now=time.now).run())
            yield Place(served.api, carrier)
            working.cancel()


def _scheduled(obj: dict[str, Any], kind: str = model.SCHEDULED) -> dict[str, Any]:
    (found,) = (one for one in obj['status']['conditions'] if one['type'] == kind)
    return {key: value for key, value in found.items() if value is not None}


def test_a_pod_is_bound_and_it_is_told() -> None:
    async def story() -> tuple[dict[str, Any], list[dict[str, Any]]]:
        async with _place() as place:
            await place.pod('a')
            await asyncio.sleep(5)
            return await place.read(requests.PODS, 'a'), await place.events()

    pod, (event,) = clock.run(story())

    assert pod['spec']['nodeName'] == 'node-0'
    assert _scheduled(pod)['status'] == 'True'
    told = {key: event[key] for key in ('action', 'reason', 'type', 'note', 'reportingController')}
    assert told == {
        'action': 'Binding',
        'reason': 'Scheduled',
        'type': 'Normal',
        'note': 'Successfully assigned default/a to node-0',
        'reportingController': 'default-scheduler',
    }
    assert (event['regarding']['kind'], event['regarding']['name']) == ('Pod', 'a')


def test_a_pod_that_fits_nowhere_is_told() -> None:
    async def story() -> tuple[dict[str, Any], list[dict[str, Any]]]:
        async with _place() as place:
            await place.pod('a', cpu='3')
            await asyncio.sleep(5)
            return await place.read(requests.PODS, 'a'), await place.events()

    pod, (event,) = clock.run(story())

    message = (
        '0/1 nodes are available: 1 Insufficient cpu. '
        'preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.'
    )
    condition = _scheduled(pod)
    assert (condition['status'], condition['reason'], condition['message']) == ('False', 'Unschedulable', message)
    assert (event['action'], event['reason'], event['type'], event['note']) == (
        'Scheduling',
        'FailedScheduling',
        'Warning',
        message,
    )


def test_a_gang_and_its_group() -> None:
    async def story() -> tuple[list[object], dict[str, Any], dict[str, Any]]:
        async with _place() as place:
            await place.make(model.POD_GROUPS, 'g', {'schedulingPolicy': {'gang': {'minCount': 2}}})
            linked: dict[str, Any] = {'schedulingGroup': {'podGroupName': 'g'}}
            await place.pod('a', **linked)
            await asyncio.sleep(5)
            alone = (await place.read(requests.PODS, 'a'))['spec'].get('nodeName')
            await place.pod('b', cpu='2', **linked)
            await asyncio.sleep(5)
            failed = _scheduled(await place.read(model.POD_GROUPS, 'g'), 'PodGroupInitiallyScheduled')
            await place.api.send(requests.delete(requests.PODS, 'default', 'b', grace_seconds=0))
            await place.pod('c', **linked)
            await asyncio.sleep(20)
            bound = [(await place.read(requests.PODS, name))['spec'].get('nodeName') for name in 'ac']
            group = _scheduled(await place.read(model.POD_GROUPS, 'g'), 'PodGroupInitiallyScheduled')
            return [alone, bound], failed, group

    nodes_, failed, group = clock.run(story())

    assert nodes_ == [None, ['node-0', 'node-0']]
    assert (failed['status'], failed['reason']) == ('False', 'Unschedulable')
    assert (group['status'], group['reason']) == ('True', 'Scheduled')


def test_a_refused_binding_is_tried_again_a_moment_later() -> None:
    async def story() -> tuple[list[float], str]:
        async with _place() as place:
            await asyncio.sleep(10)
            place.carrier.refusals = [errors.ServerError(500, 'InternalError', 'out of order'), _conflict()]
            await place.pod('a')
            await asyncio.sleep(10)
            pod = await place.read(requests.PODS, 'a')
            return place.carrier.bindings, pod['spec']['nodeName']

    assert clock.run(story()) == ([10.0, 11.0, 12.0], 'node-0')


def _conflict() -> errors.ApiError:
    return errors.Conflict(409, 'Conflict', 'the pod has been modified')


def test_a_pod_that_is_gone_when_it_is_bound_leaves_its_room() -> None:
    async def story() -> str:
        async with _place() as place:
            await asyncio.sleep(10)
            place.carrier.refusals = [errors.NotFound(404, 'NotFound', 'gone')]
            await place.pod('a', cpu='2')
            await asyncio.sleep(0.5)
            await place.api.send(requests.delete(requests.PODS, 'default', 'a', grace_seconds=0))
            await place.pod('b', cpu='2')
            await asyncio.sleep(5)
            found: str = (await place.read(requests.PODS, 'b'))['spec']['nodeName']
            return found

    assert clock.run(story()) == 'node-0'
