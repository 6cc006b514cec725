"""How many pods of a shape fit in each leaf. What was counted once is counted again only where something changed."""

from collections import Counter
from collections.abc import Hashable
from typing import Final

import numpy as np
import numpy.typing as npt

from jobset.scheduler.topology import filters, requests
from jobset.scheduler.topology.domains import Ints
from jobset.scheduler.topology.tree import Tree

UNLIMITED: Final = 1 << 31
"""Pods that fit where they need nothing at all: more than anybody asks for, and sums of it still are numbers."""

ALLOWED, OUTSIDE, EXCLUDED = range(3)
"""Whether a leaf may be used; if not, is it outside the wanted domain, or was it named?"""
_BANS: Final = {OUTSIDE: 'topologyDomain', EXCLUDED: 'excludedNode'}

_MAX_SHAPES: Final = 64


class _Counts:
    """Pods by slot, and up to which change that is right."""

    def __init__(self) -> None:
        self.pods: Ints = np.zeros(0, np.int64)
        self.amount_mark = -1
        self.node_mark = -1


class Fitting:
    """Counts pods in the leaves of one tree."""

    def __init__(self, tree: Tree) -> None:
        self.tree: Final = tree
        self._filters = filters.Filters(tree)
        self._counts: dict[Hashable, _Counts] = {}

    def pods(self, shape: requests.PodShape) -> Ints:
        """By slot, how many pods fit now. Not to be written to."""
        key = (tuple(sorted(shape.amounts.items())), self._filters.key(shape))
        known = self._counts.pop(key, None) or _Counts()
        self._counts[key] = known
        if len(self._counts) > _MAX_SHAPES:
            del self._counts[next(iter(self._counts))]
        tree = self.tree
        changed = self._changed(known)
        known.amount_mark, known.node_mark = tree.amount_changes.mark, tree.node_changes.mark
        if changed is None:
            known.pods = self._count(shape, slice(None))
        elif changed:
            slots = np.fromiter(changed, np.int64, len(changed))
            known.pods[slots] = self._count(shape, slots)
        return known.pods

    def pods_beside(self, shape: requests.PodShape, other: requests.PodShape) -> tuple[Ints, npt.NDArray[np.bool_]]:
        """By slot: how many pods fit after one pod of ``other``, and where that one fits at all."""
        has_room = self.pods(other) > 0
        each = self.tree.vector(other.amounts)
        beside = _whole(self.tree.free - each[:, None], self.tree.vector(shape.amounts))
        beside[(self._filters.verdicts(shape) > 0) | ~has_room | bool(_unknown(shape, self.tree))] = 0
        return beside, has_room

    def preferences(self, shape: requests.PodShape) -> Ints:
        """By slot: how much its node is liked by the shape, where a pod fits."""
        return np.where(self.pods(shape) > 0, self._filters.preferences(shape), 0)

    def exclusions(self, shape: requests.PodShape, bans: Ints) -> Counter[str]:
        """How many leaves are of no use, by reason. ``bans`` says by slot which may be used at all."""
        slots = self.tree.order
        verdicts = self._filters.verdicts(shape)[slots]
        counter: Counter[str] = Counter()
        for code, many in zip(*np.unique(verdicts[verdicts > 0], return_counts=True), strict=True):
            counter[self._filters.reasons[int(code)]] += int(many)
        usable = slots[verdicts == 0]
        for ban, reason in _BANS.items():
            counter[reason] = int((bans[usable] == ban).sum())
        usable = usable[bans[usable] == ALLOWED]
        short = usable[self.pods(shape)[usable] == 0]
        for name, many in self._limits(shape, short).items():
            counter[f'resource "{name}"'] = many
        return +counter

    def _limits(self, shape: requests.PodShape, slots: Ints) -> Counter[str]:
        """Which resource is the scarcest in each of these slots; of several the first by name."""
        unknown = _unknown(shape, self.tree)
        if unknown:
            return Counter({unknown: slots.size})
        needs = self.tree.vector(shape.amounts)
        named = sorted((name, row) for row, name in enumerate(self.tree.resources) if needs[row] > 0)
        if not named or not slots.size:
            return Counter()
        rows = np.array([row for _, row in named])
        each = np.maximum(self.tree.free[np.ix_(rows, slots)], 0) // needs[rows][:, None]
        many = np.bincount(each.argmin(axis=0), minlength=len(named)).tolist()
        return Counter({name: count for (name, _), count in zip(named, many, strict=True)})

    def _changed(self, known: _Counts) -> set[int] | None:
        tree = self.tree
        if known.pods.size != tree.width:
            return None
        amounts = tree.amount_changes.since(known.amount_mark)
        facts = tree.node_changes.since(known.node_mark)
        return None if amounts is None or facts is None else amounts | facts

    def _count(self, shape: requests.PodShape, slots: 'slice | Ints') -> Ints:
        if _unknown(shape, self.tree):
            return np.zeros_like(self.tree.free[0, slots])
        pods = _whole(self.tree.free[:, slots], self.tree.vector(shape.amounts))
        pods[self._filters.verdicts(shape)[slots] > 0] = 0
        return pods


def _whole(free: Ints, needs: Ints) -> Ints:
    """How many pods of ``needs`` go into each column of ``free``."""
    pods = np.full(free.shape[1], UNLIMITED, np.int64)
    for row, need in enumerate(needs.tolist()):
        if need:
            np.minimum(pods, free[row] // need, out=pods)
    return np.maximum(pods, 0, out=pods)


def _unknown(shape: requests.PodShape, tree: Tree) -> str | None:
    """A resource that no node of the tree has ever heard of."""
    return min((name for name, amount in shape.amounts.items() if amount and name not in tree.resources), default=None)
