"""What is used in one place of the tree of quota, and what may be.

Source: the quota arithmetic of Kueue. A node keeps its local part, what its lending limit withholds, for itself; all
else belongs to its parent, too, and so does usage above the local part.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Final

from jobset.scheduler.amounts import Amounts
from jobset.scheduler.model import Cell, Cohort, Queue, Quota, Usage
from jobset.scheduler.quota.checks import Kind

_NOTHING: Final = Quota(nominal=0)


class Node:
    """A queue or a cohort. Others than :mod:`tree` only read it."""

    def __init__(self, kind: Kind, owner: Queue | Cohort) -> None:
        self.key: Final = (kind, owner.name)
        """What it is, beyond this one tree."""
        self.weight: Final = owner.weight
        self.quotas: Final = {cell: _sane(quota) for cell, quota in owner.quotas.items()}
        self.parent: Node | None = None
        self.height = 0
        """Edges down to the deepest queue; 0 for a queue."""
        self.subtree: Usage = {cell: quota.nominal for cell, quota in self.quotas.items()}
        """What belongs to it and to those below it, without what these withhold."""
        self.local: Usage = {}
        """What nobody else can have."""
        self.usage: Usage = {}
        """What is used of :attr:`subtree`, and what is borrowed on top."""
        self.changes = 0
        """Grows whenever its usage changes; that of a root also when any below it does."""

    @cached_property
    def path(self) -> tuple['Node', ...]:
        """From itself up to the root."""
        found, node = [self], self.parent
        while node is not None:
            found.append(node)
            node = node.parent
        return tuple(found)

    @cached_property
    def lendable(self) -> Amounts:
        """By resource, the most that could be had here of all flavours together."""
        found: Amounts = {}
        for cell in self.path[-1].subtree:
            found[cell.resource] = found.get(cell.resource, 0) + self.potential(cell)
        return found

    def available(self, cell: Cell) -> int:
        """What may be taken now; below 0 by what is used too much."""
        root = self.path[-1]
        found = root.subtree.get(cell, 0) - root.usage.get(cell, 0)
        for node in self.path[-2::-1]:
            used, local = node.usage.get(cell, 0), node.local.get(cell, 0)
            limit = node.quotas.get(cell, _NOTHING).borrowing_limit
            if limit is not None:
                found = min(found, limit + node.subtree[cell] - local - max(0, used - local))
            found += max(0, local - used)
        return found

    def potential(self, cell: Cell) -> int:
        """What could be taken if nobody used anything."""
        found = self.path[-1].subtree.get(cell, 0)
        for node in self.path[-2::-1]:
            found += node.local.get(cell, 0)
            limit = node.quotas.get(cell, _NOTHING).borrowing_limit
            if limit is not None:
                found = min(found, limit + node.subtree[cell])
        return found

    def add(self, cell: Cell, amount: int) -> None:
        """Count ``amount`` more as used, here and above."""
        for node in self.path:
            if not amount:
                self.path[-1].changes += 1
                return
            bubbled = node.bubbled(cell, amount)
            node.usage[cell] = node.usage.get(cell, 0) + amount
            node.changes += 1
            amount = bubbled

    def bubbled(self, cell: Cell, amount: int) -> int:
        """By how much usage of the parent changes when that of this node changes by ``amount``."""
        used, local = self.usage.get(cell, 0), self.local.get(cell, 0)
        return max(0, used + amount - local) - max(0, used - local)

    def borrowed(self, cell: Cell, amount: int = 0) -> int:
        """What it uses beyond what is its own, with ``amount`` on top."""
        return max(0, self.usage.get(cell, 0) + amount - self.subtree.get(cell, 0))

    def is_over(self, cells: Iterable[Cell]) -> bool:
        """Whether it uses more than is its own of any of ``cells``."""
        return any(map(self.borrowed, cells))


def _sane(quota: Quota) -> Quota:
    """Amounts to go on with where some are negative."""
    borrowing, lending = quota.borrowing_limit, quota.lending_limit
    return Quota(
        nominal=max(0, quota.nominal),
        borrowing_limit=None if borrowing is None else max(0, borrowing),
        lending_limit=None if lending is None else max(0, lending),
    )
