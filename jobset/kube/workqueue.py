"""Which keys need a pass, and who may make one now.

A key stands for an object and says nothing about what has happened to it: ten changes before a pass are one pass. The
rules are those of client-go, which controllers are written for:

* A key is worked on by one worker at a time. Added meanwhile, it is passed again afterwards.
* A key whose pass fails comes again after a delay that grows with each failure, until it is forgotten at a success.
* A delay never holds back a key that is added without one.
"""

import asyncio
import enum
import functools
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar

from jobset.kube import backoff, errors

logger = logging.getLogger(__name__)

K = TypeVar('K', bound=Hashable)

Handler = Callable[[K], Awaitable[float | None]]
"""One pass: None when the key is settled, else the seconds after which it wants another pass."""

OnError = Callable[[K, Exception], None]
"""Called for each failed pass before its repetition is planned."""


@dataclass(frozen=True, kw_only=True)
class Pacing:
    """How soon a key comes again whose passes fail."""

    base: float = 0.005
    """Seconds after the first failure. Most are conflicts, cured by a look at the cache a moment later."""

    factor: float = 3
    """By how much each further delay is longer.

    With it, an object in lasting trouble is tried eight times in its first ten seconds, so that even passes of two
    requests stay below 20 in that time and below one a second after it.
    """

    cap: float = 60
    """Seconds that a delay has at most: so long an object may stay behind after its trouble is over."""

    outage_cap: float = 10
    """Seconds that it has at most while the server cannot be reached: when it is back, that is nobody's fault."""

    jitter: float = 0.1
    """By how much of itself a delay is longer at random."""


class Metrics(Protocol):
    """What a queue tells about itself, under the names that controller-runtime gives it."""

    def depth(self, keys: int) -> None:
        """Keys that wait for a worker (``workqueue_depth``)."""

    def added(self) -> None:
        """One key that was not waiting yet (``workqueue_adds_total``)."""

    def waited(self, seconds: float) -> None:
        """How long a key waited for its worker (``workqueue_queue_duration_seconds``)."""

    def worked(self, seconds: float) -> None:
        """How long a pass took (``workqueue_work_duration_seconds``)."""

    def retried(self) -> None:
        """One failed pass to be repeated (``workqueue_retries_total``)."""


class NoMetrics:
    """For queues that nobody measures."""

    def depth(self, keys: int) -> None: ...

    def added(self) -> None: ...

    def waited(self, seconds: float) -> None: ...

    def worked(self, seconds: float) -> None: ...

    def retried(self) -> None: ...


class _Nothing(enum.Enum):
    NOTHING = enum.auto()


class _Alarm(NamedTuple):
    at: float
    handle: asyncio.TimerHandle


class WorkQueue(Generic[K]):
    """Keys that wait for a pass. Used from one event loop, on whose clock all its times are."""

    def __init__(
        self,
        *,
        pacing: Pacing | None = None,
        metrics: Metrics | None = None,
        on_error: OnError[K] | None = None,
    ) -> None:
        self._pacing = pacing or Pacing()
        self._metrics: Metrics = metrics or NoMetrics()
        self._on_error = on_error or _log
        self._waiting: deque[K] = deque()
        self._dirty: dict[K, float] = {}  # when it was added; not yet taken by a worker
        self._processing: dict[K, float] = {}  # since when
        self._alarms: dict[K, _Alarm] = {}
        self._failures: dict[K, int] = {}
        self._idle: deque[asyncio.Future[None]] = deque()
        self._stopping = asyncio.Event()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, key: K) -> None:
        """Asks for a pass as soon as there is a worker, and none is working on the key."""
        if key in self._dirty:
            return
        self._dirty[key] = self._now()
        self._metrics.added()
        if key not in self._processing:
            self._enqueue(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Asks for a pass later. Of several such wishes for a key, only the earliest is kept."""
        if seconds <= 0:
            self.add(key)
            return
        loop = self._loop
        at = loop.time() + seconds
        alarm = self._alarms.get(key)
        if alarm is not None:
            if alarm.at <= at:
                return
            alarm.handle.cancel()
        self._alarms[key] = _Alarm(at, loop.call_at(at, self._ring, key))

    def retry(self, key: K, *, at_least: float = 0, is_outage: bool = False) -> None:
        """Counts a failure, and asks for a pass after the delay that follows from all of them, in seconds."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self._metrics.retried()
        self.add_after(key, self._delay(failures, at_least, self._pacing.outage_cap if is_outage else self._pacing.cap))

    def forget(self, key: K) -> None:
        """Lets the delays of a key start anew."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """How many passes have failed in a row."""
        return self._failures.get(key, 0)

    def unfinished_seconds(self) -> float:
        """Time that the passes under way have taken so far, all together."""
        now = self._now()
        return sum(now - since for since in self._processing.values())

    def longest_running_seconds(self) -> float:
        """Time that the oldest pass under way has taken so far."""
        return self._now() - min(self._processing.values(), default=self._now())

    async def run(self, handler: Handler[K], *, workers: int, grace: float = 10) -> None:
        """Makes passes, at most ``workers`` at once, until :meth:`stop`; then ends within ``grace`` seconds.

        A pass that has not ended by then is cancelled, and so are all when this call is. May be called again after it
        has ended: what waited then still waits.
        """
        self._stopping.clear()
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._work(handler)) for _ in range(workers)]
            await self._stopping.wait()
            _, late = await asyncio.wait(tasks, timeout=grace)
            for task in late:
                task.cancel()

    def stop(self) -> None:
        """Begins no further pass, and lets :meth:`run` return."""
        self._stopping.set()
        for idle in self._idle:
            if not idle.done():
                idle.set_result(None)

    async def _work(self, handler: Handler[K]) -> None:
        while (key := await self._take()) is not _Nothing.NOTHING:
            started = self._processing[key]
            try:
                await self._pass(handler, key)
            except asyncio.CancelledError:
                # Not finished: whoever runs the queue next has to.
                self._dirty.setdefault(key, self._now())
                raise
            finally:
                del self._processing[key]
                self._metrics.worked(self._now() - started)
                if key in self._dirty:
                    self._enqueue(key)
            if self._waiting:
                # A pass that finds nothing to do never waits, and many of them in a row would stop all else.
                await asyncio.sleep(0)

    async def _pass(self, handler: Handler[K], key: K) -> None:
        try:
            again = await handler(key)
        except Exception as error:
            # Whatever a pass raises, the key must not be lost.
            self._on_error(key, error)
            later = error if isinstance(error, errors.RetryLater) else None
            self.retry(
                key, at_least=(later and later.retry_after) or 0, is_outage=later is not None and later.is_outage
            )
        else:
            self.forget(key)
            if again is not None:
                self.add_after(key, again)

    async def _take(self) -> K | Literal[_Nothing.NOTHING]:
        while not self._stopping.is_set():
            if self._waiting:
                key = self._waiting.popleft()
                now = self._now()
                self._metrics.depth(len(self._waiting))
                self._metrics.waited(now - self._dirty.pop(key))
                self._processing[key] = now
                return key
            idle = self._loop.create_future()
            self._idle.append(idle)
            try:
                await idle
            finally:
                if idle in self._idle:
                    self._idle.remove(idle)
        return _Nothing.NOTHING

    def _enqueue(self, key: K) -> None:
        self._waiting.append(key)
        self._metrics.depth(len(self._waiting))
        while self._idle:
            idle = self._idle.popleft()
            if not idle.done():
                idle.set_result(None)
                return

    def _ring(self, key: K) -> None:
        del self._alarms[key]
        self.add(key)

    def _delay(self, failures: int, at_least: float, cap: float) -> float:
        pacing = self._pacing
        delay = backoff.delay(failures, base=pacing.base, factor=pacing.factor, cap=cap)
        return backoff.jittered(max(delay, at_least), pacing.jitter)

    @functools.cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        # Asked for once: each time, asyncio asks the system whether this still is the same process.
        return asyncio.get_running_loop()

    def _now(self) -> float:
        return self._loop.time()


def _log(key: Hashable, error: Exception) -> None:
    if isinstance(error, errors.ApiError | errors.NotLeading):
        logger.warning('%s: %s; trying again', key, error)
    else:
        logger.error('%s: a pass has failed; trying again', key, exc_info=error)
