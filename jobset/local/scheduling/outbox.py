"""Writes that wait to be made: a few at once, in the order in which they came."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import NoReturn

Write = Callable[[], Awaitable[None]]
"""Makes one write. It must not raise: what failed is its own business."""


class Outbox:
    """Takes writes at any time and makes them while :meth:`run` runs."""

    def __init__(self) -> None:
        self._writes: deque[Write] = deque()
        self._idle: list[asyncio.Future[None]] = []

    def __len__(self) -> int:
        return len(self._writes)

    def post(self, write: Write) -> None:
        """One more to make."""
        self._writes.append(write)
        while self._idle:
            # Only one is woken for one write: with a server in this process there is seldom more to do.
            idle = self._idle.pop()
            if not idle.done():
                idle.set_result(None)
                return

    async def run(self, workers: int) -> None:
        """Makes writes, at most ``workers`` at once, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(workers):
                group.create_task(self._work(), name=f'writer {number}')

    async def _work(self) -> NoReturn:
        loop = asyncio.get_running_loop()
        while True:
            while self._writes:
                await self._writes.popleft()()
                if self._writes:
                    # A write to a server in this process never waits, and many in a row would stop all else.
                    await asyncio.sleep(0)
            idle = loop.create_future()
            self._idle.append(idle)
            await idle
