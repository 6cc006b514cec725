"""The Job controller as a whole: caches, queues and events around :func:`jobset.local.jobs.sync.sync`."""

import asyncio
import datetime
import logging
from collections.abc import Callable
from dataclasses import dataclass

from jobset.kube import client, errors, events, requests, workqueue
from jobset.local.jobs import backoff, claims, executor, keys, world
from jobset.local.jobs.plan import Event, Plan
from jobset.local.jobs.sync import sync
from jobset.local.jobs.types import Job, Pod
from jobset.local.jobs.view import Facts
from jobset.local.jobs.world import Key, Urgency

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the controller works."""

    workers: int = 8
    """Jobs that are worked on at the same time."""

    batch_seconds: float = 0.02
    """How long changes of pods are gathered before their Job is looked at.

    The pods of a Job start and end together; one pass then counts many of them. Upstream gathers for a second.
    """

    batch_seconds_per_pod: float = 0.0005
    """How much longer that is for each pod that the Job has: looking at it costs about 3 µs for each of them."""

    batch_cap: float = 1
    """How long it is at most."""


class Controller:
    """Looks after all Jobs that no other controller is named for, until :meth:`run` is cancelled.

    Deleting what a deleted Job leaves behind is the garbage collector's business, and deleting Jobs that have ended is
    that of the TTL controller.
    """

    def __init__(
        self,
        api: client.Client,
        *,
        now: Callable[[], datetime.datetime],
        instance: str = 'jobset',
        recording: events.Recording | None = None,
        settings: Settings | None = None,
    ) -> None:
        self._api = api
        self._now = now
        self._settings = settings or Settings()
        self._queue: workqueue.WorkQueue[Key] = workqueue.WorkQueue(on_error=_log)
        self._strays: workqueue.WorkQueue[Key] = workqueue.WorkQueue(on_error=_log)
        self._world = world.World(api, changed=self._changed, stray=self._strays.add)
        self._recorder = events.Recorder(
            api, controller=keys.RECORDER, instance=instance, settings=recording, clock=_loop_time, now=now
        )
        self._executor = executor.Executor(api, self._world, self._tell)
        self._records: dict[str, backoff.Record] = {}
        self._uids: dict[Key, str] = {}

    @property
    def is_synced(self) -> bool:
        """Whether Jobs and pods are known; only then are they touched."""
        return self._world.jobs.is_synced and self._world.pods.is_synced

    async def synced(self) -> None:
        """Waits for that."""
        await self._world.synced()

    async def run(self) -> None:
        """Works until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._world.run(), name='caches of jobs')
            group.create_task(self._recorder.run(), name='events of jobs')
            await self._world.synced()
            group.create_task(self._queue.run(self._pass, workers=self._settings.workers), name='jobs')
            group.create_task(self._strays.run(self._free, workers=self._settings.workers), name='stray pods of jobs')

    def _changed(self, key: Key, urgency: Urgency) -> None:
        if urgency is Urgency.NOW:
            self._queue.add(key)
        else:
            settings = self._settings
            seconds = settings.batch_seconds + settings.batch_seconds_per_pod * self._world.size(key)
            self._queue.add_after(key, min(seconds, settings.batch_cap))

    async def _pass(self, key: Key) -> float | None:
        """One pass over one Job; in how many seconds the next one is due although nothing changes."""
        job = self._world.jobs.get(*key)
        if job is None or job.status.is_finished:
            self._forget(key)
            return None
        uid = job.metadata.uid
        if self._uids.get(key, uid) != uid:
            self._forget(key)
        self._uids[key] = uid
        await self._executor.make_sure(job)
        facts = Facts(
            job=job,
            pods=self._world.pods_of(job),
            strangers=self._world.strangers(job.metadata.namespace),
            record=self._records.get(uid, backoff.NONE),
            now=self._now(),
        )
        wanted = sync(facts)
        if wanted.is_empty:
            for event in wanted.events:
                self._tell(job, event)
        else:
            await self._executor.carry_out(facts, wanted, stored=lambda plan: self._remember(uid, plan))
        if wanted.is_partial:
            return 0
        return None if wanted.again is None else max(0.0, (wanted.again - self._now()).total_seconds())

    def _remember(self, uid: str, plan: Plan) -> None:
        if plan.record != backoff.NONE:
            self._records[uid] = plan.record
        else:
            self._records.pop(uid, None)

    def _forget(self, key: Key) -> None:
        uid = self._uids.pop(key, '')
        self._records.pop(uid, None)
        self._executor.forget(uid)

    async def _free(self, key: Key) -> float | None:
        """Lets a pod go whose Job will not count it, because it has ended or is not there any more."""
        pod = self._world.pods.get(*key)
        if pod is not None and await self._is_stray(pod):
            await self._executor.release(pod)
        return None

    async def _is_stray(self, pod: Pod) -> bool:
        job = self._world.manager(pod)
        if not claims.is_stray(pod, job):
            return False
        owner = pod.metadata.controller
        if job is not None or owner is None:
            return True
        # Perhaps the cache of Jobs is behind that of pods: a pod that is freed by mistake would be counted wrongly.
        try:
            job = await self._api.request(requests.read(requests.JOBS, pod.metadata.namespace, owner.name), Job)
        except errors.NotFound:
            return True
        return claims.is_stray(pod, job if job.metadata.uid == owner.uid else None)

    def _tell(self, job: Job, event: Event, about: str = '') -> None:
        metadata = job.metadata
        version = metadata.resource_version
        regarding = events.ObjectRef.of(
            metadata, api_version=keys.API_VERSION, kind=keys.KIND, resource_version=version
        )
        related = None
        if about:
            pods = requests.PODS
            related = events.ObjectRef(
                api_version=pods.api_version, kind=pods.kind, name=about, namespace=metadata.namespace
            )
        self._recorder.record(regarding, type=event.type, reason=event.reason, note=event.note, related=related)


def _loop_time() -> float:
    return asyncio.get_running_loop().time()


def _log(key: Key, error: Exception) -> None:
    if isinstance(error, errors.Conflict | errors.NotFound):
        # Somebody has changed or deleted the Job since it was read; the next pass sees it.
        logger.debug('job %s/%s: %s; trying again', *key, error)
    elif isinstance(error, errors.ApiError | errors.NotLeading):
        logger.warning('job %s/%s: %s; trying again', *key, error)
    else:
        logger.error('job %s/%s: a pass has failed; trying again', *key, exc_info=error)
