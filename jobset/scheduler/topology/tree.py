"""The nodes of a topology and what is free on them, as arrays, kept up to date change by change.

Amounts live in *slots*, one a leaf, which do not move when leaves come and go: ``order[i]`` is the slot of leaf ``i``.
What is counted per slot therefore outlives changes of the order. A leaf whose nodes are gone keeps its slot for as long
as pods hold something there.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from jobset.scheduler.topology import changes, nodes
from jobset.scheduler.topology.domains import Domains, Ints, Values

PODS: Final = 'pods'
"""The resource of which each pod needs one without saying so."""

_INITIAL_SLOTS: Final = 16


class Tree(Domains):
    """Domains by level, and what is free in their leaves."""

    def __init__(
        self,
        levels: Sequence[str],
        resources: Sequence[str],
        *,
        by_node: bool | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """``by_node`` says that leaves are single nodes; without it, the name of the last level tells.

        Nodes without all of ``labels`` stay outside.
        """
        super().__init__(levels)
        self.resources: Final = tuple(resources)
        self.by_node: Final = levels[-1] == nodes.HOSTNAME if by_node is None else by_node
        self._labels = dict(labels or {})
        self.free: Ints = np.zeros((len(resources), _INITIAL_SLOTS), np.int64)
        self._held: Ints = np.zeros_like(self.free)
        self._slots: dict[Values, int] = {}
        self._unused: list[int] = list(range(_INITIAL_SLOTS))
        self._members: dict[int, dict[str, nodes.Node]] = {}
        self._slot_of_node: dict[str, int] = {}
        self.outside: Final[dict[str, str]] = {}
        """Nodes that do not count, and why."""
        self.amount_changes: Final = changes.Changes()
        self.node_changes: Final = changes.Changes()

    @classmethod
    def of(
        cls,
        found: Iterable[nodes.Node],
        levels: Sequence[str],
        resources: Sequence[str],
        *,
        by_node: bool | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> 'Tree':
        """A tree of many nodes at once."""
        tree = cls(levels, resources, by_node=by_node, labels=labels)
        for node in {node.name: node for node in found}.values():
            tree._remember(node)
        tree.arrange((values, slot) for values, slot in tree._slots.items() if slot in tree._members)
        return tree

    @property
    def width(self) -> int:
        """How many slots there are, used or not."""
        return int(self.free.shape[1])

    def set_node(self, node: nodes.Node) -> None:
        """Add a node, or replace what is known of it."""
        before = self.node(node.name)
        if before == node:
            return
        if before is not None and not self._reason_outside(node) and self._values(node) == self._values(before):
            slot = self._slot_of_node[node.name]
            self._members[slot][node.name] = node
            self.free[:, slot] += self._amounts(node) - self._amounts(before)
            self.amount_changes.add((slot,))
            if (before.labels, before.taints) != (node.labels, node.taints):
                self.node_changes.add((slot,))
            return
        self.remove_node(node.name)
        place = self._remember(node)
        if place is not None and len(self._members[place]) == 1:
            self.insert(self._values(node), place)

    def remove_node(self, name: str) -> None:
        """Forget a node, if it is known. What pods hold there is kept until it is given back."""
        self.outside.pop(name, None)
        slot = self._slot_of_node.pop(name, None)
        if slot is None:
            return
        node = self._members[slot].pop(name)
        self.free[:, slot] -= self._amounts(node)
        self._tell(slot)
        if not self._members[slot]:
            del self._members[slot]
            values = self._values(node)
            self.delete(values)
            self._drop_unused(values)

    def node(self, name: str) -> nodes.Node | None:
        """The node of that name, if it counts."""
        slot = self._slot_of_node.get(name)
        return None if slot is None else self._members[slot][name]

    def node_at(self, slot: int) -> nodes.Node | None:
        """The node that is the leaf in ``slot``; the first by name, where a leaf is several."""
        members = self._members.get(slot)
        return members[min(members)] if members else None

    def nodes_of(self, values: Values) -> Iterable[str]:
        """The names of the nodes in a leaf."""
        slot = self._slots.get(values)
        return () if slot is None else self._members.get(slot, {}).keys()

    def slot_of_node(self, name: str) -> int | None:
        """The slot of the leaf that a node is in."""
        return self._slot_of_node.get(name)

    def live_slots(self) -> Iterable[int]:
        """The slots of all leaves that have nodes."""
        return self._members.keys()

    def vector(self, amounts: Mapping[str, int]) -> Ints:
        """What one pod needs, in the order of :attr:`resources`."""
        implied = {PODS: 1}
        return np.array([amounts.get(name, implied.get(name, 0)) for name in self.resources], np.int64)

    def take(self, pods: Mapping[Values, int], amounts: Mapping[str, int]) -> None:
        """Let so many pods of ``amounts`` each be on these leaves. Leaves may be unknown yet, or gone."""
        self._hold(pods, self.vector(amounts))

    def give_back(self, pods: Mapping[Values, int], amounts: Mapping[str, int]) -> None:
        """The opposite of :meth:`take`."""
        self._hold(pods, -self.vector(amounts))

    def hold(self, slots: Ints, amounts: Ints) -> None:
        """Let pods hold more in the slots of known nodes, or less where amounts are negative.

        ``amounts`` has one column for each of ``slots``, which may repeat, and one row for each of :attr:`resources`.
        """
        for row, more in enumerate(amounts):
            np.add.at(self._held[row], slots, more)
            np.subtract.at(self.free[row], slots, more)
        self.amount_changes.add(slots.tolist())

    def held(self, values: Values) -> dict[str, int]:
        """What pods hold on a leaf."""
        slot = self._slots.get(values)
        held = self._held[:, slot].tolist() if slot is not None else [0] * len(self.resources)
        return dict(zip(self.resources, held, strict=True))

    def emptied(self) -> 'Tree':
        """The same nodes without any pods: what could fit if all others were gone."""
        found = (node for members in self._members.values() for node in members.values())
        return Tree.of(found, self.levels, self.resources, by_node=self.by_node, labels=self._labels)

    def _hold(self, pods: Mapping[Values, int], each: Ints) -> None:
        if not pods:
            return
        slots = np.array([self._slot(values) for values in pods], np.int64)
        total = each[:, None] * np.fromiter(pods.values(), np.int64, len(pods))
        self._held[:, slots] += total
        self.free[:, slots] -= total
        self.amount_changes.add(slots.tolist())
        for values, slot in zip(pods, slots.tolist(), strict=True):
            if slot not in self._members:
                self._drop_unused(values)

    def _remember(self, node: nodes.Node) -> int | None:
        """Put a node into its slot, without giving the slot a place in the order."""
        reason = self._reason_outside(node)
        if reason:
            self.outside[node.name] = reason
            return None
        slot = self._slot(self._values(node))
        self._members.setdefault(slot, {})[node.name] = node
        self._slot_of_node[node.name] = slot
        self.free[:, slot] += self._amounts(node)
        self._tell(slot)
        return slot

    def _reason_outside(self, node: nodes.Node) -> str | None:
        if not node.is_ready:
            return 'not ready'
        if not node.is_schedulable:
            return 'unschedulable'
        if any(node.labels.get(key) != value for key, value in self._labels.items()):
            return 'other labels'
        missing = [level for level in self.levels if level not in node.labels]
        return f'no label {missing[0]}' if missing else None

    def _values(self, node: nodes.Node) -> Values:
        return tuple(node.labels[level] for level in self.levels)

    def _amounts(self, node: nodes.Node) -> Ints:
        return np.array([node.allocatable.get(name, 0) for name in self.resources], np.int64)

    def _tell(self, slot: int) -> None:
        self.amount_changes.add((slot,))
        self.node_changes.add((slot,))

    def _slot(self, values: Values) -> int:
        slot = self._slots.get(values)
        if slot is None:
            if not self._unused:
                self._unused = list(range(self.width, self.width * 2))
                self.free = np.concatenate((self.free, np.zeros_like(self.free)), axis=1)
                self._held = np.concatenate((self._held, np.zeros_like(self._held)), axis=1)
            slot = self._slots[values] = self._unused.pop()
        return slot

    def _drop_unused(self, values: Values) -> None:
        """Let the slot of a leaf without nodes go once nobody holds anything there."""
        slot = self._slots[values]
        if not self._held[:, slot].any():
            del self._slots[values]
            self._unused.append(slot)
