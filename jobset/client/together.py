"""Several things at once, as one: requests, and what goes on beside a block."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine, Iterable
from typing import Any, Final, TypeVar

T = TypeVar('T')

AT_ONCE: Final = 16
"""Requests of one call that are under way at a time: enough for a quick answer, few enough for a busy server."""


async def all_of(coroutines: Iterable[Coroutine[Any, Any, T]], *, at_once: int = AT_ONCE) -> list[T]:
    """The results in order. The first failure ends the others and is raised as it is."""
    slots = asyncio.Semaphore(at_once)

    async def one(coroutine: Coroutine[Any, Any, T]) -> T:
        async with slots:
            return await coroutine

    waiting = list(coroutines)
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(coroutine)) for coroutine in waiting]
    except BaseExceptionGroup as errors:
        raise first(errors) from None
    finally:
        for coroutine in waiting:
            # Those that have not begun when another one failed.
            coroutine.close()
    return [task.result() for task in tasks]


@contextlib.asynccontextmanager
async def beside(coroutines: Iterable[Coroutine[Any, Any, object]]) -> AsyncIterator[None]:
    """Runs coroutines for the length of the block; what one of them fails with ends the block.

    What the block itself fails with comes out as it is, whatever becomes of the coroutines then.
    """
    own: BaseException | None = None
    failure: BaseException | None = None
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(coroutine) for coroutine in coroutines]
            try:
                yield
            except asyncio.CancelledError:
                # Also what the group does to the block when one of the coroutines has failed.
                raise
            except BaseException as error:
                own = error
                raise
            finally:
                for task in tasks:
                    task.cancel()
    except BaseExceptionGroup as errors:
        failure = own or first(errors)
    if failure is not None:
        # Not within the handler, where the group would become its context.
        raise failure


def first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first of several errors, as it was raised."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
