"""Which pods of a JobSet start together, one gang after the other, and what they ask for.

Jobs that have succeeded ask for nothing any more, as far as ``status.replicatedJobsStatus`` tells.
"""

import math
from collections.abc import Iterator
from typing import Final

from jobset.api import extras, podrequests, schedulingextras, stages, topologies, types
from jobset.api.validation import topologies as judged
from jobset.scheduler import model, shapes
from jobset.scheduler.topology import requests
from jobset.scheduler.topology.requests import Mode, PodShape, Problem

_MOST: Final = 2**62
"""Of one resource, by one replicated job: sums of them are kept as numbers of 64 bits."""


def of(
    jobset: types.JobSet,
    *,
    known: podrequests.Known = podrequests.NOTHING_KNOWN,
) -> tuple[model.Stage, ...]:
    """The gangs that are still to come or to go on, of a JobSet without :func:`problems`; none when all is done.

    ``known`` are the claims for devices in its namespace.
    """
    jobs = jobset.spec.replicated_jobs
    left = _left(jobset)
    led = {followers: leader for followers, leader in topologies.leaders(jobset).items() if left[followers]}
    asking = {place for place, pods in enumerate(left) if pods} - set(led.values())
    sets = {
        place: _pod_set(
            jobs[place],
            left[place],
            pod=_shape(jobset, place, known),
            leader=_shape(jobset, led[place], known) if place in led and left[led[place]] else None,
        )
        for place in sorted(asking)
    }
    return tuple(tuple(sets[place] for place in stage) for stage in stages.running(jobset, asking))


def problems(jobset: types.JobSet) -> tuple[Problem, ...]:
    """What no cluster could satisfy, or nobody could read: of a JobSet whose templates can be decoded."""
    found = [Problem(error.path, error.detail) for error in judged.problems(jobset)]
    for place, job in enumerate(jobset.spec.replicated_jobs):
        path, pod = f'spec.replicatedJobs[{place}].template.spec.template.spec', shapes.spec(job)
        unreadable = [Problem(f'{path}.{where}', text) for where, text in podrequests.unreadable(pod)]
        found += unreadable or [
            Problem(path, f'{job.pods} pods ask for {amount * job.pods} of {resource}; less than 2^62 is possible')
            for resource, amount in podrequests.of(pod).items()
            if amount * job.pods >= _MOST
        ]
    return tuple(found)


def notes(
    jobset: types.JobSet,
    *,
    known: podrequests.Known = podrequests.NOTHING_KNOWN,
) -> Iterator[str]:
    """What keeps nobody from starting and is told nevertheless: requests that are missing, claims that do not count."""
    for place, job in enumerate(jobset.spec.replicated_jobs):
        path, pod = f'spec.replicatedJobs[{place}] "{job.name}"', shapes.spec(job)
        for name in podrequests.missing(pod):
            yield f'{path}: container "{name}" does not request both cpu and memory; what it does request counts'
        shared = _shared(jobset, place)
        for name in podrequests.unknown(pod, known=known):
            if name not in shared:
                yield f'{path}: nobody knows how many devices the claim "{name}" takes; none are counted'
        for name in shared:
            yield f'{path}: the claim "{name}" is shared by several pods; its devices are not counted'


def grace(jobset: types.JobSet) -> int:
    """Seconds until the last of its pods has ended."""
    return max((shapes.spec(job).grace for job in jobset.spec.replicated_jobs), default=shapes.GRACE_SECONDS)


def _left(jobset: types.JobSet) -> list[int]:
    """Pods of the Jobs that have not succeeded, by place of the replicated job; where there are slices, whole ones."""
    succeeded = {entry.name: entry.succeeded for entry in jobset.status.replicated_jobs_status}
    found = []
    for job in jobset.spec.replicated_jobs:
        pods = max(0, (job.count - succeeded.get(job.name, 0)) * job.job.spec.pods)
        found.append(min(_up(pods, _step(job)), job.pods) if pods else 0)
    return found


def _step(job: types.ReplicatedJob) -> int:
    """Pods come in whole Jobs and in whole slices."""
    return math.lcm(max(1, job.job.spec.pods), topologies.wish(job).size)


def _up(pods: int, step: int) -> int:
    return -(-pods // step) * step


def _pod_set(job: types.ReplicatedJob, pods: int, *, pod: PodShape, leader: PodShape | None) -> model.PodSet:
    wish, step = topologies.wish(job), _step(job)
    least = schedulingextras.MIN_PODS.of(job.job.metadata.annotations)
    return model.PodSet(
        request=requests.Request(
            name=job.name,
            count=pods,
            pod=pod,
            mode=_mode(wish),
            level=wish.required or wish.preferred,
            slices=tuple(requests.Layer(*layer) for layer in wish.layers),
            leader=leader,
        ),
        least=None if least is None or _up(least, step) >= pods else _up(least, step),
        step=step,
    )


def _mode(wish: topologies.Wish) -> Mode:
    if wish.required is not None:
        return Mode.REQUIRED
    if wish.preferred is not None:
        return Mode.PREFERRED
    return Mode.SLICE_ONLY if wish.layers and not wish.unconstrained else Mode.UNCONSTRAINED


def _shape(jobset: types.JobSet, place: int, known: podrequests.Known) -> PodShape:
    pod = shapes.spec(jobset.spec.replicated_jobs[place])
    return shapes.shape(pod, known=known, shared=_shared(jobset, place))


def _shared(jobset: types.JobSet, place: int) -> tuple[str, ...]:
    """The pods' names of claims that not each of the pods has for itself."""
    job = jobset.spec.replicated_jobs[place]
    of_gangs = extras.GANG_CLAIMS.of(jobset.metadata.annotations) or ()
    return tuple(
        claim.name
        for claim in job.job.spec.template.spec.resource_claims or ()
        if job.pods > 1 and (claim.resource_claim_name or claim.name in of_gangs)
    )
