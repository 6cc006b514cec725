"""A clock that jumps: tests of waiting take no time, and their times are exact."""

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import ParamSpec, TypeVar

from jobset.local.clock import Loop

P = ParamSpec('P')
R = TypeVar('R')


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
