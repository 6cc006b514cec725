"""Single Jobs that are made anew: who is counted, what is written, and which Jobs are of an earlier attempt."""

import dataclasses

import msgspec
import pytest

from jobset.api import features, jobs, keys, types
from jobset.core import children, conditions, failure, plan, reconcile, singles, status
from jobset.core import jobs as making
from tests.core import build

NOW = build.at(100)
ON, OFF = features.FeatureGates(restart_job=True), features.FeatureGates()
A = build.part('a', 2)
B = build.part('b', 1)
JOB_RULE = {'name': 'r', 'action': 'RestartJob'}
FREE_RULE = {'name': 'r', 'action': 'RestartJobAndIgnoreMaxRestarts'}
WHOLE_RULE = {'name': 'r', 'action': 'RestartJobSet'}


def _counters(name: str, *, restarts: tuple[int, ...] = (), counted: tuple[int, ...] = ()) -> types.ReplicatedJobStatus:
    entry = build.counters(name)
    return msgspec.structs.replace(entry, job_restarts=restarts, job_restarts_count_towards_max=counted)


def _pass(jobset: types.JobSet, *members: jobs.Job, gates: features.FeatureGates = ON) -> plan.Plan:
    return reconcile.reconcile(dataclasses.replace(build.facts(jobset, *members), gates=gates), NOW)


FAILED = build.job('a-1', own='0', ended=build.failed(10))


@pytest.mark.parametrize(
    ('stored', 'rule', 'expected'),
    [
        pytest.param(
            _counters('a'),
            JOB_RULE,
            _counters('a', restarts=(0, 1), counted=(0, 1)),
            id='both lists are born as zeros, one a Job',
        ),
        pytest.param(
            _counters('a'), FREE_RULE, _counters('a', restarts=(0, 1)), id='the list of those that count stays away'
        ),
        pytest.param(
            _counters('a', restarts=(3, 4), counted=(1, 1)),
            FREE_RULE,
            _counters('a', restarts=(3, 5), counted=(1, 1)),
            id='or stays as it is',
        ),
        pytest.param(
            _counters('a', restarts=(3,), counted=()),
            JOB_RULE,
            _counters('a', restarts=(3, 1), counted=(0, 1)),
            id='a list that is too short is filled up',
        ),
    ],
)
def test_counting(stored: types.ReplicatedJobStatus, rule: build.Manifest, expected: types.ReplicatedJobStatus) -> None:
    jobset = build.jobset(A, B, failurePolicy={'maxRestarts': 9, 'rules': [rule]})
    draft = status.Draft(types.Status(replicated_jobs_status=(_counters('b'), stored)), NOW)

    failure.apply(draft, jobset, [FAILED], answers={}, gates=ON)

    assert draft.current == types.Status(replicated_jobs_status=(_counters('b'), expected))
    text = f'applying {rule["action"]} failure policy action (first failed job: js-a-1)'
    assert draft.events == [plan.Event(plan.EventType.WARNING, f'{rule["action"]}FailurePolicyAction', text)]


@pytest.mark.parametrize(
    ('rule', 'whole', 'gates', 'fails'),
    [
        pytest.param(JOB_RULE, 0, ON, False, id='one restart is left'),
        pytest.param(JOB_RULE, 1, ON, True, id='restarts of the whole set and of single Jobs count together'),
        pytest.param(WHOLE_RULE, 0, ON, False, id='one is left for the whole set'),
        pytest.param(WHOLE_RULE, 1, ON, True, id='also for a restart of the whole set'),
        pytest.param(WHOLE_RULE, 1, OFF, False, id='with the gate off only those of the whole set count'),
        pytest.param(FREE_RULE, 9, ON, False, id='a restart that does not count needs none to be left'),
    ],
)
def test_max_restarts(rule: build.Manifest, whole: int, gates: features.FeatureGates, fails: bool) -> None:
    jobset = build.jobset(A, failurePolicy={'maxRestarts': 3, 'rules': [rule]})
    stored = types.Status(
        restarts=whole,
        restarts_count_towards_max=whole,
        replicated_jobs_status=(_counters('a', restarts=(5, 1), counted=(1, 1)),),
    )
    draft = status.Draft(stored, NOW)

    failure.apply(draft, jobset, [FAILED], answers={}, gates=gates)

    ended = conditions.terminal(draft.current)
    assert (ended is not None and ended.reason == 'ReachedMaxRestarts') is fails
    assert (draft.current.replicated_jobs_status == stored.replicated_jobs_status) is (fails or rule is WHOLE_RULE)


@pytest.mark.parametrize('rule', [JOB_RULE, FREE_RULE])
def test_with_the_gate_off_the_pass_says_what_to_do(rule: build.Manifest) -> None:
    draft = status.Draft(types.Status(), NOW)

    with pytest.raises(plan.PassStoppedError, match='needs the feature gate RestartJob, which is off; switch it on'):
        failure.apply(draft, build.jobset(A, failurePolicy={'rules': [rule]}), [FAILED], answers={}, gates=OFF)


@pytest.mark.parametrize(
    'job', [build.job('a-5', own='0'), build.job('z-0', own='0', part='z'), build.job('a-1', own='0', index='-1')]
)
def test_a_job_that_is_none_of_the_set_is_not_restarted(job: jobs.Job) -> None:
    draft = status.Draft(types.Status(replicated_jobs_status=(_counters('a'),)), NOW)

    with pytest.raises(plan.PassStoppedError, match='name no Job of the set; correct them or delete the Job'):
        singles.restart(draft, build.jobset(A), job, towards_max=True)


@pytest.mark.parametrize(
    'job',
    [
        pytest.param(build.job('a-0', own='0', index='7'), id='another index than its name says'),
        pytest.param(build.job('a-0', own='0', index=''), id='no index'),
        pytest.param(build.job('a-0', own='0', part='b'), id='another replicated job'),
        pytest.param(build.job('a-0', own='x'), id='an attempt that is not a number'),
    ],
)
def test_labels_that_contradict_each_other_stop_the_pass(job: jobs.Job) -> None:
    jobset = build.jobset(A, status=types.Status(restarts=1))

    with pytest.raises(plan.PassStoppedError, match=r'Job js-a-0: labels .* correct them or delete the Job'):
        _pass(jobset, _of(job, 1))
    assert _pass(jobset, _of(job, 0)).delete, 'an earlier attempt is deleted whatever it says'
    assert _pass(jobset, _of(job, 1), gates=OFF), 'with the gate off nobody asks'


def _of(job: jobs.Job, attempt: int) -> jobs.Job:
    labels = msgspec.structs.replace(job.metadata.labels, restart_attempt=str(attempt))
    return msgspec.structs.replace(job, metadata=msgspec.structs.replace(job.metadata, labels=labels))


def _stored(**fields: object) -> types.Status:
    return types.Status(replicated_jobs_status=(build.counters('a'),), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ('job', 'deleted'),
    [
        pytest.param(FAILED, True, id='a Job of an earlier attempt of its own is deleted'),
        pytest.param(
            build.job('a-1', own=None, ended=build.failed(10)), True, id='one without the label is of the first'
        ),
        pytest.param(build.job('a-1', own='1'), False, id='the one that was made for it stays'),
        pytest.param(build.job('a-1', own='2'), False, id='and one of a later attempt, too'),
    ],
)
def test_the_running_attempt_of_a_job(job: jobs.Job, deleted: bool) -> None:
    stored = types.Status(replicated_jobs_status=(_counters('a', restarts=(0, 1)),))
    made = _pass(build.jobset(A, failurePolicy={'rules': [FREE_RULE]}, status=stored), build.job('a-0', own='0'), job)

    assert made == plan.Plan(delete=(build.ref('a-1'),) if deleted else ())


@pytest.mark.parametrize(('strategy', 'creates'), [('Recreate', True), ('BlockingRecreate', False)])
def test_blocking_waits_for_single_jobs_as_well(strategy: str, creates: bool) -> None:
    stored = types.Status(replicated_jobs_status=(_counters('a', restarts=(1, 1)),))
    lingering = build.job('a-0', own='0', deleting=True)
    made = _pass(build.jobset(A, failurePolicy={'restartStrategy': strategy}, status=stored), lingering)

    assert (made.delete, made.create) == ((), (children.Child('js-a-1', 0, 1),) if creates else ())


def test_single_and_whole_restarts_together() -> None:
    """A Job is of the running attempt when it is of that of the set and of its own."""
    stored = types.Status(restarts=1, replicated_jobs_status=(_counters('a', restarts=(1, 0)),))
    jobset = build.jobset(build.part('a', 4), status=stored, failurePolicy={'maxRestarts': 5})
    members = (
        build.job('a-0', own='0', attempt=1),
        build.job('a-1', own='0', attempt=1),
        build.job('a-2', own='3', attempt=0),
        build.job('a-3', own='0', attempt=2),
    )

    made = _pass(jobset, *members)

    assert {ref.name for ref in made.delete} == {'js-a-0', 'js-a-2'}
    assert made.create == ()


def test_a_failed_attempt_of_a_job_counts_nowhere() -> None:
    stored = types.Status(replicated_jobs_status=(_counters('a', restarts=(0, 1), counted=(0, 1)),))
    jobset = build.jobset(A, status=stored, failurePolicy={'maxRestarts': 1, 'rules': [JOB_RULE]})

    made = _pass(jobset, build.job('a-0', own='0', active=1, ready=1), FAILED)

    counted = msgspec.structs.replace(stored.replicated_jobs_status[0], ready=1, active=1)
    assert made.status == types.Status(replicated_jobs_status=(counted,))
    assert made.events == ()


def test_with_the_gate_off_the_lists_go_and_mean_nothing() -> None:
    stored = types.Status(replicated_jobs_status=(_counters('a', restarts=(1, 1)),))
    made = _pass(build.jobset(A, status=stored), build.job('a-0', own='0'), build.job('a-1', own='0'), gates=OFF)

    assert made == plan.Plan(status=types.Status(replicated_jobs_status=(_counters('a'),)))


def test_the_attempt_stands_on_job_and_pods() -> None:
    stored = types.Status(replicated_jobs_status=(_counters('b'), _counters('a', restarts=(0, 4))))
    factory = making.Factory(build.jobset(A, B, status=stored), tells_own_attempt=True)

    for child, own in ((children.Child('js-a-1', 0, 1), '4'), (children.Child('js-b-0', 1, 0), '0')):
        made = build.copy(factory.build(child))
        for place in (made['metadata'], made['spec']['template']['metadata']):
            assert place['labels'][keys.JOB_RESTART_ATTEMPT] == own
            assert place['annotations'][keys.JOB_RESTART_ATTEMPT] == own
