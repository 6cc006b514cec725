"""Single Jobs that are made anew while the rest of their set runs on.

Source: JobSet API, failure-policy actions ``RestartJob`` and ``RestartJobAndIgnoreMaxRestarts`` (gate RestartJob). How
often each Job was restarted stands in ``status.replicatedJobsStatus[].jobRestarts``, by index; a Job whose
``job-restart-attempt`` label says less is one of an earlier attempt, is deleted, and made again under its name. The
lists only ever grow: a restart of the whole set leaves them as they are.
"""

from collections.abc import Mapping

import msgspec

from jobset.api import features, jobs, keys, types
from jobset.core import family, plan, status


def wanted(jobset: types.JobSet, gates: features.FeatureGates) -> Mapping[str, int]:
    """The attempts that single Jobs must be of, by name of the Job; those that were never restarted are left out."""
    if not gates.restart_job:
        return {}
    return {
        f'{jobset.metadata.name}-{entry.name}-{index}': count
        for entry in jobset.status.replicated_jobs_status
        if entry.job_restarts
        for index, count in enumerate(entry.job_restarts)
        if count > 0
    }


def attempt(jobset: types.JobSet, replicated_job: str, job_index: int) -> int:
    """The attempt that a Job to be made is of."""
    for entry in jobset.status.replicated_jobs_status:
        if entry.name == replicated_job and job_index < len(entry.job_restarts):
            return entry.job_restarts[job_index]
    return 0


def counted(current: types.Status) -> int:
    """How many restarts of single Jobs count towards ``maxRestarts``."""
    return sum(sum(entry.job_restarts_count_towards_max) for entry in current.replicated_jobs_status)


def check(kin: family.Family, restarts: int) -> None:
    """Make sure that each Job of the running attempt says which one it is.

    Raises:
        plan.PassStoppedError: one does not: nobody can tell how often it was restarted.
    """
    odd = {
        name: job
        for name, job in kin.mislabelled.items()
        if (made_for := family.attempt_of(job)) is not None and made_for >= restarts
    }
    if odd:
        name, job = min(odd.items())
        labels = job.metadata.labels
        raise plan.PassStoppedError(
            f'Job {name}: labels {keys.REPLICATED_JOB_NAME}={labels.replicated_job!r}, '
            f'{keys.JOB_INDEX}={labels.job_index!r}, {keys.JOB_RESTART_ATTEMPT}={labels.job_restart_attempt!r} do not '
            f'tell which Job of the set this is, and of which attempt; correct them or delete the Job'
        )


def restart(draft: status.Draft, jobset: types.JobSet, job: jobs.Job, *, towards_max: bool) -> None:
    """Begin a new attempt of one Job.

    Raises:
        plan.PassStoppedError: its labels name no Job of the set.
    """
    name, index = job.metadata.labels.replicated_job, job.metadata.labels.job_index
    replicas = next((part.count for part in jobset.spec.replicated_jobs if part.name == name), 0)
    position = int(index) if index.isascii() and index.isdecimal() else replicas
    if position >= replicas:
        raise plan.PassStoppedError(
            f'Job {job.metadata.name}: labels {keys.REPLICATED_JOB_NAME}={name!r}, {keys.JOB_INDEX}={index!r} name no '
            f'Job of the set; correct them or delete the Job'
        )
    entries = tuple(
        _restarted(entry, position, replicas, towards_max=towards_max) if entry.name == name else entry
        for entry in draft.current.replicated_jobs_status
    )
    draft.current = msgspec.structs.replace(draft.current, replicated_jobs_status=entries)


def _restarted(
    entry: types.ReplicatedJobStatus,
    position: int,
    replicas: int,
    *,
    towards_max: bool,
) -> types.ReplicatedJobStatus:
    """The entry with one restart more. A list is born when it is first needed: zeros, one a Job."""
    changed = msgspec.structs.replace(entry, job_restarts=_increased(entry.job_restarts, position, replicas))
    if not towards_max:
        return changed
    towards = _increased(entry.job_restarts_count_towards_max, position, replicas)
    return msgspec.structs.replace(changed, job_restarts_count_towards_max=towards)


def _increased(counts: tuple[int, ...], position: int, replicas: int) -> tuple[int, ...]:
    full = counts + (0,) * (replicas - len(counts))
    return (*full[:position], full[position] + 1, *full[position + 1 :])
