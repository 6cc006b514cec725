"""A node that runs, on a server in this process."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from jobset.local.node.agent import Node
from jobset.local.node.settings import Settings
from tests.local.node.plane import Plane, now

Running = Callable[..., AbstractAsyncContextManager[Node]]


@pytest.fixture
async def plane() -> Plane:
    return Plane()


@contextlib.asynccontextmanager
async def running(plane: Plane, folder: Path, **settings: Any) -> AsyncIterator[Node]:
    """A node that is ready; ended at the end with all that it runs."""
    node = Node(
        plane.api,
        name='here',
        folder=folder,
        now=now,
        settings=Settings(**({'crash_base': 0.05, 'retry_seconds': 0.1} | settings)),
    )
    task = asyncio.create_task(node.run())
    try:
        async with asyncio.timeout(20):
            waiting = asyncio.create_task(node.registered.wait())
            await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                task.result()
        yield node
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@pytest.fixture
async def node(plane: Plane, tmp_path: Path) -> AsyncIterator[Node]:
    async with running(plane, tmp_path / 'node') as made:
        yield made
