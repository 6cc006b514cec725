"""Time as the plane sees it: that of the world, or one that jumps over all waiting.

Whatever tells the time takes a ``now`` (:data:`Now`), and whatever waits does so on the event loop. In a :class:`Loop`
both go by virtual time: a day passes as fast as what happens in it can be worked off, and always in the same way.
"""

import asyncio
import datetime
import selectors
from collections.abc import Callable, Coroutine
from concurrent import futures
from typing import Any, Final, TypeVar

R = TypeVar('R')

Now = Callable[[], datetime.datetime]
"""Tells the time of day, aware and in UTC."""

EPOCH: Final = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
"""When virtual time begins, unless somebody says otherwise."""


class DeadlockError(RuntimeError):
    """All tasks wait for something that nobody will bring."""


def wall() -> datetime.datetime:
    """The time of the world."""
    return datetime.datetime.now(datetime.UTC)


class Clock:
    """The time of day in a :class:`Loop`: that of its beginning, and what has passed on it since."""

    def __init__(self, epoch: datetime.datetime = EPOCH) -> None:
        self._epoch = epoch
        self._at = 0.0
        self._now = epoch
        self._loop: asyncio.AbstractEventLoop | None = None

    def now(self) -> datetime.datetime:
        """The time of day; within the loop only."""
        at = self.seconds()
        if at != self._at:
            # Much is asked at the same moment, and making the answer takes longer than all else here.
            self._at, self._now = at, self._epoch + datetime.timedelta(seconds=at)
        return self._now

    def seconds(self) -> float:
        """Seconds since the loop began, for durations: what ``time.monotonic`` is to the world."""
        loop = self._loop
        if loop is None or loop.is_closed():
            # Kept, because each time asyncio asks the system whether this still is the same process.
            loop = self._loop = asyncio.get_running_loop()
        return loop.time()


class _Selector(selectors.SelectSelector):
    """Never waits: what would be waited for is skipped over."""

    def __init__(self) -> None:
        super().__init__()
        self.passed = 0.0
        self.threads = 0
        """Calls under way in threads: their time is that of the world."""

        self._unlooked = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and (timeout <= 0 or (len(self.get_map()) < _OTHERS and not self.threads)):
            # There is work at hand, or there are no files but the loop's own, by which threads and signals wake it.
            # Looking at them costs as much as a small task, so it is done now and then.
            self._unlooked += 1
            if self._unlooked < _LOOK_EVERY:
                self.passed += max(0.0, timeout)
                return []
        self._unlooked = 0
        ready = super().select(0)
        while not ready and self.threads:
            ready = super().select(_THREAD_SECONDS)
        if not ready:
            if timeout is None:
                raise DeadlockError('everything waits for something that will not come')
            self.passed += max(0.0, timeout)
        return ready


RESOLUTION: Final = 1e-6
"""Seconds below which two times are the same: what is due so soon is done now."""

_LOOK_EVERY: Final = 16
_OTHERS: Final = 2
"""With so many files, some are not the loop's own."""

_THREAD_SECONDS: Final = 1
"""How long to wait for threads before looking whether there still are any: their end wakes the loop anyway."""


class Loop(asyncio.SelectorEventLoop):
    """An event loop in which time passes only when all tasks wait, and then at once.

    Threads (``asyncio.to_thread``) are waited for without time passing. Other processes and machines are not: what
    comes from them comes at some time or other.
    """

    def __init__(self) -> None:
        self._jumps = _Selector()
        super().__init__(self._jumps)
        # Below this, asyncio takes times for equal. Its own value is lost in the rounding of times of some weeks, and
        # what is due would never be found to be.
        self._clock_resolution = RESOLUTION

    def time(self) -> float:
        return self._jumps.passed

    def freeze(self, seconds: float) -> None:
        """Lets time pass without anything else happening, as for a process that was stopped."""
        self._jumps.passed += seconds

    def run_in_executor(  # type: ignore[override]
        self,
        executor: futures.Executor | None,
        func: Callable[..., R],
        *args: Any,
    ) -> asyncio.Future[R]:
        """Runs a call in a thread; time stands still until it has ended."""
        future = super().run_in_executor(executor, func, *args)
        self._jumps.threads += 1
        future.add_done_callback(self._thread_ended)
        return future

    async def shutdown_default_executor(self) -> None:
        """Ends the threads, which takes another one."""
        self._jumps.threads += 1
        try:
            await super().shutdown_default_executor()
        finally:
            self._jumps.threads -= 1

    def _thread_ended(self, _: object) -> None:
        self._jumps.threads -= 1


def run(main: Coroutine[Any, Any, R]) -> R:
    """Runs a coroutine in virtual time, from second 0 on."""
    with asyncio.Runner(loop_factory=Loop) as runner:
        return runner.run(main)
