"""Follows all objects of the server, and carries out what the decisions are."""

import asyncio
import functools
import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, NoReturn

from jobset.api import meta
from jobset.kube import errors, informer, requests, workqueue
from jobset.local.controllers import catalogue, shared
from jobset.local.controllers.collecting import decisions, graph

logger = logging.getLogger(__name__)

IGNORED: Final = frozenset({('', 'events'), ('events.k8s.io', 'events')})
"""Events have no owners and no dependants, and there are more of them than of all else."""


@dataclass(frozen=True, kw_only=True)
class Collecting:
    """How the collector works."""

    workers: int = 20
    """Objects that are worked on at once."""

    absent_kept: int = 10_000
    """Owners that are known to be gone and are not looked for again."""

    settle_seconds: float = 30
    """How long the objects of a newly seen kind are waited for, before work goes on without them."""

    stale_seconds: float = 0.05
    """After how long an object is tried again that has changed on the server and not yet here."""


class _Name(NamedTuple):
    """An owner that is not there, as references name it."""

    namespace: str
    kind: str
    name: str
    uid: str


class Collector:
    """Deletes what has lost its owners."""

    def __init__(
        self,
        informers: shared.Informers,
        kinds: catalogue.Catalogue,
        *,
        settings: Collecting | None = None,
    ) -> None:
        self._shared = informers
        self._source = informers.source
        self._kinds = kinds
        self._settings = settings or Collecting()
        self._graph = graph.Graph()
        self._absent: OrderedDict[_Name, None] = OrderedDict()
        self._queue: workqueue.WorkQueue[str] = workqueue.WorkQueue()
        self._informers: dict[requests.Resource, tuple[informer.Informer[Any], asyncio.Task[NoReturn] | None]] = {}
        self._unresolved: set[str] = set()
        """Objects with owners of kinds that the server does not have yet."""

        self._settled = asyncio.Event()
        self._due = asyncio.Event()
        kinds.subscribe(lambda _: self._due.set())

    async def run(self) -> NoReturn:
        """Collects until cancelled. The catalogue has to run beside it."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._queue.run(self._pass, workers=self._settings.workers))
            await self._kinds.first()
            while True:
                self._due.clear()
                self._follow(self._kinds.latest or catalogue.Snapshot(), group)
                await self._settle()
                await self._due.wait()

    def _follow(self, latest: catalogue.Snapshot, group: asyncio.TaskGroup) -> None:
        """Follows the kinds that there are now, and no others."""
        wanted = [one for one in latest.able('list', 'watch', 'delete') if (one.group, one.plural) not in IGNORED]
        for gone in self._informers.keys() - set(wanted):
            task = self._informers.pop(gone)[1]
            if task is not None:
                task.cancel()
            # A kind takes its objects with it.
            for uid in self._graph.forget(gone):
                self._dropped(uid)
        for resource in wanted:
            if resource not in self._informers:
                self._settled.clear()
                self._informers[resource] = self._follow_one(resource, group)
        unresolved, self._unresolved = self._unresolved, set()
        for uid in unresolved:
            self._queue.add(uid)

    def _follow_one(
        self, resource: requests.Resource, group: asyncio.TaskGroup
    ) -> tuple[informer.Informer[Any], asyncio.Task[NoReturn] | None]:
        handler = functools.partial(self._seen, resource)
        one = self._shared.find(resource)
        if one is not None:
            # Somebody else follows it already, and has perhaps been told all that there was.
            for obj in one.values():
                handler(None, obj)
            one.subscribe(handler)
            return one, None
        one = informer.Informer(self._source, resource, graph.Object, settings=self._shared.settings)
        one.subscribe(handler)
        return one, group.create_task(one.run())

    async def _settle(self) -> None:
        """Waits until all is known: who does not know the dependants must not release an owner."""
        try:
            async with asyncio.timeout(self._settings.settle_seconds):
                for one, _ in list(self._informers.values()):
                    await one.synced()
        except TimeoutError:
            late = [str(resource) for resource, (one, _) in self._informers.items() if one.trouble is not None]
            logger.warning('going on without %s, which cannot be seen', ', '.join(late) or 'some kinds')
        self._settled.set()

    def _seen(self, resource: requests.Resource, old: graph.Owned | None, new: graph.Owned | None) -> None:
        if new is not None:
            for uid in self._graph.put(graph.Item(resource, new.metadata)):
                self._queue.add(uid)
        elif old is not None:
            self._dropped(old.metadata.uid)

    def _dropped(self, uid: str) -> None:
        item = self._graph.get(uid)
        if item is not None:
            self._note_absent(_Name(item.metadata.namespace, item.resource.kind, item.metadata.name, uid))
        for touched in self._graph.drop(uid):
            self._queue.add(touched)

    async def _pass(self, uid: str) -> float | None:
        if not self._settled.is_set():
            await self._settled.wait()
        asked: dict[str, decisions.Owner] = {}
        while (item := self._graph.get(uid)) is not None:
            action = decisions.decide(self._graph, item, functools.partial(self._judge, asked))
            if not isinstance(action, decisions.Verify):
                return await self._act(item, action)
            for owner in action.owners:
                asked[owner.uid] = await self._look(item, owner)
        return None

    def _judge(
        self, asked: dict[str, decisions.Owner], item: graph.Item, owner: meta.OwnerReference
    ) -> decisions.Owner:
        known = self._graph.get(owner.uid)
        namespace = item.metadata.namespace
        if known is not None and known.is_meant(owner, namespace):
            return decisions.Owner.WAITING if known.awaits_dependants else decisions.Owner.SOLID
        # Owners of the cluster are noted without a namespace.
        for place in (namespace, ''):
            if (key := _Name(place, owner.kind, owner.name, owner.uid)) in self._absent:
                self._absent.move_to_end(key)
                return decisions.Owner.ABSENT
        return asked.get(owner.uid, decisions.Owner.UNKNOWN)

    async def _look(self, item: graph.Item, owner: meta.OwnerReference) -> decisions.Owner:
        """Asks the server for an owner. What cannot be asked for counts as there."""
        latest = self._kinds.latest
        resource = latest.by_kind.get((owner.api_version, owner.kind)) if latest is not None else None
        namespace = item.metadata.namespace
        if resource is None:
            self._unresolved.add(item.metadata.uid)
            return decisions.Owner.SOLID
        if resource.namespaced and not namespace:
            return decisions.Owner.SOLID
        try:
            found = await self._source.request(requests.read(resource, namespace, owner.name), graph.Object)
        except errors.NotFound:
            found = None
        if found is None or found.metadata.uid != owner.uid:
            self._note_absent(_Name(namespace, owner.kind, owner.name, owner.uid))
            return decisions.Owner.ABSENT
        is_waiting = graph.Item(resource, found.metadata).awaits_dependants
        return decisions.Owner.WAITING if is_waiting else decisions.Owner.SOLID

    def _note_absent(self, name: _Name) -> None:
        self._absent[name] = None
        if len(self._absent) > self._settings.absent_kept:
            self._absent.popitem(last=False)

    async def _act(self, item: graph.Item, action: decisions.Action) -> float | None:
        try:
            await self._carry_out(item, action)
        except errors.NotFound:
            # The watch will tell.
            return None
        except errors.Conflict:
            return self._settings.stale_seconds
        return None

    async def _carry_out(self, item: graph.Item, action: decisions.Action) -> None:
        match action:
            case decisions.Delete(propagation, owners):
                if owners is not None:
                    item = await self._write_owners(item, owners)
                await self._source.send(_deletion(item, propagation))
            case decisions.Write(owners):
                await self._write_owners(item, owners)
            case decisions.SetFree(dependants):
                for one in dependants:
                    await self._set_free(one, item.metadata.uid)
                await self._release(item, graph.ORPHAN)
            case decisions.Release(finalizer):
                await self._release(item, finalizer)
            case decisions.Await(uids):
                for uid in uids:
                    self._queue.add(uid)

    async def _set_free(self, item: graph.Item, owner: str) -> None:
        try:
            await self._write_owners(item, decisions.without(item.owners, owner))
        except errors.NotFound:
            return

    async def _write_owners(self, item: graph.Item, owners: Sequence[meta.OwnerReference]) -> graph.Item:
        return await self._write(item, 'ownerReferences', list(owners))

    async def _release(self, item: graph.Item, finalizer: str) -> None:
        await self._write(item, 'finalizers', [one for one in item.metadata.finalizers or () if one != finalizer])

    async def _write(self, item: graph.Item, field: str, value: list[meta.OwnerReference] | list[str]) -> graph.Item:
        metadata = item.metadata
        # With uid and version: what is written is right for this state of the object only.
        body = {'metadata': {'uid': metadata.uid, 'resourceVersion': metadata.resource_version, field: value}}
        request = requests.patch(item.resource, metadata.namespace, metadata.name, body, requests.Patch.MERGE)
        written = await self._source.request(request, graph.Object)
        return graph.Item(item.resource, written.metadata)


def _deletion(item: graph.Item, propagation: requests.Propagation) -> requests.Request:
    metadata = item.metadata
    return requests.delete(
        item.resource,
        metadata.namespace,
        metadata.name,
        propagation=propagation,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
    )
