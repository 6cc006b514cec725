"""Who waits, in which order, and whom it is worth to look at again.

The order within a queue: priority, then the time of submission, then the name. Where waiting counts, a JobSet gains one
priority each so many seconds; two that wait in the same queue gain alike, so that their order never changes.

JobSets of one shape (same queue, priority and needs) have the same answer. Once it was "no", the shape is *parked*: it
costs nothing until something has happened that could change the answer.
"""

import bisect
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from jobset.scheduler import model

_encoder: Final = msgspec.json.Encoder(order='deterministic')


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """How a queue is ordered."""

    by_priority: bool = True
    """Off: first come, first served."""
    ageing_seconds: float | None = None
    """Each so many seconds of waiting count as one more priority; None: waiting does not count."""


class Place(NamedTuple):
    """Where a JobSet stands; smaller ones come first."""

    level: float
    """Its priority, negative, with what waiting adds to it."""
    submitted: float
    key: str


def place_of(workload: model.Workload, order: Order) -> Place:
    """Where a workload stands in its queue."""
    gained = workload.submitted / order.ageing_seconds if order.ageing_seconds else 0.0
    return Place(gained - workload.priority if order.by_priority else 0.0, workload.submitted, workload.key)


DEFAULT: Final = Order()

Shape = bytes


def shape_of(workload: model.Workload) -> Shape:
    """What two workloads must have in common so that one answer holds for both."""
    return _encoder.encode((workload.priority, workload.may_preempt, workload.duration, workload.stages))


class _Entry(msgspec.Struct, frozen=True):
    workload: model.Workload
    place: Place
    shape: Shape


class Line:
    """The JobSets of one queue."""

    def __init__(self, order: Order = DEFAULT) -> None:
        self.order: Final = order
        self._entries: dict[str, _Entry] = {}
        self._places: list[Place] = []
        self._by_shape: dict[Shape, list[Place]] = {}
        self._open: set[Shape] = set()
        self._aside: set[Shape] = set()

    def __iter__(self) -> Iterator[model.Workload]:
        """All of them, the first in line first."""
        return (self._entries[place.key].workload for place in self._places)

    def workload(self, key: str) -> model.Workload:
        """The workload of that key. Raises :class:`KeyError` where it does not wait."""
        return self._entries[key].workload

    def add(self, workload: model.Workload) -> None:
        """Let a workload wait, or change what is known of one that does. What is new is looked at."""
        before = self._entries.get(workload.key)
        if before is not None:
            if before.workload == workload:
                return
            self.remove(workload.key)
        entry = _Entry(workload, place_of(workload, self.order), shape_of(workload))
        self._entries[workload.key] = entry
        bisect.insort(self._places, entry.place)
        alike = self._by_shape.get(entry.shape)
        if alike is None:
            self._by_shape[entry.shape] = [entry.place]
            self._open.add(entry.shape)
        else:
            bisect.insort(alike, entry.place)

    def remove(self, key: str) -> None:
        """It waits no longer. Unknown ones are no mistake."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        del self._places[bisect.bisect_left(self._places, entry.place)]
        alike = self._by_shape[entry.shape]
        del alike[bisect.bisect_left(alike, entry.place)]
        if not alike:
            del self._by_shape[entry.shape]
            self._open.discard(entry.shape)
            self._aside.discard(entry.shape)

    def first(self) -> model.Workload | None:
        """The first in line, parked or not, but for those that were set aside."""
        for place in self._places:
            entry = self._entries[place.key]
            if entry.shape not in self._aside:
                return entry.workload
        return None

    def heads(self) -> list[Place]:
        """The first of each shape that is not parked, in no order."""
        return [self._by_shape[shape][0] for shape in self._open]

    def next_like(self, key: str) -> Place | None:
        """Who stands behind a workload among those of its shape."""
        entry = self._entries[key]
        alike = self._by_shape[entry.shape]
        behind = bisect.bisect_right(alike, entry.place)
        return alike[behind] if behind < len(alike) else None

    def park(self, key: str) -> None:
        """Look at the shape of a workload no more until :meth:`wake`."""
        self._open.discard(self._entries[key].shape)

    def stands_behind(self, key: str, other: str) -> bool:
        """Whether a workload comes after another one."""
        return self._entries[key].place > self._entries[other].place

    def set_aside(self, key: str) -> None:
        """Look at the shape of a workload no more until :meth:`wake`, nor let it stand before others."""
        self.park(key)
        self._aside.add(self._entries[key].shape)

    def is_parked(self, key: str) -> bool:
        """Whether nobody looks at a workload."""
        return self._entries[key].shape not in self._open

    def wake(self) -> None:
        """Something has changed: look at all again."""
        self._aside.clear()
        self._open.update(self._by_shape)

    def shape(self, key: str) -> Shape:
        """Its shape."""
        return self._entries[key].shape
