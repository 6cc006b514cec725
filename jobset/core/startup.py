"""Which replicated jobs may start now.

Source: JobSet API, ``dependsOn`` and ``startupPolicy``. The gates are evaluated again after each restart and each
resume, because the Jobs they look at are then new ones, and so are the counters.
"""

from collections.abc import Container, Iterator, Mapping, Sequence

from jobset.api import stages, types
from jobset.core import family


def is_started(job: types.ReplicatedJob, cohort: family.Cohort) -> bool:
    """Whether all Jobs of ``job`` are ready or were so once: the next one in order may start."""
    counts = cohort.tally(job.name)
    return counts.failed + counts.ready + counts.succeeded == job.count


def may_start(
    job: types.ReplicatedJob,
    earlier: Sequence[types.ReplicatedJob],
    cohort: family.Cohort,
) -> bool:
    """True when every dependency of ``job`` has reached its wanted status in the running attempt.

    ``earlier`` are the replicated jobs before ``job`` in the spec. Only these can be depended on: admission refuses
    anything else, and without admission a dependency on nobody is never met.
    """
    by_name = {other.name: other for other in earlier}
    return all(_reached(dependency, by_name, cohort) for dependency in job.depends_on or ())


def _reached(
    dependency: types.DependsOn,
    by_name: Mapping[str, types.ReplicatedJob],
    cohort: family.Cohort,
) -> bool:
    target = by_name.get(dependency.name)
    if target is None:
        return False
    counts = cohort.tally(dependency.name)
    if dependency.status == types.DependsOnStatus.COMPLETE:
        return counts.succeeded == target.count
    # A Job that has already ended was ready once: its dependants must not wait for it for ever.
    return counts.ready + counts.succeeded + counts.failed == target.count


def waits(jobset: types.JobSet, cohort: family.Cohort, begun: Container[str]) -> Iterator[tuple[str, str]]:
    """The replicated jobs that may not start yet, and what each of them waits for; ``begun`` are those that have."""
    replicated_jobs = jobset.spec.replicated_jobs
    for place, job in enumerate(replicated_jobs):
        if job.name in begun:
            continue
        before = replicated_jobs[:place]
        if not may_start(job, before, cohort):
            for dependency in job.depends_on or ():
                text = _missing(dependency, {other.name: other for other in before}, cohort)
                if text:
                    yield job.name, text
        elif stages.in_order(jobset) and place and not is_started(before[-1], cohort):
            yield job.name, f'waits its turn after {before[-1].name} ({_ready(before[-1], cohort)})'
            # All later ones wait for this one, which says nothing new.
            return


def _missing(
    dependency: types.DependsOn,
    by_name: Mapping[str, types.ReplicatedJob],
    cohort: family.Cohort,
) -> str:
    """What is missing of a dependency; nothing when it is there."""
    target = by_name.get(dependency.name)
    if target is None:
        return f'waits for {dependency.name}, which is no earlier replicated job'
    if _reached(dependency, by_name, cohort):
        return ''
    if dependency.status == types.DependsOnStatus.COMPLETE:
        done = cohort.tally(target.name).succeeded
        return f'waits for {target.name} to be complete ({done} of {target.count} Jobs succeeded)'
    return f'waits for {target.name} to be ready ({_ready(target, cohort)})'


def _ready(job: types.ReplicatedJob, cohort: family.Cohort) -> str:
    counts = cohort.tally(job.name)
    return f'{counts.ready + counts.succeeded + counts.failed} of {job.count} Jobs ready'


def open_positions(jobset: types.JobSet, cohort: family.Cohort) -> frozenset[int]:
    """Places of the replicated jobs whose Jobs may be there now."""
    replicated_jobs = jobset.spec.replicated_jobs
    found: set[int] = set()
    for position, job in enumerate(replicated_jobs):
        if may_start(job, replicated_jobs[:position], cohort):
            found.add(position)
            if stages.in_order(jobset) and not is_started(job, cohort):
                break
    return frozenset(found)
