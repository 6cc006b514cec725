"""What to do about failed Jobs.

Source: JobSet API, ``failurePolicy``. Rules are tried in order; the first that fits any failed Job decides, with the
Job among the fitting ones that failed first. Where no rule fits the set restarts, while restarts are left.
"""

import datetime
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from jobset.api import features, jobs, meta, types
from jobset.core import conditions, plan, rounds, singles, status


class Question(NamedTuple):
    """Whether a failure message matches a pattern: answered beforehand, because matching takes its time."""

    pattern: str
    message: str


class Decision(NamedTuple):
    """The answer to a failure: ``rule`` is None where the default applies."""

    rule: types.FailurePolicyRule | None
    job: jobs.Job

    @property
    def action(self) -> types.Action:
        """What is to be done.

        Raises:
            plan.PassStoppedError: the rule was stored by a version that knows more actions than this one.
        """
        if self.rule is None:
            return types.Action.RESTART_JOBSET
        try:
            return types.Action(self.rule.action)
        except ValueError:
            known = ', '.join(types.Action)
            raise plan.PassStoppedError(
                f'spec.failurePolicy.rules: action {self.rule.action!r} is not known here; known are {known}'
            ) from None

    @property
    def reason(self) -> str:
        """The reason of the condition that tells of a restart."""
        return f'FailurePolicy_{self.rule.name}' if self.rule else 'DefaultFailurePolicy'


def questions(jobset: types.JobSet, failed: Iterable[jobs.Job]) -> frozenset[Question]:
    """Everything about patterns that :func:`decide` may want to know."""
    policy = jobset.spec.failure_policy
    patterns = {pattern for rule in policy.rules for pattern in rule.on_job_failure_message_patterns} if policy else ()
    if not patterns:
        return frozenset()
    messages = {_failure(job).message for job in failed}
    return frozenset(Question(pattern, message) for pattern in patterns for message in messages)


def decide(
    policy: types.FailurePolicy,
    failed: Iterable[jobs.Job],
    answers: Mapping[Question, bool],
) -> Decision:
    """Which rule answers the failures, and for which Job. A question without an answer counts as no match."""
    in_time = sorted(failed, key=_by_time)
    for rule in policy.rules:
        for job in in_time:
            if _fits(rule, job, answers):
                return Decision(rule, job)
    return Decision(None, in_time[0])


def first(failed: Iterable[jobs.Job]) -> jobs.Job:
    """The Job that failed first; of several in the same second the one whose name sorts first."""
    return min(failed, key=_by_time)


def apply(
    draft: status.Draft,
    jobset: types.JobSet,
    failed: Iterable[jobs.Job],
    *,
    answers: Mapping[Question, bool],
    gates: features.FeatureGates,
) -> jobs.Job | None:
    """Write the answer to the failures into the draft; returns the Job that is made anew while the rest runs on.

    Raises:
        plan.PassStoppedError: the rule restarts single Jobs, which these feature gates do not allow.
    """
    policy = jobset.spec.failure_policy
    if policy is None:
        fail(draft, 'FailedJobs', _text('jobset failed due to one or more job failures', first(failed)))
        return None
    decision = decide(policy, failed, answers)
    check(decision, gates)
    match decision.action:
        case types.Action.FAIL_JOBSET:
            text = _text('applying FailJobSet failure policy action', decision.job)
            fail(draft, 'FailJobSetFailurePolicyAction', text)
        case types.Action.RESTART_JOBSET:
            if is_used_up(draft.current, policy, gates):
                _fail_at_max(draft, decision)
            else:
                restart(draft, decision, towards_max=True)
        case types.Action.RESTART_JOBSET_AND_IGNORE_MAX_RESTARTS:
            restart(draft, decision, towards_max=False)
        case types.Action.RESTART_JOB:
            if not is_used_up(draft.current, policy, gates):
                return restart_job(draft, jobset, decision, towards_max=True)
            _fail_at_max(draft, decision)
        case types.Action.RESTART_JOB_AND_IGNORE_MAX_RESTARTS:
            return restart_job(draft, jobset, decision, towards_max=False)
    return None


def check(decision: Decision, gates: features.FeatureGates) -> None:
    """Make sure that these feature gates allow the action.

    Raises:
        plan.PassStoppedError: they do not.
    """
    singly = decision.action in (types.Action.RESTART_JOB, types.Action.RESTART_JOB_AND_IGNORE_MAX_RESTARTS)
    if singly and not gates.restart_job:
        raise plan.PassStoppedError(
            f'spec.failurePolicy.rules: action {decision.action} needs the feature gate RestartJob, which is off; '
            f'switch it on, or use {types.Action.RESTART_JOBSET} instead'
        )


def fail(draft: status.Draft, reason: str, message: str) -> None:
    """End the JobSet as failed."""
    draft.end(conditions.failed(reason, message), conditions.RESTART_FAILED, types.TerminalState.FAILED)


def is_used_up(current: types.Status, policy: types.FailurePolicy, gates: features.FeatureGates) -> bool:
    """Whether no restart is left that counts. Those of single Jobs and in place count like those of the whole set."""
    singly = singles.counted(current) if gates.restart_job else 0
    in_place = rounds.counted(current) if gates.in_place_restart else 0
    return current.restarts_count_towards_max + singly + in_place >= policy.max_restarts


def _fail_at_max(draft: status.Draft, decision: Decision) -> None:
    fail(draft, 'ReachedMaxRestarts', _text('jobset failed due to reaching max number of restarts', decision.job))


def restart_job(draft: status.Draft, jobset: types.JobSet, decision: Decision, *, towards_max: bool) -> jobs.Job:
    """Begin a new attempt of one Job, and return it."""
    singles.restart(draft, jobset, decision.job, towards_max=towards_max)
    text = _text(f'applying {decision.action} failure policy action', decision.job)
    draft.tell(plan.EventType.WARNING, f'{decision.action}FailurePolicyAction', text)
    return decision.job


def restart(draft: status.Draft, decision: Decision, *, towards_max: bool) -> None:
    """Begin a new attempt of the whole set."""
    text = _text(f'applying {decision.action} failure policy action', decision.job)
    draft.count_restart(towards_max=towards_max)
    draft.set(conditions.restarting(decision.reason, text))
    draft.tell(plan.EventType.WARNING, f'{decision.action}FailurePolicyAction', text)


def _text(what: str, job: jobs.Job) -> str:
    return f'{what} (first failed job: {job.metadata.name})'


def _failure(job: jobs.Job) -> meta.Condition:
    ending = job.ending
    if ending is None:
        raise ValueError(f'Job {job.metadata.name} has not ended')
    return ending


def _by_time(job: jobs.Job) -> tuple[datetime.datetime, str]:
    time = _failure(job).last_transition_time
    # A Job controller always writes the time; one who does not is taken to have failed before all others.
    return (conditions.parsed(time) if time else datetime.datetime.min.replace(tzinfo=datetime.UTC), job.metadata.name)


def _fits(rule: types.FailurePolicyRule, job: jobs.Job, answers: Mapping[Question, bool]) -> bool:
    failure = _failure(job)
    if rule.on_job_failure_reasons and failure.reason not in rule.on_job_failure_reasons:
        return False
    patterns = rule.on_job_failure_message_patterns
    if patterns and not any(answers.get(Question(pattern, failure.message), False) for pattern in patterns):
        return False
    replicated_job = job.metadata.labels.replicated_job
    if not replicated_job:
        return False
    return not rule.target_replicated_jobs or replicated_job in rule.target_replicated_jobs
