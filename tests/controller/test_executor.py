"""What the executor writes, in which order, and what each refusal means to it."""

import asyncio
import contextlib
from collections.abc import Callable

import msgspec
import pytest

from jobset.api import types
from jobset.controller import failing, fanout
from jobset.core import children, plan
from jobset.kube import errors, workqueue
from tests.controller import bench
from tests.core import build

SECONDS = 10
"""More than anything here takes."""

A0 = children.Child('js-a-0', 0, 0)
EVENT = plan.Event(plan.EventType.NORMAL, 'Told', 'a story')
STATUS = types.Status(restarts=1)


def some(count: int) -> tuple[children.Child, ...]:
    return tuple(children.Child(f'js-a-{index}', 0, index) for index in range(count))


def named(name: str) -> plan.Object:
    return plan.Object(name, {'metadata': {'name': name}, 'spec': {}})


async def carry_out(one: bench.Bench, jobset: types.JobSet, wanted: plan.Plan, *, careful: bool = False) -> None:
    await one.executor.carry_out(jobset, wanted, one.time.now(), careful=careful)


def job(one: bench.Bench, name: str) -> build.Manifest:
    found = one.server.get('jobs', name)
    assert found is not None
    return found


def everything(one: bench.Bench, jobset: types.JobSet) -> plan.Plan:
    """A plan in which nothing is missing, about Jobs that the server has."""
    old, sized, running, waiting = (
        plan.JobRef(name, one.add('jobs', name, owner=jobset.metadata.uid))
        for name in ('old', 'sized', 'running', 'waiting')
    )
    return plan.Plan(
        delete=(old,),
        service=named('js'),
        claims=(named('data-js'),),
        scale=(plan.Scaling(sized, 3),),
        create=(A0,),
        suspend=(running,),
        resume=(plan.Resumption(waiting, jobset.spec.replicated_jobs[0], clear_start_time=False),),
        status=STATUS,
        events=(EVENT,),
        delete_jobset=True,
    )


async def test_everything_is_written_in_the_order_of_the_plan() -> None:
    one = bench.Bench()
    jobset = one.apply(build.part('a'))

    await carry_out(one, jobset, everything(one, jobset))

    assert one.line.told() == [
        'DELETE jobs old',
        'POST services js',
        'POST persistentvolumeclaims data-js',
        'PATCH jobs sized',
        'POST jobs js-a-0',
        'PATCH jobs running',
        'GET jobs waiting',
        'PATCH jobs waiting',
        'PUT jobsets js status',
        'DELETE jobsets js',
    ]
    assert one.events == [EVENT]
    assert one.when == [one.line.told().index('PUT jobsets js status') + 1]
    assert one.stored()['status']['restarts'] == 1
    assert job(one, 'sized')['spec']['parallelism'] == job(one, 'sized')['spec']['completions'] == 3


@pytest.mark.parametrize(
    ('refused', 'last'),
    [
        pytest.param('DELETE jobs old', 'DELETE jobs old', id='a deletion'),
        pytest.param('POST services', 'POST services js', id='the Service'),
        pytest.param('POST persistentvolumeclaims', 'POST persistentvolumeclaims data-js', id='a claim'),
        pytest.param('POST jobs', 'POST jobs js-a-0', id='a Job'),
        pytest.param('PATCH jobs sized', 'PATCH jobs sized', id='a scaling'),
        pytest.param('PATCH jobs running', 'PATCH jobs running', id='a suspension'),
        pytest.param('GET jobs waiting', 'GET jobs waiting', id='the look at a Job to be resumed'),
        pytest.param('PATCH jobs waiting', 'PATCH jobs waiting', id='a resumption'),
        pytest.param('PUT jobsets', 'PUT jobsets js status', id='the status itself'),
    ],
)
async def test_failure_ends_the_pass_with_status_and_story_unwritten(refused: str, last: str) -> None:
    one = bench.Bench()
    jobset = one.apply(build.part('a'))
    wanted = everything(one, jobset)
    one.line.refuse = bench.failing(refused, bench.server_error)

    with pytest.raises(failing.PassFailedError, match='500 InternalError: etcd is away'):
        await carry_out(one, jobset, wanted)

    assert one.line.told()[-1] == last
    assert 'restarts' not in one.stored().get('status', {})
    assert EVENT not in one.events


async def test_conflict_does_not_prove_that_a_job_is_gone() -> None:
    one = bench.Bench()
    jobset = one.apply(build.part('a'))
    old = plan.JobRef('old', one.add('jobs', 'old', owner=jobset.metadata.uid))
    one.line.refuse = bench.failing('DELETE jobs', bench.conflict)

    with pytest.raises(failing.PassFailedError, match='409 Conflict'):
        await carry_out(one, jobset, plan.Plan(delete=(old,)))


async def test_all_deletions_are_tried_and_what_failed_is_told_together() -> None:
    one = bench.Bench()
    jobset = one.apply(build.part('a'))
    refs = tuple(plan.JobRef(f'j-{i}', one.add('jobs', f'j-{i}', owner=jobset.metadata.uid)) for i in range(4))
    one.line.refuse = lambda request: (
        bench.server_error(str(request)) if bench.summary(request) in {'DELETE jobs j-0', 'DELETE jobs j-2'} else None
    )

    with pytest.raises(failing.PassFailedError) as failed:
        await carry_out(one, jobset, plan.Plan(delete=refs, status=STATUS))

    assert str(failed.value).count('etcd is away') == 2
    deleted = [obj['metadata']['name'] for obj in one.server.view('jobs') if 'deletionTimestamp' in obj['metadata']]
    assert deleted == ['j-1', 'j-3']


@pytest.mark.parametrize(
    'write',
    [
        pytest.param(lambda ref: plan.Plan(delete=(ref,)), id='deletion'),
        pytest.param(lambda ref: plan.Plan(suspend=(ref,)), id='suspension'),
        pytest.param(
            lambda ref: plan.Plan(
                resume=(
                    plan.Resumption(ref, build.jobset(build.part('a')).spec.replicated_jobs[0], clear_start_time=False),
                )
            ),
            id='resumption',
        ),
        pytest.param(
            lambda ref: plan.Plan(
                resume=(
                    plan.Resumption(ref, build.jobset(build.part('a')).spec.replicated_jobs[0], clear_start_time=True),
                )
            ),
            id='resumption of one that had started',
        ),
    ],
)
async def test_job_that_took_the_name_since_is_left_alone(write: Callable[[plan.JobRef], plan.Plan]) -> None:
    one = bench.Bench()
    jobset = one.apply(build.part('a'))
    one.add('jobs', 'js-a-0', status={'startTime': '2026-01-01T00:00:00Z'})
    before = job(one, 'js-a-0')

    # A refused patch may fail the pass: the next one decides from newer facts. What counts is that nothing is touched.
    with contextlib.suppress(failing.PassFailedError):
        await carry_out(one, jobset, write(plan.JobRef('js-a-0', 'uid-of-the-one-before')))

    assert job(one, 'js-a-0') == before


async def test_what_is_gone_already_needs_no_writing() -> None:
    one = bench.Bench()
    jobset = one.apply(build.part('a'))
    gone = plan.JobRef('gone', 'uid-gone')
    resume = plan.Resumption(gone, jobset.spec.replicated_jobs[0], clear_start_time=False)

    await carry_out(one, jobset, plan.Plan(delete=(gone,), suspend=(gone,), resume=(resume,), status=STATUS))

    assert one.stored()['status']['restarts'] == 1


async def test_careful_pass_ends_at_the_first_claim_that_is_refused() -> None:
    one = bench.Bench()
    jobset = one.apply(build.part('a'))
    one.line.refuse = bench.failing('POST persistentvolumeclaims', bench.forbidden)

    with pytest.raises(failing.PassFailedError):
        await carry_out(one, jobset, plan.Plan(claims=(named('a-js'), named('b-js'))), careful=True)

    assert one.line.told() == ['POST persistentvolumeclaims a-js']


async def test_row_93_refused_template_is_told_with_the_words_of_the_server() -> None:
    one = bench.Bench()
    jobset = one.apply(build.part('a', 2))
    one.line.refuse = bench.failing('POST jobs', bench.invalid)

    with pytest.raises(failing.PassFailedError, match=r'422 Invalid: spec\.completions: Required value'):
        await carry_out(one, jobset, plan.Plan(create=some(2), status=STATUS))

    (event,) = one.events
    assert (event.type, event.reason) == (plan.EventType.WARNING, 'JobCreationFailed')
    assert event.note.startswith('job "js-a-0" creation failed with error: spec.completions: Required value')
    assert 'status' not in one.stored()


async def test_careful_pass_tries_one_creation_and_stops_at_its_failure() -> None:
    one = bench.Bench()
    jobset = one.apply(build.part('a', 500))
    one.line.refuse = bench.failing('POST jobs', bench.forbidden)

    with pytest.raises(failing.PassFailedError, match='exceeded quota'):
        await carry_out(one, jobset, plan.Plan(create=some(500)), careful=True)

    assert one.line.told() == ['POST jobs js-a-0']


async def test_careful_pass_makes_all_when_all_goes_well() -> None:
    one = bench.Bench()
    jobset = one.apply(build.part('a', 70))

    await carry_out(one, jobset, plan.Plan(create=some(70)), careful=True)

    assert one.line.told()[0] == 'POST jobs js-a-0'
    assert sorted(one.names('jobs')) == sorted(child.name for child in some(70))


async def test_first_pass_sends_few_requests_into_a_wall() -> None:
    one = bench.Bench()
    jobset = one.apply(build.part('a', 500))
    one.line.refuse = bench.failing('POST jobs', bench.invalid)

    with pytest.raises(failing.PassFailedError):
        await carry_out(one, jobset, plan.Plan(create=some(500)))

    assert one.line.told() == ['POST jobs js-a-0']


async def test_longest_wait_that_the_server_asked_for_is_kept() -> None:
    one = bench.Bench()
    jobset = one.apply(build.part('a'))
    refs = tuple(plan.JobRef(f'j-{i}', one.add('jobs', f'j-{i}', owner=jobset.metadata.uid)) for i in range(3))
    waits = iter((2.0, 30.0, 5.0))
    one.line.refuse = lambda request: bench.too_many(next(waits))(str(request))

    with pytest.raises(failing.PassFailedError) as failed:
        await carry_out(one, jobset, plan.Plan(delete=refs))

    assert failed.value.retry_after == 30


async def test_status_is_not_written_over_a_newer_one() -> None:
    one = bench.Bench()
    jobset = one.apply(build.part('a'))
    one.server.change('jobsets', 'js', lambda obj: obj['metadata'].update(labels={'new': 'yes'}))

    with pytest.raises(failing.PassFailedError, match='409 Conflict'):
        await carry_out(one, jobset, plan.Plan(status=STATUS, events=(EVENT,)))

    assert 'status' not in one.stored()
    assert one.events == []


async def test_status_is_not_written_to_a_jobset_that_took_the_name_since() -> None:
    one = bench.Bench()
    jobset = one.apply(build.part('a'))
    one.server.release('jobsets', 'js')
    one.server.create('jobsets', {'metadata': {'name': 'js'}, 'spec': {}}, manager='user')

    with pytest.raises(failing.PassFailedError, match='409 Conflict'):
        await carry_out(one, jobset, plan.Plan(status=STATUS))

    assert 'status' not in one.stored()


async def test_answer_to_the_status_write_is_in_the_cache_at_once() -> None:
    one = bench.Bench()
    jobset = one.apply(build.part('a'))

    await carry_out(one, jobset, plan.Plan(status=STATUS))

    held = one.seen.jobsets.get('default', 'js')
    assert held is not None
    assert held.status.restarts == 1
    assert held.metadata.resource_version == one.stored()['metadata']['resourceVersion']


@pytest.mark.parametrize('reached', range(9))
async def test_lost_leadership_stops_everything(reached: int) -> None:
    left = [reached]

    def guard() -> None:
        if left[0] == 0:
            raise errors.NotLeading('another replica leads')
        left[0] -= 1

    one = bench.Bench(guard=guard)
    jobset = one.apply(build.part('a'))
    wanted = everything(one, jobset)

    with pytest.raises(errors.NotLeading):
        await carry_out(one, jobset, wanted)

    writes = [request for request in one.line.heard if request.is_write]
    assert len(writes) == reached
    assert (EVENT in one.events) == (reached == 8)


async def test_lost_leadership_stops_all_that_runs_side_by_side() -> None:
    left = [100]

    def guard() -> None:
        left[0] -= 1
        if left[0] < 0:
            raise errors.NotLeading('another replica leads')

    one = bench.Bench(guard=guard)
    jobset = one.apply(build.part('a', 400))

    with pytest.raises(errors.NotLeading):
        await carry_out(one, jobset, plan.Plan(create=some(400), status=STATUS))

    assert len(one.line.heard) == 100
    assert one.events == []


async def test_failing_service_keeps_jobs_from_being_made() -> None:
    one = bench.Bench()
    jobset = one.apply(build.part('a'))
    one.line.refuse = bench.failing('POST services', bench.forbidden)

    with pytest.raises(failing.PassFailedError):
        await carry_out(one, jobset, plan.Plan(service=named('js'), claims=(named('data-js'),), create=(A0,)))

    assert one.line.told() == ['POST services js']
    assert one.events == [
        plan.Event(plan.EventType.WARNING, 'HeadlessServiceCreationFailed', 'exceeded quota: count/jobs.batch')
    ]


async def test_service_that_was_not_seen_is_left_to_the_next_pass() -> None:
    one = bench.Bench()
    jobset = one.apply(build.part('a'))
    one.add('services', 'js')

    await carry_out(one, jobset, plan.Plan(service=named('js'), create=(A0,)))

    assert one.line.told() == ['POST services js', 'POST jobs js-a-0']


async def test_claims_go_on_after_a_failure_and_jobs_do_not() -> None:
    one = bench.Bench()
    jobset = one.apply(build.part('a'))
    one.add('persistentvolumeclaims', 'there-js')
    one.line.refuse = bench.failing('POST persistentvolumeclaims bad-js', bench.invalid)
    wanted = plan.Plan(claims=(named('bad-js'), named('there-js'), named('good-js')), create=(A0,), status=STATUS)

    with pytest.raises(failing.PassFailedError):
        await carry_out(one, jobset, wanted)

    assert one.line.told() == [f'POST persistentvolumeclaims {name}-js' for name in ('bad', 'there', 'good')]
    assert one.names('persistentvolumeclaims') == ['good-js', 'there-js']
    assert one.events == [plan.Event(plan.EventType.WARNING, 'PVCCreationFailed', 'spec.completions: Required value')]


async def test_jobset_that_changed_its_uid_is_not_deleted() -> None:
    one = bench.Bench()
    jobset = one.apply(build.part('a'))
    one.server.release('jobsets', 'js')
    one.server.create('jobsets', {'metadata': {'name': 'js'}, 'spec': {}}, manager='user')

    with pytest.raises(failing.PassFailedError, match='409 Conflict'):
        await carry_out(one, jobset, plan.Plan(delete_jobset=True))

    assert 'deletionTimestamp' not in one.stored()['metadata']


async def test_deletions_are_in_the_foreground_and_name_the_uid() -> None:
    one = bench.Bench()
    jobset = one.apply(build.part('a'))
    old = plan.JobRef('old', one.add('jobs', 'old', owner=jobset.metadata.uid))

    await carry_out(one, jobset, plan.Plan(delete=(old,), delete_jobset=True))

    bodies = [msgspec.json.decode(request.body or b'') for request in one.line.heard]
    assert [(body['propagationPolicy'], body['preconditions']) for body in bodies] == [
        ('Foreground', {'uid': old.uid}),
        ('Foreground', {'uid': jobset.metadata.uid}),
    ]


@pytest.mark.parametrize('ticks', range(6))
async def test_an_end_at_the_moment_of_the_loss_is_an_end(ticks: int) -> None:
    """Whoever sees the loss of the leadership ends all work; that the next writes are refused must not undo it."""
    lost = asyncio.Event()

    async def write(_: int) -> None:
        await lost.wait()
        for _ in range(ticks):
            await asyncio.sleep(0)
        raise errors.NotLeading('lost')

    queue: workqueue.WorkQueue[str] = workqueue.WorkQueue()

    async def handle(_: str) -> None:
        lost.set()
        await fanout.fan_out((1, 2, 3), write, give_up=True)

    queue.add('js')
    work = asyncio.create_task(queue.run(handle, workers=1))
    await lost.wait()
    work.cancel()
    done, _ = await asyncio.wait({work}, timeout=SECONDS)

    assert [task.cancelled() for task in done] == [True]
