"""How pods failed is remembered, though they vanish before anybody asks."""

from typing import Any

import msgspec
import pytest

from jobset.api import keys, pods, types
from jobset.api.extravalues import Cause
from jobset.controller import witness
from tests.controller import bench
from tests.core import build
from tests.model import engine

PREEMPTED = engine.preempted() | {'phase': 'Running'}
WAITING: Any = {
    'phase': 'Pending',
    'containerStatuses': [{'name': 'main', 'state': {'waiting': {'reason': 'ErrImagePull'}}}],
}


def pod(job_uid: str, version: int, *, uid: str = 'p-uid', **status: Any) -> pods.Pod:
    labels = {keys.JOBSET_UID: 'js-uid', pods.JOB_UID: job_uid}
    identity = {'name': uid, 'namespace': 'default', 'uid': uid, 'resourceVersion': str(version), 'labels': labels}
    manifest = {'metadata': identity, 'spec': {'nodeName': 'n1'}, 'status': status}
    return msgspec.json.decode(msgspec.json.encode(manifest), type=pods.Pod)


def seen(one: witness.Witness, job_uid: str = 'job') -> list[Cause]:
    return [death.cause for death in one.deaths(job_uid)]


@pytest.fixture
def one() -> witness.Witness:
    seen = bench.Bench().seen
    seen.witness.begin()
    return seen.witness


def test_a_pod_that_vanishes_is_remembered(one: witness.Witness) -> None:
    one._pods.cache.observe(pod('job', 1, **PREEMPTED))
    one._pods.cache._store.remove(pod('job', 2, **PREEMPTED).metadata)
    assert seen(one) == [Cause.DISRUPTION]
    assert len(one._pods.cache) == 0


def test_pods_that_are_well_are_not_held(one: witness.Witness) -> None:
    one._pods.cache.observe(pod('job', 1, phase='Running'))
    assert (len(one._pods.cache), seen(one)) == (0, [])


def test_a_pod_that_starts_after_all_is_forgiven(one: witness.Witness) -> None:
    one._pods.cache.observe(pod('job', 1, **WAITING))
    assert seen(one) == [Cause.START]
    one._pods.cache.observe(pod('job', 2, phase='Running'))
    assert seen(one) == []


def test_what_was_seen_is_forgotten_with_the_job(one: witness.Witness) -> None:
    one._pods.cache.observe(pod('job', 1, **PREEMPTED))
    one.forget('job')
    assert seen(one) == []


def test_memory_is_bounded(one: witness.Witness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(witness, '_JOBS_AT_MOST', 3)
    for number in range(5):
        one._pods.cache.observe(pod(f'job-{number}', number + 1, uid=f'p{number}', **PREEMPTED))
    assert [bool(seen(one, f'job-{number}')) for number in range(5)] == [False, False, True, True, True]


def test_of_one_job_the_last_pods_are_remembered(one: witness.Witness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(witness, '_PODS_AT_MOST', 3)
    for number in range(5):
        one._pods.cache.observe(pod('job', number + 1, uid=f'p{number}', **PREEMPTED))
    assert len(seen(one, 'job')) == 3


def asking(one: bench.Bench, **values: str) -> types.JobSet:
    one.apply(build.part('a'), failurePolicy={'maxRestarts': 0})
    one.server.change('jobsets', 'js', lambda obj: obj['metadata'].update(annotations=engine.asking(**values)))
    return one.look()


async def test_a_preempted_pod_that_is_gone_is_free() -> None:
    one = bench.Bench()
    asking(one, restart_budgets='disruption=free')
    await one.passes.handle(bench.KEY)
    job = one.server.get('jobs', 'js-a-0')
    assert job is not None
    one.seen.pods.cache.observe(pod(job['metadata']['uid'], 1, **PREEMPTED))
    one.seen.pods.cache._store.remove(pod(job['metadata']['uid'], 2).metadata)
    one.server.change('jobs', 'js-a-0', lambda obj: obj['status'].update(conditions=[build.failed()]))
    _look_at_jobs(one)

    await one.passes.handle(bench.KEY)

    status = one.stored()['status']
    assert (status['restarts'], status.get('terminalState')) == (1, None)
    charged = one.condition('RestartsCharged')
    assert charged is not None
    assert charged['message'] == 'disruption=1'


def _look_at_jobs(one: bench.Bench) -> None:
    for obj in one.server.view('jobs'):
        one.seen.jobs.observe(msgspec.json.decode(msgspec.json.encode(obj), type=one.seen.jobs._model))


async def test_pods_are_watched_only_where_a_set_asks() -> None:
    one = bench.Bench()
    one.apply(build.part('a'))
    await one.passes.handle(bench.KEY)
    assert not one.seen.pods.is_wanted

    asking_bench = bench.Bench()
    asking(asking_bench, archive_attempts='true')
    await asking_bench.passes.handle(bench.KEY)
    assert asking_bench.seen.pods.is_wanted


async def test_remains_are_saved_before_anything_is_deleted_or_written() -> None:
    """Failed pods leave their Job before it goes, and the archive has its entry before the attempt is over."""
    one = bench.Bench()
    asking(one, archive_attempts='true', keep_failed_attempts='1', restart_budgets='any=free')
    await one.passes.handle(bench.KEY)
    job = one.server.get('jobs', 'js-a-0')
    assert job is not None
    uid = job['metadata']['uid']
    labels = {keys.JOBSET_UID: one.stored()['metadata']['uid'], pods.JOB_UID: uid, keys.RESTART_ATTEMPT: '0'}
    metadata = {'name': 'p', 'labels': labels, 'finalizers': [pods.JOB_TRACKING, 'example.com/x']}
    one.server.create('pods', {'metadata': metadata, 'spec': {}, 'status': engine.exited(1)}, manager='kcm')
    one.server.change('jobs', 'js-a-0', lambda obj: obj['status'].update(conditions=[build.failed()]))
    _look_at_jobs(one)
    one.line.heard.clear()

    for _ in range(2):
        await one.passes.handle(bench.KEY)
        one.look()

    writes = [text for text in one.line.told() if not text.startswith('GET')]
    assert writes == [
        'POST configmaps js-attempts',
        'PUT jobsets js status',
        'PATCH pods p',
        'DELETE jobs js-a-0',
        'PUT jobsets js status',
    ]
    kept = one.server.get('pods', 'p')
    assert kept is not None
    assert kept['metadata']['finalizers'] == ['example.com/x']
