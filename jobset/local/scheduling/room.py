"""The nodes, what runs on them and what is left of each: kept up to date with every change, never added up anew.

Each change of what is left on a node is noted in a log. Whoever keeps something that follows from it (an order of
nodes, a reason why a shape fits nowhere) remembers how far it has read, and looks only at what has changed since.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from jobset.api import podrequests
from jobset.local.scheduling import model, shapes

Needs = tuple[tuple[int, int], ...]
"""Amounts by the number of the resource: see :meth:`Room.needs`."""

PODS: Final = 0
CPU: Final = 1
_FIRST: Final = (podrequests.PODS, 'cpu', 'memory', 'ephemeral-storage')


@dataclass(eq=False, slots=True)
class Place:
    """A node."""

    index: int
    name: str
    labels: dict[str, str]
    taints: tuple[model.Taint, ...]
    unschedulable: bool
    capacity: list[int]
    free: list[int]
    ports: Counter[shapes.Port] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Resident:
    """A pod that has a node."""

    uid: str
    namespace: str
    labels: dict[str, str]
    shape: shapes.Shape
    node: str


class Room:
    """All nodes and their pods."""

    def __init__(self) -> None:
        self.places: list[Place | None] = []
        """By their index; None where a node was that is gone."""

        self.by_name: dict[str, Place] = {}
        self.by_label: dict[tuple[str, str], set[int]] = {}
        self.residents: dict[str, Resident] = {}
        self.resources: dict[str, int] = {}
        self.layout = 0
        """Counts changes of the nodes themselves: which there are, their labels, their taints."""

        self._homeless: dict[str, dict[str, Resident]] = {}
        self._log: list[int] = []
        self._log_start = 0
        self._needs: dict[shapes.Shape, Needs] = {}
        for resource in _FIRST:
            self.number(resource)

    def __len__(self) -> int:
        return len(self.by_name)

    def __iter__(self) -> Iterator[Place]:
        return iter(self.by_name.values())

    @property
    def moment(self) -> int:
        """How many changes there have been of what is left."""
        return self._log_start + len(self._log)

    def changed_since(self, moment: int) -> Sequence[int] | None:
        """Indices of the nodes that have changed since, some of them repeatedly; None where nobody knows any more."""
        if moment < self._log_start:
            return None
        return self._log[moment - self._log_start :]

    def number(self, resource: str) -> int:
        """The number of a resource: where its amounts are in :attr:`Place.free`."""
        number = self.resources.get(resource)
        if number is None:
            number = self.resources[resource] = len(self.resources)
            for place in self.by_name.values():
                place.capacity.append(0)
                place.free.append(0)
        return number

    def needs(self, shape: shapes.Shape) -> Needs:
        """What a shape asks for, by the numbers of the resources."""
        needs = self._needs.get(shape)
        if needs is None:
            if len(self._needs) > _REMEMBERED:
                self._needs.clear()
            needs = self._needs[shape] = tuple(
                (self.number(resource), amount) for resource, amount in shape.needs.items()
            )
        return needs

    def put_node(self, node: model.Node) -> bool:
        """Take a node that is new or has changed; whether that can matter to anybody."""
        name = node.metadata.name
        given = podrequests.amounts(node.status.allocatable)
        for resource in given:
            self.number(resource)
        capacity = [given.get(resource, 0) for resource in self.resources]
        taints = tuple(one for one in node.spec.taints or ())
        place = self.by_name.get(name)
        if place is None:
            self._add(name, node, taints, capacity)
            return True
        changed = False
        if capacity != place.capacity:
            place.free = [left + new - old for left, new, old in zip(place.free, capacity, place.capacity, strict=True)]
            place.capacity = capacity
            self._log.append(place.index)
            changed = True
        if (place.labels, place.taints, place.unschedulable) != (node.metadata.labels, taints, node.spec.unschedulable):
            self._unlabel(place)
            place.labels, place.taints, place.unschedulable = node.metadata.labels, taints, node.spec.unschedulable
            self._label(place)
            self.layout += 1
            changed = True
        return changed

    def drop_node(self, name: str) -> None:
        """Forget a node; its pods are remembered, in case it comes again before they go."""
        place = self.by_name.pop(name, None)
        if place is None:
            return
        self._unlabel(place)
        self.places[place.index] = None
        self.layout += 1
        residents = {uid: one for uid, one in self.residents.items() if one.node == name}
        if residents:
            self._homeless[name] = residents

    def assign(self, resident: Resident) -> None:
        """A pod takes up room from now on."""
        self.residents[resident.uid] = resident
        place = self.by_name.get(resident.node)
        if place is None:
            self._homeless.setdefault(resident.node, {})[resident.uid] = resident
            return
        self._take(place, resident, 1)

    def remove(self, uid: str) -> Resident | None:
        """A pod takes up nothing any more."""
        resident = self.residents.pop(uid, None)
        if resident is None:
            return None
        homeless = self._homeless.get(resident.node)
        if homeless is not None and homeless.pop(uid, None) is not None:
            if not homeless:
                del self._homeless[resident.node]
        elif (place := self.by_name.get(resident.node)) is not None:
            self._take(place, resident, -1)
        return resident

    def trim(self) -> None:
        """Forget the older part of the log, which those who read it seldom can make up for by looking at all."""
        if len(self._log) > _LOG_MOST + 4 * len(self.places):
            half = len(self._log) // 2
            del self._log[:half]
            self._log_start += half

    def _add(self, name: str, node: model.Node, taints: tuple[model.Taint, ...], capacity: list[int]) -> None:
        place = Place(
            index=len(self.places),
            name=name,
            labels=node.metadata.labels,
            taints=taints,
            unschedulable=node.spec.unschedulable,
            capacity=capacity,
            free=list(capacity),
        )
        self.places.append(place)
        self.by_name[name] = place
        self._label(place)
        self.layout += 1
        for resident in self._homeless.pop(name, {}).values():
            self._take(place, resident, 1)

    def _take(self, place: Place, resident: Resident, times: int) -> None:
        free = place.free
        for number, amount in self.needs(resident.shape):
            free[number] -= amount * times
        for port in resident.shape.ports:
            place.ports[port] += times
            if not place.ports[port]:
                del place.ports[port]
        self._log.append(place.index)

    def _label(self, place: Place) -> None:
        for label in place.labels.items():
            self.by_label.setdefault(label, set()).add(place.index)

    def _unlabel(self, place: Place) -> None:
        for label in place.labels.items():
            self.by_label[label].discard(place.index)
            if not self.by_label[label]:
                del self.by_label[label]


_REMEMBERED: Final = 20_000
_LOG_MOST: Final = 4096
