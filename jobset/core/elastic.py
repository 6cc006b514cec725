"""Which Jobs are to be scaled while they run.

Source: JobSet API, gate ElasticJobSet. Parallelism and completions of a replicated job may change together; its
unfinished Jobs follow, and so does one that somebody else has scaled. Where the two differ nothing is scaled: the
completions of such a Job cannot change.
"""

from typing import Final

from jobset.api import jobs, types
from jobset.core import family, plan

_DEFAULT: Final = 1
"""What an API server makes of a Job that says neither."""


def to_scale(jobset: types.JobSet, cohort: family.Cohort) -> tuple[plan.Scaling, ...]:
    """The unfinished Jobs that are not of the size that the current template says."""
    wanted = {part.name: size for part in jobset.spec.replicated_jobs if (size := _size(part)) is not None}
    if all(size == wanted.get(name, size) for name, size in _sizes(cohort)):
        return ()
    return tuple(
        plan.Scaling(plan.JobRef(job.metadata.name, job.metadata.uid), wanted[part])
        for job in cohort.active.values()
        if (part := job.metadata.labels.replicated_job) in wanted and _is_of_another_size(job, wanted[part])
    )


def _size(part: types.ReplicatedJob) -> int | None:
    """How many pods a Job of the replicated job runs; None where parallelism and completions are not the same."""
    spec = part.job.spec
    if spec.parallelism != spec.completions:
        return None
    return _DEFAULT if spec.parallelism is None else spec.parallelism


def _sizes(cohort: family.Cohort) -> list[tuple[str, int | None]]:
    """The sizes that unfinished Jobs of each replicated job have; None for one whose two numbers differ."""
    return [
        (name, parallelism if parallelism == completions else None)
        for (name, parallelism, completions), count in cohort.sizes.items()
        if count
    ]


def _is_of_another_size(job: jobs.Job, size: int) -> bool:
    return (job.spec.parallelism, job.spec.completions) != (size, size)
