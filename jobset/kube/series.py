"""Which Events are repetitions of which, and when the server should hear of the count; without any I/O.

An Event is repeated when type, action, reason, the related object and the object, down to its resource version, are
the same and the last one was not long ago; the note may differ. Then the first one gets a ``series`` that counts from
2. The server hears of the first repetition, of the count now and then, and of the last count when the series has ended.
"""

import enum
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Self

import msgspec

from jobset.api import meta


class EventType(enum.StrEnum):
    """Whether something went wrong."""

    NORMAL = 'Normal'
    WARNING = 'Warning'


class ObjectRef(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True):
    """What an Event is about."""

    api_version: str
    kind: str
    name: str
    namespace: str = ''
    uid: str = ''
    resource_version: str = ''
    field_path: str = ''
    """Of the part that it is about, as ``spec.containers{main}``."""

    @classmethod
    def of(
        cls,
        metadata: meta.Identity,
        *,
        api_version: str,
        kind: str,
        resource_version: str = '',
        field_path: str = '',
    ) -> Self:
        """The object of that metadata; in the state of ``resource_version``, where its states are told apart."""
        return cls(
            api_version=api_version,
            kind=kind,
            name=metadata.name,
            namespace=metadata.namespace,
            uid=metadata.uid,
            resource_version=resource_version,
            field_path=field_path,
        )


class Key(NamedTuple):
    """What a repetition has in common with the first one."""

    regarding: ObjectRef
    type: EventType
    reason: str
    action: str
    related: ObjectRef | None = None


@dataclass(kw_only=True, eq=False, slots=True)
class Entry:
    """An Event that was recorded, with all that was folded into it."""

    key: Key
    name: str
    note: str
    time: datetime
    last_time: datetime
    last_at: float
    """When it was last repeated, in seconds of the caller's clock."""

    told_at: float
    """When the server was last to be told, on the same clock."""

    count: int = 1
    told: int = 1
    """The count that the server was last to be told."""


@dataclass(frozen=True, kw_only=True)
class Folding:
    """How repetitions are folded."""

    gap: float = 360
    """Seconds without a repetition after which a series has ended."""

    update: float = 1800
    """Seconds between updates of the count of a series that goes on."""

    remembered: int = 4096
    """Events that a repetition may be folded into; above that, the one that was quiet the longest is forgotten."""


class Memory:
    """The Events of the last minutes, the one that was quiet the longest first."""

    def __init__(self, settings: Folding) -> None:
        self._settings = settings
        self._entries: OrderedDict[Key, Entry] = OrderedDict()

    def find(self, key: Key, *, at: float) -> Entry | None:
        """The Event that one with this key would repeat now."""
        entry = self._entries.get(key)
        return entry if entry is not None and at - entry.last_at < self._settings.gap else None

    def repeat(self, entry: Entry, *, time: datetime, at: float) -> bool:
        """Counts a repetition; whether the server should hear of it now."""
        entry.count += 1
        entry.last_time = time
        entry.last_at = at
        self._entries.move_to_end(entry.key)
        return (entry.told == 1 or at - entry.told_at >= self._settings.update) and self._tell(entry, at)

    def add(self, entry: Entry) -> Iterator[Entry]:
        """Remembers a new Event; those which are forgotten for it, if the server should hear of their count."""
        replaced = self._entries.pop(entry.key, None)
        if replaced is not None:
            yield from self._end(replaced, entry.last_at)
        self._entries[entry.key] = entry
        while len(self._entries) > self._settings.remembered:
            _, oldest = self._entries.popitem(last=False)
            yield from self._end(oldest, entry.last_at)

    def sweep(self, *, at: float) -> Iterator[Entry]:
        """Forgets what has ended; the Events of which the server should hear the count."""
        while self._entries:
            oldest = next(iter(self._entries.values()))
            if at - oldest.last_at < self._settings.gap:
                return
            del self._entries[oldest.key]
            yield from self._end(oldest, at)

    def finish(self, *, at: float) -> Iterator[Entry]:
        """Ends all series: the Events of which the server should hear the count."""
        for entry in self._entries.values():
            yield from self._end(entry, at)
        self._entries.clear()

    def _end(self, entry: Entry, at: float) -> Iterator[Entry]:
        if entry.count > entry.told and self._tell(entry, at):
            yield entry

    @staticmethod
    def _tell(entry: Entry, at: float) -> bool:
        entry.told = entry.count
        entry.told_at = at
        return True
