"""All objects of a plane, in order, and the one counter that numbers their changes.

Every call is synchronous and takes effect as a whole: the journal first, then the state in memory, then those who
watch. What the journal refuses has not happened.
"""

import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from jobset.local import objects
from jobset.local.objects import Object
from jobset.local.store import records, ring
from jobset.local.store.records import Event, Place, Record, Type

Listener = Callable[[Event], None]
"""Called for each change of a kind, while it takes effect: it must be quick, and may not write."""


class Journal(Protocol):
    """Takes every change before it counts."""

    def append(self, kind: str, event: Event) -> None:
        """Writes it down. Raises :class:`~jobset.local.store.journal.Unwritable`, and then nothing is written."""


class TakenError(Exception):
    """An object of that name is there already."""


class ChangedError(Exception):
    """The object is not, or no longer, what the writer has read."""

    def __init__(self, current: Record | None) -> None:
        super().__init__('the object has changed')
        self.current = current
        """What it is now; None when it is gone."""


class ExpiredError(Exception):
    """Changes since that revision are no longer known."""


@dataclass(frozen=True, kw_only=True)
class Recovered:
    """What a journal holds."""

    revision: int = 0
    objects: Sequence[tuple[str, Record]] = ()
    """Each with its kind."""


@dataclass(frozen=True, kw_only=True)
class Remembering:
    """How far back the history goes."""

    max_events: int = 20_000
    """Changes of all kinds. A watch that was cut for longer than that has to list anew."""

    max_bytes: int = 32 << 20
    """Bytes of the states in them. The latest state of an object is shared with the store and costs nothing more."""


class Store:
    """Objects by kind (``plural.group``, see :attr:`jobset.local.resources.Kind.key`), namespace and name."""

    def __init__(
        self,
        *,
        journal: Journal | None = None,
        recovered: Recovered = Recovered(),
        settings: Remembering = Remembering(),
    ) -> None:
        self._journal = journal
        self._revision = max(recovered.revision, 1)
        self._shelves: dict[str, _Shelf] = {}
        self._listeners: dict[str, tuple[Listener, ...]] = {}
        for kind, record in recovered.objects:
            self._shelf(kind).put(record)
        self._ring = ring.Ring(start=self._revision, max_events=settings.max_events, max_bytes=settings.max_bytes)

    @property
    def revision(self) -> int:
        """Of the latest change of anything."""
        return self._revision

    def get(self, kind: str, namespace: str, name: str) -> Record | None:
        """The object of that name."""
        shelf = self._shelves.get(kind)
        drawer = shelf.drawers.get(namespace) if shelf is not None else None
        return drawer.records.get(name) if drawer is not None else None

    def create(self, kind: str, obj: Object) -> Record:
        """Stores a new object, which has name, namespace and uid; ``obj`` gets its resource version.

        Raises :class:`TakenError`, and what the journal raises.
        """
        if self.get(kind, objects.namespace(obj), objects.name(obj)) is not None:
            raise TakenError
        record = self._encode(obj)
        self._commit(kind, Event(Type.ADDED, record, None))
        return record

    def update(self, kind: str, obj: Object, *, expected: Record) -> Record:
        """Stores a new state of the object that ``expected`` is; ``obj`` gets its resource version.

        Raises :class:`ChangedError`, and what the journal raises.
        """
        self._demand(kind, expected)
        record = self._encode(obj)
        self._commit(kind, Event(Type.MODIFIED, record, expected))
        return record

    def delete(self, kind: str, obj: Object, *, expected: Record) -> Record:
        """Removes the object that ``expected`` is; ``obj``, its last state, gets the version of the deletion.

        Raises :class:`ChangedError`, and what the journal raises.
        """
        self._demand(kind, expected)
        record = self._encode(obj)
        self._commit(kind, Event(Type.DELETED, record, expected))
        return record

    def walk(
        self,
        kind: str,
        namespace: str = '',
        *,
        after: Place | None = None,
        revision: int | None = None,
    ) -> Iterator[Record]:
        """Objects of a namespace, or of all, in order, as they were at ``revision``; to be used up before any await.

        Raises :class:`ExpiredError` at once when that is too long ago.
        """
        old = self._differences(kind, revision)
        shelf = self._shelves.get(kind)
        if shelf is None:
            return iter(())
        if not old:
            return shelf.walk(namespace, after)
        return iter(_merge(shelf.walk(namespace, after), old, namespace, after))

    def count(
        self,
        kind: str,
        namespace: str = '',
        *,
        after: Place | None = None,
        revision: int | None = None,
    ) -> int:
        """How many :meth:`walk` would give."""
        shelf = self._shelves.get(kind)
        if shelf is None:
            return 0
        old = self._differences(kind, revision)
        if not old:
            return shelf.count(namespace, after)
        return len(_merge(shelf.walk(namespace, after), old, namespace, after))

    def since(self, kind: str, revision: int) -> Sequence[Event]:
        """All changes after ``revision``, oldest first. Raises :class:`ExpiredError`."""
        events = self._ring.since(kind, revision)
        if events is None:
            raise ExpiredError(self._ring.oldest(kind))
        return events

    def oldest(self, kind: str) -> int:
        """The earliest revision that :meth:`since` knows."""
        return self._ring.oldest(kind)

    def forget(self) -> None:
        """Drops the history, not the objects: for tests of what happens then."""
        self._ring.forget()

    def subscribe(self, kind: str, listener: Listener) -> Callable[[], None]:
        """Has ``listener`` called for each change from now on, until the function that this returns is called."""
        self._listeners[kind] = (*self._listeners.get(kind, ()), listener)

        def unsubscribe() -> None:
            self._listeners[kind] = tuple(one for one in self._listeners[kind] if one is not listener)

        return unsubscribe

    def everything(self) -> Recovered:
        """All objects as they are now, for a snapshot."""
        found = [(kind, record) for kind, shelf in self._shelves.items() for record in shelf.walk('', None)]
        return Recovered(revision=self._revision, objects=found)

    def kinds(self) -> Sequence[str]:
        """Kinds of which there is or was an object."""
        return tuple(self._shelves)

    def _demand(self, kind: str, expected: Record) -> None:
        current = self.get(kind, expected.namespace, expected.name)
        if current is not expected:
            raise ChangedError(current)

    def _encode(self, obj: Object) -> Record:
        revision = self._revision + 1
        obj['metadata']['resourceVersion'] = str(revision)
        return records.made(obj, revision)

    def _commit(self, kind: str, event: Event) -> None:
        if self._journal is not None:
            self._journal.append(kind, event)
        record = event.record
        self._revision = record.revision
        if event.type is Type.DELETED:
            self._shelves[kind].take(record.namespace, record.name)
        else:
            self._shelf(kind).put(record)
        self._ring.add(kind, event)
        for listener in self._listeners.get(kind, ()):
            listener(event)

    def _shelf(self, kind: str) -> '_Shelf':
        shelf = self._shelves.get(kind)
        if shelf is None:
            shelf = self._shelves[kind] = _Shelf()
        return shelf

    def _differences(self, kind: str, revision: int | None) -> dict[Place, Record | None]:
        """What objects that have changed since ``revision`` were then; None for those that were not there."""
        if revision is None or revision == self._revision:
            return {}
        before: dict[Place, Record | None] = {}
        for event in self.since(kind, revision):
            before.setdefault(event.record.place, event.previous)
        return before


class _Drawer:
    """One namespace."""

    __slots__ = ('names', 'records')

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self.names: list[str] = []


class _Shelf:
    """One kind."""

    def __init__(self) -> None:
        self.drawers: dict[str, _Drawer] = {}
        self._namespaces: list[str] = []

    def put(self, record: Record) -> None:
        drawer = self.drawers.get(record.namespace)
        if drawer is None:
            drawer = self.drawers[record.namespace] = _Drawer()
            bisect.insort(self._namespaces, record.namespace, key=_rank)
        if record.name not in drawer.records:
            bisect.insort(drawer.names, record.name)
        drawer.records[record.name] = record

    def take(self, namespace: str, name: str) -> None:
        drawer = self.drawers[namespace]
        del drawer.records[name]
        del drawer.names[bisect.bisect_left(drawer.names, name)]
        if not drawer.names:
            del self.drawers[namespace]
            self._namespaces.remove(namespace)

    def walk(self, namespace: str, after: Place | None) -> Iterator[Record]:
        for drawer, start in self._drawers(namespace, after):
            names = drawer.names
            for place in range(start, len(names)):
                yield drawer.records[names[place]]

    def count(self, namespace: str, after: Place | None) -> int:
        return sum(len(drawer.names) - start for drawer, start in self._drawers(namespace, after))

    def _drawers(self, namespace: str, after: Place | None) -> Iterator[tuple[_Drawer, int]]:
        """The drawers to go through, each with the place of the first name in it."""
        chosen = self._namespaces if not namespace else [namespace] if namespace in self.drawers else []
        for one in chosen:
            drawer = self.drawers[one]
            if after is None or _rank(one) > _rank(after[0]):
                yield drawer, 0
            elif one == after[0]:
                yield drawer, bisect.bisect_right(drawer.names, after[1])


def _rank(namespace: str) -> str:
    # As etcd orders its keys, in which a slash follows the namespace; it comes after "-" and before letters.
    return namespace + '/'


def _key(record: Record) -> Place:
    return _rank(record.namespace), record.name


def _merge(
    now: Iterator[Record],
    old: dict[Place, Record | None],
    namespace: str,
    after: Place | None,
) -> list[Record]:
    found = [record for record in now if record.place not in old]
    start: Final = None if after is None else (_rank(after[0]), after[1])
    for record in old.values():
        if record is None or (namespace and record.namespace != namespace):
            continue
        if start is None or _key(record) > start:
            found.append(record)
    found.sort(key=_key)
    return found
