"""Equal shares: few domains, and in each of them as nearly the same number of slices as possible.

For pods that prefer a level. Siblings of that level compete as groups: the one whose smallest share would be the
largest wins, then the one with fewer domains. What cannot hold that share is left out before domains are chosen. Where
any of this is impossible, the caller goes on with best fit.
"""

import math
from dataclasses import dataclass

import numpy as np

from jobset.scheduler.topology import choosing, greedy, rollup, subsets
from jobset.scheduler.topology.choosing import Choice
from jobset.scheduler.topology.domains import Ints
from jobset.scheduler.topology.rollup import Counts, Order, Plan
from jobset.scheduler.topology.tree import Tree


@dataclass(frozen=True, slots=True)
class _Outlook:
    """The best that siblings can come to."""

    share: int
    reserve: int
    """A share at which more of them could take the leader."""
    domains: int
    first: int
    own: Counts
    starts: Ints | None
    lower: Counts | None
    lower_first: int

    @property
    def rank(self) -> tuple[int, int, int]:
        """Less is better: a larger share, fewer domains, earlier by name."""
        return -self.share, self.domains, self.first


@dataclass(frozen=True, slots=True)
class _Group:
    """Siblings, pruned to what holds ``share``; positions are those within the group."""

    share: int
    domains: int
    offset: int
    own: Counts
    starts: Ints | None
    lower: Counts | None
    lower_offset: int

    @property
    def rank(self) -> tuple[int, int, int]:
        """As in :class:`_Outlook`."""
        return -self.share, self.domains, self.offset


def choose(tree: Tree, wanted: Plan, counts: list[Counts]) -> tuple[int, Choice] | None:
    """A level and what its domains take; each keeps its share on the way down. None where no balance is possible."""
    outlooks = [
        outlook
        for first, end in _sibling_sets(tree, wanted, counts)
        if (outlook := _outlook(tree, wanted, counts, first, end))
    ]
    # Siblings are many and pruning takes time: those that cannot win any more are not looked at.
    outlooks.sort(key=lambda outlook: outlook.rank)
    best: _Group | None = None
    for outlook in outlooks:
        if best is not None and outlook.rank > best.rank:
            break
        group = _group(wanted, outlook)
        if group is not None and (best is None or group.rank < best.rank):
            best = group
    return None if best is None else _shares(wanted, best)


def _sibling_sets(tree: Tree, wanted: Plan, counts: list[Counts]) -> list[tuple[int, int]]:
    """Ranges of the wanted level that have a parent in common, and room for everything."""
    level = wanted.level
    if level == 0:
        return [(0, counts[0].slices.size)]
    starts, parents = tree.starts[level - 1], counts[level - 1]
    enough = np.flatnonzero((parents.pods >= wanted.request.count) & parents.takes_leader)
    return [(int(starts[i]), int(starts[i + 1])) for i in enough]


def _outlook(tree: Tree, wanted: Plan, counts: list[Counts], first: int, end: int) -> _Outlook | None:
    own = _part(counts[wanted.level], first, end)
    starts, lower, lower_first = None, None, 0
    if wanted.level < wanted.slice_level:
        own_starts = tree.starts[wanted.level][first : end + 1]
        lower_first = int(own_starts[0])
        starts = own_starts - lower_first
        lower = _part(counts[wanted.level + 1], lower_first, int(own_starts[-1]))
    found = greedy.greedily(wanted, own if lower is None else lower)
    if not found.suffices or not found.domains:
        return None
    share = min(wanted.slices // found.domains, found.last)
    if found.leaders is not None:
        share = min(share, found.leaders)
    reserve = min(share, found.last_beside)
    if share <= 0:
        return None
    domains = found.domains if lower is None else greedy.greedily(wanted, own).domains
    return _Outlook(share, reserve, domains, first, own, starts, lower, lower_first)


def _group(wanted: Plan, outlook: _Outlook) -> _Group | None:
    """Siblings without those that cannot hold the share, if the others suffice."""
    for share in dict.fromkeys((outlook.share, outlook.reserve)):
        own, lower = outlook.own, outlook.lower
        if lower is not None and outlook.starts is not None:
            lower = _pruned(lower, share)
            own = rollup.add_up(wanted, wanted.level, lower, outlook.starts)
        own = _pruned(own, share)
        result = greedy.greedily(wanted, own)
        if result.suffices and share > 0:
            return _Group(share, result.domains, outlook.first, own, outlook.starts, lower, outlook.lower_first)
    return None


def _part(counts: Counts, first: int, end: int) -> Counts:
    cut = slice(first, end)
    liking = None if counts.liking is None else counts.liking[cut]
    if counts.slices_beside is counts.slices:
        # Without a leader these are the same arrays, and stay so: that saves the sums of one of them.
        slices = counts.slices[cut]
        pods = slices if counts.pods is counts.slices else counts.pods[cut]
        return Counts(pods, slices, pods, slices, counts.takes_leader[cut], liking)
    return Counts(
        counts.pods[cut],
        counts.slices[cut],
        counts.pods_beside[cut],
        counts.slices_beside[cut],
        counts.takes_leader[cut],
        liking,
    )


def _pruned(counts: Counts, share: int) -> Counts:
    """Without the domains that cannot hold ``share``; where only the leader is too much, without the leader."""
    stays = counts.slices >= share
    slices = counts.slices * stays
    pods = slices if counts.pods is counts.slices else counts.pods * stays
    if counts.slices_beside is counts.slices:
        return Counts(pods, slices, pods, slices, counts.takes_leader, counts.liking)
    takes_leader = counts.takes_leader & (counts.slices_beside >= share)
    return Counts(pods, slices, counts.pods_beside * stays, counts.slices_beside * stays, takes_leader, counts.liking)


def _shares(wanted: Plan, group: _Group) -> tuple[int, Choice] | None:
    own = group.own
    everyone = np.arange(own.slices.size)
    if group.lower is None or group.starts is None:
        chosen = _smallest(wanted, own, everyone, group.domains)
        return _moved(_dealt(wanted, group.share, wanted.level, own, chosen), group.offset)
    order = _explored(group.lower, own, group.starts, everyone)
    parents = _smallest(wanted, own, order, group.domains)
    if parents is None:
        return None
    starts = group.starts
    pool = np.concatenate([np.arange(starts[i], starts[i + 1]) for i in np.sort(parents)])
    needed = greedy.greedily(wanted, group.lower, pool)
    chosen = _smallest(wanted, group.lower, pool, needed.domains) if needed.suffices else None
    return _moved(_dealt(wanted, group.share, wanted.level + 1, group.lower, chosen), group.lower_offset)


def _explored(lower: Counts, own: Counts, starts: Ints, domains: Ints) -> Ints:
    """Who is tried first: takes the leader, is big, is made of equal parts, comes first by name."""
    entropies = [_entropy(lower.slices[starts[i] : starts[i + 1]]) for i in domains]
    keys = sorted(
        domains.tolist(),
        key=lambda i: (not own.takes_leader[i], -int(own.slices_beside[i]), -entropies[i], i),
    )
    return np.array(keys, np.int64)


def _entropy(parts: Ints) -> float:
    total = int(parts.sum())
    shares = sorted(part / total for part in parts.tolist() if part)
    return -math.fsum(share * math.log2(share) for share in shares)


def _smallest(wanted: Plan, counts: Counts, order: Ints, size: int) -> Ints | None:
    order = order[counts.slices[order] > 0]
    beside = None
    if wanted.has_leader:
        pairs = zip(counts.takes_leader[order].tolist(), counts.slices_beside[order].tolist(), strict=True)
        beside = [capacity if is_able else None for is_able, capacity in pairs]
    chosen = subsets.smallest_sufficient(counts.slices[order].tolist(), beside, size=size, needed=wanted.slices)
    return None if chosen is None else order[chosen]


def _dealt(wanted: Plan, share: int, level: int, counts: Counts, chosen: Ints | None) -> tuple[int, Choice] | None:
    """The share for each, then what is left to whoever has room."""
    if chosen is None or wanted.slices < chosen.size * share:
        return None
    leaders = choosing.in_order(
        counts, np.sort(chosen[counts.takes_leader[chosen]]), Order.BIGGEST, beside_leader=wanted.has_leader
    )
    if wanted.has_leader and not leaders.size:
        return None
    rest = np.sort(chosen[~counts.takes_leader[chosen]])
    ordered = np.concatenate((leaders, choosing.in_order(counts, rest, Order.BIGGEST)))
    capacities = counts.slices[ordered].copy()
    if wanted.has_leader:
        capacities[0] = counts.slices_beside[ordered[0]]
    spare = capacities - share
    extra = wanted.slices - chosen.size * share
    given = np.minimum(spare, np.maximum(extra - (spare.cumsum() - spare), 0))
    if int(given.sum()) < extra or (spare < 0).any():
        return None
    return level, Choice(ordered, share + given, int(ordered[0]) if wanted.has_leader else None)


def _moved(found: tuple[int, Choice] | None, offset: int) -> tuple[int, Choice] | None:
    """From positions within a group to those within the level."""
    if found is None:
        return None
    level, choice = found
    leader = None if choice.leader is None else choice.leader + offset
    return level, Choice(choice.domains + offset, choice.takes, leader)
