"""A JobSet as the scheduler sees it."""

import datetime
import math

import msgspec

from jobset.api import podrequests, schedulingextras, types
from jobset.api.extras import Extra
from jobset.scheduler import gangs, model, shapes
from jobset.scheduler.priorities import Priority
from jobset.scheduler.topology.requests import Problem


def of(
    jobset: types.JobSet,
    *,
    queue: str,
    priority: Priority,
    submitted: float,
    evictions: int = 0,
    duration: float | None = None,
    known: podrequests.Known = podrequests.NOTHING_KNOWN,
) -> model.Workload | tuple[Problem, ...]:
    """The JobSet, or all that is wrong with it.

    ``duration`` is how long others like it ran, in seconds; what its user says comes first.
    """
    found = undecodable(jobset) or gangs.problems(jobset)
    if found:
        return found
    metadata = jobset.metadata
    expected = _seconds(jobset, schedulingextras.EXPECTED_DURATION)
    return model.Workload(
        key=f'{metadata.namespace}/{metadata.name}',
        queue=queue,
        submitted=submitted,
        stages=gangs.of(jobset, known=known),
        priority=priority.value,
        may_preempt=priority.may_preempt,
        is_protected=priority.is_protected,
        duration=duration if expected is None else expected,
        least_runtime=_seconds(jobset, schedulingextras.MIN_RUNTIME) or 0,
        grace=gangs.grace(jobset),
        evictions=evictions,
    )


def undecodable(jobset: types.JobSet) -> tuple[Problem, ...]:
    """Templates that are no templates of Jobs. Nothing else here may be asked about a JobSet with one."""
    found = []
    for place, job in enumerate(jobset.spec.replicated_jobs):
        try:
            shapes.spec(job)
            job.job  # noqa: B018 - decoded when it is first asked for
        except msgspec.MsgspecError as error:
            path = f'spec.replicatedJobs[{place}].template'
            found.append(Problem(path, f'{error}; write it as Kubernetes has the template of a Job'))
    return tuple(found)


def saved(jobset: types.JobSet, *, admitted: float, now: float) -> float | None:
    """When it saved its state last: as it says itself, else as follows from the interval; None: not that we know."""
    last = schedulingextras.LAST_CHECKPOINT.of(jobset.metadata.annotations)
    if last is not None:
        return last.timestamp()
    interval = _seconds(jobset, schedulingextras.CHECKPOINT_INTERVAL)
    if interval is None or now < admitted + interval:
        return None
    return admitted + math.floor((now - admitted) / interval) * interval


def _seconds(jobset: types.JobSet, extra: Extra[datetime.timedelta]) -> float | None:
    length = extra.of(jobset.metadata.annotations)
    return None if length is None else length.total_seconds()
