"""Whose turn it is among queues that borrow from each other.

Source: the fair sharing of Kueue. The share of a queue or a cohort is what it borrows of its dominant resource, in
thousandths of what its parent could lend, by its weight; whoever has least is next, at each level of the tree.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

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


Rank = tuple[bool, float, int, float, str, str]
"""Of a candidate in one node: whether that would borrow anything that is asked for, and its share, with what it was
lately; then priority, time and names. The least is first."""


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
        self._entries: dict[Node, dict[str, _Entry]] = {}
        """By root and queue."""
        self._winners: dict[Node, tuple[int, _Entry]] = {}
        """By root, and when that was found."""

    def enter(self, candidate: Candidate) -> None:
        """Let the head of a queue take part, in place of the one before."""
        path = self._quotas.path(candidate.queue)
        self._entries.setdefault(path[-1], {})[candidate.queue] = _Entry(candidate, path[:-1], self._loads)
        self._winners.pop(path[-1], None)

    def next_queue(self) -> Candidate | None:
        """Who is next, and takes part no longer; None when there is nobody.

        In each cohort it is the best of its queues and cohorts: who borrows nothing of what is asked for, then who has
        the least share with it, then by priority and time. Those who share no cohort go by priority and time.
        """
        winners = [(self._winner(root, entries), root) for root, entries in self._entries.items()]
        found, root = min(winners, key=lambda each: each[0].turn, default=(None, None))
        if found is None or root is None:
            return None
        del self._winners[root]
        del self._entries[root][found.candidate.queue]
        if not self._entries[root]:
            del self._entries[root]
        return found.candidate

    def _winner(self, root: Node, entries: Mapping[str, '_Entry']) -> '_Entry':
        known = self._winners.get(root)
        if known is None or known[0] != root.changes:
            known = self._winners[root] = root.changes, _best(entries.values())
        return known[1]


class _Entry:
    """A candidate, and how it stands in each node from its queue to below the root."""

    def __init__(self, candidate: Candidate, path: Sequence[Node], loads: Loads) -> None:
        self.candidate, self.path, self._loads = candidate, path, loads
        self.turn = (-candidate.priority, candidate.submitted, candidate.queue, candidate.key)
        self._marks: list[int] = []
        self._ranks: list[Rank] = []

    def ranks(self) -> list[Rank]:
        """From its queue up. They are computed again only when anything changed there."""
        marks = [node.changes for node in self.path]
        if marks != self._marks:
            self._marks, self._ranks = marks, list(self._measured())
        return self._ranks

    def _measured(self) -> Iterator[Rank]:
        more = self.candidate.usage
        for node in self.path:
            borrows = any(node.borrowed(cell, amount) for cell, amount in more.items() if amount)
            yield borrows, share(node, more) + self._loads.get(node.key, 0), *self.turn
            more = {cell: node.bubbled(cell, amount) for cell, amount in more.items()}


def _best(entries: Iterable[_Entry]) -> _Entry:
    """The winner of one tree: from the deepest cohorts up, that of each cohort meets those beside it."""
    by_depth: dict[int, list[tuple[_Entry, list[Rank]]]] = {}
    for entry in entries:
        by_depth.setdefault(len(entry.path), []).append((entry, entry.ranks()))
    for depth in range(max(by_depth), 0, -1):
        winners: dict[Node | None, tuple[_Entry, list[Rank]]] = {}
        for entry, ranks in by_depth[depth]:
            parent = entry.path[-depth].parent
            if parent not in winners or ranks[-depth] < winners[parent][1][-depth]:
                winners[parent] = entry, ranks
        by_depth.setdefault(depth - 1, []).extend(winners.values())
    return by_depth[0][0][0]
