"""How much each queue may use, of what is its own and of what others lend.

Queues are the leaves of trees of cohorts. What a queue or a cohort does not lend is for itself alone; all else is its
cohort's, which lends it on. Usage goes up the tree as far as it is more than what is kept below.

Source: Kueue's quota arithmetic, in formulas: with ``kept`` for what is not lent,

    subtree(X)   = nominal(X) + sum over children c of (subtree(c) - kept(c))
    kept(X)      = max(0, subtree(X) - lendingLimit(X)), and 0 without a lending limit
    available(X) = subtree - usage at a root; elsewhere max(0, kept - usage) + the smaller of
                   available(parent) and borrowingLimit + (subtree - kept) - max(0, usage - kept)
    potential(X) = kept + potential(parent), at most subtree + borrowingLimit
"""

from collections.abc import Iterable, Mapping
from typing import Final

from jobset.scheduler import model
from jobset.scheduler.model import Cell, Usage

_NO_QUOTA: Final = model.Quota(nominal=0)


class _Node:
    """A queue or a cohort."""

    def __init__(self, name: str, quotas: Mapping[Cell, model.Quota], weight: float) -> None:
        self.name = name
        self.quotas = quotas
        self.weight = weight
        self.parent: _Node | None = None
        self.children: list[_Node] = []
        self.height = 0
        """Of the tree below it."""
        self.subtree: dict[Cell, int] = {}
        self.kept: dict[Cell, int] = {}
        self.usage: dict[Cell, int] = {}

    def settle(self) -> None:
        """Add up what belongs to the children, who have been settled before."""
        self.height = max((child.height + 1 for child in self.children), default=0)
        cells = {*self.quotas, *(cell for child in self.children for cell in child.subtree)}
        for cell in cells:
            quota = self.quotas.get(cell, _NO_QUOTA)
            lent = sum(child.subtree.get(cell, 0) - child.kept.get(cell, 0) for child in self.children)
            self.subtree[cell] = whole = quota.nominal + lent
            if quota.lending_limit is not None and self.parent is not None:
                self.kept[cell] = max(0, whole - quota.lending_limit)

    def available(self, cell: Cell) -> int:
        """How much more of a cell may be used."""
        whole, used = self.subtree.get(cell, 0), self.usage.get(cell, 0)
        if self.parent is None:
            return whole - used
        kept = self.kept.get(cell, 0)
        above = self.parent.available(cell)
        limit = self._borrowing_limit(cell)
        if limit is not None:
            above = min(above, limit + (whole - kept) - max(0, used - kept))
        return max(0, kept - used) + above

    def potential(self, cell: Cell) -> int:
        """How much of a cell could be used if nobody else used any."""
        whole = self.subtree.get(cell, 0)
        if self.parent is None:
            return whole
        most = self.kept.get(cell, 0) + self.parent.potential(cell)
        limit = self._borrowing_limit(cell)
        return most if limit is None else min(most, whole + limit)

    def add(self, cell: Cell, amount: int) -> None:
        """Count usage, positive or negative, here and above as far as it goes."""
        kept, before = self.kept.get(cell, 0), self.usage.get(cell, 0)
        after = self.usage[cell] = before + amount
        rise = max(0, after - kept) - max(0, before - kept)
        if rise and self.parent is not None:
            self.parent.add(cell, rise)

    def lacks(self, cell: Cell, amount: int) -> bool:
        """Whether so much more is more than what belongs here."""
        return self.usage.get(cell, 0) + amount > self.subtree.get(cell, 0)

    def _borrowing_limit(self, cell: Cell) -> int | None:
        return self.quotas.get(cell, _NO_QUOTA).borrowing_limit


class Quotas:
    """All queues and cohorts, and what is used of them."""

    def __init__(self, queues: Iterable[model.Queue], cohorts: Iterable[model.Cohort] = ()) -> None:
        self._queues: dict[str, _Node] = {}
        self._counted: dict[str, frozenset[Cell]] = {}
        self.problems: Final[dict[str, str]] = {}
        """By queue that cannot be used, why. All others can."""
        groups = {each.name: each for each in sorted(cohorts, key=lambda each: each.name)}
        nodes: dict[str, _Node] = {}
        for queue in sorted(queues, key=lambda each: each.name):
            wrong = _wrong(queue) or _wrong_cohorts(queue.cohort, groups)
            if wrong:
                self.problems[queue.name] = wrong
                continue
            node = self._queues[queue.name] = _Node(queue.name, queue.quotas, queue.weight)
            self._counted[queue.name] = frozenset(queue.quotas)
            if queue.cohort is not None:
                _attach(node, _cohort(queue.cohort, groups, nodes))
        for name in groups:
            # Those without queues lend, too.
            if not _wrong_cohorts(name, groups):
                _cohort(name, groups, nodes)
        for root in [node for node in (*self._queues.values(), *nodes.values()) if node.parent is None]:
            _settle(root)

    def knows(self, queue: str) -> bool:
        """Whether there is a queue of that name that can be used."""
        return queue in self._queues

    def available(self, queue: str, cell: Cell) -> int:
        """How much more of a cell a queue may use; negative where too much is in use."""
        return self._queues[queue].available(cell)

    def potential(self, queue: str, cell: Cell) -> int:
        """The most of a cell that a queue may ever use."""
        return self._queues[queue].potential(cell)

    def used(self, queue: str, cell: Cell) -> int:
        """What a queue uses of a cell."""
        return self._queues[queue].usage.get(cell, 0)

    def nominal(self, queue: str, cell: Cell) -> int:
        """What of a cell belongs to a queue."""
        return self._queues[queue].subtree.get(cell, 0)

    def take(self, queue: str, usage: Usage) -> None:
        """Count usage, whether there is room for it or not. That of unknown queues is not counted."""
        self._add(queue, usage, 1)

    def give_back(self, queue: str, usage: Usage) -> None:
        """The opposite of :meth:`take`."""
        self._add(queue, usage, -1)

    def fits(self, queue: str, usage: Usage) -> bool:
        """Whether all of ``usage`` may be used now."""
        node = self._queues[queue]
        return all(amount <= 0 or amount <= node.available(cell) for cell, amount in usage.items())

    def shortfall(self, queue: str, usage: Usage) -> Usage:
        """What of ``usage`` is missing, by cell."""
        node = self._queues[queue]
        missing = {cell: amount - node.available(cell) for cell, amount in usage.items() if amount > 0}
        return {cell: amount for cell, amount in missing.items() if amount > 0}

    def borrowing(self, queue: str, usage: Usage) -> int:
        """From how high up ``usage`` would be borrowed: 0 for not at all, else the height of the smallest tree."""
        node: _Node | None = self._queues[queue]
        wanted = [(cell, amount) for cell, amount in usage.items() if amount > 0]
        height = 0
        while node is not None and any(node.lacks(cell, amount) for cell, amount in wanted):
            node = node.parent
            height = node.height if node is not None else height + 1
        return height

    def is_borrowing(self, queue: str, cells: Iterable[Cell]) -> bool:
        """Whether a queue, and all above it, use more of any of the cells than they own."""
        node: _Node | None = self._queues.get(queue)
        cells = tuple(cells)
        while node is not None and node.parent is not None:
            if not any(node.lacks(cell, 0) for cell in cells):
                return False
            node = node.parent
        return node is not None

    def root(self, queue: str) -> str | None:
        """The cohort at the top of a queue's tree; None for a queue on its own."""
        node = self._queues.get(queue)
        while node is not None and node.parent is not None:
            node = node.parent
        return None if node is None or node.name == queue else node.name

    def share(self, queue: str, usage: Usage) -> float:
        """The dominant share that a queue would have of what is lent, with ``usage`` besides what it uses.

        In thousandths; 0 without borrowing, infinite where it borrows with weight 0. Source: Kueue's fair sharing.
        """
        node = self._queues[queue]
        parent = node.parent
        if parent is None:
            return 0.0
        borrowed: dict[str, int] = {}
        for cell in {*node.usage, *usage}:
            above = node.usage.get(cell, 0) + usage.get(cell, 0) - node.subtree.get(cell, 0)
            if above > 0:
                borrowed[cell.resource] = borrowed.get(cell.resource, 0) + above
        if not borrowed:
            return 0.0
        if node.weight == 0:
            return float('inf')
        lendable: dict[str, int] = {}
        for cell in parent.subtree:
            lendable[cell.resource] = lendable.get(cell.resource, 0) + parent.potential(cell)
        return (
            max(amount * 1000 / max(1, lendable.get(resource, 0)) for resource, amount in borrowed.items())
            / node.weight
        )

    def _add(self, queue: str, usage: Usage, sign: int) -> None:
        node = self._queues.get(queue)
        if node is not None:
            for cell, amount in usage.items():
                if amount:
                    node.add(cell, sign * amount)


def _attach(node: _Node, parent: _Node) -> None:
    node.parent = parent
    parent.children.append(node)


def _cohort(name: str, known: Mapping[str, model.Cohort], nodes: dict[str, _Node]) -> _Node:
    """The node of a cohort, and those above it; a cohort that nobody has described has no quota of its own."""
    node = nodes.get(name)
    if node is None:
        cohort = known.get(name) or model.Cohort(name=name)
        node = nodes[name] = _Node(name, cohort.quotas, cohort.weight)
        if cohort.parent is not None:
            _attach(node, _cohort(cohort.parent, known, nodes))
    return node


def _settle(node: _Node) -> None:
    for child in node.children:
        _settle(child)
    node.settle()


def _wrong_cohorts(name: str | None, known: Mapping[str, model.Cohort]) -> str | None:
    """What is wrong with a cohort and those above it."""
    seen: list[str] = []
    while name is not None:
        if name in seen:
            way = ' -> '.join((*seen[seen.index(name) :], name))
            return f'spec.cohort: cohorts are inside each other: {way}; let one of them have no parent'
        seen.append(name)
        cohort = known.get(name)
        if cohort is not None:
            wrong = _wrong_quotas(cohort.quotas, has_parent=cohort.parent is not None) or _wrong_weight(cohort.weight)
            if wrong:
                return f'cohort {name}: {wrong}'
        name = cohort.parent if cohort is not None else None
    return None


def _wrong(queue: model.Queue) -> str | None:
    """What is wrong with a queue itself."""
    covered: set[str] = set()
    cells: set[Cell] = set()
    for i, group in enumerate(queue.groups):
        twice = sorted(covered & set(group.resources))
        if twice:
            return f'spec.resourceGroups[{i}].resources: "{twice[0]}" is in an earlier group, too; name it in one'
        covered |= set(group.resources)
        if len(set(group.flavours)) < len(group.flavours):
            return f'spec.resourceGroups[{i}].flavours: a flavour is named twice; name each once'
        cells |= {Cell(flavour, resource) for flavour in group.flavours for resource in group.resources}
    stray = sorted(set(queue.quotas) - cells)
    if stray:
        return f'spec.resourceGroups: there is a quota for {stray[0].resource} of {stray[0].flavour}, but no such group'
    return _wrong_quotas(queue.quotas, has_parent=queue.cohort is not None) or _wrong_weight(queue.weight)


def _wrong_weight(weight: float) -> str | None:
    return f'spec.weight: {weight:g} is negative; give 0 or more' if weight < 0 else None


def _wrong_quotas(quotas: Mapping[Cell, model.Quota], *, has_parent: bool) -> str | None:
    for cell, quota in sorted(quotas.items()):
        where = f'quota for {cell.resource} of {cell.flavour}'
        if quota.nominal < 0:
            return f'{where}: nominalQuota {quota.nominal} is negative; give 0 or more'
        if (quota.borrowing_limit or 0) < 0 or (quota.lending_limit or 0) < 0:
            return f'{where}: a limit is negative; give 0 or more'
        if not has_parent and (quota.borrowing_limit is not None or quota.lending_limit is not None):
            return f'{where}: there is no cohort to borrow from or lend to; leave out the limits'
        if quota.lending_limit is not None and quota.lending_limit > quota.nominal:
            return f'{where}: lendingLimit {quota.lending_limit} is more than nominalQuota {quota.nominal}'
    return None
