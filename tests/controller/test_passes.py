"""From the caches to the cluster: what a pass asks, decides, counts, and leaves alone."""

import asyncio
import logging
import threading
from typing import Any

import msgspec
import pytest

from jobset import re2
from jobset.api import jobs, keys
from jobset.controller import failing, passes
from jobset.core import plan
from jobset.kube import errors, workqueue
from tests.controller import bench, plane
from tests.core import build
from tests.kube import virtual

NEVER_TWICE = 60
"""Seconds that a test waits for something that must come; a defect, not slowness, makes it fail."""


def fail_job(one: bench.Bench, name: str, message: str = 'exit 7') -> None:
    """The Job controller finds that a Job has failed, and the cache hears of it."""
    condition = build.failed(reason='PodFailurePolicy', message=message)

    def change(obj: build.Manifest) -> None:
        obj['status'] = {'conditions': [condition]}

    one.server.change('jobs', name, change)
    see_jobs(one)


def complete(one: bench.Bench, name: str) -> None:
    one.server.change('jobs', name, lambda obj: obj.update(status={'conditions': [build.completed()]}))
    see_jobs(one)


def see_jobs(one: bench.Bench) -> None:
    for obj in one.server.view('jobs'):
        one.seen.jobs.observe(msgspec.json.decode(msgspec.json.encode(obj), type=jobs.Job))


def matching(*patterns: str) -> dict[str, Any]:
    rule = {'name': 'r', 'action': 'FailJobSet', 'onJobFailureMessagePatterns': list(patterns)}
    return {'maxRestarts': 3, 'rules': [rule]}


async def test_patterns_are_matched_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    one = bench.Bench()
    one.apply(build.part('a'), failurePolicy=matching('exit [0-9]'))
    await one.passes.handle(bench.KEY)
    fail_job(one, 'js-a-0')
    compile_, asked, may_go_on = re2.compile, threading.Event(), threading.Event()

    def slow(pattern: str) -> Any:
        asked.set()
        assert may_go_on.wait(NEVER_TWICE)
        return compile_(pattern)

    monkeypatch.setattr(re2, 'compile', slow)

    async def release() -> None:
        # Only a loop that is free gets here while the pattern is being matched.
        while not asked.is_set():
            await asyncio.sleep(0)
        may_go_on.set()

    async with asyncio.timeout(NEVER_TWICE):
        await asyncio.gather(one.passes.handle(bench.KEY), release())

    failed = one.condition('Failed')
    assert failed is not None
    assert failed['reason'] == 'FailJobSetFailurePolicyAction'


async def test_stored_bad_pattern_is_told_once_and_skipped() -> None:
    one = bench.Bench()
    one.apply(build.part('a'), failurePolicy=matching('(', 'never'))
    for attempt in range(3):
        await one.passes.handle(bench.KEY)
        fail_job(one, 'js-a-0', message=f'failure {attempt}')
        await one.passes.handle(bench.KEY)
        one.server.release('jobs', 'js-a-0')
        for job in list(one.seen.family(one.look()).jobs.values()):
            one.seen.jobs._store.remove(job.metadata)

    told = [event for event in one.events if event.reason == 'FailurePolicyPatternInvalid']
    assert len(told) == 1
    assert told[0].type == plan.EventType.WARNING
    assert told[0].note.startswith("failure policy pattern '(' is skipped: ")
    assert one.stored()['status']['restarts'] == 3


async def test_contradiction_stops_the_pass_with_log_and_metric_only(caplog: pytest.LogCaptureFixture) -> None:
    one = bench.Bench()
    jobset = one.apply(build.part('a', 2))
    one.add('jobs', 'js-a-0', owner=jobset.metadata.uid)
    one.server.change('jobs', 'js-a-0', lambda obj: obj['metadata'].update(labels={keys.RESTART_ATTEMPT: 'one'}))
    see_jobs(one)

    again = await one.passes.handle(bench.KEY)

    assert again is None
    assert one.line.heard == []
    assert one.events == []
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "default/js: Job js-a-0: label jobset.sigs.k8s.io/restart-attempt is 'one'" in record.getMessage()
    assert plane.sample(one.measured, 'controller_runtime_reconcile_errors_total', controller='jobset') == 1


async def test_pass_without_anything_to_do_sends_nothing() -> None:
    one = bench.Bench()
    one.apply(build.part('a'))
    await one.passes.handle(bench.KEY)
    first = len(one.line.heard)

    again = await one.passes.handle(bench.KEY)

    assert again is None
    assert len(one.line.heard) == first


@pytest.mark.parametrize(
    'error',
    [
        pytest.param(bench.server_error, id='500'),
        pytest.param(bench.conflict, id='409'),
        pytest.param(bench.too_many(2), id='429'),
        pytest.param(lambda where: errors.Unreachable('cut', where=where, sent=True), id='cut'),
    ],
)
@virtual.timed
async def test_row_39_failed_status_write_is_tried_again(error: Any) -> None:
    one = bench.Bench()
    queue = workqueue.WorkQueue[Any](on_error=lambda key, failure: failures.append(failure))
    failures: list[BaseException] = []
    one.apply(build.part('a'))
    one.line.refuse = bench.failing('PUT jobsets', error, times=1)
    queue.add(bench.KEY)
    asyncio.get_running_loop().call_later(30, queue.stop)

    await queue.run(one.passes.handle, workers=2)

    assert one.line.told() == ['POST jobs js-a-0', 'PUT jobsets js status', 'PUT jobsets js status']
    assert [type(failure) for failure in failures] == [failing.PassFailedError]
    counters = {'name': 'a', 'ready': 0, 'succeeded': 0, 'failed': 0, 'active': 0, 'suspended': 0}
    assert one.stored()['status'] == {'restarts': 0, 'replicatedJobsStatus': [counters]}


async def test_end_is_counted_once_it_is_stored() -> None:
    one = bench.Bench()
    one.apply(build.part('a'))
    await one.passes.handle(bench.KEY)
    complete(one, 'js-a-0')
    one.line.refuse = bench.failing('PUT jobsets', bench.server_error, times=1)
    ends = {'jobset_name': 'js', 'namespace': 'default'}

    with pytest.raises(failing.PassFailedError):
        await one.passes.handle(bench.KEY)
    before = plane.sample(one.measured, 'jobset_completed_total', **ends)
    for _ in range(2):
        await one.passes.handle(bench.KEY)

    assert before is None
    assert plane.sample(one.measured, 'jobset_completed_total', **ends) == 1
    assert [event.reason for event in one.events] == ['AllJobsCompleted']


async def test_label_values_of_a_deleted_jobset_go_with_it() -> None:
    one = bench.Bench()
    one.apply(build.part('a'))
    await one.passes.handle(bench.KEY)
    complete(one, 'js-a-0')
    await one.passes.handle(bench.KEY)
    held = one.seen.jobsets.get(*bench.KEY)
    assert held is not None

    one.seen.jobsets._store.remove(held.metadata)
    await one.passes.handle(bench.KEY)

    assert plane.sample(one.measured, 'jobset_completed_total', jobset_name='js', namespace='default') is None


async def test_trouble_makes_the_next_pass_careful() -> None:
    one = bench.Bench()
    one.apply(build.part('a', 30))
    one.line.refuse = bench.failing('POST jobs', bench.forbidden)
    one.failures = 1

    with pytest.raises(failing.PassFailedError):
        await one.passes.handle(bench.KEY)

    assert one.line.told() == ['POST jobs js-a-0']


async def test_clear_conflict_is_told_as_over() -> None:
    one = bench.Bench()
    one.apply(build.part('a'))
    one.add('jobs', 'js-a-0')
    with pytest.raises(failing.PassFailedError):
        await one.passes.handle(bench.KEY)
    one.server.release('jobs', 'js-a-0')

    # The condition goes once our own Job is there, not when the name was seen to be free.
    one.time.advance(one.time.seconds + passes.HOLD_CAP_SECONDS)
    await one.passes.handle(bench.KEY)
    await one.passes.handle(bench.KEY)

    found = one.condition('NameConflict')
    assert found is not None
    assert (found['status'], found['reason']) == ('False', 'NamesAreFree')


@pytest.mark.parametrize(
    ('error', 'traced'),
    [
        pytest.param(failing.PassFailedError([]), False, id='the server refused'),
        pytest.param(errors.NotLeading('no'), False, id='leadership lost'),
        pytest.param(KeyError('a'), True, id='a defect of ours'),
    ],
)
def test_only_our_own_defects_are_worth_a_trace(error: BaseException, traced: bool) -> None:
    assert passes.is_worth_a_trace(error) is traced


async def test_refused_creations_wait_whatever_else_changes() -> None:
    """A sibling that changes brings a pass, and must not bring the same refusal each time."""
    one = bench.Bench()
    one.apply(build.part('a'))
    one.line.refuse = bench.failing('POST jobs', bench.invalid)
    again: list[float | None] = []

    for pause in (0, 0.04, 0.04, 0.04, 0.1, 0.3):
        one.time.advance(one.time.seconds + pause)
        try:
            again.append(await one.passes.handle(bench.KEY))
        except failing.CreationFailedError:
            again.append(-1)

    # The first refusal holds for 0.1 s, the second for 0.3 s.
    assert [wait if wait is None else round(wait, 2) for wait in again] == [-1, 0.06, 0.02, -1, 0.2, -1]
    assert one.line.told().count('POST jobs js-a-0') == 3


async def test_held_creations_are_tried_at_once_after_an_outage() -> None:
    one = bench.Bench()
    one.apply(build.part('a'))
    one.line.refuse = bench.failing('POST jobs', lambda where: errors.Unreachable('refused', where=where, sent=False))
    with pytest.raises(failing.CreationFailedError) as failed:
        await one.passes.handle(bench.KEY)
    one.line.refuse = lambda request: None

    await one.passes.handle(bench.KEY)

    assert failed.value.is_outage
    assert one.line.told().count('POST jobs js-a-0') == 2
