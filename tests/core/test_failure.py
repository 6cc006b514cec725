"""What is done about failed Jobs."""

import pytest

from jobset.api import features, jobs, types
from jobset.core import failure, plan, status
from tests.core import build

NOW = build.at(100)
GATES = features.FeatureGates()


def _policy(*rules: build.Manifest, **policy: object) -> types.FailurePolicy:
    found = build.jobset(failurePolicy={'rules': list(rules), **policy}).spec.failure_policy
    assert found is not None
    return found


def _rule(action: str = 'FailJobSet', name: str = 'r', **filters: object) -> build.Manifest:
    return {'name': name, 'action': action, **filters}


A_0 = build.job('a-0', ended=build.failed(10, reason='Y'))
B_0 = build.job('b-0', ended=build.failed(11, reason='X'))
B_1 = build.job('b-1', ended=build.failed(12, reason='X'))
R0 = _rule(name='r0', onJobFailureReasons=['X'], targetReplicatedJobs=['b'])
R1 = _rule(name='r1')


@pytest.mark.parametrize(
    ('rules', 'failed', 'rule', 'first'),
    [
        pytest.param((R0, R1), (A_0, B_1, B_0), 'r0', 'js-b-0', id='the order of rules beats time, then time decides'),
        pytest.param((R1,), (A_0, B_1, B_0), 'r1', 'js-a-0', id='without filters the first failure decides'),
        pytest.param((R1, R0), (A_0, B_1, B_0), 'r1', 'js-a-0', id='a rule that fits shadows those after it'),
        pytest.param((), (B_1, A_0), None, 'js-a-0', id='without rules the first failure gets the default'),
        pytest.param((R0,), (A_0,), None, 'js-a-0', id='where none fits the default applies'),
        pytest.param(
            (R1,),
            (build.job('b-1', ended=build.failed(10)), build.job('b-0', ended=build.failed(10))),
            'r1',
            'js-b-0',
            id='in the same second the name decides',
        ),
        pytest.param(
            (R1,),
            (A_0, build.job('z-0', ended=build.failed(None))),
            'r1',
            'js-z-0',
            id='a failure without a time comes before all others',
        ),
    ],
)
def test_decide(rules: tuple[build.Manifest, ...], failed: tuple[jobs.Job, ...], rule: str | None, first: str) -> None:
    decision = failure.decide(_policy(*rules), failed, {})

    assert (decision.rule.name if decision.rule else None, decision.job.metadata.name) == (rule, first)


OOM = failure.Question('OOM', 'pod was OOMKilled')
OTHER = failure.Question('quota', 'pod was OOMKilled')
FAILED = build.job('a-0', ended=build.failed(10, reason='PodFailurePolicy', message='pod was OOMKilled'))


@pytest.mark.parametrize(
    ('filters', 'job', 'answers', 'fits'),
    [
        pytest.param({}, FAILED, {}, True, id='no filter fits every Job'),
        pytest.param({'onJobFailureReasons': ['PodFailurePolicy']}, FAILED, {}, True, id='the reason is listed'),
        pytest.param({'onJobFailureReasons': ['A', 'B']}, FAILED, {}, False, id='the reason is not listed'),
        pytest.param({'onJobFailureReasons': []}, FAILED, {}, True, id='an empty list is no filter'),
        pytest.param({'targetReplicatedJobs': ['a', 'z']}, FAILED, {}, True, id='the replicated job is a target'),
        pytest.param({'targetReplicatedJobs': ['z']}, FAILED, {}, False, id='the replicated job is no target'),
        pytest.param({'onJobFailureMessagePatterns': ['OOM']}, FAILED, {OOM: True}, True, id='the message matches'),
        pytest.param({'onJobFailureMessagePatterns': ['OOM']}, FAILED, {OOM: False}, False, id='no message matches'),
        pytest.param({'onJobFailureMessagePatterns': ['OOM']}, FAILED, {}, False, id='an unanswered question is a no'),
        pytest.param(
            {'onJobFailureMessagePatterns': ['quota', 'OOM']},
            FAILED,
            {OTHER: False, OOM: True},
            True,
            id='one pattern of several is enough',
        ),
        pytest.param(
            {'onJobFailureReasons': ['PodFailurePolicy'], 'onJobFailureMessagePatterns': ['OOM']},
            FAILED,
            {OOM: False},
            False,
            id='all filters have to fit',
        ),
        pytest.param(
            {},
            build.job('a-0', part='', ended=build.failed(10)),
            {},
            False,
            id='a Job that names no replicated job fits no rule',
        ),
    ],
)
def test_a_rule_fits(
    filters: build.Manifest,
    job: jobs.Job,
    answers: dict[failure.Question, bool],
    fits: bool,
) -> None:
    decision = failure.decide(_policy(_rule(**filters)), [job], answers)

    assert (decision.rule is not None) is fits


@pytest.mark.parametrize(
    ('policy', 'expected'),
    [
        pytest.param(None, frozenset(), id='no policy asks nothing'),
        pytest.param(
            {'rules': [_rule(onJobFailureReasons=['X'])]}, frozenset(), id='rules without patterns ask nothing'
        ),
        pytest.param(
            {
                'rules': [
                    _rule(onJobFailureMessagePatterns=['p', 'q']),
                    _rule(onJobFailureMessagePatterns=['p']),
                ]
            },
            frozenset(failure.Question(pattern, message) for pattern in 'pq' for message in ('one', 'two')),
            id='each pattern is asked of each message once',
        ),
    ],
)
def test_questions(policy: build.Manifest | None, expected: frozenset[failure.Question]) -> None:
    failed = [build.job(f'a-{i}', ended=build.failed(message=text)) for i, text in enumerate(('one', 'two', 'one'))]

    assert failure.questions(build.jobset(failurePolicy=policy), failed) == expected


FIRST = '(first failed job: js-a-0)'


def _failed(reason: str, message: str) -> types.Condition:
    return build.condition('Failed', holds=True, reason=reason, message=message, seconds=100)


def _restarting(reason: str, action: str) -> types.Condition:
    text = f'applying {action} failure policy action {FIRST}'
    return build.condition('RestartingJobSet', holds=True, reason=reason, message=text, seconds=100)


def _warnings(*events: tuple[str, str]) -> list[plan.Event]:
    return [plan.Event(plan.EventType.WARNING, reason, note) for reason, note in events]


RESTART = f'applying RestartJobSet failure policy action {FIRST}'
RESTART_FREE = f'applying RestartJobSetAndIgnoreMaxRestarts failure policy action {FIRST}'
LIMIT = f'jobset failed due to reaching max number of restarts {FIRST}'
NO_POLICY = f'jobset failed due to one or more job failures {FIRST}'
BY_RULE = f'applying FailJobSet failure policy action {FIRST}'


@pytest.mark.parametrize(
    ('policy', 'stored', 'expected', 'events'),
    [
        pytest.param(
            None,
            types.Status(),
            types.Status(terminal_state='Failed', conditions=(_failed('FailedJobs', NO_POLICY),)),
            _warnings(('FailedJobs', NO_POLICY)),
            id='without a policy the set fails',
        ),
        pytest.param(
            {'rules': [_rule('FailJobSet')], 'maxRestarts': 9},
            types.Status(),
            types.Status(terminal_state='Failed', conditions=(_failed('FailJobSetFailurePolicyAction', BY_RULE),)),
            _warnings(('FailJobSetFailurePolicyAction', BY_RULE)),
            id='a rule fails the set, whatever restarts are left',
        ),
        pytest.param(
            {'maxRestarts': 2},
            types.Status(restarts=4, restarts_count_towards_max=1),
            types.Status(
                restarts=5,
                restarts_count_towards_max=2,
                conditions=(_restarting('DefaultFailurePolicy', 'RestartJobSet'),),
            ),
            _warnings(('DefaultFailurePolicy', RESTART), ('RestartJobSetFailurePolicyAction', RESTART)),
            id='by default the set restarts while restarts are left',
        ),
        pytest.param(
            {'maxRestarts': 2, 'rules': [_rule('RestartJobSet', 'mine')]},
            types.Status(),
            types.Status(
                restarts=1,
                restarts_count_towards_max=1,
                conditions=(_restarting('FailurePolicy_mine', 'RestartJobSet'),),
            ),
            _warnings(('FailurePolicy_mine', RESTART), ('RestartJobSetFailurePolicyAction', RESTART)),
            id='a restart by a rule carries its name',
        ),
        pytest.param(
            {'maxRestarts': 2},
            types.Status(restarts=2, restarts_count_towards_max=2),
            types.Status(
                restarts=2,
                restarts_count_towards_max=2,
                terminal_state='Failed',
                conditions=(_failed('ReachedMaxRestarts', LIMIT),),
            ),
            _warnings(('ReachedMaxRestarts', LIMIT)),
            id='with no restart left the set fails',
        ),
        pytest.param(
            {},
            types.Status(),
            types.Status(terminal_state='Failed', conditions=(_failed('ReachedMaxRestarts', LIMIT),)),
            _warnings(('ReachedMaxRestarts', LIMIT)),
            id='a policy that says nothing allows no restart',
        ),
        pytest.param(
            {'maxRestarts': -1},
            types.Status(),
            types.Status(terminal_state='Failed', conditions=(_failed('ReachedMaxRestarts', LIMIT),)),
            _warnings(('ReachedMaxRestarts', LIMIT)),
            id='a negative limit is as good as none',
        ),
        pytest.param(
            {'maxRestarts': 0, 'rules': [_rule('RestartJobSetAndIgnoreMaxRestarts', 'free')]},
            types.Status(restarts=7, restarts_count_towards_max=0),
            types.Status(
                restarts=8,
                conditions=(_restarting('FailurePolicy_free', 'RestartJobSetAndIgnoreMaxRestarts'),),
            ),
            _warnings(
                ('FailurePolicy_free', RESTART_FREE),
                ('RestartJobSetAndIgnoreMaxRestartsFailurePolicyAction', RESTART_FREE),
            ),
            id='a restart that does not count needs no limit',
        ),
    ],
)
def test_apply(
    policy: build.Manifest | None,
    stored: types.Status,
    expected: types.Status,
    events: list[plan.Event],
) -> None:
    draft = status.Draft(stored, NOW)

    failure.apply(draft, build.jobset(failurePolicy=policy), [B_0, A_0], answers={}, gates=GATES)

    assert draft.current == expected
    assert draft.events == events


def test_a_set_that_fails_while_it_restarts_says_so() -> None:
    restarting = build.condition('RestartingJobSet', holds=True, reason='DefaultFailurePolicy', message='m')
    draft = status.Draft(types.Status(conditions=(restarting,)), NOW)

    failure.apply(draft, build.jobset(), [A_0], answers={}, gates=GATES)

    assert draft.current.conditions == (
        build.condition('RestartingJobSet', holds=False, reason='JobSetFailed', message='jobset failed', seconds=100),
        _failed('FailedJobs', NO_POLICY),
    )
    assert draft.events == [
        *_warnings(('FailedJobs', NO_POLICY)),
        plan.Event(plan.EventType.NORMAL, 'JobSetFailed', 'jobset failed'),
    ]


@pytest.mark.parametrize('action', ['RestartJob', 'RestartJobAndIgnoreMaxRestarts'])
def test_restarts_of_single_jobs_stop_the_pass(action: str) -> None:
    draft = status.Draft(types.Status(), NOW)
    jobset = build.jobset(failurePolicy={'maxRestarts': 3, 'rules': [_rule(action)]})

    with pytest.raises(plan.PassStoppedError, match=f'action {action} needs the feature gate RestartJob'):
        failure.apply(draft, jobset, [A_0], answers={}, gates=GATES)

    assert draft.changed is None


@pytest.mark.parametrize(
    ('failed', 'first'),
    [
        pytest.param((B_1, A_0, B_0), 'js-a-0', id='the oldest'),
        pytest.param(
            (build.job('b-1', ended=build.failed(10)), build.job('b-0', ended=build.failed(10))),
            'js-b-0',
            id='by name in the same second',
        ),
    ],
)
def test_first(failed: tuple[jobs.Job, ...], first: str) -> None:
    assert failure.first(failed).metadata.name == first


def test_a_job_that_runs_is_no_failure() -> None:
    with pytest.raises(ValueError, match='Job js-a-0 has not ended'):
        failure.first([build.job('a-0')])


def test_an_action_of_a_later_version_stops_the_pass() -> None:
    rule = types.FailurePolicyRule(name='r', action='RestartGroup')

    with pytest.raises(plan.PassStoppedError, match=r"^spec\.failurePolicy\.rules: action 'RestartGroup' is not known"):
        _ = failure.Decision(rule, build.job('a-0', ended=build.failed())).action
