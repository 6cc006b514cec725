"""Everything that is observed of JobSets and what belongs to them, and which JobSet a change concerns.

The caches are filled by watches, and by the answers to our own writes: a pass therefore always sees what the pass
before it did.
"""

import asyncio
import datetime
from collections.abc import Callable
from typing import NamedTuple, NoReturn, Protocol

from jobset.api import jobs, keys, meta, pods, types
from jobset.controller import groups, places, podcache, witness
from jobset.core import family, inplace, network, ranks, volumes
from jobset.kube import client, errors, index, informer, requests, times

JOBSETS = requests.Resource(keys.GROUP, keys.VERSION, keys.PLURAL, keys.KIND)


class Key(NamedTuple):
    """Which JobSet a pass is about."""

    namespace: str
    name: str


class Cache(Protocol):
    """An informer, whatever it holds."""

    resource: requests.Resource

    @property
    def is_synced(self) -> bool:
        """Whether it has been filled once."""

    async def synced(self) -> None:
        """Waits for that."""

    async def run(self) -> NoReturn:
        """Keeps it up to date until cancelled."""


class ClaimNames:
    """The names of the claims in a namespace, as far as they are looked for."""

    def __init__(self, claims: informer.Informer[volumes.Claim], namespace: str) -> None:
        self._claims = claims
        self._namespace = namespace

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._claims.get(self._namespace, name) is not None


class World:
    """The caches, and the families of child Jobs that follow from them.

    ``changed`` is called for each JobSet that a change concerns, synchronously and in order; ``children_changed``, if
    it is given, in its place for changes of what belongs to one, which come in crowds.
    """

    def __init__(
        self,
        api: client.Client,
        changed: Callable[[Key], None],
        *,
        children_changed: Callable[[Key], None] | None = None,
        pods_changed: Callable[[Key], None] | None = None,
        watches_pods: bool = False,
        namespace: str | None = None,
        watching: informer.Watching | None = None,
        now: Callable[[], datetime.datetime] = times.now,
    ) -> None:
        self._changed = changed
        self._children_changed = children_changed or changed
        self._pods_changed = pods_changed or self._children_changed
        self._now = now
        self._heeds = True
        self._ranks: dict[str, ranks.Ranks] = {}
        self._families: dict[str, family.Family] = {}
        self._keys: dict[str, Key] = {}
        self.jobsets = informer.Informer(api, JOBSETS, types.JobSet, namespace=namespace, settings=watching)
        self.jobs = informer.Informer(
            api,
            requests.JOBS,
            jobs.Job,
            namespace=namespace,
            keep=lambda job: job.owner_uid is not None,
            settings=watching,
        )
        self.services = informer.Informer(
            api, requests.SERVICES, network.Service, namespace=namespace, settings=watching
        )
        self.claims = informer.Informer(api, requests.CLAIMS, volumes.Claim, namespace=namespace, settings=watching)
        self.pods = podcache.PodCache(
            api,
            holds_all=watches_pods,
            namespace=namespace,
            settings=watching,
            on_trouble=self._pods_not_seen,
        )
        """Watched only where something asks for it: there are many, and they change often."""

        self._watches_pods = watches_pods
        if watches_pods:
            self.pods.follow(self._pod_changed)
        self.witness = witness.Witness(self.pods)
        self.groups = groups.Groups(api, self.pods, self._concerns, namespace=namespace, watching=watching)
        self.places = places.Places(api, self.jobsets, self.pods, self._concerns, settings=watching)
        self._by_service = index.Index(_service_of)
        self.jobsets.subscribe(self._by_service.on_change)
        self.jobsets.subscribe(self._jobset_changed)
        self.jobs.subscribe(self._job_changed)
        self.services.subscribe(self._service_changed)

    @property
    def caches(self) -> tuple[Cache, ...]:
        """All caches, for whoever watches over their health."""
        return (
            self.jobsets,
            self.jobs,
            self.services,
            self.claims,
            *((self.pods.cache,) if self._watches_pods else ()),
        )

    async def run(self) -> None:
        """Keep the caches up to date until cancelled."""
        async with asyncio.TaskGroup() as group:
            for each in (self.jobsets, self.jobs, self.services, self.claims, self.pods, self.places):
                group.create_task(each.run(), name=f'informer of {each.resource.plural}')
            group.create_task(self.groups.run(), name='groups of pods')

    async def synced(self) -> None:
        """Wait until every cache has been filled once."""
        for each in self.caches:
            await each.synced()

    def family(self, jobset: types.JobSet) -> family.Family:
        """The child Jobs of a JobSet; those of an earlier one of the same name are not among them."""
        return self._families.get(jobset.metadata.uid) or family.Family()

    def pods_of(self, jobset: types.JobSet) -> ranks.Ranks:
        """The pods of a JobSet, where pods are watched."""
        return self._ranks.get(jobset.metadata.uid) or ranks.Ranks()

    def service(self, jobset: types.JobSet) -> network.Service | None:
        """The Service under the name that the Service of the set should have."""
        return self.services.get(jobset.metadata.namespace, network.service_name(jobset))

    def claim_names(self, jobset: types.JobSet) -> ClaimNames:
        """The claims in the namespace of the set."""
        return ClaimNames(self.claims, jobset.metadata.namespace)

    def take_counted(self, jobset: types.JobSet) -> None:
        """Takes the answer to a write of ours that changed counters only: they decide nothing, so no pass follows."""
        self._heeds = False
        try:
            self.jobsets.observe(jobset)
        finally:
            self._heeds = True

    def _jobset_changed(self, old: types.JobSet | None, new: types.JobSet | None) -> None:
        metadata = (new or old or _nothing()).metadata
        key = Key(metadata.namespace, metadata.name)
        if new is None:
            self._keys.pop(metadata.uid, None)
            self._let_go(metadata.uid)
            self.groups.forget(metadata.uid)
        else:
            self._keys[metadata.uid] = key
        if self._heeds:
            self._changed(key)

    def _job_changed(self, old: jobs.Job | None, new: jobs.Job | None) -> None:
        # An owner reference may change: the Job then leaves one family and joins another.
        if old is not None and (new is None or old.owner_uid != new.owner_uid):
            owner = old.owner_uid or ''
            kin = self._families[owner]
            kin.drop(old)
            if not kin.departed or owner not in self._keys:
                self._let_go(owner)
            self._concerns(owner)
        if old is not None and new is None:
            self.witness.forget(old.metadata.uid)
        if new is not None:
            owner = new.owner_uid or ''
            self._families.setdefault(owner, family.Family()).put(new)
            self._concerns(owner)

    def _let_go(self, owner: str) -> None:
        """Of a family without members nothing is kept, but of a set that lives what is done."""
        kin = self._families.get(owner)
        if kin is not None and not kin.jobs:
            del self._families[owner]

    def _pod_changed(self, old: pods.Pod | None, new: pods.Pod | None) -> None:
        # A label may change: the pod then leaves one set and joins another.
        before = old.labels.jobset_uid if old is not None else ''
        uid = new.labels.jobset_uid if new is not None else ''
        if old is not None and before and before != uid:
            crew = self._ranks[before]
            crew.drop(old, self._now())
            if not crew.reports:
                del self._ranks[before]
            self._concerns_ranks(before)
        if new is not None and uid and self._ranks.setdefault(uid, ranks.Ranks()).put(new, self._now()):
            self._concerns_ranks(uid)

    def _pods_not_seen(self, resource: requests.Resource, error: errors.ApiError) -> None:
        self.groups.note_trouble(resource, error)

    def _concerns_ranks(self, uid: str) -> None:
        key = self._keys.get(uid)
        jobset = None if key is None else self.jobsets.get(*key)
        if key is not None and jobset is not None and inplace.is_wanted(jobset):
            self._pods_changed(key)

    def _service_changed(self, old: network.Service | None, new: network.Service | None) -> None:
        service = new or old
        if service is not None:
            # By name and not by owner: a Service of somebody else may be in the way of ours.
            for jobset in self._by_service.get(service.metadata.ref).values():
                self._concerns(jobset.metadata.uid)

    def _concerns(self, uid: str) -> None:
        """A JobSet that is not known yet is looked at when it appears."""
        key = self._keys.get(uid)
        if key is not None:
            self._children_changed(key)


def _service_of(jobset: types.JobSet) -> tuple[meta.Ref]:
    return (meta.Ref(jobset.metadata.namespace, network.service_name(jobset)),)


def _nothing() -> types.JobSet:
    raise AssertionError('a change without an object before or after it')
