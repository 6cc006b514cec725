"""Sets that restart in place, from the caches to the cluster: which pods are heard of, and how often is written."""

import asyncio
import itertools
from typing import Any

import msgspec
import pytest

from jobset.api import features, jobs, keys, pods, types
from jobset.controller import manager, metrics, world
from jobset.kube import requests
from tests.controller import bench, plane
from tests.core import build

GATES = features.FeatureGates(in_place_restart=True)
STATUS = 'PUT jobsets js status'
SECONDS = 60
"""How long a test waits for something that must come; a defect, not slowness, makes it fail."""

RESTARTING: dict[str, Any] = {'failurePolicy': {'maxRestarts': 9, 'restartStrategy': 'InPlaceRestart'}}


def part(pods: int, replicas: int = 1) -> build.Manifest:
    return build.part('a', replicas, template={'spec': build.pods(parallelism=pods) | {'completionMode': 'Indexed'}})


class Watch:
    """Tells the caches of pods, and of Jobs that become ready or not."""

    def __init__(self, one: bench.Bench, uid: str) -> None:
        self.one = one
        self.uid = uid
        self._versions = itertools.count(10**6)

    def pod(self, rank: str, attempt: int | None, *, uid: str | None = None) -> None:
        pod = msgspec.json.decode(msgspec.json.encode(manifest(rank, attempt, uid or self.uid)), type=pods.Pod)
        metadata = msgspec.structs.replace(pod.metadata, resource_version=str(next(self._versions)))
        self.one.seen.pods.cache.observe(msgspec.structs.replace(pod, metadata=metadata))

    def ready(self, job: str, pods: int) -> None:
        self.one.server.change('jobs', job, lambda obj: obj.update(status={'active': 2, 'ready': pods}))
        found = self.one.server.get('jobs', job)
        self.one.seen.jobs.observe(msgspec.json.decode(msgspec.json.encode(found), type=jobs.Job))


def manifest(rank: str, attempt: int | None, uid: str) -> build.Manifest:
    announced = {} if attempt is None else {keys.IN_PLACE_RESTART_ATTEMPT: str(attempt)}
    return {
        'metadata': {
            'name': f'{rank}-abcde',
            'namespace': 'default',
            'uid': rank,
            'labels': {keys.JOBSET_NAME: 'js', keys.JOBSET_UID: uid},
            'annotations': {keys.COMPLETION_INDEX: rank.rpartition('-')[2], **announced},
        },
        'status': {'phase': 'Running'},
    }


def numbers(one: bench.Bench) -> tuple[int | None, int | None]:
    status = one.stored()['status']
    return status.get('previousInPlaceRestartAttempt'), status.get('currentInPlaceRestartAttempt')


async def look(one: bench.Bench, *, at: float | None = None) -> float | None:
    if at is not None:
        one.time.advance(at)
    return await one.passes.handle(bench.KEY)


async def test_pods_are_heard_of_by_the_uid_of_their_set() -> None:
    one = bench.Bench(gates=GATES)
    jobset = one.apply(part(2), **RESTARTING)
    watch = Watch(one, jobset.metadata.uid)
    one.keys.clear()

    watch.pod('js-a-0-0', 0, uid='of-an-earlier-one')
    assert one.keys == []
    watch.pod('js-a-0-1', 0)
    assert one.keys == [bench.KEY]
    watch.pod('js-a-0-1', 0)
    assert one.keys == [bench.KEY], 'nothing that counts has changed'
    watch.pod('js-a-0-0', 0)

    await look(one)
    assert numbers(one) == (None, 0)


async def test_pods_of_other_sets_bring_no_pass() -> None:
    one = bench.Bench(gates=GATES)
    jobset = one.apply(build.part('a'))
    one.keys.clear()

    Watch(one, jobset.metadata.uid).pod('js-a-0-0', 0)

    assert one.keys == []


async def test_pods_that_were_known_before_their_set_count() -> None:
    one = bench.Bench(gates=GATES)
    raw = one.server.create(
        'jobsets',
        build.copy({'metadata': {'name': 'js'}, 'spec': {'replicatedJobs': [part(1)], **RESTARTING}}),
        manager='user',
    )
    jobset = msgspec.json.decode(raw, type=types.JobSet)
    Watch(one, jobset.metadata.uid).pod('js-a-0-0', 0)
    assert one.keys == []

    one.look()
    await look(one)

    assert numbers(one) == (None, 0)


async def test_pods_that_are_gone_are_forgotten() -> None:
    one = bench.Bench(gates=GATES)
    jobset = one.apply(part(1), **RESTARTING)
    Watch(one, jobset.metadata.uid).pod('js-a-0-0', 0)
    one.keys.clear()

    one.seen.pods.cache._store.replace({}, 10**7)

    assert one.keys == [bench.KEY]
    assert one.seen.pods_of(jobset).reports == {}


def test_with_the_gate_off_no_pods_are_watched() -> None:
    one = bench.Bench()

    assert not one.seen.pods.is_wanted
    assert requests.PODS not in [cache.resource for cache in one.seen.caches]


async def test_a_round_of_a_large_set_is_four_writes() -> None:
    """Its 200 Jobs become unready and ready again one by one meanwhile."""
    one = bench.Bench(gates=GATES)
    jobset = one.apply(part(1, 200), **RESTARTING)
    watch = Watch(one, jobset.metadata.uid)
    await look(one)
    for index in range(200):
        watch.pod(f'js-a-{index}-0', 0)
        watch.ready(f'js-a-{index}', 1)
    await look(one, at=10)
    assert numbers(one) == (None, 0)
    one.line.heard.clear()

    at = 100.0
    for index in range(200):
        at += 0.005
        watch.ready(f'js-a-{index}', 0)
        await look(one, at=at)
        watch.pod(f'js-a-{index}-0', 1)
        again = await look(one, at=at)
    assert numbers(one) == (0, 1)
    assert one.line.told() == [STATUS] * 3, 'the first change of counters, whom to leave, and whom to run'
    for index in range(200):
        at += 0.005
        watch.ready(f'js-a-{index}', 1)
        again = await look(one, at=at)
    assert again is not None
    assert one.stored()['status']['replicatedJobsStatus'][0]['ready'] == 0
    await look(one, at=at + again)

    assert one.line.told() == [STATUS] * 4
    assert one.stored()['status']['replicatedJobsStatus'][0]['ready'] == 200


async def test_counters_do_not_wait_for_the_end_of_a_round_that_has_none() -> None:
    one = bench.Bench(gates=GATES)
    jobset = one.apply(part(1, 200), **RESTARTING)
    watch = Watch(one, jobset.metadata.uid)
    await look(one)
    watch.ready('js-a-0', 1)

    again = await look(one, at=0.5)

    assert again == pytest.approx(1.5), 'two seconds after the write before, for 200 ranks'
    assert one.stored()['status']['replicatedJobsStatus'][0]['ready'] == 0
    await look(one, at=2)
    assert one.stored()['status']['replicatedJobsStatus'][0]['ready'] == 1


async def test_what_is_more_than_counters_does_not_wait() -> None:
    one = bench.Bench(gates=GATES)
    one.apply(part(1, 200), **RESTARTING)
    await look(one)
    one.server.change('jobsets', 'js', lambda obj: obj['spec'].update(suspend=True))
    one.look()

    await look(one, at=0.1)

    assert one.condition('Suspended') is not None


async def test_the_whole_controller_opens_the_barrier() -> None:
    server = plane.Plane()
    spec: dict[str, Any] = {'replicatedJobs': [part(2)], **RESTARTING}
    server.put(world.JOBSETS, 'default', 'js', spec=spec)
    stored = server.objects[world.JOBSETS.item('default', 'js')]
    for index, announced in ((0, '0'), (1, '0')):
        made = manifest(f'js-a-0-{index}', int(announced), stored['metadata']['uid'])
        server.put(requests.PODS, 'default', made['metadata']['name'])
        held = server.objects[requests.PODS.item('default', made['metadata']['name'])]
        more = {'labels': made['metadata']['labels'], 'annotations': made['metadata']['annotations']}
        server.put(
            requests.PODS,
            'default',
            made['metadata']['name'],
            metadata=held['metadata'] | more,
            status=made['status'],
        )

    def is_open() -> bool:
        status = server.objects[world.JOBSETS.item('default', 'js')].get('status') or {}
        return status.get('currentInPlaceRestartAttempt') == 0

    async with plane.carrier(server) as line:
        settings = manager.Settings(gates=GATES, leadership=None, instance='test')
        one = manager.Manager(line, settings, metrics.Metrics())
        task = asyncio.create_task(one.run())
        async with asyncio.timeout(SECONDS):
            await server.until(is_open)
        one.stop()
        async with asyncio.timeout(SECONDS):
            await task

    watched = [str(seen) for seen in server.seen if seen.path == requests.PODS.collection()]
    assert watched
