"""Which domains of one level to take, in which order, and how much of each.

Two ways: *best fit* takes the fewest domains, biggest first, and for the last of them the smallest that suffices;
*least free capacity* takes from the smallest up, so that big domains stay whole. Among domains with equally many whole
slices come those with fewer loose pods, then the first by name. Where pods have preferences, those come first.
"""

from dataclasses import dataclass

import numpy as np

from jobset.scheduler.topology.domains import Ints
from jobset.scheduler.topology.rollup import Bools, Counts, Order


@dataclass(frozen=True, slots=True)
class Choice:
    """Domains of one level by position, with the slices that each of them takes."""

    domains: Ints
    takes: Ints
    leader: int | None = None
    """The domain that takes the leader; it is among :attr:`domains`."""

    @property
    def total(self) -> int:
        """Slices in all domains."""
        return int(self.takes.sum())


def nothing() -> Choice:
    """No domain at all."""
    return Choice(np.zeros(0, np.int64), np.zeros(0, np.int64))


def in_order(counts: Counts, domains: Ints, order: Order, *, beside_leader: bool = False) -> Ints:
    """``domains``, given by name, in the order in which they are taken."""
    slices = counts.slices_beside if beside_leader else counts.slices
    pods = counts.pods_beside if beside_leader else counts.pods
    match order:
        case Order.BIGGEST:
            keys = [pods[domains], -slices[domains]]
        case Order.SMALLEST:
            keys = [pods[domains], slices[domains]]
        case Order.FEWEST_PODS:
            keys = [pods[domains]]
    if pods is slices:
        del keys[:-1]
    if counts.liking is not None:
        keys.append(-counts.liking[domains])
    places = keys[0].argsort(kind='stable') if len(keys) == 1 else np.lexsort(keys)
    ordered: Ints = domains[places]
    return ordered


def one_for_all(counts: Counts, domains: Ints, slices: int, *, with_leader: bool, only_best_liked: bool) -> int | None:
    """The tightest domain that takes everything alone; the most liked first.

    ``only_best_liked``: only if one of the most liked domains does, however small these are.
    """
    if with_leader:
        domains = domains[counts.takes_leader[domains]]
    if not domains.size:
        return None
    liking = counts.liking
    if only_best_liked and liking is not None:
        domains = _best_liked(liking, domains)
    capacities = counts.slices_beside if with_leader else counts.slices
    enough = domains[capacities[domains] >= slices]
    if not enough.size:
        return None
    if liking is not None:
        enough = _best_liked(liking, enough)
    found = capacities[enough]
    tightest = enough[found == found.min()]
    # As many slices: then the fewest loose pods, and at last the first name.
    pods = (counts.pods_beside if with_leader else counts.pods)[tightest]
    return int(tightest[pods.argmin()])


def _best_liked(liking: Ints, domains: Ints) -> Ints:
    likings = liking[domains]
    best: Ints = domains[likings == likings.max()]
    return best


def several(
    counts: Counts, domains: Ints, slices: int, order: Order, *, with_leader: bool, leader_first: bool = False
) -> Choice:
    """Domains that take ``slices`` together, or all that there is where that is not enough.

    ``leader_first``: the leader's domain is looked for in the order of what fits beside it, not of what fits alone.
    """
    host = _leader_domain(counts, domains, slices, order, leader_first=leader_first) if with_leader else None
    if host is None:
        return _plain(counts, domains, slices, order)
    taken = min(int(counts.slices_beside[host]), slices)
    rest = _plain(counts, domains[domains != host], slices - taken, order)
    return Choice(np.concatenate(([host], rest.domains)), np.concatenate(([taken], rest.takes)), host)


def _leader_domain(counts: Counts, domains: Ints, slices: int, order: Order, *, leader_first: bool) -> int | None:
    """Who takes the leader: the first by order that does not lose more slices by it than there are to spare."""
    able = domains[counts.takes_leader[domains]]
    if not able.size:
        return None
    able = in_order(counts, able, order, beside_leader=leader_first)
    spare = int(counts.slices[domains].sum()) - slices
    cheap = able[counts.slices[able] - counts.slices_beside[able] <= spare]
    return int(cheap[0] if cheap.size else able[0])


def _plain(counts: Counts, domains: Ints, slices: int, order: Order) -> Choice:
    if slices <= 0:
        return nothing()
    domains = domains[counts.slices[domains] > 0]
    ordered = in_order(counts, domains, order)
    capacities = counts.slices[ordered]
    reached = capacities.cumsum()
    last = int(np.searchsorted(reached, slices))
    if last >= ordered.size:
        return Choice(ordered, capacities)
    rest = slices - (int(reached[last - 1]) if last else 0)
    taken, takes = ordered[: last + 1].copy(), capacities[: last + 1].copy()
    takes[last] = rest
    if order is Order.BIGGEST:
        taken[last] = ordered[last + _tightest(counts, ordered[last:], capacities[last:], rest)]
    return Choice(taken, takes)


def _tightest(counts: Counts, ordered: Ints, capacities: Ints, slices: int) -> int:
    """Of the domains that are as well liked as the first: which one suffices and is the smallest."""
    suffices: Bools = capacities >= slices
    if counts.liking is not None:
        likings = counts.liking[ordered]
        suffices &= likings == likings[0]
    places = np.flatnonzero(suffices)
    return int(places[capacities[places].argmin()])
