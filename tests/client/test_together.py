"""Things that go on beside a block."""

import asyncio
import traceback

import pytest

from jobset.client import together
from tests.kube.virtual import timed


class BlockError(Exception):
    """Raised by the block."""


class BesideError(Exception):
    """Raised by what goes on beside it."""


async def forever() -> None:
    await asyncio.Event().wait()


async def fail(seconds: float = 0) -> None:
    await asyncio.sleep(seconds)
    raise BesideError('beside')


async def fail_at_the_end() -> None:
    try:
        await forever()
    finally:
        raise BesideError('at the end')


@timed
async def test_what_goes_on_beside_ends_with_the_block() -> None:
    done = []

    async def note() -> None:
        try:
            await forever()
        finally:
            done.append(True)

    async with together.beside([note()]):
        await asyncio.sleep(0)

    assert done == [True]


@pytest.mark.parametrize('beside', [pytest.param(forever, id='alone'), pytest.param(fail_at_the_end, id='both')])
@timed
async def test_what_the_block_fails_with_comes_out_as_it_is(beside: type) -> None:
    cause = ValueError('cause')
    error = BlockError('own')

    async def play() -> None:
        async with together.beside([beside()]):
            await asyncio.sleep(0)
            raise error from cause

    with pytest.raises(BlockError) as caught:
        await play()

    assert caught.value is error
    assert error.__cause__ is cause
    assert 'ExceptionGroup' not in ''.join(traceback.format_exception(error))


@timed
async def test_what_fails_beside_ends_the_block() -> None:
    with pytest.raises(BesideError):
        async with together.beside([forever(), fail(5)]):
            await forever()


@timed
async def test_a_cancelled_block_is_cancelled() -> None:
    async def play() -> None:
        async with together.beside([forever()]):
            await forever()

    task = asyncio.create_task(play())
    await asyncio.sleep(1)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
