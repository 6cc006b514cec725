"""One pass over one JobSet: starting in order, suspending and resuming, plan by plan."""

import pytest

from jobset.api import jobs, types
from jobset.core import children, plan, reconcile
from tests.core import build

NOW = build.at(100)
A_0, B_0 = children.Child('js-a-0', 0, 0), children.Child('js-b-0', 1, 0)


def _pass(jobset: types.JobSet, *members: jobs.Job) -> plan.Plan:
    return reconcile.reconcile(build.facts(jobset, *members), NOW)


def _status(*counted: types.ReplicatedJobStatus, conditions: tuple[types.Condition, ...] = ()) -> types.Status:
    return types.Status(replicated_jobs_status=counted, conditions=conditions)


def _condition(kind: str, holds: bool, reason: str, message: str, seconds: float = 100) -> types.Condition:
    return build.condition(kind, holds=holds, reason=reason, message=message, seconds=seconds)


def _earlier(condition: types.Condition, *, holds: bool = True, seconds: float = 5) -> types.Condition:
    return _condition(condition.type, holds, condition.reason, condition.message, seconds)


def _told(condition: types.Condition) -> plan.Event:
    return plan.Event(plan.EventType.NORMAL, condition.reason, condition.message)


SUSPENDED = _condition('Suspended', True, 'SuspendedJobs', 'jobset is suspended')
RESUMED = _condition('Suspended', False, 'ResumeJobs', 'jobset is resumed')
IN_PROGRESS = _condition(
    'StartupPolicyInProgress', True, 'InOrderStartupPolicyInProgress', 'in order startup policy is in progress'
)
STARTED = _condition(
    'StartupPolicyCompleted', True, 'InOrderStartupPolicyCompleted', 'in order startup policy has completed'
)


# Order of starting.

ON_A = [build.needs('a', 'Ready')]
A_READY, B_READY = build.job('a-0', ready=1, active=1), build.job('b-0', ready=1, active=1)


@pytest.mark.parametrize(
    ('members', 'created'),
    [
        pytest.param((), (A_0,), id='first what depends on nothing'),
        pytest.param((build.job('a-0', active=1),), (), id='nothing while it is not ready'),
        pytest.param((A_READY,), (B_0,), id='then what depends on it'),
        pytest.param((build.job('a-0', active=1), B_READY), (), id='what was made stays when its dependency regresses'),
    ],
)
def test_depends_on(members: tuple[jobs.Job, ...], created: tuple[children.Child, ...]) -> None:
    found = _pass(build.jobset(build.part('a'), build.part('b', dependsOn=ON_A)), *members)

    assert (found.create, found.delete) == (created, ())


def test_a_suspended_set_makes_only_what_depends_on_nothing() -> None:
    found = _pass(build.jobset(build.part('a'), build.part('b', dependsOn=ON_A), suspend=True))

    assert found.create == (A_0,)


def test_later_replicated_jobs_are_looked_at_when_one_waits() -> None:
    jobset = build.jobset(
        build.part('a'),
        build.part('b', dependsOn=[build.needs('a', 'Complete')]),
        build.part('c'),
    )

    assert _pass(jobset).create == (A_0, children.Child('js-c-0', 2, 0))


IN_ORDER = {'startupPolicyOrder': 'InOrder'}


@pytest.mark.parametrize(
    ('members', 'stored', 'created', 'conditions'),
    [
        pytest.param((), (), (A_0,), (IN_PROGRESS,), id='the first one'),
        pytest.param((build.job('a-0', active=1),), (), (), (IN_PROGRESS,), id='nothing while it is not ready'),
        pytest.param((A_READY,), (), (B_0,), (IN_PROGRESS,), id='the next one'),
        pytest.param((A_READY, B_READY), (), (), (STARTED,), id='all have started'),
        pytest.param(
            (A_READY, B_READY),
            (_earlier(IN_PROGRESS),),
            (),
            (_earlier(IN_PROGRESS, holds=False), STARTED),
            id='all have started after some progress',
        ),
        pytest.param(
            (build.job('a-0', active=1), B_READY),
            (_earlier(IN_PROGRESS, holds=False), _earlier(STARTED)),
            (),
            (IN_PROGRESS, _earlier(STARTED, holds=False)),
            id='one is ready no longer',
        ),
    ],
)
def test_in_order(
    members: tuple[jobs.Job, ...],
    stored: tuple[types.Condition, ...],
    created: tuple[children.Child, ...],
    conditions: tuple[types.Condition, ...],
) -> None:
    jobset = build.jobset(
        build.part('a'), build.part('b'), startupPolicy=IN_ORDER, status=types.Status(conditions=stored)
    )

    found = _pass(jobset, *members)

    assert found.create == created
    assert found.status is not None
    assert found.status.conditions == conditions


def test_a_suspended_set_makes_all_at_once_even_in_order() -> None:
    found = _pass(build.jobset(build.part('a'), build.part('b'), startupPolicy=IN_ORDER, suspend=True))

    assert found.create == (A_0, B_0)
    assert found.status is not None
    assert found.status.conditions == (SUSPENDED,)


# Suspending and resuming.


def test_suspending_stops_what_runs() -> None:
    jobset = build.jobset(build.part('a', 2), suspend=True, status=_status(build.counters('a', active=1, suspended=1)))

    assert _pass(jobset, build.job('a-0', active=1), build.job('a-1', suspend=True)) == plan.Plan(
        suspend=(build.ref('a-0'),),
        status=_status(build.counters('a', active=1, suspended=1), conditions=(SUSPENDED,)),
        events=(_told(SUSPENDED),),
    )


def test_resuming_starts_what_is_suspended() -> None:
    stored = _status(build.counters('a', suspended=1), conditions=(_earlier(SUSPENDED),))
    jobset = build.jobset(build.part('a'), status=stored)

    assert _pass(jobset, build.job('a-0', suspend=True)) == plan.Plan(
        resume=(plan.Resumption(build.ref('a-0'), jobset.spec.replicated_jobs[0], clear_start_time=False),),
        status=_status(build.counters('a', suspended=1), conditions=(RESUMED,)),
        events=(_told(RESUMED),),
    )


@pytest.mark.parametrize(
    ('suspend', 'job', 'expected'),
    [
        pytest.param(
            False,
            build.job('a-0', suspend=True),
            ((), (build.ref('a-0'),)),
            id='a Job that others suspended is started',
        ),
        pytest.param(True, build.job('a-0'), ((build.ref('a-0'),), ()), id='a Job that others started is suspended'),
    ],
)
def test_jobs_follow_the_set(suspend: bool, job: jobs.Job, expected: tuple[tuple[plan.JobRef, ...], ...]) -> None:
    found = _pass(build.jobset(build.part('a'), suspend=suspend), job)

    assert (found.suspend, tuple(resumption.job for resumption in found.resume)) == expected


FAILED_WHILE_SUSPENDED = build.job('a-0', ended=build.failed(50))


def test_a_failure_seen_while_suspended_fails_nothing() -> None:
    jobset = build.jobset(build.part('a'), suspend=True, status=_status(build.counters('a')))

    assert _pass(jobset, FAILED_WHILE_SUSPENDED) == plan.Plan(
        status=_status(build.counters('a', failed=1), conditions=(SUSPENDED,)), events=(_told(SUSPENDED),)
    )


def test_its_job_is_deleted_at_resume() -> None:
    stored = _status(build.counters('a', failed=1), conditions=(_earlier(SUSPENDED, seconds=60),))

    assert _pass(build.jobset(build.part('a'), status=stored), FAILED_WHILE_SUSPENDED) == plan.Plan(
        delete=(build.ref('a-0'),),
        status=_status(build.counters('a', failed=1), conditions=(RESUMED,)),
        events=(_told(RESUMED),),
    )


def test_and_made_anew_once_it_is_gone() -> None:
    stored = _status(build.counters('a', failed=1), conditions=(_earlier(RESUMED, holds=False, seconds=60),))
    jobset = build.jobset(build.part('a'), status=stored)

    going = build.job('a-0', ended=build.failed(50), deleting=True)

    assert _pass(jobset, going) == plan.Plan()
    assert _pass(jobset) == plan.Plan(create=(A_0,), status=_status(build.counters('a'), conditions=stored.conditions))


def test_deletions_stand_in_the_order_of_observation() -> None:
    stored = _status(build.counters('a', failed=9), conditions=(_earlier(SUSPENDED, seconds=60),))
    members = [build.job(f'a-{i}', ended=build.failed(50)) for i in range(9)]

    found = _pass(build.jobset(build.part('a', 9), status=stored), *members)

    assert found.delete == tuple(build.ref(f'a-{i}') for i in range(9))


def test_a_failure_during_a_resume_in_order_counts() -> None:
    stored = _status(build.counters('b', suspended=1), build.counters('a'), conditions=(_earlier(SUSPENDED),))
    jobset = build.jobset(
        build.part('a'),
        build.part('b'),
        startupPolicy=IN_ORDER,
        failurePolicy={'maxRestarts': 1},
        status=stored,
    )
    members = (
        build.job('a-0', startTime=build.stamp(50), ended=build.failed(60)),
        build.job('b-0', suspend=True),
    )

    found = _pass(jobset, *members)

    assert found.status is not None
    assert (found.status.restarts, found.delete, found.resume) == (1, (), ())
