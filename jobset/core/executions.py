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
    return stored + 1 if not held or any(_number(job) == stored for job in held) else None


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


def _number(job: jobs.Job) -> int | None:
    text = job.metadata.annotations.execution_attempt
    return int(text) if text is not None and text.isdecimal() else None
