"""Who owns whom, as far as it is known. Without any I/O."""

from collections.abc import Iterable, Iterator
from typing import Final, Protocol

import msgspec

from jobset.api import meta
from jobset.kube import requests

FOREGROUND: Final = 'foregroundDeletion'
ORPHAN: Final = 'orphan'
"""Finalizers: the object waits for its dependants to be gone, or to be set free."""


class Metadata(meta.Identity, frozen=True, gc=False, kw_only=True, rename='camel'):
    """What the collector reads of an object; nothing else of it is kept."""

    deletion_timestamp: str | None = None
    owner_references: tuple[meta.OwnerReference, ...] | None = None
    finalizers: tuple[str, ...] | None = None


class Object(msgspec.Struct, frozen=True, gc=False):
    """Any object."""

    metadata: Metadata


class Owned(Protocol):
    """An object that somebody has read, of whose metadata this much is needed."""

    @property
    def metadata(self) -> Metadata | meta.Common:
        """Identity, owners, finalizers."""


class Item(msgspec.Struct, frozen=True):
    """An object and the resource that it is one of."""

    resource: requests.Resource
    metadata: Metadata | meta.Common

    @property
    def owners(self) -> tuple[meta.OwnerReference, ...]:
        """Its owner references."""
        return self.metadata.owner_references or ()

    @property
    def is_deleting(self) -> bool:
        """Whether it has been asked to go."""
        return self.metadata.deletion_timestamp is not None

    def has(self, finalizer: str) -> bool:
        """Whether it waits for that."""
        return finalizer in (self.metadata.finalizers or ())

    @property
    def awaits_dependants(self) -> bool:
        """Whether it goes once those that it owns are gone."""
        return self.metadata.deletion_timestamp is not None and self.has(FOREGROUND)

    def is_meant(self, owner: meta.OwnerReference, namespace: str) -> bool:
        """Whether it is what a reference in that namespace describes: anybody can write any uid."""
        group = owner.api_version.partition('/')[0] if '/' in owner.api_version else ''
        return (
            self.metadata.name == owner.name
            and (self.resource.kind, self.resource.group) == (owner.kind, group)
            and self.metadata.namespace in ('', namespace)
        )

    def blocks(self, owner: str) -> bool:
        """Whether the owner of that uid, when it waits for its dependants, has to wait for this one."""
        return any(one.uid == owner and one.block_owner_deletion for one in self.owners)


class Graph:
    """Objects by uid, and the uids of those that each one owns. Its changes return the uids that need a look."""

    def __init__(self) -> None:
        self._items: dict[str, Item] = {}
        self._dependants: dict[str, dict[str, None]] = {}

    def __len__(self) -> int:
        return len(self._items)

    def get(self, uid: str) -> Item | None:
        """The object of that uid, when it is known."""
        return self._items.get(uid)

    def dependants(self, uid: str) -> Iterator[Item]:
        """Those that the object of that uid owns, known itself or not."""
        return (self._items[one] for one in self._dependants.get(uid, ()))

    def has_dependants(self, uid: str) -> bool:
        """Whether there are any."""
        return uid in self._dependants

    def put(self, item: Item) -> Iterable[str]:
        """Takes a new object, or a new state of one."""
        uid = item.metadata.uid
        old = self._items.get(uid)
        self._items[uid] = item
        if old is None:
            if not item.owners and not item.is_deleting:
                return ()
            return self._added(item)
        before, after = old.metadata, item.metadata
        if (
            before.owner_references == after.owner_references
            and before.deletion_timestamp == after.deletion_timestamp
            and before.finalizers == after.finalizers
        ):
            return ()
        return self._changed(old, item)

    def drop(self, uid: str) -> Iterable[str]:
        """Takes the end of an object."""
        item = self._items.pop(uid, None)
        touched = list(self._dependants.get(uid, ()))
        if item is not None:
            for owner in item.owners:
                self._unlink(owner.uid, uid)
                touched.extend(self._waiting(owner.uid))
        return touched

    def forget(self, resource: requests.Resource) -> Iterable[str]:
        """The uids of all objects of a resource, for a server that has it no more."""
        return [uid for uid, item in self._items.items() if item.resource == resource]

    def _added(self, item: Item) -> list[str]:
        uid = item.metadata.uid
        for owner in item.owners:
            self._dependants.setdefault(owner.uid, {})[uid] = None
        touched = [] if all(self._is_settled(item, owner) for owner in item.owners) else [uid]
        if item.is_deleting:
            touched.append(uid)
            touched.extend(self._dependants.get(uid, ()))
        return touched

    def _changed(self, old: Item, new: Item) -> list[str]:
        uid = new.metadata.uid
        touched: list[str] = []
        if old.owners != new.owners:
            kept = {owner.uid for owner in new.owners}
            for owner in old.owners:
                if owner.uid not in kept:
                    self._unlink(owner.uid, uid)
                # Also one that is kept may not be blocked any more.
                touched.extend(self._waiting(owner.uid))
            for owner in new.owners:
                self._dependants.setdefault(owner.uid, {})[uid] = None
            touched.append(uid)
        if new.is_deleting:
            touched.append(uid)
            if new.awaits_dependants and not old.awaits_dependants:
                touched.extend(self._dependants.get(uid, ()))
        return touched

    def _is_settled(self, item: Item, reference: meta.OwnerReference) -> bool:
        """Whether nothing has to be done about ``item`` because of this owner."""
        owner = self._items.get(reference.uid)
        return owner is not None and not owner.awaits_dependants and owner.is_meant(reference, item.metadata.namespace)

    def _waiting(self, owner: str) -> list[str]:
        item = self._items.get(owner)
        return [owner] if item is not None and item.awaits_dependants else []

    def _unlink(self, owner: str, uid: str) -> None:
        held = self._dependants.get(owner)
        if held is not None:
            held.pop(uid, None)
            if not held:
                del self._dependants[owner]
