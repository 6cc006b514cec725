"""How many pods a JobSet could do with: all, or fewer where its pod sets allow it.

Sizes are numbered: 0 is all pods, each further one has one step less in all, divided among the pod sets in proportion
to what each can spare.
"""

from collections.abc import Mapping

import msgspec

from jobset.scheduler import model


def smallest(workload: model.Workload) -> int:
    """The number of the smallest size; 0 where there is only one."""
    return sum(_steps(each) for each in workload.pod_sets)


def counts(workload: model.Workload, size: int) -> dict[str, int]:
    """Pods by pod set in a size."""
    sets = list(workload.pod_sets)
    total = smallest(workload)
    shares = [_steps(each) * size for each in sets]
    # Largest remainders: the parts add up, and each set shrinks in proportion to what it can spare.
    taken = [share // total if total else 0 for share in shares]
    rest = size - sum(taken)
    by_remainder = sorted(range(len(sets)), key=lambda i: (-(shares[i] % total) if total else 0, i))
    for i in by_remainder[:rest]:
        taken[i] += 1
    return {each.request.name: each.request.count - taken[i] * each.step for i, each in enumerate(sets)}


def sized(stages: tuple[model.Stage, ...], by_name: Mapping[str, int]) -> tuple[model.Stage, ...]:
    """The stages with so many pods by pod set."""
    return tuple(tuple(_with(each, by_name[each.request.name]) for each in stage) for stage in stages)


def _steps(pods: model.PodSet) -> int:
    return 0 if pods.least is None else max(0, pods.request.count - pods.least) // pods.step


def _with(pods: model.PodSet, count: int) -> model.PodSet:
    if pods.request.count == count:
        return pods
    return msgspec.structs.replace(pods, request=msgspec.structs.replace(pods.request, count=count))
