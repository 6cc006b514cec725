"""The fan-out of writes: how many requests about one object are under way at once, and what comes of failures."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from jobset.controller import failing
from jobset.kube import errors

T = TypeVar('T')

CONCURRENT_WRITES: Final = 50
"""Requests under way at once for one JobSet, as many as the Go controller allows itself."""


async def each(items: tuple[T, ...], act: Callable[[T], Awaitable[None]], *, careful: bool) -> None:
    """Act on all items; what failed is raised together, as :class:`failing.PassFailedError`."""
    failures = await ramp(items, act, careful=careful, give_up=False)
    if failures:
        raise failing.PassFailedError(failures)


async def ramp(
    items: tuple[T, ...],
    act: Callable[[T], Awaitable[None]],
    *,
    careful: bool,
    give_up: bool,
) -> list[errors.ApiError]:
    """Act on the items, all at once or ``careful``: one, then two, four and so on while all succeed."""
    start, size = 0, 1 if careful else max(1, len(items))
    failures: list[errors.ApiError] = []
    while start < len(items) and not failures:
        failures = await fan_out(items[start : start + size], act, give_up=give_up or careful)
        start, size = start + size, size * 2
    return failures


async def fan_out(
    items: tuple[T, ...],
    act: Callable[[T], Awaitable[None]],
    *,
    give_up: bool,
) -> list[errors.ApiError]:
    """Act on the items, :data:`CONCURRENT_WRITES` at a time; returns what failed.

    ``give_up`` begins nothing new after the first failure. Losing the leadership ends it in any case.
    """
    queue = iter(items)
    failures: list[errors.ApiError] = []

    async def work() -> None:
        for item in queue:
            try:
                await act(item)
            except errors.ApiError as error:
                failures.append(error)
            if failures and give_up:
                return

    if len(items) == 1:  # the usual case, and gathering is not free
        await work()
        return failures
    # Not a task group: before Python 3.11.5 it forgets that its own task was cancelled when children fail at that very
    # moment, which is what happens when the leadership is lost. Whoever still has a write to make is refused it then.
    ends = await asyncio.gather(*(work() for _ in range(min(len(items), CONCURRENT_WRITES))), return_exceptions=True)
    for end in ends:
        if end is not None:
            raise end
    return failures
