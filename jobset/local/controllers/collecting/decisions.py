"""What has to be done about one object, given who owns it and whom it owns. Without any I/O."""

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from jobset.api import meta
from jobset.kube import requests
from jobset.local.controllers.collecting import graph


class Owner(enum.Enum):
    """What is known of an owner."""

    SOLID = 'it is there'
    WAITING = 'it is there, and goes once its dependants are gone'
    ABSENT = 'it is not there'
    UNKNOWN = 'the server has to be asked'


@dataclass(frozen=True, slots=True)
class Nothing:
    """There is nothing to do."""


@dataclass(frozen=True, slots=True)
class Verify:
    """These owners have to be looked for on the server first."""

    owners: Sequence[meta.OwnerReference]


@dataclass(frozen=True, slots=True)
class Delete:
    """The object has no owner left."""

    propagation: requests.Propagation
    owners: Sequence[meta.OwnerReference] | None = None
    """Owner references to write before, None when they stay."""


@dataclass(frozen=True, slots=True)
class Write:
    """The object lives on with these owners."""

    owners: Sequence[meta.OwnerReference]


@dataclass(frozen=True, slots=True)
class Release:
    """The object waits for this finalizer no more."""

    finalizer: str


@dataclass(frozen=True, slots=True)
class SetFree:
    """These lose the object as an owner, then it is released."""

    dependants: Sequence[graph.Item]


@dataclass(frozen=True, slots=True)
class Await:
    """The object waits for these, which have to be looked at."""

    dependants: Sequence[str]


Action = Nothing | Verify | Delete | Write | Release | SetFree | Await

Judge = Callable[[graph.Item, meta.OwnerReference], Owner]
"""What is known of an owner of an object."""


def decide(known: graph.Graph, item: graph.Item, judge: Judge) -> Action:
    """The next step for ``item``."""
    if item.is_deleting:
        return _go_on(known, item)
    if not item.owners:
        return Nothing()
    return _judge_owners(known, item, judge)


def without(owners: Sequence[meta.OwnerReference], uid: str) -> Sequence[meta.OwnerReference]:
    """The owner references but those to one object."""
    return [owner for owner in owners if owner.uid != uid]


def _go_on(known: graph.Graph, item: graph.Item) -> Action:
    """The next step for an object that is on its way out."""
    uid = item.metadata.uid
    if item.has(graph.ORPHAN):
        return SetFree(list(known.dependants(uid)))
    if not item.has(graph.FOREGROUND):
        return Nothing()
    blocking = [one for one in known.dependants(uid) if one.blocks(uid)]
    if not blocking:
        return Release(graph.FOREGROUND)
    # Those that wait for their own dependants are looked at when these have gone.
    return Await([one.metadata.uid for one in blocking if not one.awaits_dependants])


def _judge_owners(known: graph.Graph, item: graph.Item, judge: Judge) -> Action:
    found = [(owner, judge(item, owner)) for owner in item.owners]
    unknown = [owner for owner, state in found if state is Owner.UNKNOWN]
    if unknown:
        return Verify(unknown)
    solid = [owner for owner, state in found if state is Owner.SOLID]
    if solid:
        return Write(solid) if len(solid) < len(found) else Nothing()
    uid = item.metadata.uid
    if any(state is Owner.WAITING for _, state in found) and known.has_dependants(uid):
        if any(one.awaits_dependants for one in known.dependants(uid)):
            # Owners in a circle would wait for each other for ever: this one lets its own go on.
            freed = [msgspec.structs.replace(owner, block_owner_deletion=False) for owner in item.owners]
            return Delete(requests.Propagation.FOREGROUND, freed)
        return Delete(requests.Propagation.FOREGROUND)
    return Delete(_wished(item))


def _wished(item: graph.Item) -> requests.Propagation:
    """The propagation that the object's own finalizers ask for."""
    if item.has(graph.ORPHAN):
        return requests.Propagation.ORPHAN
    if item.has(graph.FOREGROUND):
        return requests.Propagation.FOREGROUND
    return requests.Propagation.BACKGROUND
