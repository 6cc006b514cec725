"""Deletes Jobs some time after they have finished, when they say so.

Source: Kubernetes, "TTL mechanism for finished Jobs".
"""

import datetime
from collections.abc import Callable
from typing import NoReturn

from jobset.kube import errors, requests, workqueue
from jobset.local import objects
from jobset.local.controllers import models, shared


def due_in(job: models.Job, now: datetime.datetime) -> float | None:
    """Seconds until the Job is to be deleted, 0 when it is time; None when that is not wanted, or not yet known."""
    seconds = job.spec.ttl_seconds_after_finished
    if seconds is None or job.metadata.is_deleting:
        return None
    for condition in job.status.conditions or ():
        if condition.type in ('Complete', 'Failed') and condition.status == 'True' and condition.last_transition_time:
            end = objects.moment(condition.last_transition_time) + datetime.timedelta(seconds=seconds)
            return max(0.0, (end - now).total_seconds())
    return None


class Finished:
    """The controller. Subscribed when it is made; the informers have to run beside it."""

    def __init__(self, informers: shared.Informers, now: Callable[[], datetime.datetime]) -> None:
        self._source = informers.source
        self._now = now
        self._jobs = informers.jobs()
        self._jobs.subscribe(self._seen)
        self._queue: workqueue.WorkQueue[tuple[str, str]] = workqueue.WorkQueue()

    async def run(self) -> NoReturn:
        """Works until cancelled."""
        await self._queue.run(self._pass, workers=4)
        raise AssertionError('nobody stops the queue')

    def _seen(self, _: models.Job | None, new: models.Job | None) -> None:
        if new is not None and new.spec.ttl_seconds_after_finished is not None and new.status.conditions:
            self._queue.add((new.metadata.namespace, new.metadata.name))

    async def _pass(self, key: tuple[str, str]) -> float | None:
        job = self._jobs.get(*key)
        wait = due_in(job, self._now()) if job is not None else None
        if wait is None or wait > 0:
            return wait
        try:
            # What is known may be old: the time to live may have been changed at the last moment.
            fresh = await self._source.request(requests.read(requests.JOBS, *key), models.Job)
            wait = due_in(fresh, self._now())
            if wait == 0:
                await self._source.send(
                    requests.delete(
                        requests.JOBS,
                        *key,
                        propagation=requests.Propagation.FOREGROUND,
                        uid=fresh.metadata.uid,
                        resource_version=fresh.metadata.resource_version,
                    )
                )
                return None
        except errors.NotFound:
            return None
        return wait
