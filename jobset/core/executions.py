"""How often a set was set going: its first start, each resume, and each restart of the whole set.

Source: JobSet enhancement 1282, ``status.executionAttempts``. The number is stored before any Job is made or resumed
that belongs to it, and every Job says which one it belongs to: so a resume counts once, wherever a pass was cut off.
"""

from jobset.api import jobs, types
from jobset.core import conditions, family, status


def due(jobset: types.JobSet, cohort: family.Cohort) -> int | None:
    """The number to store before anything runs; None where the stored one is right."""
    if jobset.suspended:
        return None
    stored = jobset.status.execution_attempts
    if stored is None:
        # A set that ran before anybody counted has had its restarts at least.
        return jobset.status.restarts
    if not conditions.is_true(jobset.status, conditions.SUSPENDED):
        return None
    held = cohort.suspended.values()
    if held:
        return stored + 1 if any(_number(job) == stored for job in held) else None
    # The last Job may have been resumed by a pass that was cut off before it could tell.
    return None if any(_runs_again(job, stored, jobset) for job in cohort.members.values()) else stored + 1


def store(draft: status.Draft, cohort: family.Cohort, number: int) -> None:
    """Note the number. Where no Job is held that could tell later that it is noted, the resume is over with that."""
    draft.count_execution(number)
    if not cohort.suspended and conditions.is_true(draft.current, conditions.SUSPENDED):
        draft.set(conditions.RESUMED)


def restarted(draft: status.Draft) -> None:
    """Count a restart of the whole set, if the draft has one."""
    stored = draft.stored.execution_attempts
    if stored is not None and draft.current.restarts > draft.stored.restarts:
        draft.count_execution(stored + 1)


def _runs_again(job: jobs.Job, number: int, jobset: types.JobSet) -> bool:
    """Whether a Job of that execution has started after the suspension, which leaves none running."""
    if _number(job) != number:
        return False
    condition, started = conditions.find(jobset.status, conditions.SUSPENDED), job.status.start_time
    if job.ending is None or condition is None or started is None:
        return job.ending is None
    return conditions.parsed(started) > conditions.parsed(condition.last_transition_time)


def _number(job: jobs.Job) -> int | None:
    text = job.metadata.annotations.execution_attempt
    return int(text) if text is not None and text.isdecimal() else None
