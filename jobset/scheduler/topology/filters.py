"""Which nodes the pods of one shape may use, whatever is free there: taints, selector, affinity.

Nodes are many and their labels and taints few, so each label becomes a column of small numbers, and a rule is asked
once for each value that there is.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from jobset.scheduler.topology import nodes, requests
from jobset.scheduler.topology.domains import Ints
from jobset.scheduler.topology.tree import Tree

Fact = TypeVar('Fact', bound=Hashable)

AFFINITY: Final = 'affinity'
SELECTOR: Final = 'nodeSelector'

_MAX_SHAPES: Final = 64
"""Rules whose answers are kept; the ones that were used last."""


class _Column(Generic[Fact]):
    """One fact of all nodes, as the number of its value, by slot."""

    def __init__(self, tree: Tree, fact: Callable[[nodes.Node], Fact]) -> None:
        self._tree, self._fact = tree, fact
        self._numbers: dict[Fact, int] = {}
        self.values: list[Fact] = []
        self.codes: Ints = np.zeros(tree.width, np.int64)
        self._mark = tree.node_changes.mark
        self._read(tree.live_slots())

    def refresh(self) -> None:
        """Read again what has changed."""
        changed = self._tree.node_changes.since(self._mark)
        self._mark = self._tree.node_changes.mark
        if self._tree.width > self.codes.size:
            self.codes = np.concatenate((self.codes, np.zeros(self._tree.width - self.codes.size, np.int64)))
        self._read(self._tree.live_slots() if changed is None else changed)

    def _read(self, slots: Iterable[int]) -> None:
        for slot in slots:
            node = self._tree.node_at(slot)
            if node is None:
                continue
            value = self._fact(node)
            number = self._numbers.setdefault(value, len(self.values))
            if number == len(self.values):
                self.values.append(value)
            self.codes[slot] = number


class _Verdicts:
    """Why the nodes in all slots are refused to one shape; 0 where they are not."""

    def __init__(self, width: int) -> None:
        self.codes: Ints = np.zeros(width, np.int64)
        self.mark = -1


class Filters:
    """Judges nodes, and remembers the judgements."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._columns: dict[str, _Column[str | None]] = {}
        self._taints = _Column(tree, lambda node: node.taints) if tree.by_node else None
        self._verdicts: dict[Hashable, _Verdicts] = {}
        self.reasons: list[str] = ['']
        self._reason_codes: dict[str, int] = {'': 0}

    def key(self, shape: requests.PodShape) -> Hashable:
        """What of a shape matters here."""
        if not self._tree.by_node:
            return ()
        return shape.tolerations, tuple(sorted(shape.node_selector.items())), shape.node_affinity

    def verdicts(self, shape: requests.PodShape) -> Ints:
        """By slot: the number in :attr:`reasons` of why its node is refused, or 0."""
        key = self.key(shape)
        known = self._verdicts.pop(key, None) or _Verdicts(self._tree.width)
        self._verdicts[key] = known
        if len(self._verdicts) > _MAX_SHAPES:
            del self._verdicts[next(iter(self._verdicts))]
        if known.codes.size < self._tree.width:
            known.codes = np.concatenate((known.codes, np.zeros(self._tree.width - known.codes.size, np.int64)))
        changed = self._tree.node_changes.since(known.mark) if known.mark >= 0 else None
        known.mark = self._tree.node_changes.mark
        if not self._tree.by_node:
            return known.codes
        if changed is None:
            known.codes = self._judge(shape, np.arange(self._tree.width))
        elif changed:
            slots = np.fromiter(changed, np.int64, len(changed))
            known.codes[slots] = self._judge(shape, slots)
        return known.codes

    def preferences(self, shape: requests.PodShape) -> Ints:
        """By slot: the sum of the weights of preferred terms that hold."""
        scores: Ints = np.zeros(self._tree.width, np.int64)
        everywhere = np.arange(self._tree.width)
        for weight, term in shape.node_preferences if self._tree.by_node else ():
            scores += weight * self._holds(term, everywhere)
        return scores

    def _judge(self, shape: requests.PodShape, slots: Ints) -> Ints:
        """The first reason that applies, in the order in which Kubernetes' users look for them."""
        verdicts = self._untolerated(shape, slots)
        for key, value in shape.node_selector.items():
            wanted = self._matches(nodes.Requirement(key=key, values=(value,)), slots)
            verdicts = np.where((verdicts == 0) & ~wanted, self._code(SELECTOR), verdicts)
        if shape.node_affinity:
            wanted = np.zeros(slots.size, np.bool_)
            for term in shape.node_affinity:
                wanted |= self._holds(term, slots)
            verdicts = np.where((verdicts == 0) & ~wanted, self._code(AFFINITY), verdicts)
        return verdicts

    def _untolerated(self, shape: requests.PodShape, slots: Ints) -> Ints:
        if self._taints is None:
            return np.zeros(slots.size, np.int64)
        self._taints.refresh()
        codes = [self._first_untolerated(shape, taints) for taints in self._taints.values]
        return np.array(codes or [0], np.int64)[self._taints.codes[slots]]

    def _first_untolerated(self, shape: requests.PodShape, taints: Iterable[nodes.Taint]) -> int:
        for taint in taints:
            if taint.effect in nodes.BLOCKING and not any(each.covers(taint) for each in shape.tolerations):
                return self._code(f'taint "{taint}"')
        return 0

    def _holds(self, term: tuple[nodes.Requirement, ...], slots: Ints) -> npt.NDArray[np.bool_]:
        """Where a whole term holds. One without requirements holds nowhere."""
        held = np.full(slots.size, bool(term))
        for requirement in term:
            held &= self._matches(requirement, slots)
        return held

    def _matches(self, requirement: nodes.Requirement, slots: Ints) -> npt.NDArray[np.bool_]:
        key = requirement.key
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = _Column(self._tree, _reader(key))
        column.refresh()
        answers = [requirement.accepts(value) for value in column.values]
        return np.array(answers or [False], np.bool_)[column.codes[slots]]

    def _code(self, reason: str) -> int:
        code = self._reason_codes.setdefault(reason, len(self.reasons))
        if code == len(self.reasons):
            self.reasons.append(reason)
        return code


def _reader(key: str) -> Callable[[nodes.Node], str | None]:
    """How to read a label of a node, or its name."""
    return (lambda node: node.name) if key == nodes.NAME_FIELD else (lambda node: node.labels.get(key))
