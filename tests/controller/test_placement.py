"""Exclusive placement in whole simulated clusters: scheduler, Job controller, webhooks and our controller, in virtual
time.
"""

import asyncio
import contextlib
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

import msgspec
import pytest

from jobset.api import keys
from jobset.controller import world
from jobset.kube import client, requests
from jobset.local import clock
from jobset.local.simulated import nodes, outcomes, simulation
from jobset.local.store import storage

T = TypeVar('T')

RACK = 'example.com/rack'
FOREVER = simulation.Settings(outcome=outcomes.Outcome(), tells_events=False)


def jobset(name: str, *, jobs: int = 1, pods: int = 3, cpu: str = '1', exclusive: bool = True) -> dict[str, Any]:
    container = {'name': 'main', 'image': 'busybox', 'resources': {'requests': {'cpu': cpu}}}
    spec = {'backoffLimit': 1000, 'parallelism': pods, 'completions': pods}
    template = {'spec': spec | {'template': {'spec': {'containers': [container]}}}}
    return {
        'apiVersion': keys.API_VERSION,
        'kind': keys.KIND,
        'metadata': {'name': name, 'annotations': {keys.EXCLUSIVE_TOPOLOGY: RACK} if exclusive else {}},
        'spec': {'replicatedJobs': [{'name': 'w', 'replicas': jobs, 'template': template}]},
    }


class Watched:
    """Requests to the server, noted and perhaps kept waiting."""

    def __init__(self, carrier: client.Carrier) -> None:
        self._carrier = carrier
        self.seen: list[requests.Request] = []
        self.followed: list[str] = []
        """Kinds that are watched."""

        self.before: Callable[[requests.Request], Coroutine[Any, Any, None]] | None = None

    async def send(self, request: requests.Request) -> bytes:
        self.seen.append(request)
        if self.before is not None:
            await self.before(request)
        return await self._carrier.send(request)

    def stream(self, request: requests.Request, *, idle_timeout: float) -> AbstractAsyncContextManager[client.Pieces]:
        self.followed.append(request.path.rpartition('/')[2])
        return self._carrier.stream(request, idle_timeout=idle_timeout)


class Cluster:
    """A cluster of racks."""

    def __init__(self, api: client.Client, line: Watched) -> None:
        self._api = api
        self.line = line

    async def apply(self, *jobsets: dict[str, Any]) -> None:
        for one in jobsets:
            await self._api.send(requests.create(world.JOBSETS, 'default', one))

    async def rank(self, **values: int) -> None:
        """Priority classes of these names."""
        kind = requests.Resource('scheduling.k8s.io', 'v1', 'priorityclasses', 'PriorityClass')
        for name, value in values.items():
            await self._api.send(requests.create(kind, None, {'metadata': {'name': name}, 'value': value}))

    async def pods(self) -> list[dict[str, Any]]:
        found = await self._api.send(requests.list_(requests.PODS, 'default'))
        items: list[dict[str, Any]] = msgspec.json.decode(found)['items'] or []
        return sorted(items, key=lambda pod: str(pod['metadata']['name']))

    async def kill(self, name: str) -> None:
        await self._api.send(requests.delete(requests.PODS, 'default', name, grace_seconds=0))

    async def suspend(self, name: str) -> None:
        change = {'spec': {'suspend': True}}
        await self._api.send(requests.patch(world.JOBSETS, 'default', name, change, requests.Patch.MERGE))

    async def waiting(self, name: str) -> tuple[str, str, str]:
        """What a JobSet says that it waits for."""
        found = msgspec.json.decode(await self._api.send(requests.read(world.JOBSETS, 'default', name)))
        told = {each['type']: each for each in found['status']['conditions']}['Waiting']
        return told['status'], told['reason'], told['message']

    async def relabel(self, node: str, rack: str) -> None:
        change = {'metadata': {'labels': {RACK: rack}}}
        await self._api.send(requests.patch(requests.NODES, None, node, change, requests.Patch.MERGE))

    async def cordon(self, node: str, *, is_cordoned: bool = True) -> None:
        change = {'spec': {'unschedulable': is_cordoned}}
        await self._api.send(requests.patch(requests.NODES, None, node, change, requests.Patch.MERGE))

    async def racks(self) -> Mapping[str, set[str]]:
        """In which racks the pods of each Job are; those that are not bound are nowhere."""
        labels = {}
        for node in msgspec.json.decode(await self._api.send(requests.list_(requests.NODES)))['items']:
            labels[node['metadata']['name']] = node['metadata']['labels'][RACK]
        where: dict[str, set[str]] = defaultdict(set)
        for pod in await self.pods():
            if 'deletionTimestamp' not in pod['metadata'] and pod['status'].get('phase') not in ('Failed', 'Succeeded'):
                node = pod['spec'].get('nodeName')
                where[pod['metadata']['labels'][keys.JOB_NAME]].add(labels.get(node, 'nowhere'))
        return where

    def deletions(self) -> list[str]:
        """Pods that our controller has deleted."""
        return [
            one.path.rpartition('/')[2] for one in self.line.seen if one.method == 'DELETE' and '/pods/' in one.path
        ]


@contextlib.asynccontextmanager
async def cluster(racks: int, *, size: int = 2, cpu: str = '8', webhooks: bool = True) -> AsyncIterator[Cluster]:
    time = clock.Clock()
    async with simulation.serving(storage.Store(), clock=time) as served:
        await served.install(has_webhooks=webhooks)
        pools = [nodes.Pool(count=racks * size, cpu=cpu, levels={RACK: size})]
        line: list[Watched] = []

        class Own(simulation.Simulation):
            def _manager(self, carrier: client.Carrier, wanted: Any) -> Any:
                line.append(Watched(carrier))
                return super()._manager(line[0], wanted)

        async with Own(served.carrier, clock=time, pools=pools, settings=FOREVER) as running:
            await asyncio.sleep(1)
            yield Cluster(running.api, line[0])


def play(racks: int, story: Callable[[Cluster], Coroutine[Any, Any, T]], **how: Any) -> T:
    async def begin() -> T:
        async with cluster(racks, **how) as made:
            return await story(made)

    return clock.run(begin())


def test_each_job_has_a_rack_to_itself() -> None:
    async def story(made: Cluster) -> tuple[Mapping[str, set[str]], list[str]]:
        await made.apply(jobset('a', jobs=2), jobset('b'))
        await asyncio.sleep(300)
        return await made.racks(), made.deletions()

    racks, deletions = play(3, story)

    assert sorted(racks) == ['a-w-0', 'a-w-1', 'b-w-0']
    assert sorted(rack for where in racks.values() for rack in where) == ['rack-0', 'rack-1', 'rack-2']
    assert deletions == []


def test_a_job_without_a_rack_waits_and_others_keep_out() -> None:
    async def story(made: Cluster) -> Mapping[str, set[str]]:
        await made.apply(jobset('a'))
        await asyncio.sleep(60)
        await made.apply(jobset('b'), jobset('plain', exclusive=False))
        await asyncio.sleep(300)
        return await made.racks()

    assert play(1, story) == {'a-w-0': {'rack-0'}, 'b-w-0': {'nowhere'}, 'plain-w-0': {'nowhere'}}


def test_a_set_says_which_domains_are_taken_and_by_whom() -> None:
    async def story(made: Cluster) -> list[tuple[str, str, str]]:
        await made.apply(jobset('a'))
        await asyncio.sleep(60)
        await made.apply(jobset('b', jobs=2))
        await asyncio.sleep(60)
        told = [await made.waiting('b')]
        await made.suspend('a')
        await asyncio.sleep(60)
        told.append(await made.waiting('b'))
        return told

    waits, later = play(1, story)

    assert waits[:2] == ('True', 'NoExclusiveDomain')
    assert waits[2].startswith(
        f'Job b-w-0 waits for a domain of {RACK} to itself (so do 1 more of its Jobs): 1 of 1 are taken (1 by JobSet '
        'a); the scheduler says of its leader: 0/2 nodes are available'
    )
    assert f' waits for a domain of {RACK} to itself: 1 of 1 are taken (1 by this one); ' in later[2]


def test_nothing_is_followed_while_nobody_asks_for_placement() -> None:
    async def story(made: Cluster) -> tuple[set[str], set[str]]:
        await made.apply(jobset('plain', exclusive=False))
        await asyncio.sleep(60)
        before = set(made.line.followed)
        await made.apply(jobset('a'))
        await asyncio.sleep(60)
        return before & {'pods', 'nodes'}, set(made.line.followed) & {'pods', 'nodes'}

    assert play(1, story) == (set(), {'pods', 'nodes'})


def test_scenario_17_two_jobs_race_for_the_same_racks() -> None:
    async def story(made: Cluster) -> tuple[Mapping[str, set[str]], set[str]]:
        # One leader finds a node in rack-0, and that node is all that is free there: its followers wait for the other.
        await made.cordon('node-1')
        await made.cordon('node-2')
        await made.cordon('node-3')
        await made.apply(jobset('one', pods=3, cpu='4'))
        await asyncio.sleep(30)
        # Its leader is killed and rack-0 closed: the next one goes to rack-1, and another JobSet takes rack-0.
        await made.cordon('node-0')
        leader = next(pod for pod in await made.pods() if '-w-0-0-' in pod['metadata']['name'])
        waiting = [pod for pod in await made.pods() if not pod['spec'].get('nodeName')]
        for pod in await made.pods():
            if pod['spec'].get('nodeName') and pod is not leader:
                await made.kill(pod['metadata']['name'])
        await made.kill(leader['metadata']['name'])
        await made.cordon('node-2', is_cordoned=False)
        await made.cordon('node-3', is_cordoned=False)
        await asyncio.sleep(60)
        for node in ('node-0', 'node-1'):
            await made.cordon(node, is_cordoned=False)
        await made.apply(jobset('two', pods=3, cpu='4'))
        await asyncio.sleep(600)
        gone = {pod['metadata']['uid'] for pod in waiting} - {pod['metadata']['uid'] for pod in await made.pods()}
        return await made.racks(), gone

    racks, replaced = play(2, story)

    assert racks == {'one-w-0': {'rack-1'}, 'two-w-0': {'rack-0'}}
    assert replaced


@pytest.mark.parametrize('seed', range(6))
def test_leaders_that_are_killed_at_any_moment(seed: int) -> None:
    async def story(made: Cluster) -> Mapping[str, set[str]]:
        chance = random.Random(seed)
        await made.apply(jobset('a'), jobset('b'), jobset('c', pods=4))
        for _ in range(25):
            await asyncio.sleep(chance.choice([0, 0.001, 0.3, 1, 3, 20]))
            names = [pod['metadata']['name'] for pod in await made.pods() if 'deletionTimestamp' not in pod['metadata']]
            leaders = [name for name in names if name.split('-')[-2] == '0']
            chosen = chance.choice(leaders if leaders and chance.random() < 0.7 else names or [''])
            if chosen:
                await made.kill(chosen)
        await asyncio.sleep(3600)
        return await made.racks()

    racks = play(4, story)

    assert sorted(racks) == ['a-w-0', 'b-w-0', 'c-w-0']
    assert [len(where) for where in racks.values()] == [1, 1, 1]
    assert len(set.union(*racks.values()) - {'nowhere'}) == 3


def test_a_node_that_moves_takes_its_job_along() -> None:
    async def story(made: Cluster) -> tuple[Mapping[str, set[str]], int]:
        await made.apply(jobset('a'))
        await asyncio.sleep(60)
        pods = await made.pods()
        leader = next(pod for pod in pods if '-w-0-0-' in pod['metadata']['name'])
        before = {pod['metadata']['uid'] for pod in pods}
        await made.relabel(leader['spec']['nodeName'], 'elsewhere')
        await asyncio.sleep(600)
        kept = before & {pod['metadata']['uid'] for pod in await made.pods()}
        return await made.racks(), len(kept)

    assert play(1, story) == ({'a-w-0': {'elsewhere'}}, 1)


def test_what_is_misplaced_is_marked_before_it_goes() -> None:
    async def story(made: Cluster) -> list[tuple[str, str, int]]:
        await made.apply(jobset('a', pods=2))
        await asyncio.sleep(60)
        leader, follower = await made.pods()
        await made.relabel(leader['spec']['nodeName'], 'elsewhere')
        await asyncio.sleep(60)
        name, uid = follower['metadata']['name'], follower['metadata']['uid']
        return [
            (one.method, one.path.partition(name)[2], (one.body or b'').count(uid.encode()))
            for one in made.line.seen
            if name in one.path
        ]

    assert play(1, story) == [('PATCH', '/status', 1), ('DELETE', '', 1)]


def test_a_suspicion_that_is_not_confirmed_deletes_nothing() -> None:
    async def story(made: Cluster) -> list[str]:
        await made.apply(jobset('a', pods=2))
        await asyncio.sleep(60)
        leader = (await made.pods())[0]
        node = leader['spec']['nodeName']

        async def put_right(request: requests.Request) -> None:
            # Between the suspicion and the look at the server, the label comes back.
            if request.path.endswith('/namespaces/default/pods') and request.method == 'GET':
                made.line.before = None
                await made.relabel(node, 'rack-0')

        made.line.before = put_right
        await made.relabel(node, 'elsewhere')
        await asyncio.sleep(60)
        return made.deletions()

    assert play(1, story) == []


def test_pods_of_somebody_else_stay() -> None:
    async def story(made: Cluster) -> tuple[Mapping[str, set[str]], list[str]]:
        await made.apply(jobset('a', pods=2))
        await asyncio.sleep(60)
        copied = (await made.pods())[1]
        copied['metadata'] = {
            'name': 'a-w-0-1-other',
            'labels': copied['metadata']['labels'],
            'annotations': copied['metadata']['annotations'],
        }
        copied['spec'].pop('nodeName')
        copied['spec']['nodeSelector'] = {RACK: 'rack-9'}
        for label in (keys.JOBSET_NAME, 'controller-uid', 'batch.kubernetes.io/controller-uid'):
            # Past the webhooks, and not to be adopted by the Job.
            del copied['metadata']['labels'][label]
        await made._api.send(requests.create(requests.PODS, 'default', copied))
        change = {'metadata': {'labels': {keys.JOBSET_NAME: 'a'}}}
        await made._api.send(requests.patch(requests.PODS, 'default', 'a-w-0-1-other', change, requests.Patch.MERGE))
        await asyncio.sleep(60)
        return await made.racks(), made.deletions()

    racks, deletions = play(1, story)

    assert (racks['a-w-0'], deletions) == ({'rack-0', 'nowhere'}, [])


def test_it_works_without_webhooks_as_far_as_that_goes() -> None:
    async def story(made: Cluster) -> set[str]:
        one = jobset('a', pods=2)
        spec = one['spec']['replicatedJobs'][0]['template']['spec']
        spec |= {'completionMode': 'Indexed'}
        spec['template']['spec']['restartPolicy'] = 'Never'
        await made.apply(one)
        await asyncio.sleep(20)
        return {name.split('-')[3] for name in made.deletions()}

    # Without a selector a follower is misplaced wherever it is; leaders are never touched.
    assert play(1, story, webhooks=False) == {'1'}


def test_scenario_18_priority_and_exclusivity() -> None:
    """Three Jobs of low priority have all racks; one of high priority comes, and plain pods that want in, too.

    The high leader finds room beside a low Job, as domains are kept apart for each priority; its followers do not. The
    scheduler here does not preempt: what a real one does for them is done by hand, to the low Job that is there.
    """

    async def story(made: Cluster) -> tuple[str, Mapping[str, set[str]], Mapping[str, set[str]], set[str]]:
        await made.rank(low=10, high=100)
        await made.apply(_prior(jobset('low', jobs=3, cpu='4'), 'low'))
        await asyncio.sleep(120)
        await made.apply(_prior(jobset('high', pods=4, cpu='4'), 'high'))
        await made.apply(_prior(jobset('plain', exclusive=False), 'low'))
        await asyncio.sleep(120)
        before, uids = await made.racks(), {pod['metadata']['uid'] for pod in await made.pods()}
        (rack,) = before['high-w-0'] - {'nowhere'}
        (victim,) = [job for job, racks in before.items() if job.startswith('low') and racks == {rack}]
        for pod in await made.pods():
            if pod['metadata']['labels'][keys.JOB_NAME] == victim:
                await made.kill(pod['metadata']['name'])
        await asyncio.sleep(600)
        untouched = {
            pod['metadata']['labels'][keys.JOB_NAME] for pod in await made.pods() if pod['metadata']['uid'] in uids
        }
        return victim, before, await made.racks(), untouched

    victim, before, after, untouched = play(3, story)

    others = {'low-w-0', 'low-w-1', 'low-w-2'} - {victim}
    assert after['high-w-0'] == before[victim]
    assert after[victim] == {'nowhere'}
    assert {job: after[job] for job in others} == {job: before[job] for job in others}
    assert untouched == {*others, 'high-w-0', 'plain-w-0'}
    assert (before['plain-w-0'], after['plain-w-0']) == ({'nowhere'}, {'nowhere'})


def _prior(one: dict[str, Any], name: str) -> dict[str, Any]:
    """The JobSet with pods of that priority class."""
    one['spec']['replicatedJobs'][0]['template']['spec']['template']['spec']['priorityClassName'] = name
    return one
