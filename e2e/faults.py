"""A proxy between a controller and the API server that does what bad networks and busy servers do.

It speaks plain HTTP on the loopback interface and has the rights of the kubeconfig it was given. What goes wrong with
which request is decided by a script; what was asked, and when, stands in a log.
"""

import asyncio
import contextlib
import json
import pathlib
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Final

import aiohttp
import yaml
from aiohttp import web

from e2e.soak.server import credentials


@dataclass(frozen=True)
class Seen:
    """A request as it came: ``at`` is in seconds on a monotonic clock."""

    at: float
    method: str
    path: str
    is_watch: bool


@dataclass(frozen=True)
class Refuse:
    """The server is not asked; the answer is this one."""

    code: int
    reason: str
    retry_after: int | None = None


@dataclass(frozen=True)
class Drop:
    """The connection is cut before the server is asked."""


@dataclass(frozen=True)
class Lose:
    """The server is asked, and the connection is cut in place of the answer: what was to be written is written."""


@dataclass(frozen=True)
class Truncate:
    """The connection is cut in the middle of the answer."""


@dataclass(frozen=True)
class Delay:
    """The answer comes late."""

    seconds: float


@dataclass(frozen=True)
class CutStream:
    """A watch is cut in the middle of a piece, after so many whole ones."""

    pieces: int


@dataclass(frozen=True)
class StallStream:
    """After so many pieces nothing more comes, and the connection stays open."""

    pieces: int


@dataclass(frozen=True)
class ExpireStream:
    """After so many pieces the watch says 410 in the stream."""

    pieces: int


Fault = Refuse | Drop | Lose | Truncate | Delay | CutStream | StallStream | ExpireStream
Script = Callable[[Seen], Fault | None]

_KEPT: Final = ('Content-Type', 'Accept', 'User-Agent')
"""Headers that the server sees as they came."""


class Proxy:
    """``script`` is asked for each request. ``log`` has all requests, ``faults`` how often each kind went wrong."""

    def __init__(self, kubeconfig: str) -> None:
        self.script: Script = lambda seen: None
        self.log: list[Seen] = []
        self.faults: Counter[str] = Counter()
        self.url = ''
        self._server, self._tls = credentials(kubeconfig)

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator['Proxy']:
        """Listen on a free port for the length of the block."""
        app = web.Application(client_max_size=1 << 24)
        app.router.add_route('*', '/{path:.*}', self._handle)
        connector = aiohttp.TCPConnector(ssl=self._tls, limit=0)
        async with aiohttp.ClientSession(
            connector=connector, timeout=aiohttp.ClientTimeout(total=None), auto_decompress=False
        ) as session:
            self._session = session
            runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
            await runner.setup()
            try:
                await web.TCPSite(runner, '127.0.0.1', 0).start()
                self.url = 'http://{}:{}'.format(*runner.addresses[0])
                yield self
            finally:
                await runner.cleanup()

    def kubeconfig(self, folder: pathlib.Path) -> str:
        """A file that leads here; returns its path."""
        config = {
            'apiVersion': 'v1',
            'kind': 'Config',
            'clusters': [{'name': 'proxy', 'cluster': {'server': self.url}}],
            'users': [{'name': 'anybody', 'user': {}}],
            'contexts': [{'name': 'proxy', 'context': {'cluster': 'proxy', 'user': 'anybody'}}],
            'current-context': 'proxy',
        }
        path = folder / 'kubeconfig'
        path.write_text(yaml.safe_dump(config))
        return str(path)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        seen = Seen(time.monotonic(), request.method, request.path, 'watch' in request.query)
        self.log.append(seen)
        fault = self.script(seen)
        if fault is not None:
            self.faults[type(fault).__name__ + str(getattr(fault, 'code', ''))] += 1
        match fault:
            case Refuse():
                return _refusal(fault)
            case Drop():
                return _hang_up(request)
        url = self._server + request.raw_path
        headers = {'Accept-Encoding': 'identity'} | {
            name: request.headers[name] for name in _KEPT if name in request.headers
        }
        async with self._session.request(request.method, url, data=body or None, headers=headers) as answer:
            if seen.is_watch and answer.status == 200:
                return await _relay(request, answer, fault)
            return await _answer(request, answer, fault)


async def _answer(request: web.Request, answer: aiohttp.ClientResponse, fault: Fault | None) -> web.StreamResponse:
    body = await answer.read()
    match fault:
        case Lose():
            return _hang_up(request)
        case Delay(seconds):
            await asyncio.sleep(seconds)
        case Truncate():
            response = web.StreamResponse(status=answer.status, headers={'Content-Length': str(len(body))})
            await response.prepare(request)
            await response.write(body[: len(body) // 2])
            _hang_up(request)
            return response
    return web.Response(status=answer.status, body=body, content_type=answer.content_type)


async def _relay(request: web.Request, answer: aiohttp.ClientResponse, fault: Fault | None) -> web.StreamResponse:
    """Pass a watch on, piece by piece, until it goes wrong or ends."""
    response = web.StreamResponse(headers={'Content-Type': 'application/json'})
    await response.prepare(request)
    passed = 0
    async for piece in answer.content.iter_any():
        match fault:
            case CutStream(pieces) if passed >= pieces:
                await response.write(piece[: len(piece) // 2])
                return _hang_up(request)
            case StallStream(pieces) if passed >= pieces:
                # Ended by the other side, when it has lost its patience.
                await asyncio.Event().wait()
            case ExpireStream(pieces) if passed >= pieces and piece.endswith(b'\n'):
                await response.write(_EXPIRED)
                return response
        await response.write(piece)
        passed += 1
    return response


def _status(code: int, reason: str) -> dict[str, object]:
    message = f'the fault proxy says {reason}'
    return {
        'kind': 'Status',
        'apiVersion': 'v1',
        'status': 'Failure',
        'code': code,
        'reason': reason,
        'message': message,
    }


_EXPIRED: Final = json.dumps({'type': 'ERROR', 'object': _status(410, 'Expired')}).encode() + b'\n'


def _refusal(fault: Refuse) -> web.Response:
    headers = {} if fault.retry_after is None else {'Retry-After': str(fault.retry_after)}
    return web.json_response(_status(fault.code, fault.reason), status=fault.code, headers=headers)


def _hang_up(request: web.Request) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=502)


REFUSALS: Final = (
    Refuse(409, 'Conflict'),
    Refuse(429, 'TooManyRequests'),
    Refuse(429, 'TooManyRequests', retry_after=1),
    Refuse(500, 'InternalError'),
    Refuse(503, 'ServiceUnavailable'),
)


REFUSED_WATCHES: Final = 0.3
"""How many watches do not even begin: after each of them in a row one is waited for longer."""

STALL_EVERY: Final = 12
"""Of so many watches one falls silent."""


class Weather:
    """A script in which each request goes wrong with the given likelihood, in all ways by turns, while it is bad.

    Watches are few, so all of them go wrong sooner or later. ``stalls`` of them fall silent: each costs as long as it
    takes to be noticed.
    """

    def __init__(self, chance: random.Random, *, likelihood: float, stalls: int) -> None:
        self.is_bad = True
        self._chance = chance
        self._likelihood = likelihood
        self._stalls = stalls
        self._watches = 0

    def __call__(self, seen: Seen) -> Fault | None:
        """What goes wrong with this request."""
        if not self.is_bad:
            return None
        if seen.is_watch:
            return self._of_watch()
        return self._of_request(seen) if self._chance.random() < self._likelihood else None

    def _of_watch(self) -> Fault:
        pieces = self._chance.randrange(40)
        self._watches += 1
        if self._stalls > 0 and self._watches % STALL_EVERY == 0:
            self._stalls -= 1
            return StallStream(pieces)
        if self._chance.random() < REFUSED_WATCHES:
            refused: list[Fault] = [Refuse(410, 'Expired'), *REFUSALS[1:], Drop()]
            return self._chance.choice(refused)
        streams: list[Fault] = [CutStream(pieces), ExpireStream(pieces)]
        return self._chance.choice(streams)

    def _of_request(self, seen: Seen) -> Fault:
        choices: list[Fault] = [*REFUSALS[seen.method == 'GET' :], Drop(), Lose(), Truncate(), Delay(0.5)]
        return self._chance.choice(choices)
