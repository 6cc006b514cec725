"""What is stored of an object, and what is told of its changes."""

import enum
import secrets
from typing import Final, TypeVar

import msgspec

from jobset.local.objects import Object

Shared = TypeVar('Shared', str, bytes)

Place = tuple[str, str]
"""Namespace (empty for objects of the cluster) and name."""


class Record(msgspec.Struct, frozen=True, gc=False):
    """One state of one object. The store, the ring and whoever watches share it.

    Managed fields are half of most objects, and the same in all that were written alike: they are kept apart, once.
    """

    namespace: str
    name: str
    uid: str
    revision: int
    """Of the change that made this state; the ``resourceVersion`` inside ``data`` is the same in decimal."""

    api_version: str
    """In which it is encoded; a kind may be served in others too."""

    body: bytes
    """The object as compact JSON, with an empty list for its managed fields."""

    managed: bytes = b''
    """That list as JSON; empty when there is none."""

    place_of_managed: int = 0
    """Where in ``body`` the empty list is."""

    @property
    def data(self) -> bytes:
        """The object as compact JSON."""
        managed = self.managed
        if not managed:
            return self.body
        place = self.place_of_managed
        return b'%b%b%b' % (self.body[:place], managed, self.body[place + 2 :])

    @property
    def size(self) -> int:
        """Bytes that no other record shares."""
        return len(self.body)

    @property
    def place(self) -> Place:
        """Under which it is kept, within its kind."""
        return self.namespace, self.name

    def decode(self) -> Object:
        """The object anew, for the caller to change."""
        return decode(self.data)


class Type(enum.StrEnum):
    """What has happened to an object, in the words of a watch."""

    ADDED = 'ADDED'
    MODIFIED = 'MODIFIED'
    DELETED = 'DELETED'


class Event(msgspec.Struct, frozen=True, gc=False):
    """One change."""

    type: Type
    record: Record
    """The new state; of a deletion the last state, with the revision of the deletion."""

    previous: Record | None
    """The state before; None for a new object."""


decode: Final = msgspec.json.Decoder(Object).decode
"""JSON bytes as an object."""

encode: Final = msgspec.json.Encoder().encode
"""An object as compact JSON, keys in the order in which they stand."""


def made(obj: Object, revision: int) -> Record:
    """A state of an object; ``obj`` has the revision as its resource version already."""
    metadata = obj['metadata']
    namespace = metadata.get('namespace') or ''
    managed = metadata.get('managedFields')
    if not managed:
        return Record(namespace, metadata['name'], metadata['uid'], revision, obj['apiVersion'], encode(obj))
    metadata['managedFields'] = _MARK
    try:
        marked = encode(obj)
    finally:
        metadata['managedFields'] = managed
    place = marked.find(_MARKED)
    body = b'%b[]%b' % (marked[:place], marked[place + len(_MARKED) :])
    kept = _shared(encode(managed))
    return Record(namespace, metadata['name'], metadata['uid'], revision, obj['apiVersion'], body, kept, place)


def read(data: bytes, *, namespace: str, name: str, uid: str, revision: int, api_version: str) -> Record:
    """A state as it was written to disk. Raises msgspec.MsgspecError."""
    managed = bytes(_managed(data).metadata.managed_fields)
    place = data.find(b'"managedFields":' + managed)
    if managed in (b'', b'null', b'[]') or place < 0:
        return Record(namespace, name, uid, revision, _shared(api_version), data)
    place += len(b'"managedFields":')
    body = b'%b[]%b' % (data[:place], data[place + len(managed) :])
    return Record(namespace, name, uid, revision, _shared(api_version), body, _shared(managed), place)


def labels(record: Record) -> dict[str, str]:
    """The labels of a stored object, without decoding the rest."""
    return _labels(record.body).metadata.labels or {}


_MARK: Final = secrets.token_hex(8)
_MARKED: Final = encode(_MARK)

_SHARED_MOST: Final = 8192

_pool: dict[object, object] = {}


def _shared(value: Shared) -> Shared:
    """One object for all equal ones. What comes after very many others is not shared with those before."""
    found = _pool.get(value)
    if found is None:
        if len(_pool) >= _SHARED_MOST:
            _pool.clear()
        found = _pool[value] = value
    return found  # type: ignore[return-value]


class _Managed(msgspec.Struct, frozen=True, rename='camel'):
    managed_fields: msgspec.Raw = msgspec.Raw(b'')


class _ManagedGlimpse(msgspec.Struct, frozen=True):
    metadata: _Managed = _Managed()


class _Labelled(msgspec.Struct, frozen=True):
    labels: dict[str, str] | None = None


class _Glimpse(msgspec.Struct, frozen=True):
    metadata: _Labelled = _Labelled()


_managed: Final = msgspec.json.Decoder(_ManagedGlimpse).decode
_labels: Final = msgspec.json.Decoder(_Glimpse).decode
