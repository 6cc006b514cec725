"""Gangs in simulated clusters: the whole controller, the embedded scheduler, and time that only passes on paper."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from jobset.api import extras, features, keys
from jobset.controller import world
from jobset.core.groups import observed
from jobset.kube import client, requests
from jobset.local import clock
from jobset.local.controllers import suite
from jobset.local.simulated import nodes, outcomes, simulation
from jobset.local.store import storage

GROUPS = requests.Resource(observed.GROUP, 'v1beta1', 'podgroups', 'PodGroup')
WORKLOADS = requests.Resource(observed.GROUP, 'v1beta1', 'workloads', 'Workload')
HOURS = 3600


def jobset(name: str, *parts: Any, shape: str = 'set', **spec: Any) -> Any:
    metadata = {'name': name, 'namespace': 'default', 'annotations': {extras.GANG.key: shape}}
    return {
        'apiVersion': keys.API_VERSION,
        'kind': keys.KIND,
        'metadata': metadata,
        'spec': {'replicatedJobs': list(parts), **spec},
    }


def part(name: str, pods: int, *, needs: str = '') -> Any:
    container = {'name': 'c', 'image': 'i', 'resources': {'requests': {'cpu': '1'}}}
    pod = {'restartPolicy': 'Never', 'containers': [container]}
    spec = {'parallelism': pods, 'completions': pods, 'backoffLimit': 0, 'template': {'spec': pod}}
    depends = {'dependsOn': [{'name': needs, 'status': 'Complete'}]} if needs else {}
    return {'name': name, 'template': {'spec': spec}, **depends}


class Day:
    """A simulated cluster, as a test sees it."""

    def __init__(self, api: client.Client) -> None:
        self.api = api

    async def create(self, one: Any) -> None:
        await self.api.send(requests.create(world.JOBSETS, 'default', one))

    async def all(self, resource: requests.Resource) -> dict[str, Any]:
        found: Any = await self.api.request(requests.list_(resource, 'default'), into=dict[str, Any])
        return {one['metadata']['name']: one for one in found['items']}

    async def patch(self, name: str, **spec: Any) -> None:
        kind = requests.Patch.MERGE
        await self.api.send(requests.patch(world.JOBSETS, 'default', name, {'spec': spec}, kind))

    async def until(self, resource: requests.Resource, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """What there is of a kind as soon as that holds, to the second."""
        for _ in range(2 * HOURS):
            seen = await self.all(resource)
            if holds(seen):
                return seen
            await asyncio.sleep(1)
        raise AssertionError(f'{resource}: {seen}')

    async def bound(self, prefix: str) -> int:
        pods = await self.all(requests.PODS)
        return sum(
            name.startswith(prefix)
            and bool(pod['spec'].get('nodeName'))
            and pod['status'].get('phase') in ('Pending', 'Running')
            for name, pod in pods.items()
        )


@contextlib.asynccontextmanager
async def day(*, cpu: int, gates: features.FeatureGates = features.DEFAULTS, seconds: float = 60) -> AsyncIterator[Day]:
    time = clock.Clock()
    settings = simulation.Settings(outcome=outcomes.Outcome(duration=seconds), gates=gates)
    async with simulation.serving(storage.Store(), clock=time, gates=gates) as served:
        await served.install()
        pools = [nodes.Pool(count=1, cpu=str(cpu))]
        others = [suite.on_paper]
        made = simulation.Simulation(served.carrier, clock=time, pools=pools, settings=settings, others=others)
        async with made as cluster:
            yield Day(cluster.api)


def condition(one: Any, kind: str) -> tuple[str, str] | None:
    found = [each for each in one.get('status', {}).get('conditions', []) if each['type'] == kind]
    return (found[0]['status'], found[0]['reason']) if found else None


def test_two_gangs_that_do_not_fit_both_run_one_after_the_other() -> None:
    async def story() -> None:
        async with day(cpu=10) as cluster:
            for name in ('one', 'two'):
                await cluster.create(jobset(name, part('w', 6)))
            most: dict[str, int] = {}
            for _ in range(150):
                counts = {name: await cluster.bound(name) for name in ('one', 'two')}
                assert sorted(counts.values()) in ([0, 0], [0, 6])
                most = {name: max(most.get(name, 0), count) for name, count in counts.items()}
                await asyncio.sleep(1)
            assert most == {'one': 6, 'two': 6}
            sets = await cluster.all(world.JOBSETS)
            assert {condition(one, 'Completed') for one in sets.values()} == {('True', 'AllJobsCompleted')}
            assert (await cluster.all(GROUPS), await cluster.all(WORKLOADS)) == ({}, {})

    clock.run(story())


@pytest.mark.parametrize('shape', ['stage', 'set'])
def test_stages_of_a_cluster_that_holds_one_of_them(shape: str) -> None:
    async def story() -> None:
        async with day(cpu=3) as cluster:
            await cluster.create(jobset('s', part('a', 1), part('b', 3, needs='a'), shape=shape))
            seen = await cluster.until(world.JOBSETS, lambda seen: condition(seen['s'], 'Completed') is not None)
            assert seen['s']['status']['restarts'] == 0

    clock.run(story())


def test_a_restart_has_a_group_of_its_own() -> None:
    async def story() -> None:
        async with day(cpu=4, seconds=HOURS) as cluster:
            failing = part('w', 3)
            script = {f'{outcomes.PREFIX}fail-at': '30s', f'{outcomes.PREFIX}fail-attempts': '1'}
            failing['template']['spec']['template']['metadata'] = {'annotations': script}
            await cluster.create(jobset('r', failing, failurePolicy={'maxRestarts': 1}))
            first = await cluster.until(requests.PODS, lambda seen: len(seen) == 3)
            await cluster.until(GROUPS, lambda seen: set(seen) == {'r-set-1'})
            await cluster.until(requests.PODS, lambda seen: not set(first) & set(seen) and len(seen) == 3)
            await asyncio.sleep(5)
            assert await cluster.bound('r') == 3
            assert (await cluster.all(world.JOBSETS))['r']['status']['restarts'] == 1

    clock.run(story())


def test_a_queue_stays_in_charge() -> None:
    async def story() -> None:
        async with day(cpu=4, seconds=HOURS) as cluster:
            queued = jobset('q', part('w', 3), suspend=True)
            queued['metadata']['labels'] = {'kueue.x-k8s.io/queue-name': 'main'}
            await cluster.create(queued)
            await cluster.until(requests.JOBS, lambda seen: set(seen) == {'q-w-0'})
            await asyncio.sleep(HOURS)
            before = await cluster.all(GROUPS), await cluster.all(WORKLOADS), await cluster.all(requests.PODS)
            await cluster.patch('q', suspend=False)
            await cluster.until(requests.PODS, lambda seen: len(seen) == 3)
            running = set(await cluster.all(GROUPS))
            await cluster.patch('q', suspend=True)
            await cluster.until(requests.PODS, lambda seen: not seen)
            after = await cluster.until(GROUPS, lambda seen: not seen)
            await cluster.patch('q', suspend=False)
            await cluster.until(requests.PODS, lambda seen: len(seen) == 3)
            await asyncio.sleep(5)

            assert (before, running, after) == (({}, {}, {}), {'q-set-0'}, {})
            assert await cluster.bound('q') == 3

    clock.run(story())


def test_executions_are_counted_and_resources_change_at_rest() -> None:
    gates = features.FeatureGates(execution_attempts=True, mutable_resources=True)

    async def story() -> None:
        async with day(cpu=4, gates=gates, seconds=HOURS) as cluster:
            await cluster.create(jobset('e', part('w', 2), failurePolicy={'maxRestarts': 1}))
            await cluster.until(requests.PODS, lambda seen: len(seen) == 2)
            first = (await cluster.all(world.JOBSETS))['e']['status']['executionAttempts']
            await cluster.patch('e', suspend=True)
            await cluster.until(requests.PODS, lambda seen: not seen)
            await asyncio.sleep(5)
            changed = part('w', 2)
            container = changed['template']['spec']['template']['spec']['containers'][0]
            container['resources'] = {'requests': {'cpu': '2'}}
            await cluster.patch('e', suspend=False, replicatedJobs=[changed])
            pods = await cluster.until(requests.PODS, lambda seen: len(seen) == 2)
            second = (await cluster.all(world.JOBSETS))['e']['status']['executionAttempts']

            assert (first, second) == (0, 1)
            assert {pod['metadata']['annotations'][keys.EXECUTION_ATTEMPT] for pod in pods.values()} == {'1'}
            assert {pod['spec']['containers'][0]['resources']['requests']['cpu'] for pod in pods.values()} == {'2'}

    clock.run(story())
