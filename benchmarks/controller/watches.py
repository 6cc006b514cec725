"""What the load sees: Jobs and JobSets of its namespace, over connections that nothing else uses.

The API server ends watches of slow readers, so a watch is taken up again where it ended.
"""

import asyncio
import collections
import time
from collections.abc import Callable, Mapping
from typing import Final, NoReturn

import aiohttp
import msgspec

from jobset.api import keys

SECONDS: Final = 300
"""How long anything that the load waits for may take."""

_BUFFER: Final = 1 << 20


class WatchError(Exception):
    """The server ended a watch for good; the measurement is lost."""


class _Labels(msgspec.Struct, frozen=True, gc=False):
    attempt: str = msgspec.field(default='', name=keys.RESTART_ATTEMPT)


class _Meta(msgspec.Struct, frozen=True, gc=False, rename='camel'):
    name: str = ''
    uid: str = ''
    resource_version: str = ''
    labels: _Labels = _Labels()


class _Status(msgspec.Struct, frozen=True, gc=False, rename='camel'):
    terminal_state: str = ''


class Seen(msgspec.Struct, frozen=True, gc=False):
    """As much of an object as the load asks about."""

    metadata: _Meta = _Meta()
    status: _Status | str = _Status()


class _Event(msgspec.Struct, frozen=True, gc=False):
    type: str
    object: Seen


class _List(msgspec.Struct, frozen=True, gc=False):
    metadata: _Meta
    items: list[Seen]


class Watch:
    """Follows one collection of objects; used as a task that runs :meth:`run`."""

    def __init__(self, session: aiohttp.ClientSession, path: str) -> None:
        self._session = session
        self._path = path
        self._version = ''
        self._decoder = msgspec.json.Decoder(_Event)
        self._waiting: list[tuple[Callable[[], bool], asyncio.Future[float]]] = []
        self._objects: dict[str, Seen] = {}
        self.attempts: collections.Counter[str] = collections.Counter()
        """How many objects there are of each restart attempt."""

    @property
    def objects(self) -> Mapping[str, Seen]:
        """What there is now, by name."""
        return self._objects

    async def until(self, holds: Callable[[], bool]) -> float:
        """Wait until ``holds()``; returns when that was, on the clock of ``time.perf_counter``.

        Raises TimeoutError.
        """
        if holds():
            return time.perf_counter()
        future: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._waiting.append((holds, future))
        async with asyncio.timeout(SECONDS):
            return await future

    async def list(self) -> None:
        """Begin with what is there."""
        async with self._session.get(self._path) as answer:
            answer.raise_for_status()
            found = msgspec.json.decode(await answer.read(), type=_List)
        self._version = found.metadata.resource_version
        for each in found.items:
            self._put(each)

    async def run(self) -> NoReturn:
        """Follow the changes after :meth:`list` until cancelled. Raises :class:`WatchError`."""
        while True:
            query = {'watch': 'true', 'allowWatchBookmarks': 'true', 'resourceVersion': self._version}
            timeout = aiohttp.ClientTimeout(sock_read=SECONDS)
            async with self._session.get(self._path, params=query, timeout=timeout, read_bufsize=_BUFFER) as answer:
                answer.raise_for_status()
                await self._read(answer.content)

    async def _read(self, content: aiohttp.StreamReader) -> None:
        rest = b''
        while piece := await content.readany():
            lines, newline, rest = (rest + piece).rpartition(b'\n')
            if newline:
                for event in self._decoder.decode_lines(lines):
                    self._take(event)
                self._tell()

    def _take(self, event: _Event) -> None:
        seen = event.object
        if event.type == 'ERROR':
            raise WatchError(f'{self._path}: the server ended the watch at {self._version}')
        self._version = seen.metadata.resource_version
        if event.type == 'DELETED':
            self._drop(seen.metadata.name)
        elif event.type != 'BOOKMARK':
            self._put(seen)

    def _put(self, seen: Seen) -> None:
        self._drop(seen.metadata.name)
        self._objects[seen.metadata.name] = seen
        self.attempts[seen.metadata.labels.attempt] += 1

    def _drop(self, name: str) -> None:
        held = self._objects.pop(name, None)
        if held is not None:
            self.attempts[held.metadata.labels.attempt] -= 1

    def _tell(self) -> None:
        now = time.perf_counter()
        for holds, future in self._waiting:
            if not future.done() and holds():
                future.set_result(now)
        self._waiting = [(holds, future) for holds, future in self._waiting if not future.done()]
