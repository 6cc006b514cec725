"""Sees how pods fail, and remembers it though they vanish.

A preempted pod is marked, told to go, and gone within a second or less if it obeys; its Job is said to have failed only
after that. So pods are watched from the time on that some JobSet asks why its Jobs fail. What was seen of one is
forgotten with its Job.
"""

from collections.abc import Iterable
from typing import Final

from jobset.api import pods
from jobset.controller import podcache
from jobset.core import causes

_JOBS_AT_MOST: Final = 10_000
"""Jobs of which something is remembered; news of a pod may come after its Job has been forgotten."""


_PODS_AT_MOST: Final = 200
"""Pods of one Job of which it is remembered how they failed: a Job that restarts in place may go on for months."""


class Witness:
    """Sees nothing before :meth:`begin`."""

    def __init__(self, seen: podcache.PodCache) -> None:
        self._pods = seen
        self._deaths: dict[str, dict[str, causes.Death]] = {}
        self._has_begun = False

    def begin(self) -> None:
        """From now on pods are looked at."""
        if not self._has_begun:
            self._has_begun = True
            self._pods.follow(self._changed)

    def deaths(self, job_uid: str) -> Iterable[causes.Death]:
        """How pods of a Job failed, gone or not."""
        return self._deaths.get(job_uid, {}).values()

    def forget(self, job_uid: str) -> None:
        """The Job is gone."""
        self._deaths.pop(job_uid, None)

    def _changed(self, old: pods.Pod | None, new: pods.Pod | None) -> None:
        death = causes.of_pod(new) if new is not None else None
        if new is not None and death is not None:
            of_job = self._deaths.setdefault(new.labels.job_uid, {})
            of_job[new.metadata.uid] = death
            while len(of_job) > _PODS_AT_MOST:
                del of_job[next(iter(of_job))]
            while len(self._deaths) > _JOBS_AT_MOST:
                del self._deaths[next(iter(self._deaths))]
        elif old is not None and not old.has_ended and causes.is_passing(old):
            # It waits no longer: it has started after all, or it is gone without ever having run.
            seen = self._deaths.get(old.labels.job_uid, {})
            seen.pop(old.metadata.uid, None)
            if not seen:
                self._deaths.pop(old.labels.job_uid, None)
