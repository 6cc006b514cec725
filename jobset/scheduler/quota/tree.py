"""What queues use of what they may, in a tree of cohorts over queues."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from jobset.scheduler.model import Cell, Cohort, Queue, Usage
from jobset.scheduler.quota import checks
from jobset.scheduler.quota.checks import Kind, Problem
from jobset.scheduler.quota.node import Node

Named = TypeVar('Named', Queue, Cohort)


class NotTakenError(Exception):
    """More was given back than had been taken: the caller has counted something twice, or never."""


class Quotas:
    """The tree, and what is used in it.

    Queues with problems, or below cohorts with problems, stay in it, so that what runs in them still counts; but
    nothing is available to them. A cohort that nobody has defined has no quota and no parent. A queue that nobody has
    defined has no quota, and cannot be used.
    """

    def __init__(self, queues: Sequence[Queue], cohorts: Sequence[Cohort] = ()) -> None:
        self.problems: Final = checks.problems(queues, cohorts)
        """What an administrator has to change."""
        known = _cohorts(queues, _unique(cohorts, lambda name: Cohort(name=name)))
        self._queues: Final[dict[str, Node]] = {}
        for name, queue in _unique(queues, lambda name: Queue(name=name)).items():
            self._queues[name] = node = Node(Kind.QUEUE, queue)
            node.parent = known[queue.cohort] if queue.cohort is not None else None
        _add_up([*known.values(), *self._queues.values()])
        self._unusable: Final = _unusable(self._queues, self.problems)

    def reason(self, queue: str) -> str | None:
        """Why nothing can start in ``queue``, for its administrator; None if it can be used."""
        self._node(queue)
        return self._unusable.get(queue)

    def path(self, queue: str) -> tuple[Node, ...]:
        """The queue, its cohort, and so on up to the root."""
        return self._node(queue).path

    def available(self, queue: str, cell: Cell) -> int:
        """What ``queue`` may take now: below 0 by what is used too much, 0 where the queue cannot be used."""
        node = self._node(queue)
        return 0 if queue in self._unusable else node.available(cell)

    def potential(self, queue: str, cell: Cell) -> int:
        """What ``queue`` could take if nobody used anything; 0 where it cannot be used."""
        node = self._node(queue)
        return 0 if queue in self._unusable else node.potential(cell)

    def take(self, queue: str, usage: Mapping[Cell, int]) -> None:
        """Count as used, whether it fits or not."""
        node = self._node(queue)
        for cell, amount in usage.items():
            node.add(cell, amount)

    def give_back(self, queue: str, usage: Mapping[Cell, int]) -> None:
        """Count as used no longer. Raises :class:`NotTakenError`, and changes nothing, where it was not."""
        node = self._node(queue)
        for cell, amount in usage.items():
            if amount > node.usage.get(cell, 0):
                raise NotTakenError(
                    f'queue "{queue}" uses {node.usage.get(cell, 0)} of {cell.flavour}/{cell.resource}, not {amount}'
                )
        for cell, amount in usage.items():
            node.add(cell, -amount)

    def fits(self, queue: str, usage: Mapping[Cell, int]) -> bool:
        """Whether ``queue`` may take all of ``usage`` now."""
        return not self.shortfall(queue, usage)

    def shortfall(self, queue: str, usage: Mapping[Cell, int]) -> Usage:
        """What others would have to give back before ``queue`` may take ``usage``; only cells that lack something."""
        missing = {cell: amount - self.available(queue, cell) for cell, amount in usage.items() if amount > 0}
        return {cell: amount for cell, amount in missing.items() if amount > 0}

    def lowest(self, queue: str, cell: Cell, amount: int) -> Node | None:
        """The smallest part of the tree to which ``amount`` more may be added without borrowing; None: not even all."""
        for node in self._node(queue).path:
            if not node.borrowed(cell, amount):
                return node
            amount = node.bubbled(cell, amount)
        return None

    def borrowing(self, queue: str, usage: Mapping[Cell, int]) -> int:
        """From how far away ``queue`` would borrow for ``usage``: 0, nothing; 1, from its cohort; and so on.

        It is the height of the smallest part of the tree in which all fits, and that of the whole where it does not.
        """
        root = self.path(queue)[-1]
        return max(
            ((self.lowest(queue, cell, amount) or root).height for cell, amount in usage.items() if amount > 0),
            default=0,
        )

    def is_over_nominal(self, queue: str, cells: Iterable[Cell]) -> bool:
        """Whether ``queue`` uses more than is its own of any of ``cells``."""
        return self._node(queue).is_over(cells)

    def _node(self, queue: str) -> Node:
        node = self._queues.get(queue)
        if node is None:
            # Something may still run in a queue that has been deleted: it must not stop the rest.
            node = self._queues[queue] = Node(Kind.QUEUE, Queue(name=queue))
            self._unusable[queue] = f'there is no queue "{queue}"'
        return node


def _unique(all_of_them: Sequence[Named], blank: Callable[[str], Named]) -> dict[str, Named]:
    """By name; where several have it, none is right."""
    counts = Counter(each.name for each in all_of_them)
    return {each.name: each if counts[each.name] == 1 else blank(each.name) for each in all_of_them}


def _cohorts(queues: Sequence[Queue], defined: Mapping[str, Cohort]) -> dict[str, Node]:
    """Nodes of all cohorts that are named anywhere. Circles are cut at each of their cohorts."""
    parents = {name: cohort.parent for name, cohort in defined.items()}
    circles = checks.circular(parents)
    named = {each for each in (*parents, *parents.values(), *(queue.cohort for queue in queues)) if each is not None}
    found = {name: Node(Kind.COHORT, defined.get(name) or Cohort(name=name)) for name in named}
    for name, parent in parents.items():
        if parent is not None and name not in circles:
            found[name].parent = found[parent]
    return found


def _add_up(nodes: Sequence[Node]) -> None:
    """Compute, from the queues upwards, what depends on those below."""
    waiting = Counter(node.parent for node in nodes if node.parent is not None)
    ready = [node for node in nodes if node not in waiting]
    while ready:
        node = ready.pop()
        for cell, quota in node.quotas.items():
            if quota.lending_limit is not None:
                node.local[cell] = max(0, node.subtree[cell] - quota.lending_limit)
        parent = node.parent
        if parent is None:
            continue
        for cell, amount in node.subtree.items():
            parent.subtree[cell] = parent.subtree.get(cell, 0) + amount - node.local.get(cell, 0)
        parent.height = max(parent.height, node.height + 1)
        waiting[parent] -= 1
        if not waiting[parent]:
            ready.append(parent)


def _unusable(queues: Mapping[str, Node], problems: Iterable[Problem]) -> dict[str, str]:
    """Why, by queue."""
    by_owner: dict[tuple[Kind, str], list[str]] = {}
    for problem in problems:
        by_owner.setdefault((problem.kind, problem.name), []).append(str(problem))
    if not by_owner:
        return {}
    found = {name: [text for each in node.path for text in by_owner.get(each.key, ())] for name, node in queues.items()}
    return {name: '; '.join(texts) for name, texts in found.items() if texts}
