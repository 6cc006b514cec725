"""Which replicated jobs may have pods at the same time, by ``dependsOn`` and ``startupPolicy``.

A dependency on Complete keeps two replicated jobs apart: the one has ended before the other begins, and so has all that
had to end before the first one began. A dependency on Ready, and the order of starting, only say who comes first: both
then run beside each other.
"""

import itertools
from collections.abc import Collection, Iterator
from typing import Final

from jobset.api import types

MOST: Final = 64
"""Of a set with more stages than this all pods count as being there at the same time, which holds enough for any."""

Places = tuple[int, ...]
"""Of replicated jobs in ``spec.replicatedJobs``, in order."""


def in_order(jobset: types.JobSet) -> bool:
    """Whether replicated jobs start one after the other."""
    policy = jobset.spec.startup_policy
    return policy is not None and policy.startup_policy_order == types.StartupOrder.IN_ORDER


def starting(jobset: types.JobSet) -> list[list[int]]:
    """Places of the replicated jobs, those that start at the same moment together."""
    if in_order(jobset):
        return [[place] for place in range(len(jobset.spec.replicated_jobs))]
    found: dict[frozenset[tuple[str, str]], list[int]] = {}
    for place, job in enumerate(jobset.spec.replicated_jobs):
        needs = frozenset((one.name, one.status) for one in job.depends_on or ())
        found.setdefault(needs, []).append(place)
    return list(found.values())


def running(jobset: types.JobSet, among: Collection[int]) -> tuple[Places, ...]:
    """The largest sets of replicated jobs that may run beside each other, in the order in which they come about.

    Only those of the places ``among`` count: the others have ended, or have no pods.
    """
    ended = _ended_before(jobset)
    order = sorted(among)
    beside = {
        one: frozenset(other for other in order if other != one and one not in ended[other] and other not in ended[one])
        for one in order
    }
    found = list(itertools.islice(_cliques(beside), MOST + 1))
    if len(found) > MOST:
        return (tuple(order),)
    return tuple(sorted(found, key=lambda stage: (sum(len(ended[place]) for place in stage), stage)))


def _ended_before(jobset: types.JobSet) -> list[frozenset[int]]:
    """By place, the replicated jobs that have ended before this one begins."""
    found: list[frozenset[int]] = []
    by_name: dict[str, int] = {}
    for place, job in enumerate(jobset.spec.replicated_jobs):
        # Only earlier ones can be depended on: what else stands there has been refused, or is waited for in vain.
        needs = [(by_name[one.name], one.status) for one in job.depends_on or () if one.name in by_name]
        if place and in_order(jobset):
            needs.append((place - 1, types.DependsOnStatus.READY))
        ended = {needed for needed, status in needs if status == types.DependsOnStatus.COMPLETE}
        found.append(frozenset(ended.union(*(found[needed] for needed, _ in needs))))
        by_name[job.name] = place
    return found


def _cliques(beside: dict[int, frozenset[int]]) -> Iterator[Places]:
    """Each largest set of which all are beside each other, once (Bron and Kerbosch, with a pivot)."""
    nobody: frozenset[int] = frozenset()
    stack = [(nobody, frozenset(beside), nobody)] if beside else []
    while stack:
        chosen, candidates, done = stack.pop()
        if not candidates and not done:
            yield tuple(sorted(chosen))
        if not candidates:
            continue
        pivot = max(sorted(candidates | done), key=lambda each: len(beside[each] & candidates))
        for each in sorted(candidates - beside[pivot]):
            stack.append((chosen | {each}, candidates & beside[each], done & beside[each]))
            candidates -= {each}
            done |= {each}
