"""The bytes of a watch as events: lines of JSON, cut anywhere by the network.

Lines are decoded many at once straight into the caller's structure. A line that does not fit it is looked at again, so
that one odd object does not stop the watch of all others: it becomes :class:`Unread`.
"""

from collections.abc import Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec

from jobset.api import meta
from jobset.kube import errors

T = TypeVar('T', bound=meta.Object)

INITIAL_EVENTS_END: Final = 'k8s.io/initial-events-end'
"""Annotation of the bookmark that ends a streamed list."""

MAX_LINE: Final = 64 << 20
"""Bytes that one event may have: far above what etcd stores, so that only a broken stream gets there."""


class Added(msgspec.Struct, Generic[T], frozen=True, gc=False, tag_field='type', tag='ADDED'):
    """An object that is new, or part of a streamed list."""

    object: T


class Modified(msgspec.Struct, Generic[T], frozen=True, gc=False, tag_field='type', tag='MODIFIED'):
    """An object that has changed."""

    object: T


class Deleted(msgspec.Struct, Generic[T], frozen=True, gc=False, tag_field='type', tag='DELETED'):
    """An object that is gone, or no longer selected: its last state, with the version of the change."""

    object: T


class Bookmark(msgspec.Struct, frozen=True, gc=False, tag_field='type', tag='BOOKMARK'):
    """The version up to which everything has been told."""

    object: meta.Partial

    @property
    def ends_list(self) -> bool:
        """Whether a streamed list is complete with it."""
        return self.object.metadata.annotations.get(INITIAL_EVENTS_END) == 'true'


class Failed(msgspec.Struct, frozen=True, gc=False, tag_field='type', tag='ERROR'):
    """The watch ends, and why."""

    object: errors.Status


class Unread(msgspec.Struct, frozen=True, gc=False):
    """An object of an unexpected shape: what its metadata say, and what is wrong with it."""

    metadata: meta.ObjectMeta
    is_deleted: bool
    problem: str


Event = Added[T] | Modified[T] | Deleted[T] | Bookmark | Failed | Unread


class _Glimpse(msgspec.Struct, frozen=True, gc=False):
    type: str
    object: meta.Partial


class Decoder(Generic[T]):
    """Turns pieces of a stream into events. One for each stream, because it holds the last, unfinished line."""

    def __init__(self, model: type[T]) -> None:
        # The union is made at run time, from the caller's structure, so the type checker cannot follow.
        union: Any = Added[model] | Modified[model] | Deleted[model] | Bookmark | Failed  # type: ignore[valid-type]
        self._events: msgspec.json.Decoder[Event[T]] = msgspec.json.Decoder(union)
        self._objects = msgspec.json.Decoder(model)
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> Sequence[Event[T]]:
        """The events that are complete with this piece. Raises :class:`~jobset.kube.errors.Malformed`."""
        end = piece.rfind(b'\n')
        if end < 0:
            self._keep(piece)
            return ()
        lines = piece
        if self._pieces or end + 1 < len(piece):
            lines = b''.join((*self._pieces, piece[:end]))
            self._pieces.clear()
            self._size = 0
            self._keep(piece[end + 1 :])
        try:
            return self._events.decode_lines(lines)
        except msgspec.MsgspecError:
            return [self._decode(line) for line in lines.split(b'\n') if line.strip()]

    def change(self, state: bytes, *, is_deletion: bool) -> Event[T]:
        """The event of one object that comes by itself. Raises :class:`~jobset.kube.errors.Malformed`."""
        try:
            obj = self._objects.decode(state)
        except msgspec.MsgspecError as error:
            return Unread(_metadata(state), is_deletion, str(error))
        return Deleted(obj) if is_deletion else Modified(obj)

    def _keep(self, rest: bytes) -> None:
        if not rest:
            return
        self._pieces.append(rest)
        self._size += len(rest)
        if self._size > MAX_LINE:
            raise errors.Malformed(0, 'Malformed', f'a watch event has more than {MAX_LINE} bytes')

    def _decode(self, line: bytes) -> Event[T]:
        try:
            return self._events.decode(line)
        except msgspec.MsgspecError as error:
            problem = str(error)
        try:
            glimpse = _GLIMPSES.decode(line)
        except msgspec.MsgspecError as error:
            raise errors.Malformed(0, 'Malformed', f'a watch event cannot be read: {error}') from error
        return Unread(glimpse.object.metadata, glimpse.type == 'DELETED', problem)


def _metadata(state: bytes) -> meta.ObjectMeta:
    try:
        return _PARTIALS.decode(state).metadata
    except msgspec.MsgspecError as error:
        raise errors.Malformed(0, 'Malformed', f'an object cannot be read: {error}') from error


_PARTIALS: Final = msgspec.json.Decoder(meta.Partial)
_GLIMPSES: Final = msgspec.json.Decoder(_Glimpse)
