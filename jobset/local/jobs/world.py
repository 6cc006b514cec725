"""Everything that is observed of Jobs and their pods, and which Job a change concerns.

The caches are filled by watches, and by the answers to our own writes: a pass therefore always sees what the pass
before it did, and makes no pod twice.
"""

import asyncio
import enum
from collections.abc import Callable, Iterable
from typing import NamedTuple, NoReturn

from jobset.api import meta
from jobset.kube import client, index, informer, requests
from jobset.local.jobs import claims, keys
from jobset.local.jobs.types import Job, Pod


class Key(NamedTuple):
    """Which Job, or which pod, a pass is about."""

    namespace: str
    name: str


class Urgency(enum.Enum):
    """How soon a change is to be looked at."""

    NOW = enum.auto()
    SOON = enum.auto()
    """With what else changes at about the same time."""


class World:
    """The caches.

    ``changed`` is called for each Job that a change concerns, and ``stray`` for each pod that seems to wait in vain to
    be counted; both synchronously and in order.
    """

    def __init__(
        self,
        api: client.Client,
        *,
        changed: Callable[[Key, Urgency], None],
        stray: Callable[[Key], None],
    ) -> None:
        self._changed = changed
        self._stray = stray
        self.jobs = informer.Informer(api, requests.JOBS, Job)
        self.pods = informer.Informer(api, requests.PODS, Pod, keep=_concerns)
        self._by_owner: index.Index[str, Pod] = index.Index(_owner)
        self._strangers: index.Index[str, Pod] = index.Index(_namespace_of_stranger)
        self._by_uid: index.Index[str, Job] = index.Index(lambda job: (job.metadata.uid,))
        self._by_namespace: index.Index[str, Job] = index.Index(lambda job: (job.metadata.namespace,))
        self._gone: set[str] = set()
        self.jobs.subscribe(self._by_uid.on_change)
        self.jobs.subscribe(self._by_namespace.on_change)
        self.jobs.subscribe(self._job_changed)
        self.pods.subscribe(self._by_owner.on_change)
        self.pods.subscribe(self._strangers.on_change)
        self.pods.subscribe(self._pod_changed)

    async def run(self) -> NoReturn:
        """Keeps the caches up to date until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.jobs.run(), name='informer of jobs')
            group.create_task(self.pods.run(), name='informer of pods')
        raise AssertionError('informers do not end')

    async def synced(self) -> None:
        """Waits until the caches have been filled once."""
        await self.jobs.synced()
        await self.pods.synced()

    def pods_of(self, job: Job) -> tuple[Pod, ...]:
        """The pods that name this very Job as their controller."""
        found = self._by_owner.get(job.metadata.uid).values()
        return tuple(pod for pod in found if pod.uid not in self._gone) if self._gone else tuple(found)

    def size(self, key: Key) -> int:
        """How many pods a Job has."""
        job = self.jobs.get(*key)
        return len(self._by_owner.get(job.metadata.uid)) if job is not None else 0

    def strangers(self, namespace: str) -> tuple[Pod, ...]:
        """The pods of a namespace that nobody manages."""
        return tuple(self._strangers.get(namespace).values())

    def manager(self, pod: Pod) -> Job | None:
        """The Job that manages the pod, or would like to, as far as it is known."""
        owner = pod.metadata.controller
        if owner is not None:
            return self.job(owner.uid)
        return next(iter(self._suitors(pod)), None)

    def job(self, uid: str) -> Job | None:
        """The Job with that uid."""
        return self._by_uid.get(uid).get(uid)

    def forget(self, pod: Pod) -> None:
        """Takes a pod for gone that the server has said is: the watch will tell it, too, a little later."""
        held = self.pods.get(pod.metadata.namespace, pod.metadata.name)
        if held is not None and held.uid == pod.uid:
            self._gone.add(pod.uid)

    def _job_changed(self, old: Job | None, new: Job | None) -> None:
        seen = new or old
        if seen is None:
            return
        key = Key(seen.metadata.namespace, seen.metadata.name)
        if new is None or (new.status.is_finished and not (old and old.status.is_finished)):
            for pod in self._by_owner.get(seen.metadata.uid).values():
                self._look_for_stray(pod)
        if new is not None and old is not None and not _is_news(old, new):
            self._changed(key, Urgency.SOON)
        else:
            self._changed(key, Urgency.NOW)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        owners = {uid for pod in (old, new) if pod is not None for uid in _owner(pod)}
        for uid in owners:
            job = self.job(uid)
            if job is not None and not job.status.is_finished:
                self._changed(Key(job.metadata.namespace, job.metadata.name), Urgency.SOON)
        if new is None:
            if old is not None:
                self._gone.discard(old.uid)
            return
        self._look_for_stray(new)
        if new.metadata.controller is None and (old is None or _looks_different(old, new)):
            for job in self._suitors(new):
                self._changed(Key(job.metadata.namespace, job.metadata.name), Urgency.SOON)

    def _look_for_stray(self, pod: Pod) -> None:
        if pod.is_tracked and claims.is_stray(pod, self.manager(pod)):
            self._stray(Key(pod.metadata.namespace, pod.metadata.name))

    def _suitors(self, pod: Pod) -> Iterable[Job]:
        """The Jobs that would adopt a pod."""
        for job in self._by_namespace.get(pod.metadata.namespace).values():
            if not job.status.is_finished and claims.matches(job.spec.selector, pod.metadata.labels):
                yield job


def is_jobs(owner: meta.OwnerReference) -> bool:
    """Whether an owner is a Job."""
    return owner.kind == keys.KIND and owner.api_version == keys.API_VERSION


def _concerns(pod: Pod) -> bool:
    owner = pod.metadata.controller
    return owner is None or is_jobs(owner)


def _owner(pod: Pod) -> tuple[str, ...]:
    owner = pod.metadata.controller
    return () if owner is None else (owner.uid,)


def _namespace_of_stranger(pod: Pod) -> tuple[str, ...]:
    return (pod.metadata.namespace,) if pod.metadata.controller is None else ()


def _is_news(old: Job, new: Job) -> bool:
    """Whether more has changed than what this controller writes itself."""
    one, other = old.metadata, new.metadata
    return one.generation != other.generation or one.deletion_timestamp != other.deletion_timestamp


def _looks_different(old: Pod, new: Pod) -> bool:
    return old.metadata.labels != new.metadata.labels or old.metadata.controller is not None
