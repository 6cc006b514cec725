"""Which Jobs to suspend, which to start again, and which failures do not count because of it."""

import pytest

from jobset.api import jobs, types
from jobset.core import plan, status, suspension
from tests.core import build

NOW = build.at(100)


def _suspended(holds: bool, seconds: float) -> tuple[types.Condition, ...]:
    reason, message = ('SuspendedJobs', 'jobset is suspended') if holds else ('ResumeJobs', 'jobset is resumed')
    return (build.condition('Suspended', holds=holds, reason=reason, message=message, seconds=seconds),)


def _failed(seconds: float | None, *, started: float | None = None, **fields: object) -> jobs.Job:
    more = {} if started is None else {'startTime': build.stamp(started)}
    return build.job('a-0', ended=build.failed(seconds), **more, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ('suspend', 'held', 'job', 'spared'),
    [
        pytest.param(True, (), _failed(50), True, id='seen while suspended'),
        pytest.param(False, (), _failed(50), False, id='never suspended'),
        pytest.param(False, _suspended(True, 40), _failed(50), True, id='seen before the resume is recorded'),
        pytest.param(False, _suspended(True, 40), _failed(30), True, id='failed in the moment before the suspension'),
        pytest.param(
            False,
            _suspended(True, 40),
            _failed(50, started=30),
            True,
            id='started before the suspension, not resumed yet',
        ),
        pytest.param(
            False,
            _suspended(True, 40),
            _failed(50, started=45),
            False,
            id='started by a resume in order that is still in progress',
        ),
        pytest.param(
            False, _suspended(True, 40), _failed(50, started=40), True, id='started in the second of the suspension'
        ),
        pytest.param(False, _suspended(False, 60), _failed(50), True, id='failed before the resume'),
        pytest.param(False, _suspended(False, 60), _failed(70), False, id='failed after the resume'),
        pytest.param(
            False, _suspended(False, 60), _failed(60), False, id='failed in the second of the resume and left alone'
        ),
        pytest.param(
            False,
            _suspended(False, 60),
            _failed(60, deleting=True),
            True,
            id='failed in the second of the resume and answered by deletion',
        ),
        pytest.param(
            False, _suspended(False, 60), _failed(70, deleting=True), False, id='deleted but failed after the resume'
        ),
        pytest.param(False, _suspended(False, 60), _failed(None), False, id='failed at no known time'),
    ],
)
def test_spared(suspend: bool, held: tuple[types.Condition, ...], job: jobs.Job, spared: bool) -> None:
    stored = types.Status(conditions=held)

    assert suspension.spared(build.jobset(build.part('a'), suspend=suspend), stored, job) is spared


@pytest.mark.parametrize(
    ('members', 'running'),
    [
        pytest.param((), (), id='no Jobs'),
        pytest.param((build.job('a-0', suspend=True),), (), id='suspended already'),
        pytest.param(
            (build.job('a-0'), build.job('a-1', suspend=True), build.job('a-2')),
            (build.ref('a-0'), build.ref('a-2')),
            id='those that run',
        ),
        pytest.param((build.job('a-0', ended=build.completed()),), (), id='finished Jobs are left alone'),
        pytest.param(
            (build.job('a-0', ended=build.failed()), build.job('a-1')), (build.ref('a-1'),), id='failed Jobs, too'
        ),
    ],
)
def test_to_suspend(members: tuple[jobs.Job, ...], running: tuple[plan.JobRef, ...]) -> None:
    assert suspension.to_suspend(build.relatives(*members).current(0)) == running


def test_suspend_ends_a_restart() -> None:
    restarting = build.condition('RestartingJobSet', holds=True, reason='DefaultFailurePolicy', message='m')
    draft = status.Draft(types.Status(conditions=(restarting,)), NOW)

    suspension.suspend(draft)

    assert draft.current.conditions == (
        build.condition(
            'RestartingJobSet', holds=False, reason='JobSetSuspended', message='jobset is suspended', seconds=100
        ),
        *_suspended(True, 100),
    )
    assert [event.reason for event in draft.events] == ['SuspendedJobs', 'JobSetSuspended']


IN_ORDER = {'startupPolicyOrder': 'InOrder'}
RESUMED = _suspended(False, 100)
IN_PROGRESS = (
    build.condition(
        'StartupPolicyInProgress',
        holds=True,
        reason='InOrderStartupPolicyInProgress',
        message='in order startup policy is in progress',
        seconds=100,
    ),
)
A_IDLE, B_IDLE = build.job('a-0', suspend=True), build.job('b-0', suspend=True)
A_READY = build.job('a-0', active=1, ready=1)
ON_A = [build.needs('a', 'Ready')]


@pytest.mark.parametrize(
    ('order', 'depends_on', 'members', 'resumed', 'conditions'),
    [
        pytest.param(None, [], (A_IDLE, B_IDLE), ('a-0', 'b-0'), RESUMED, id='all at once'),
        pytest.param(None, [], (A_READY, B_IDLE), ('b-0',), RESUMED, id='those that are suspended'),
        pytest.param(None, [], (A_READY,), (), RESUMED, id='nothing to start still records the resume'),
        pytest.param(None, ON_A, (A_IDLE, B_IDLE), ('a-0',), RESUMED, id='a dependency holds its dependants back'),
        pytest.param(None, ON_A, (A_READY, B_IDLE), ('b-0',), RESUMED, id='a met dependency lets them go'),
        pytest.param(
            IN_ORDER,
            [],
            (A_IDLE, B_IDLE),
            ('a-0',),
            (*_suspended(True, 5), *IN_PROGRESS),
            id='in order the first one alone, and the set is not resumed yet',
        ),
        pytest.param(
            IN_ORDER,
            [],
            (A_READY, B_IDLE),
            ('b-0',),
            (*_suspended(True, 5), *IN_PROGRESS),
            id='in order the next one when the one before is ready',
        ),
        pytest.param(
            IN_ORDER,
            [],
            (A_READY, build.job('b-0', active=1, ready=1)),
            (),
            RESUMED,
            id='in order the set is resumed when all have started',
        ),
        pytest.param(
            IN_ORDER,
            [],
            (build.job('a-0', suspend=True, parallelism=0), build.job('b-0', active=1, ready=1)),
            ('a-0',),
            RESUMED,
            id='in order a Job without parallelism, which counts as ready at once, is started all the same',
        ),
        pytest.param(
            None,
            [],
            (build.job('a-0', suspend=True, ended=build.failed()), B_IDLE),
            ('b-0',),
            RESUMED,
            id='a failed Job is not started',
        ),
    ],
)
def test_resume(
    order: build.Manifest | None,
    depends_on: list[build.Manifest],
    members: tuple[jobs.Job, ...],
    resumed: tuple[str, ...],
    conditions: tuple[types.Condition, ...],
) -> None:
    jobset = build.jobset(build.part('a'), build.part('b', dependsOn=depends_on), startupPolicy=order)
    draft = status.Draft(types.Status(conditions=_suspended(True, 5)), NOW)

    found = suspension.resume(draft, jobset, build.relatives(*members).current(0))

    assert tuple(resumption.job for resumption in found) == tuple(build.ref(child) for child in resumed)
    assert draft.current.conditions == conditions


def test_each_replicated_job_is_resumed_with_its_own_template() -> None:
    jobset = build.jobset(build.part('a'), build.part('b'))
    started = build.job('b-0', suspend=True, startTime=build.stamp(1))
    draft = status.Draft(types.Status(), NOW)

    found = suspension.resume(draft, jobset, build.relatives(A_IDLE, started).current(0))

    a, b = jobset.spec.replicated_jobs
    assert found == (
        plan.Resumption(build.ref('a-0'), a, clear_start_time=False),
        plan.Resumption(build.ref('b-0'), b, clear_start_time=True),
    )
    # The set was never suspended as far as its status knows, so it is not told to be resumed.
    assert draft.changed is None
