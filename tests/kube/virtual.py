"""A clock that jumps: tests of waiting take no time, and their times are exact."""

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from typing import ParamSpec, TypeVar

P = ParamSpec('P')
R = TypeVar('R')


class _Selector(selectors.SelectSelector):
    """Never waits: what would be waited for is skipped over."""

    skipped = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise RuntimeError('everything waits for something that will not come')
            self.skipped += max(0.0, timeout)
        return ready


class Loop(asyncio.SelectorEventLoop):
    """An event loop in which time passes only when all tasks wait, and then at once."""

    def __init__(self) -> None:
        self._jumps = _Selector()
        super().__init__(self._jumps)

    def time(self) -> float:
        return self._jumps.skipped

    def freeze(self, seconds: float) -> None:
        """Lets time pass without anything else happening, as for a process that was stopped."""
        self._jumps.skipped += seconds


def timed(test: Callable[P, Coroutine[None, None, R]]) -> Callable[P, R]:
    """Makes a test of a coroutine that runs in such a loop."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with asyncio.Runner(loop_factory=Loop) as runner:
            return runner.run(test(*args, **kwargs))

    return run


def now() -> float:
    """Seconds since the loop began."""
    return asyncio.get_running_loop().time()


def freeze(seconds: float) -> None:
    """Stops this process, and all in it, for so long."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, Loop)
    loop.freeze(seconds)
