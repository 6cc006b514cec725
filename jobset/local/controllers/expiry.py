"""Deletes events an hour after they were last told: they are news, not state.

Source: kube-apiserver, ``--event-ttl``.
"""

import asyncio
import contextlib
import datetime
import heapq
from collections.abc import Callable
from typing import Final, NoReturn

from jobset.kube import errors, requests
from jobset.local import objects
from jobset.local.controllers import models, shared

TTL_SECONDS: Final = 3600


def last_told(event: models.Event, now: datetime.datetime) -> datetime.datetime:
    """The latest time that an event names; now, for one that names none."""
    stamps = [event.event_time, event.deprecated_last_timestamp, event.metadata.creation_timestamp]
    if event.series is not None:
        stamps.append(event.series.last_observed_time)
    moments = []
    for stamp in stamps:
        try:
            moments.append(objects.moment(stamp) if stamp else None)
        except ValueError:
            continue
    return max((one for one in moments if one is not None), default=now)


class Expiry:
    """The controller. Subscribed when it is made; the informers have to run beside it."""

    def __init__(
        self,
        informers: shared.Informers,
        now: Callable[[], datetime.datetime],
        *,
        ttl_seconds: float = TTL_SECONDS,
    ) -> None:
        self._source = informers.source
        self._now = now
        self._ttl = datetime.timedelta(seconds=ttl_seconds)
        self._events = informers.events()
        self._events.subscribe(self._seen)
        # Events that were told again stand in it twice: the earlier entry is passed over when its time comes.
        self._heap: list[tuple[datetime.datetime, str, str]] = []
        self._due = asyncio.Event()

    async def run(self) -> NoReturn:
        """Works until cancelled."""
        while True:
            self._due.clear()
            wait = (self._heap[0][0] - self._now()).total_seconds() if self._heap else None
            if wait is not None and wait <= 0:
                _, namespace, name = heapq.heappop(self._heap)
                await self._expire(namespace, name)
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._due.wait()

    def _seen(self, _: models.Event | None, new: models.Event | None) -> None:
        if new is not None:
            end = last_told(new, self._now()) + self._ttl
            heapq.heappush(self._heap, entry := (end, new.metadata.namespace, new.metadata.name))
            if self._heap[0] is entry:
                self._due.set()

    async def _expire(self, namespace: str, name: str) -> None:
        event = self._events.get(namespace, name)
        if event is None or last_told(event, self._now()) + self._ttl > self._now():
            return
        try:
            await self._source.send(
                requests.delete(requests.EVENTS, namespace, name, resource_version=event.metadata.resource_version)
            )
        except (errors.NotFound, errors.Conflict):
            return
        except errors.ApiError:
            # It stays for a while longer; nobody waits for its end.
            heapq.heappush(self._heap, (self._now() + datetime.timedelta(seconds=60), namespace, name))
