"""Events for people to read: recorded at once, sent in the background.

They are Events of ``events.k8s.io/v1``; repetitions are folded as :mod:`jobset.kube.series` says. Events are news, not
state: under pressure the oldest unsent ones are dropped, and nothing ever waits for them.
"""

import asyncio
import contextlib
import datetime
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from jobset.kube import backoff, client, errors, requests, series, times
from jobset.kube.series import EventType, ObjectRef

__all__ = ['EventType', 'ObjectRef', 'Recorder', 'Recording', 'shorten']

logger = logging.getLogger(__name__)

NOTE_BYTES: Final = 1024
"""What the server takes; it refuses an Event with a longer note."""

NAME_BYTES: Final = 253
INSTANCE_BYTES: Final = 128


@dataclass(frozen=True, kw_only=True)
class Recording:
    """How Events are sent."""

    is_on: bool = True
    """Whether they are; in a simulation of days, each is a write for nobody."""

    folding: series.Folding = field(default_factory=series.Folding)
    """How repetitions are folded."""

    sweep_period: float = 60
    """Seconds between looks for series that have ended."""

    queue_size: int = 1000
    """Events that may wait to be sent; above that, the oldest is dropped."""

    attempts: int = 5
    """How often sending one Event is tried while the server fails."""

    backoff_base: float = 1
    """Seconds before the second attempt, doubled for each further one."""

    flush_timeout: float = 5
    """Seconds that sending what is left may take at the end."""


@dataclass(frozen=True, slots=True)
class _Letter:
    entry: series.Entry
    is_new: bool


class Recorder:
    """Records Events and sends them while :meth:`run` runs.

    Events are made in the name of ``controller`` (a fixed name) and ``instance`` (this process).
    """

    def __init__(
        self,
        source: client.Client,
        *,
        controller: str,
        instance: str,
        settings: Recording | None = None,
        on_drop: Callable[[str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime.datetime] = times.now,
    ) -> None:
        self._source = source
        self._controller = controller
        self._instance = shorten(instance, INSTANCE_BYTES)
        self._settings = settings or Recording()
        self._on_drop = on_drop
        self._clock = clock
        self._now = now
        self._memory = series.Memory(self._settings.folding)
        self._letters: deque[_Letter] = deque()
        self._has_letters = asyncio.Event()
        self._sending = asyncio.Lock()
        self._last_stamp = 0

    def record(
        self,
        regarding: ObjectRef,
        *,
        type: EventType,  # noqa: A002 - as the field is called
        reason: str,
        note: str,
        action: str = 'Reconciling',
        related: ObjectRef | None = None,
    ) -> None:
        """Notes that something has happened. Never waits and never fails; the note is cut to what the server takes.

        Events of one reason about one object become one, unless their ``related`` objects, as the pods that a
        controller makes, differ.
        """
        if not self._settings.is_on:
            return
        key = series.Key(regarding, type, reason, action, related)
        at, now = self._clock(), self._now()
        entry = self._memory.find(key, at=at)
        if entry is not None:
            if self._memory.repeat(entry, time=now, at=at):
                self._post(_Letter(entry, is_new=False))
            return
        entry = series.Entry(
            key=key,
            name=self._name(regarding),
            note=shorten(note, NOTE_BYTES),
            time=now,
            last_time=now,
            last_at=at,
            told_at=at,
        )
        self._post_all(self._memory.add(entry))
        self._post(_Letter(entry, is_new=True))

    async def run(self) -> NoReturn:
        """Sends what is recorded until cancelled; :meth:`flush` then sends the rest."""
        async with asyncio.TaskGroup() as group:
            if self._settings.is_on:
                group.create_task(self._sweep())
            while True:
                await self._has_letters.wait()
                await self._send_all()

    async def flush(self) -> None:
        """Ends all series and sends what is left, within a bound; what cannot be sent by then is dropped."""
        self._post_all(self._memory.finish(at=self._clock()))
        try:
            async with asyncio.timeout(self._settings.flush_timeout):
                await self._send_all()
        except TimeoutError:
            logger.warning('events: %d not sent within %s s', len(self._letters), self._settings.flush_timeout)
            for _ in self._letters:
                self._drop('shutdown')
            self._letters.clear()

    async def _sweep(self) -> NoReturn:
        while True:
            await asyncio.sleep(self._settings.sweep_period)
            self._post_all(self._memory.sweep(at=self._clock()))

    async def _send_all(self) -> None:
        async with self._sending:
            while self._letters:
                letter = self._letters.popleft()
                try:
                    await self._deliver(letter)
                except asyncio.CancelledError:
                    # It may have arrived; then it is found there when it is sent again.
                    self._letters.appendleft(letter)
                    raise
            self._has_letters.clear()

    async def _deliver(self, letter: _Letter) -> None:
        """Sends one, as often as it takes within bounds. A refusal ends it: repeating would change nothing."""
        pause = backoff.Backoff(base=self._settings.backoff_base, cap=60)
        for attempt in range(self._settings.attempts):
            try:
                await self._send(letter)
            except errors.RetryLater as error:
                if attempt + 1 == self._settings.attempts:
                    self._give_up(letter, error)
                    return
                await asyncio.sleep(pause.next(at_least=error.retry_after or 0))
            except (errors.ApiError, errors.NotLeading) as error:
                self._give_up(letter, error)
                return
            else:
                return

    async def _send(self, letter: _Letter) -> None:
        entry = letter.entry
        namespace = _namespace(entry)
        if not letter.is_new:
            patch = {'series': _series(entry)}
            with contextlib.suppress(errors.NotFound):
                await self._source.send(
                    requests.patch(requests.EVENTS, namespace, entry.name, patch, requests.Patch.MERGE)
                )
                return
        # New, or gone since: Events live for an hour, some series for days.
        with contextlib.suppress(errors.AlreadyExists):
            await self._source.send(requests.create(requests.EVENTS, namespace, self._body(entry)))

    def _body(self, entry: series.Entry) -> dict[str, Any]:
        key = entry.key
        body: dict[str, Any] = {
            'apiVersion': requests.EVENTS.api_version,
            'kind': requests.EVENTS.kind,
            'metadata': {'name': entry.name, 'namespace': _namespace(entry)},
            'eventTime': times.micro(entry.time),
            'reportingController': self._controller,
            'reportingInstance': self._instance,
            'action': key.action,
            'reason': key.reason,
            'regarding': key.regarding,
            'note': entry.note,
            'type': key.type,
        }
        if key.related is not None:
            body['related'] = key.related
        if entry.count > 1:
            body['series'] = _series(entry)
        return body

    def _name(self, regarding: ObjectRef) -> str:
        # Two Events of one object in one tick of the clock must not have one name.
        self._last_stamp = max(time.time_ns(), self._last_stamp + 1)
        suffix = f'.{self._last_stamp:x}'
        return shorten(regarding.name, NAME_BYTES - len(suffix)) + suffix

    def _post_all(self, entries: Iterable[series.Entry]) -> None:
        for entry in entries:
            self._post(_Letter(entry, is_new=False))

    def _post(self, letter: _Letter) -> None:
        if len(self._letters) >= self._settings.queue_size:
            self._letters.popleft()
            self._drop('queue full')
        self._letters.append(letter)
        self._has_letters.set()

    def _give_up(self, letter: _Letter, error: Exception) -> None:
        key = letter.entry.key
        logger.warning('event %s of %s %s: not sent: %s', key.reason, key.regarding.kind, key.regarding.name, error)
        self._drop('refused' if not isinstance(error, errors.RetryLater) else 'server failing')

    def _drop(self, why: str) -> None:
        if self._on_drop is not None:
            self._on_drop(why)


def shorten(text: str, size: int) -> str:
    """``text``, or as many of its characters as take at most ``size`` bytes in UTF-8."""
    data = text.encode()
    return text if len(data) <= size else data[:size].decode(errors='ignore')


def _namespace(entry: series.Entry) -> str:
    # Events of cluster-wide objects live here by convention.
    return entry.key.regarding.namespace or 'default'


def _series(entry: series.Entry) -> dict[str, Any]:
    return {'count': entry.count, 'lastObservedTime': times.micro(entry.last_time)}
