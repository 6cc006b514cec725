"""The load: one client that writes as fast as the API server takes it, and watches what comes of it."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from typing import Any, Final, TypeVar

import aiohttp
import msgspec

from benchmarks.controller import objects, watches
from jobset.api import keys
from jobset.kube import auth

IN_FLIGHT: Final = 50
"""Requests under way at once: as many as the controllers that are compared allow themselves."""

JOBSETS: Final = f'/apis/{keys.API_VERSION}/namespaces/{objects.NAMESPACE}/{keys.PLURAL}'
JOBS: Final = f'/apis/batch/v1/namespaces/{objects.NAMESPACE}/jobs'
SERVICES: Final = f'/api/v1/namespaces/{objects.NAMESPACE}/services'
_MERGE: Final = 'application/merge-patch+json'
_BACKGROUND: Final = msgspec.json.encode({'propagationPolicy': 'Background'})

T = TypeVar('T')


class RefusedError(Exception):
    """The API server refused what the load wrote; the message has its answer."""


class Load:
    """Writes and watches. Made by :func:`connected`."""

    def __init__(self, session: aiohttp.ClientSession, seeing: aiohttp.ClientSession) -> None:
        self._session = session
        self.jobs = watches.Watch(seeing, JOBS)
        self.jobsets = watches.Watch(seeing, JOBSETS)

    async def create(self, path: str, bodies: Iterable[bytes]) -> list[bytes]:
        """Create objects; returns the server's answers in the order of the bodies. Raises :class:`RefusedError`."""
        return await _each(bodies, lambda body: self._write('POST', path, body))

    async def set_status(self, names: Iterable[str], patch: bytes) -> None:
        """Change the status of Jobs. Raises :class:`RefusedError`."""
        await _each(names, lambda name: self._write('PATCH', f'{JOBS}/{name}/status', patch, _MERGE))

    async def delete(self, path: str, names: Iterable[str]) -> None:
        """Delete objects, and what they own in the background; those gone already do not matter."""
        await _each(names, lambda name: self._write('DELETE', f'{path}/{name}', _BACKGROUND, may_miss=True))

    async def clear(self) -> None:
        """Remove everything that a case made, and wait until it is gone.

        Jobs first: the garbage collector has nothing to do for the JobSets then, which would disturb the next case.
        """
        await self.delete(JOBS, list(self.jobs.objects))
        await self.jobs.until(lambda: not self.jobs.objects)
        services = msgspec.json.decode(await self._write('GET', SERVICES, None))
        await self.delete(SERVICES, [each['metadata']['name'] for each in services['items']])
        await self.delete(JOBSETS, list(self.jobsets.objects))
        await self.jobsets.until(lambda: not self.jobsets.objects)

    async def version(self) -> str:
        """The version of Kubernetes that the server says it is."""
        answer: dict[str, Any] = msgspec.json.decode(await self._write('GET', '/version', None))
        return str(answer['gitVersion'])

    async def _write(
        self,
        method: str,
        path: str,
        body: bytes | None,
        content_type: str = 'application/json',
        *,
        may_miss: bool = False,
    ) -> bytes:
        async with self._session.request(method, path, data=body, headers={'Content-Type': content_type}) as answer:
            text = await answer.read()
            if answer.status < 300 or (may_miss and answer.status == 404):
                return text
        raise RefusedError(f'{method} {path}: {answer.status}: {text.decode(errors="replace")[:500]}')


@contextlib.asynccontextmanager
async def connected(kubeconfig: str) -> AsyncIterator[Load]:
    """A load that watches already; its connections for writing are made by its first writes, as a controller's are."""
    credentials = await auth.load(kubeconfig)
    async with contextlib.AsyncExitStack() as stack:
        sessions = [
            await stack.enter_async_context(
                aiohttp.ClientSession(
                    credentials.server,
                    connector=aiohttp.TCPConnector(limit=0, ssl=credentials.ssl or True),
                    headers={**credentials.headers(), 'Accept-Encoding': 'identity'},
                )
            )
            for _ in range(2)
        ]
        load = Load(*sessions)
        async with asyncio.TaskGroup() as group:
            running = []
            for watch in (load.jobs, load.jobsets):
                await watch.list()
                running.append(group.create_task(watch.run()))
            yield load
            for task in running:
                task.cancel()


async def _each(items: Iterable[T], act: Callable[[T], Coroutine[Any, Any, bytes]]) -> list[bytes]:
    """Act on all items, some at a time; the first failure ends it."""
    queue = enumerate(items)
    answers: dict[int, bytes] = {}

    async def work() -> None:
        for place, item in queue:
            answers[place] = await act(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(work())
    return [answers[place] for place in sorted(answers)]


def clock() -> float:
    """Seconds, on the clock that :meth:`watches.Watch.until` answers with."""
    return time.perf_counter()
