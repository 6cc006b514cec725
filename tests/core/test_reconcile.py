"""One pass over one JobSet: the order of operations, plan by plan."""

import dataclasses

import pytest

from jobset.api import jobs, keys, types
from jobset.core import children, failure, family, network, plan, reconcile, volumes
from tests.core import build

NOW = build.at(100)
NORMAL, WARNING = plan.EventType.NORMAL, plan.EventType.WARNING
A_0, A_1, B_0 = children.Child('js-a-0', 0, 0), children.Child('js-a-1', 0, 1), children.Child('js-b-0', 1, 0)


def _pass(jobset: types.JobSet, *members: jobs.Job, **facts: object) -> plan.Plan:
    return reconcile.reconcile(dataclasses.replace(build.facts(jobset, *members), **facts), NOW)  # type: ignore[arg-type]


def _status(*counted: types.ReplicatedJobStatus, **fields: object) -> types.Status:
    return types.Status(replicated_jobs_status=counted, **fields)  # type: ignore[arg-type]


def _condition(kind: str, holds: bool, reason: str, message: str, seconds: float = 100) -> types.Condition:
    return build.condition(kind, holds=holds, reason=reason, message=message, seconds=seconds)


COMPLETED = _condition('Completed', True, 'AllJobsCompleted', 'jobset completed successfully')
SUSPENDED = _condition('Suspended', True, 'SuspendedJobs', 'jobset is suspended')
READY = _condition('RestartingJobSet', False, 'JobsReady', 'all jobs are ready')


def _earlier(condition: types.Condition, *, holds: bool = True, seconds: float = 5) -> types.Condition:
    return _condition(condition.type, holds, condition.reason, condition.message, seconds)


def _restarting(job: str = 'js-a-0', seconds: float = 100) -> types.Condition:
    text = f'applying RestartJobSet failure policy action (first failed job: {job})'
    return _condition('RestartingJobSet', True, 'DefaultFailurePolicy', text, seconds)


def _told(condition: types.Condition, event_type: plan.EventType = NORMAL) -> plan.Event:
    return plan.Event(event_type, condition.reason, condition.message)


def _restart_told(job: str = 'js-a-0') -> tuple[plan.Event, plan.Event]:
    text = _restarting(job).message
    return (
        plan.Event(WARNING, 'DefaultFailurePolicy', text),
        plan.Event(WARNING, 'RestartJobSetFailurePolicyAction', text),
    )


# What ends a pass before it begins.


@pytest.mark.parametrize('managed_by', [None, keys.CONTROLLER_NAME, 'example.com/other'])
def test_a_set_that_is_being_deleted_gets_nothing(managed_by: str | None) -> None:
    jobset = build.jobset(
        build.part('a'),
        metadata={'deletionTimestamp': build.stamp(90)},
        managedBy=managed_by,
        ttlSecondsAfterFinished=0,
        network={'enableDNSHostnames': True},
        status=types.Status(conditions=(_earlier(COMPLETED),)),
    )

    assert _pass(jobset, build.job('a-0', attempt='x')) == plan.Plan()


@pytest.mark.parametrize(
    ('ttl', 'ended', 'expected'),
    [
        pytest.param(None, True, plan.Plan(), id='it is not touched'),
        pytest.param(30, False, plan.Plan(), id='not before its end'),
        pytest.param(30, True, plan.Plan(delete_jobset=True), id='but its time to live counts'),
        pytest.param(300, True, plan.Plan(again_after_seconds=205.0), id='and is waited for'),
    ],
)
def test_a_set_that_somebody_else_manages(ttl: int | None, ended: bool, expected: plan.Plan) -> None:
    spec: build.Manifest = {} if ttl is None else {'ttlSecondsAfterFinished': ttl}
    jobset = build.jobset(
        build.part('a'),
        managedBy='example.com/other',
        status=types.Status(conditions=(_earlier(COMPLETED),) if ended else ()),
        **spec,
    )

    assert _pass(jobset, build.job('a-0', ended=build.failed())) == expected


def test_a_set_that_says_we_manage_it_is_ours() -> None:
    assert _pass(build.jobset(build.part('a'), managedBy=keys.CONTROLLER_NAME)).create == (A_0,)


@pytest.mark.parametrize('label', ['', 'one', '1.5'])
def test_a_malformed_label_stops_the_pass(label: str) -> None:
    jobset = build.jobset(build.part('a', 2), status=types.Status(conditions=(_earlier(COMPLETED),)))

    with pytest.raises(plan.PassStoppedError, match=f"^Job js-a-0: label {keys.RESTART_ATTEMPT} is '{label}'"):
        _pass(jobset, build.job('a-0', attempt=label), build.job('a-1'))


# A running set.


def test_a_fresh_set_gets_its_jobs_and_zero_counters() -> None:
    jobset = build.jobset(build.part('a', 1), build.part('b', 1))

    assert _pass(jobset) == plan.Plan(create=(A_0, B_0), status=_status(build.counters('b'), build.counters('a')))


def test_a_set_that_is_as_it_should_be_gets_nothing() -> None:
    jobset = build.jobset(build.part('a'), status=_status(build.counters('a', ready=1, active=1)))

    assert _pass(jobset, build.job('a-0', ready=1, active=1)) == plan.Plan()


def test_all_complete_is_one_write() -> None:
    jobset = build.jobset(build.part('a'), status=_status(build.counters('a')))

    assert _pass(jobset, build.job('a-0', ended=build.completed())) == plan.Plan(
        status=_status(build.counters('a', succeeded=1), conditions=(COMPLETED,), terminal_state='Completed'),
        events=(_told(COMPLETED),),
    )


@pytest.mark.parametrize(
    ('members', 'created'),
    [
        pytest.param((), (A_0, A_1), id='all'),
        pytest.param((build.job('a-0'),), (A_1,), id='those that are missing'),
        pytest.param((build.job('a-0', deleting=True),), (A_1,), id='not while the name is taken by one that goes'),
        pytest.param((build.job('a-0', ended=build.completed()),), (A_1,), id='not those that are done'),
        pytest.param((build.job('a-0', attempt=3), build.job('a-1')), (), id='an attempt of the future counts'),
    ],
)
def test_missing_jobs_are_made(members: tuple[jobs.Job, ...], created: tuple[children.Child, ...]) -> None:
    assert _pass(build.jobset(build.part('a', 2)), *members).create == created


@pytest.mark.parametrize(
    ('strategy', 'created'),
    [
        pytest.param('Recreate', (A_1,), id='each name is taken again when it is free'),
        pytest.param('InPlaceRestart', (A_1,), id='in place does so for Jobs that fail'),
        pytest.param('BlockingRecreate', (), id='nothing is made before the last of the old ones is gone'),
    ],
)
@pytest.mark.parametrize('deleting', [False, True])
def test_previous_attempts_are_deleted_first(
    strategy: str,
    created: tuple[children.Child, ...],
    deleting: bool,
) -> None:
    jobset = build.jobset(
        build.part('a', 2),
        failurePolicy={'maxRestarts': 3, 'restartStrategy': strategy},
        status=_status(build.counters('a'), restarts=1),
    )

    found = _pass(jobset, build.job('a-0', ended=build.completed(), deleting=deleting))

    assert (found.delete, found.create) == (() if deleting else (build.ref('a-0'),), created)


def test_all_ready_ends_a_restart() -> None:
    jobset = build.jobset(
        build.part('a', 2),
        status=_status(
            build.counters('a', ready=1, active=1, succeeded=1), restarts=1, conditions=(_restarting(seconds=5),)
        ),
    )
    members = (build.job('a-0', attempt=1, ready=1, active=1), build.job('a-1', attempt=1, ended=build.completed()))

    assert _pass(jobset, *members) == plan.Plan(
        status=_status(build.counters('a', ready=1, active=1, succeeded=1), restarts=1, conditions=(READY,)),
        events=(_told(READY),),
    )


def test_a_suspended_set_is_not_called_ready() -> None:
    idle = build.job('a-0', suspend=True, parallelism=0)
    stored = _status(
        build.counters('a', ready=1, suspended=1), conditions=(_earlier(SUSPENDED), _restarting(seconds=5))
    )

    found = _pass(build.jobset(build.part('a'), suspend=True, status=stored), idle)

    assert found.status is not None
    assert [condition.reason for condition in found.status.conditions] == ['SuspendedJobs', 'JobSetSuspended']


# Failure and success.


def test_a_failure_restarts_the_set_and_does_nothing_else() -> None:
    jobset = build.jobset(
        build.part('a', 2),
        failurePolicy={'maxRestarts': 1},
        network={'enableDNSHostnames': True},
        status=_status(build.counters('a')),
    )

    assert _pass(jobset, build.job('a-0', ended=build.failed())) == plan.Plan(
        status=_status(
            build.counters('a', failed=1), restarts=1, restarts_count_towards_max=1, conditions=(_restarting(),)
        ),
        events=_restart_told(),
    )


def test_failure_comes_before_success() -> None:
    jobset = build.jobset(
        build.part('a', 2),
        successPolicy={'operator': 'Any'},
        failurePolicy={'maxRestarts': 1},
        status=_status(build.counters('a', succeeded=1, failed=1)),
    )
    members = (build.job('a-0', ended=build.failed()), build.job('a-1', ended=build.completed()))

    found = _pass(jobset, *members)

    assert found.status == _status(
        build.counters('a', succeeded=1, failed=1),
        restarts=1,
        restarts_count_towards_max=1,
        conditions=(_restarting(),),
    )


def test_a_failure_of_an_earlier_attempt_does_not_count() -> None:
    jobset = build.jobset(
        build.part('a'),
        failurePolicy={'maxRestarts': 3},
        status=_status(build.counters('a'), restarts=1, restarts_count_towards_max=1),
    )

    assert _pass(jobset, build.job('a-0', ended=build.failed())) == plan.Plan(delete=(build.ref('a-0'),))


def test_a_failure_of_this_attempt_and_jobs_of_the_last() -> None:
    jobset = build.jobset(build.part('a', 2), status=_status(build.counters('a', failed=1), restarts=1))
    members = (build.job('a-0', attempt=1, ended=build.failed()), build.job('a-1'))

    found = _pass(jobset, *members)

    assert found.delete == (build.ref('a-1'),)
    assert found.status is not None
    assert found.status.terminal_state == 'Failed'


def test_answers_to_patterns_decide_rules() -> None:
    policy = {
        'maxRestarts': 1,
        'rules': [{'name': 'r', 'action': 'FailJobSet', 'onJobFailureMessagePatterns': ['gave']}],
    }
    jobset = build.jobset(build.part('a'), failurePolicy=policy)
    failed = build.job('a-0', ended=build.failed())
    questions = failure.questions(jobset, [failed])

    states = {
        answer: _pass(jobset, failed, answers=dict.fromkeys(questions, answer)).status for answer in (True, False)
    }

    assert {answer: status.terminal_state for answer, status in states.items() if status} == {True: 'Failed', False: ''}


def test_an_empty_set_completes_at_once() -> None:
    assert _pass(build.jobset()) == plan.Plan(
        status=types.Status(conditions=(COMPLETED,), terminal_state='Completed'), events=(_told(COMPLETED),)
    )


# After the end.


@pytest.mark.parametrize('ending', [COMPLETED, _condition('Failed', True, 'FailedJobs', 'm')])
def test_after_the_end_what_runs_is_stopped_and_nothing_else(ending: types.Condition) -> None:
    stored = _status(build.counters('b'), build.counters('a'), restarts=1, conditions=(ending,))
    jobset = build.jobset(
        build.part('a', 4), build.part('b', 2), network={'enableDNSHostnames': True}, suspend=True, status=stored
    )
    members = (
        build.job('a-0', attempt=1, active=1),
        build.job('a-1', attempt=1, active=1, deleting=True),
        build.job('a-2', attempt=1, ended=build.completed()),
        build.job('b-0', attempt=1, ended=build.failed()),
        build.job('b-1', attempt=0, active=1),
    )

    assert _pass(jobset, *members) == plan.Plan(
        delete=(build.ref('a-0', attempt=1),),
        status=_status(
            build.counters('b', failed=1), build.counters('a', active=2, succeeded=1), restarts=1, conditions=(ending,)
        ),
    )


@pytest.mark.parametrize(
    ('ttl', 'expected'),
    [
        pytest.param(60, plan.Plan(delete_jobset=True), id='its time is over'),
        pytest.param(95, plan.Plan(delete_jobset=True), id='its time is over in this very second'),
        pytest.param(100, plan.Plan(again_after_seconds=5.0), id='five seconds are left'),
    ],
)
def test_a_finished_set_goes_when_its_time_is_over(ttl: int, expected: plan.Plan) -> None:
    jobset = build.jobset(ttlSecondsAfterFinished=ttl, status=types.Status(conditions=(_earlier(COMPLETED),)))

    assert _pass(jobset) == expected


# Service, claims, names.


@pytest.mark.parametrize(
    ('enabled', 'seen', 'made', 'conflict'),
    [
        pytest.param(False, None, False, False, id='not wanted'),
        pytest.param(False, build.service(owner=None, selector={}), False, False, id='not wanted and not judged'),
        pytest.param(True, None, True, False, id='missing'),
        pytest.param(True, build.service(), False, False, id='there'),
        pytest.param(True, build.service(owner=None, selector={}), False, True, id='there, but of no use'),
    ],
)
@pytest.mark.parametrize('suspend', [False, True])
def test_service(enabled: bool, seen: network.Service | None, made: bool, conflict: bool, suspend: bool) -> None:
    jobset = build.jobset(build.part('a'), suspend=suspend, network={'enableDNSHostnames': enabled})

    found = _pass(jobset, service=seen)

    assert found.service == (plan.Object('js', network.service(jobset)) if made else None)
    assert found.create == (A_0,)
    assert found.status is not None
    assert any(condition.type == 'NameConflict' for condition in found.status.conditions) is conflict


def test_a_service_of_others_that_serves_is_taken_as_it_is() -> None:
    jobset = build.jobset(build.part('a'), network={'enableDNSHostnames': True}, status=_status(build.counters('a')))

    assert _pass(jobset, build.job('a-0'), service=build.service(owner=None)) == plan.Plan()


def test_a_conflict_ends_although_other_jobs_wait_for_their_turn() -> None:
    conflict = _condition('NameConflict', True, 'ForeignObject', 'm', 5)
    jobset = build.jobset(
        build.part('a'),
        build.part('b', dependsOn=[build.needs('a', 'Complete')]),
        status=_status(build.counters('b'), build.counters('a'), conditions=(conflict,)),
    )

    found = _pass(jobset, build.job('a-0'))

    assert found.status is not None
    assert [condition.status for condition in found.status.conditions] == ['False']


def test_a_conflict_does_not_end_while_a_name_waits_to_become_free() -> None:
    conflict = _condition('NameConflict', True, 'ForeignObject', 'm', 5)
    jobset = build.jobset(
        build.part('a', 2),
        failurePolicy={'maxRestarts': 3, 'restartStrategy': 'BlockingRecreate'},
        status=_status(build.counters('a'), restarts=1, conditions=(conflict,)),
    )

    found = _pass(jobset, build.job('a-0', deleting=True))

    assert found.status is not None
    assert conflict in found.status.conditions
    assert found.create == ()


def test_a_conflict_ends_when_no_name_is_taken_any_more() -> None:
    conflict = _condition('NameConflict', True, 'ForeignObject', 'm', 5)
    jobset = build.jobset(build.part('a'), status=_status(build.counters('a'), conditions=(conflict,)))

    while_missing, when_made = _pass(jobset), _pass(jobset, build.job('a-0'))

    assert while_missing == plan.Plan(create=(A_0,))
    assert when_made == plan.Plan(
        status=_status(
            build.counters('a'),
            conditions=(
                _condition('NameConflict', False, 'NamesAreFree', 'no object of somebody else is in the way any more'),
            ),
        )
    )


@pytest.mark.parametrize(
    ('claims', 'made'),
    [
        pytest.param(frozenset(), True, id='missing'),
        pytest.param(frozenset({'data-js'}), False, id='there'),
    ],
)
def test_claims(claims: frozenset[str], made: bool) -> None:
    policies = [{'templates': [{'metadata': {'name': 'data'}, 'spec': {}}], 'retentionPolicy': {}}]
    jobset = build.jobset(build.part('a'), volumeClaimPolicies=policies)

    found = _pass(jobset, claims=claims)

    assert found.claims == (volumes.missing_claims(jobset, frozenset()) if made else ())
    assert bool(found.claims) is made


@pytest.mark.parametrize(
    'members',
    [
        pytest.param((build.job('a-0', ended=build.failed()),), id='after a failure'),
        pytest.param((build.job('a-0', ended=build.completed()),), id='after the last success'),
    ],
)
def test_a_pass_that_decides_makes_nothing(members: tuple[jobs.Job, ...]) -> None:
    policies = [{'templates': [{'metadata': {'name': 'data'}, 'spec': {}}]}]
    jobset = build.jobset(
        build.part('a'),
        network={'enableDNSHostnames': True},
        failurePolicy={'maxRestarts': 1},
        volumeClaimPolicies=policies,
    )

    found = _pass(jobset, *members)

    assert (found.create, found.service, found.claims) == ((), None, ())


# Facts are read, never changed.


def test_the_same_facts_give_the_same_plan() -> None:
    relatives = build.relatives(build.job('a-0', attempt=0), build.job('a-1', attempt=1, active=1))
    jobset = build.jobset(build.part('a', 3), status=types.Status(restarts=1))
    facts = reconcile.Facts(jobset=jobset, family=relatives)
    before = dict(relatives.jobs)

    first, second = reconcile.reconcile(facts, NOW), reconcile.reconcile(facts, NOW)

    assert first == second
    assert relatives.jobs == before


def test_a_set_as_raw_as_the_schema_allows_does_not_crash() -> None:
    raw = types.JobSet(metadata=build.jobset().metadata)

    assert _pass(raw).status == types.Status(conditions=(COMPLETED,), terminal_state='Completed')
    assert _pass(build.jobset(build.part('a', None))).create == (A_0,)
    assert _pass(raw, family=family.Family()).again_after_seconds is None
