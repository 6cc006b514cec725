"""Whether a Job is going to end before all its work is done, and why: asked in this order, the first answer counts.

What ended the Job once stays the reason, whatever else would by now. Then come rules about pod failures, the limit of
failures, the deadline, indexes that have failed, and the rules about success.
"""

import datetime
from collections.abc import Callable
from typing import Final

from jobset.local.jobs import conditions, failurepolicy, replacement, successpolicy, templates
from jobset.local.jobs.types import Condition, Job, Pod, Status, moment
from jobset.local.jobs.view import View

NO_LIMIT: Final = 2**31 - 1


def interim(view: View) -> Condition | None:
    """The condition that says why the Job is going to end; None when it goes on."""
    for kind in conditions.FINAL:
        known = view.job.status.condition(kind)
        if known is not None and known.holds:
            return known
    now = view.facts.now
    for question in _QUESTIONS:
        found = question(view)
        if found is not None:
            return conditions.make(conditions.FAILURE_TARGET, *found, now)
    met = successpolicy.met(view.job.spec.success_policy, view.succeeded_indexes, view.completions)
    if met is not None:
        return conditions.make(conditions.SUCCESS_CRITERIA_MET, 'SuccessPolicy', met, now)
    return None


def all_done(now: datetime.datetime) -> Condition:
    """The condition of a Job that has nothing left to do."""
    return conditions.make(
        conditions.SUCCESS_CRITERIA_MET, 'CompletionsReached', 'Reached expected number of succeeded pods', now
    )


def deadline(job: Job, status: Status) -> datetime.datetime | None:
    """When a Job with this status is over at the latest; None for one that may take its time, or does not run."""
    seconds = job.spec.active_deadline_seconds
    started = moment(status.start_time)
    if seconds is None or started is None or job.spec.suspend:
        return None
    return started + datetime.timedelta(seconds=seconds)


Reason = tuple[str, str]
"""A reason and what it means in words."""


def _rule(view: View) -> Reason | None:
    policy = view.job.spec.pod_failure_policy
    if policy is not None:
        for pod in view.pods:
            if replacement.has_failed(pod, view.job):
                verdict = failurepolicy.judge(policy, pod)
                if verdict.message:
                    return 'PodFailurePolicy', verdict.message
    return None


def _limit(view: View) -> Reason | None:
    limit = 6 if view.job.spec.backoff_limit is None else view.job.spec.backoff_limit
    if view.failed > limit or (limit < NO_LIMIT and _restarts_reach(view, limit)):
        return 'BackoffLimitExceeded', 'Job has reached the specified backoff limit'
    return None


def _restarts_reach(view: View, limit: int) -> bool:
    """Whether the containers that were restarted in place, where that is allowed, have been too often."""
    restarts = sum(map(_restarts, view.pods))
    if not restarts or templates.restart_policy(view.job) != 'OnFailure':
        return False
    return restarts >= max(limit, 1)


def _restarts(pod: Pod) -> int:
    if pod.status.phase not in ('Running', 'Pending'):
        return 0
    status = pod.status
    return sum(
        each.restart_count for each in (*(status.init_container_statuses or ()), *(status.container_statuses or ()))
    )


def _deadline(view: View) -> Reason | None:
    end = deadline(view.job, view.job.status)
    if end is not None and view.facts.now >= end:
        return 'DeadlineExceeded', 'Job was active longer than specified deadline'
    return None


def _indexes(view: View) -> Reason | None:
    failed = len(view.failed_indexes)
    if not failed:
        return None
    most = view.job.spec.max_failed_indexes
    if most is not None and failed > most:
        return 'MaxFailedIndexesExceeded', 'Job has exceeded the specified maximal number of failed indexes'
    if failed + len(view.succeeded_indexes) >= view.completions:
        return 'FailedIndexes', 'Job has failed indexes'
    return None


_QUESTIONS: Final[tuple[Callable[[View], Reason | None], ...]] = (_rule, _limit, _deadline, _indexes)
