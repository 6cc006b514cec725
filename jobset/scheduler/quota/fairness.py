"""Whose turn it is among queues that borrow from each other.

Source: the fair sharing of Kueue. The share of a queue or a cohort is what it borrows of its dominant resource, in
thousandths of what its parent could lend, by its weight; whoever has least is next, at each level of the tree.
"""

import math
from collections.abc import Iterator, Mapping

import msgspec

from jobset.scheduler.amounts import Amounts
from jobset.scheduler.model import Cell, Usage
from jobset.scheduler.quota.checks import Kind
from jobset.scheduler.quota.node import Node
from jobset.scheduler.quota.tree import Quotas

Loads = Mapping[tuple[Kind, str], float]
"""By :attr:`Node.key`: what counts on top of the share, in its unit. See :mod:`jobset.scheduler.quota.history`."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """The head of a queue."""

    queue: str
    key: str
    """Of its JobSet."""
    usage: Usage
    priority: int = 0
    submitted: float = 0


class Standing(msgspec.Struct, frozen=True, order=True):
    """How far back a node stands with a candidate in it; the lesser is first."""

    borrows: bool
    """Anything of what the candidate asks for."""
    share: float
    """With what it was lately."""


def borrowed(node: Node, more: Mapping[Cell, int] | None = None) -> Amounts:
    """By resource, what ``node`` uses beyond what is its own, with ``more`` on top; only what it does borrow."""
    more = more or {}
    found: Amounts = {}
    for cell in node.usage.keys() | more.keys():
        amount = node.borrowed(cell, more.get(cell, 0))
        if amount:
            found[cell.resource] = found.get(cell.resource, 0) + amount
    return found


def share(node: Node, more: Mapping[Cell, int] | None = None) -> float:
    """The dominant share of ``node``, with ``more`` on top: 0 where it borrows nothing."""
    if node.parent is None:
        return 0
    return dominant(borrowed(node, more), node.parent.lendable, node.weight)


def dominant(amounts: Mapping[str, float], whole: Mapping[str, int], weight: float) -> float:
    """The largest part that any amount is of the whole, in thousandths, by weight.

    It is infinite for anything of what is not there at all, and for anything where the weight is 0.
    """
    parts = [
        amount * 1000 / whole[resource] / weight if weight and whole.get(resource) else math.inf
        for resource, amount in amounts.items()
        if amount > 0
    ]
    return max(parts, default=0)


class Tournament:
    """Picks among the heads of queues, one after the other, while what is used changes."""

    def __init__(self, quotas: Quotas, loads: Loads | None = None) -> None:
        self._quotas = quotas
        self._loads = loads or {}
        self._candidates: dict[str, Candidate] = {}
        self._known: dict[str, tuple[tuple[int, ...], tuple[Standing, ...]]] = {}

    def enter(self, candidate: Candidate) -> None:
        """Let the head of a queue take part, in place of the one before."""
        self._candidates[candidate.queue] = candidate
        self._known.pop(candidate.queue, None)

    def next_queue(self) -> Candidate | None:
        """Who is next, and takes part no longer; None when there is nobody.

        In each cohort it is the best of its queues and cohorts: who borrows nothing of what is asked for, then who has
        the least share with it, then by priority and time. Those who share no cohort go by priority and time.
        """
        by_depth: dict[int, dict[Node, Candidate]] = {0: {}}
        for name, candidate in self._candidates.items():
            path = self._quotas.path(name)
            by_depth.setdefault(len(path) - 1, {})[path[0]] = candidate
        for depth in range(max(by_depth), 0, -1):
            above = by_depth.setdefault(depth - 1, {})
            for candidate in by_depth[depth].values():
                parent = self._quotas.path(candidate.queue)[-depth]
                best = above.get(parent, candidate)
                above[parent] = min(best, candidate, key=lambda each: (self._standings(each)[-depth], _turn(each)))
        found = min(by_depth[0].values(), key=_turn, default=None)
        if found is not None:
            del self._candidates[found.queue]
        return found

    def _standings(self, candidate: Candidate) -> tuple[Standing, ...]:
        """Of each node from its queue to below the root. They are computed again only when anything changed there."""
        path = self._quotas.path(candidate.queue)[:-1]
        marks = tuple(node.changes for node in path)
        known = self._known.get(candidate.queue)
        if known is None or known[0] != marks:
            known = self._known[candidate.queue] = marks, tuple(self._measured(path, candidate.usage))
        return known[1]

    def _measured(self, path: tuple[Node, ...], more: Usage) -> Iterator[Standing]:
        for node in path:
            borrows = any(node.borrowed(cell, amount) for cell, amount in more.items() if amount)
            yield Standing(borrows, share(node, more) + self._loads.get(node.key, 0))
            more = {cell: node.bubbled(cell, amount) for cell, amount in more.items()}


def _turn(candidate: Candidate) -> tuple[int, float, str, str]:
    return -candidate.priority, candidate.submitted, candidate.queue, candidate.key
