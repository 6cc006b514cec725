"""Waits for what pods write, and for processes to end."""

import asyncio
import os
from typing import Any

from jobset.local.node.agent import Node
from jobset.local.server.logs import Wanted
from tests.local.node.plane import Plane
from tests.local.node.pods import is_running


async def output(node: Node, plane: Plane, name: str, container: str = 'main', **wanted: Any) -> str:
    """What a container has written."""
    asked = Wanted(container=container, **wanted)
    return b''.join([piece async for piece in node.logs.read(plane.pod(name), asked)]).decode()


async def until_logged(node: Node, plane: Plane, name: str, text: str, container: str = 'main') -> str:
    """Waits until a running container has written something; returns all that it has."""
    await plane.until(lambda: is_running(plane.pod(name), container))
    got = ''
    async with asyncio.timeout(20):
        async for piece in node.logs.read(plane.pod(name), Wanted(container=container, follow=True)):
            got += piece.decode()
            if text in got:
                return got
    raise AssertionError(got)


async def until_ended(pid: int) -> None:
    """Waits until there is no such process."""
    async with asyncio.timeout(20):
        while exists(pid):
            await asyncio.sleep(0.01)


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
