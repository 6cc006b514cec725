"""What all verbs work with: the store, the kinds, admission, the clock."""

import datetime
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from jobset.local import resources
from jobset.local.admission import review
from jobset.local.objects import Object
from jobset.local.patches.fields import Write
from jobset.local.schemas import Node
from jobset.local.server import logs, registry
from jobset.local.store import records, storage

_KNOWN_MOST: Final = 200
"""States that are kept decoded."""

Now = Callable[[], datetime.datetime]


class Admission(Protocol):
    """Who is asked before an object is stored: :class:`jobset.local.admission.dispatch.Dispatcher`."""

    def configure(self, *, mutating: Iterable[Object], validating: Iterable[Object]) -> None:
        """Takes the webhook configurations as they are now."""

    def is_mutating(self, kind: resources.Kind, operation: str, subresource: str = '') -> bool:
        """Whether anybody may want to change such a request."""

    def is_validating(self, kind: resources.Kind, operation: str, subresource: str = '') -> bool:
        """Whether anybody may want to judge such a request."""

    async def mutate(self, asked: review.Review) -> Object:
        """The object as they want it; the very same when nobody changes it."""

    async def validate(self, asked: review.Review) -> None:
        """Raises :class:`~jobset.local.problems.Problem` for a refusal."""


class Ownership(Protocol):
    """Who owns which field: the module :mod:`jobset.local.patches.fields`."""

    def apply(
        self,
        live: Object | None,
        applied: Object,
        node: Node,
        write: Write,
        *,
        force: bool,
    ) -> Object:
        """What becomes of ``live``. Raises Problem 409 for conflicts."""

    def track(self, old: Object | None, new: Object, node: Node, write: Write) -> None:
        """Write the managed fields that follow from a plain write into ``new``."""

    def manager_of(self, user_agent: str) -> str:
        """The manager of a write that names none."""


class Patching(Protocol):
    """How patches change objects: the module :mod:`jobset.local.patches`."""

    def json_patch(self, obj: Object, operations: Sequence[Object]) -> Object:
        """RFC 6902. Raises Problem."""

    def merge(self, obj: Object, patch: Object) -> Object:
        """RFC 7386."""

    def strategic(self, obj: Object, patch: Object, node: Node) -> Object:
        """A strategic merge patch. Raises Problem."""


@dataclass(frozen=True, kw_only=True)
class Plane:
    """All of that."""

    store: storage.Store
    registry: registry.Registry
    admission: Admission | None
    now: Now
    fields: Ownership
    patches: Patching
    log_source: logs.LogSource | None = None
    _known: dict[int, Object] = field(default_factory=dict)

    def context(self) -> resources.Context:
        """What rules may know at this moment."""
        return resources.Context(now=self.now(), look_up=self.look_up, listed=self.listed)

    def listed(self, key: str, namespace: str) -> Sequence[Object]:
        """The stored objects of a kind and namespace, or of all namespaces, to be looked at before any await."""
        return [self._looked_at(record) for record in self.store.walk(key, namespace)]

    def look_up(self, key: str, namespace: str, name: str) -> Object | None:
        """A stored object, to be looked at."""
        record = self.store.get(key, namespace, name)
        return self._looked_at(record) if record is not None else None

    def _looked_at(self, record: records.Record) -> Object:
        # Accounts and classes are looked at for each pod, and hardly ever change. No two states share a revision.
        found = self._known.get(record.revision)
        if found is None:
            found = record.decode()
            self._keep(record.revision, found)
        return found

    def _keep(self, revision: int, obj: Object) -> None:
        if len(self._known) >= _KNOWN_MOST:
            self._known.clear()
        self._known[revision] = obj

    def manager(self, named: str, user_agent: str) -> str:
        """Under whose name fields are owned."""
        return named or self.fields.manager_of(user_agent)

    def write(self, kind: resources.Kind, manager: str, subresource: str) -> Write:
        """A write at this moment, as it is told to those who keep the books of fields."""
        return Write(manager, kind.api_version, self.now(), subresource, 'status' in kind.subresources)

    def show(self, kind: resources.Kind, record: records.Record) -> bytes:
        """A stored object in the version that is asked for."""
        if record.api_version == kind.api_version:
            return record.data
        return records.encode(self.open(kind, record))

    def open(self, kind: resources.Kind, record: records.Record) -> Object:
        """The same, decoded anew."""
        obj = record.decode()
        if record.api_version != kind.api_version:
            if kind.conversion is not None:
                return kind.conversion.outward(obj)
            obj['apiVersion'] = kind.api_version
        return obj

    def current(self, kind: resources.Kind, record: records.Record) -> Object:
        """The same, to be looked at only: what was stored lately is not decoded again."""
        if record.api_version != kind.api_version:
            return self.open(kind, record)
        return self._looked_at(record)

    def opener(self, kind: resources.Kind) -> Callable[[records.Record], Object]:
        """:meth:`open` for one kind."""
        return lambda record: self.open(kind, record)

    def create(self, kind: resources.Kind, obj: Object) -> records.Record:
        """Stores a new object, not to be changed after that: see :meth:`~jobset.local.store.storage.Store.create`."""
        stored = self._stored(kind, obj)
        record = self.store.create(kind.key, stored)
        self._keep(record.revision, stored)
        return record

    def update(self, kind: resources.Kind, obj: Object, *, expected: records.Record) -> records.Record:
        """Stores a new state, not to be changed after that: see :meth:`~jobset.local.store.storage.Store.update`."""
        stored = self._stored(kind, obj)
        record = self.store.update(kind.key, stored, expected=expected)
        self._known.pop(expected.revision, None)
        self._keep(record.revision, stored)
        return record

    def delete(self, kind: resources.Kind, obj: Object, *, expected: records.Record) -> records.Record:
        """Removes an object: see :meth:`~jobset.local.store.storage.Store.delete`."""
        return self.store.delete(kind.key, self._stored(kind, obj), expected=expected)

    def _stored(self, kind: resources.Kind, obj: Object) -> Object:
        return obj if kind.conversion is None else kind.conversion.inward(obj)
