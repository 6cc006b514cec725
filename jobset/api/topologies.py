"""Where the pods of a replicated job want to go, as the annotations of its pod template say: ours, or Kueue's.

What cannot be read counts as not asked for; :mod:`jobset.api.validation.topologies` tells of it.
"""

import collections
from collections.abc import Mapping
from typing import NamedTuple

from jobset.api import schedulingextras, slices, types


class Wish(NamedTuple):
    """Of ``required``, ``preferred`` and ``unconstrained`` one makes sense."""

    required: str | None = None
    preferred: str | None = None
    unconstrained: bool = False
    layers: tuple[slices.Layer, ...] = ()
    """Of slices, from coarse to fine."""

    @property
    def modes(self) -> int:
        """How many of those that exclude each other are there."""
        return (self.required is not None) + (self.preferred is not None) + self.unconstrained

    @property
    def size(self) -> int:
        """Pods of the coarsest slice."""
        return self.layers[0].size if self.layers else 1


def wish(job: types.ReplicatedJob) -> Wish:
    """What the pods of a replicated job ask for."""
    given = annotations(job)
    if not given:
        return Wish()
    own = schedulingextras
    return Wish(
        required=own.REQUIRED_TOPOLOGY.of(given) or own.KUEUE_REQUIRED.of(given),
        preferred=own.PREFERRED_TOPOLOGY.of(given) or own.KUEUE_PREFERRED.of(given),
        unconstrained=bool(own.UNCONSTRAINED_TOPOLOGY.of(given) or own.KUEUE_UNCONSTRAINED.of(given)),
        layers=own.SLICE_TOPOLOGY.of(given) or own.KUEUE_SLICES.of(given) or _slice_of_kueue(given),
    )


def leaders(jobset: types.JobSet) -> dict[int, int]:
    """Places of the leaders by place of the replicated job that they belong to, as named; not judged."""
    jobs = jobset.spec.replicated_jobs
    places = {job.name: place for place, job in enumerate(jobs)}
    found: dict[int, int] = {}
    for place, job in enumerate(jobs):
        followers = schedulingextras.LEADER_OF.of(annotations(job))
        if followers in places:
            found.setdefault(places[followers], place)
    for pair in groups(jobset).values():
        if len(pair) == 2:
            first, second = pair
            leader, workers = (first, second) if jobs[first].pods < jobs[second].pods else (second, first)
            if jobs[leader].pods == 1:
                found.setdefault(workers, leader)
    return found


def groups(jobset: types.JobSet) -> dict[str, list[int]]:
    """Places of the replicated jobs that are in each of Kueue's groups."""
    found: dict[str, list[int]] = collections.defaultdict(list)
    for place, job in enumerate(jobset.spec.replicated_jobs):
        group = schedulingextras.KUEUE_GROUP.of(annotations(job))
        if group is not None:
            found[group].append(place)
    return dict(found)


def annotations(job: types.ReplicatedJob) -> Mapping[str, str]:
    """Those of the pod template."""
    return job.job.spec.template.metadata.annotations or {}


def _slice_of_kueue(given: Mapping[str, str]) -> tuple[slices.Layer, ...]:
    level, size = schedulingextras.KUEUE_SLICE.of(given), schedulingextras.KUEUE_SLICE_SIZE.of(given)
    return () if level is None or size is None else (slices.Layer(level, size),)
