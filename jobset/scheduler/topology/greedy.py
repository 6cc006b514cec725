"""How many domains it takes when the biggest come first: what a share in equal parts is measured by."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from jobset.scheduler.topology import choosing
from jobset.scheduler.topology.domains import Ints
from jobset.scheduler.topology.rollup import Counts, Order, Plan


@dataclass(frozen=True, slots=True)
class Greedy:
    """What taking the biggest first comes to."""

    suffices: bool
    domains: int
    last: int
    """Slices of the last domain, or all where the leader's domain was enough."""
    last_beside: int
    """The same if the leader were there, too."""
    leaders: int | None
    """Slices of the leader's domain beside the leader."""


_NOTHING: Final = Greedy(False, 0, 0, 0, None)


def greedily(wanted: Plan, counts: Counts, domains: Ints | None = None) -> Greedy:
    """What it comes to for these domains, or for all."""
    domains = np.arange(counts.slices.size) if domains is None else domains
    if not wanted.has_leader and counts.liking is None:
        # Which of equally big ones comes first does not matter here.
        return _biggest(-np.sort(-counts.slices[domains]), wanted.slices, None)
    if not wanted.has_leader:
        return _biggest(counts.slices[choosing.in_order(counts, domains, Order.BIGGEST)], wanted.slices, None)
    able = domains[counts.takes_leader[domains]]
    if not able.size:
        return _NOTHING
    host = choosing.in_order(counts, able, Order.BIGGEST, beside_leader=True)[0]
    leaders = int(counts.slices_beside[host])
    if leaders >= wanted.slices:
        return Greedy(True, 1, wanted.slices, wanted.slices, leaders)
    ordered = choosing.in_order(counts, domains[domains != host], Order.BIGGEST)
    return _biggest(counts.slices[ordered], wanted.slices - leaders, leaders, counts.slices_beside[ordered])


def _biggest(capacities: Ints, slices: int, leaders: int | None, beside: Ints | None = None) -> Greedy:
    """How many of these it takes, and what the last of them holds."""
    i = int(np.searchsorted(capacities.cumsum(), slices))
    if i >= capacities.size:
        return _NOTHING
    last = int(capacities[i])
    last_beside = last if beside is None else int(beside[i])
    return Greedy(True, i + 1 + (leaders is not None), last, last_beside, leaders)
