"""Which Jobs to suspend, which to start again, and which failures do not count because of it.

Source: JobSet API, ``spec.suspend``. On purpose unlike the Go controller: what fails while the set is suspended was
stopped, not broken. It is not counted and fails nothing; the Job is deleted when the set resumes, and made anew.
"""

from jobset.api import jobs, stages, types
from jobset.core import conditions, family, plan, startup, status


def spared(jobset: types.JobSet, stored: types.Status, job: jobs.Job) -> bool:
    """Whether the failure of ``job`` belongs to a time in which the set was suspended.

    ``stored`` tells when that was: until the resume is recorded the ``Suspended`` condition is true, and afterwards its
    transition time is the moment of the resume. Times have whole seconds; a Job that failed in that very second counts
    as spared only if its deletion has begun, since that was our answer to it. A resume in order takes its time, and is
    recorded at its end: what it has started already fails like any other Job.
    """
    if jobset.suspended:
        return True
    condition = conditions.find(stored, conditions.SUSPENDED)
    if condition is None:
        return False
    changed_at = conditions.parsed(condition.last_transition_time)
    if condition.is_true:
        started_at = job.status.start_time
        return started_at is None or conditions.parsed(started_at) <= changed_at
    ending = job.ending
    failed_at = ending.last_transition_time if ending else None
    if failed_at is None:
        return False
    moment = conditions.parsed(failed_at)
    return moment < changed_at or (moment == changed_at and job.metadata.deletion_timestamp is not None)


def to_suspend(cohort: family.Cohort) -> tuple[plan.JobRef, ...]:
    """The unfinished Jobs that run although the set is suspended."""
    if len(cohort.suspended) == len(cohort.active):
        return ()
    return tuple(
        plan.JobRef(job.metadata.name, job.metadata.uid)
        for name, job in cohort.active.items()
        if name not in cohort.suspended
    )


def suspend(draft: status.Draft) -> None:
    """Record that the set is suspended."""
    draft.set(conditions.NOW_SUSPENDED)
    draft.set(conditions.RESTART_SUSPENDED)


def resume(draft: status.Draft, jobset: types.JobSet, cohort: family.Cohort) -> tuple[plan.Resumption, ...]:
    """The suspended Jobs that may run now; records the resume once all replicated jobs have had their turn."""
    resumed: list[plan.Resumption] = []
    replicated_jobs = jobset.spec.replicated_jobs
    for position, job in enumerate(replicated_jobs):
        if not startup.may_start(job, replicated_jobs[:position], cohort):
            continue
        held = _suspended(job, cohort)
        # A Job without parallelism counts as started even before it is.
        if stages.in_order(jobset) and not startup.is_started(job, cohort):
            draft.set(conditions.IN_ORDER_IN_PROGRESS)
            return (*resumed, *held)
        resumed.extend(held)
    draft.set(conditions.RESUMED)
    return tuple(resumed)


def _suspended(replicated_job: types.ReplicatedJob, cohort: family.Cohort) -> tuple[plan.Resumption, ...]:
    return tuple(
        plan.Resumption(
            plan.JobRef(job.metadata.name, job.metadata.uid),
            replicated_job,
            clear_start_time=job.status.start_time is not None,
        )
        for job in cohort.suspended.values()
        if job.metadata.labels.replicated_job == replicated_job.name
    )
