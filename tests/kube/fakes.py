"""A small API server: objects, versions, watches, and faults on order. In this process, or over HTTP on loopback.

It knows no kinds: any path of the form that API servers use is a resource.
"""

import asyncio
import contextlib
import copy
import re
import urllib.parse
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
from aiohttp import web

from jobset.kube import errors, frames, requests

Json = dict[str, Any]

_PATH = re.compile(r'/(?:api|apis/[^/]+)/[^/]+(?:/namespaces/(?P<ns>[^/]+))?/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?')


@dataclass(frozen=True)
class Answer:
    """What comes back: a status, a body, headers; ``cut`` ends the connection in the middle of the body instead."""

    code: int = 200
    body: Json = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False


def status(code: int, reason: str, message: str = '', **details: object) -> Json:
    body: Json = {'kind': 'Status', 'status': 'Failure', 'code': code, 'reason': reason, 'message': message}
    return body | ({'details': details} if details else {})


def refusal(code: int, reason: str, message: str = '', *, headers: dict[str, str] | None = None) -> Answer:
    return Answer(code, status(code, reason, message), headers or {})


@dataclass(frozen=True)
class Seen:
    """A request as it came in."""

    method: str
    path: str
    query: dict[str, str]
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        kind = 'WATCH' if 'watch' in self.query else self.method
        return f'{kind} {self.path}'


@dataclass(frozen=True)
class Change:
    """One event of a watch."""

    version: int
    type: str
    path: str
    obj: Json


class Server:
    """The state of an API server. ``faults`` are used up, one for each request, before it does what it should."""

    def __init__(self) -> None:
        self.version = 100
        self.objects: dict[str, Json] = {}
        self.changes: list[Change] = []
        self.compacted = 0
        self.streams_lists = True
        self.ends_lists = True
        self.seen: list[Seen] = []
        self.faults: deque[Answer | None] = deque()
        self.happened = asyncio.Condition()
        self.watching = 0
        self.uids = 0
        self._cuts = 0

    async def until(self, holds: Callable[[], bool]) -> None:
        """Waits for a state of the server."""
        async with self.happened:
            await self.happened.wait_for(holds)

    async def notify(self) -> None:
        async with self.happened:
            self.happened.notify_all()

    def counted(self, text: str) -> int:
        """How many requests of that kind have come."""
        return sum(str(one) == text for one in self.seen)

    # What somebody does, without a request.

    def put(self, resource: requests.Resource, namespace: str, name: str, **more: Any) -> Json:
        path = resource.item(namespace, name)
        held = self.objects.get(path)
        obj = (copy.deepcopy(held) if held else self._new(namespace, name)) | more
        return self._store(path, obj, 'MODIFIED' if held else 'ADDED')

    def drop(self, resource: requests.Resource, namespace: str, name: str) -> None:
        self._remove(resource.item(namespace, name))

    def bookmark(self) -> None:
        self._record('BOOKMARK', '', {'metadata': {'resourceVersion': str(self.version)}})

    def fail_watches(self, body: Json) -> None:
        self._record('ERROR', '', body)

    def send_line(self, line: str, path: str) -> None:
        """Has a watch send something that no API server would."""
        self.version += 1
        self._record('RAW', path, {'line': line.replace('VERSION', str(self.version))})

    def cut_watches(self) -> None:
        self._cuts += 1

    def compact(self) -> None:
        """Forgets all past versions."""
        self.compacted = self.version
        self.changes.clear()

    # What requests do.

    def answer(self, seen: Seen) -> Answer:
        self.seen.append(seen)
        fault = self.faults.popleft() if self.faults else None
        return fault if fault is not None else self._serve(seen)

    def _serve(self, seen: Seen) -> Answer:  # noqa: PLR0911 - one for each thing that can be asked
        body: Json = msgspec.json.decode(seen.body) if seen.body else {}
        match = _PATH.fullmatch(seen.path)
        assert match is not None
        if seen.method == 'POST':
            return self._create(f'{seen.path}/{body["metadata"]["name"]}', match['ns'] or '', body)
        if seen.method == 'GET' and not match['name']:
            return self._list(seen)
        held = self.objects.get(seen.path)
        if held is None:
            return refusal(404, 'NotFound', f'{match["plural"]} "{match["name"]}" not found')
        match seen.method:
            case 'GET':
                return Answer(body=held)
            case 'PUT':
                wanted = body['metadata'].get('resourceVersion')
                if wanted and wanted != held['metadata']['resourceVersion']:
                    return refusal(409, 'Conflict', 'the object has been modified')
                return Answer(body=self._store(seen.path, body, 'MODIFIED'))
            case 'PATCH':
                return Answer(body=self._store(seen.path, merged(held, body), 'MODIFIED'))
            case 'DELETE':
                self._remove(seen.path)
                return Answer(body={'kind': 'Status', 'status': 'Success'})
        raise AssertionError(seen)

    def _create(self, path: str, namespace: str, body: Json) -> Answer:
        if path in self.objects:
            return refusal(409, 'AlreadyExists', f'{path.rsplit("/", 1)[1]} already exists')
        fresh = self._new(namespace, body['metadata']['name'])
        obj = body | {'metadata': body['metadata'] | fresh['metadata']}
        return Answer(201, self._store(path, obj, 'ADDED'))

    def _list(self, seen: Seen) -> Answer:
        token, limit = seen.query.get('continue', ''), int(seen.query.get('limit', 0))
        at, _, offset = token.partition(':')
        if token and int(at) < self.compacted:
            return refusal(410, 'Expired', 'The provided continue parameter is too old')
        start = int(offset or 0)
        items = [self.objects[path] for path in sorted(self.objects) if path.startswith(seen.path + '/')]
        metadata = {'resourceVersion': at or str(self.version)}
        if limit and start + limit < len(items):
            metadata['continue'] = f'{at or self.version}:{start + limit}'
        page = items[start : start + limit] if limit else items
        return Answer(body={'metadata': metadata, 'items': page or None})

    def _new(self, namespace: str, name: str) -> Json:
        self.uids += 1
        return {'metadata': {'name': name, 'namespace': namespace, 'uid': f'uid-{self.uids}'}}

    def _store(self, path: str, obj: Json, kind: str) -> Json:
        self.version += 1
        obj = obj | {'metadata': obj['metadata'] | {'resourceVersion': str(self.version)}}
        self.objects[path] = obj
        self._record(kind, path, obj)
        return obj

    def _remove(self, path: str) -> None:
        self.version += 1
        obj = self.objects.pop(path)
        last = obj | {'metadata': obj['metadata'] | {'resourceVersion': str(self.version)}}
        self._record('DELETED', path, last)

    def _record(self, kind: str, path: str, obj: Json) -> None:
        self.changes.append(Change(self.version, kind, path, obj))

    # Watches.

    def initial(self, seen: Seen) -> Iterator[bytes]:
        for path in sorted(self.objects):
            if path.startswith(seen.path + '/'):
                yield _line('ADDED', self.objects[path])
        if not self.ends_lists:
            return
        end = {'resourceVersion': str(self.version), 'annotations': {frames.INITIAL_EVENTS_END: 'true'}}
        yield _line('BOOKMARK', {'metadata': end})

    async def follow(self, seen: Seen) -> AsyncIterator[bytes]:
        """The lines of a watch, to its end."""
        cuts = self._cuts
        since = seen.query.get('resourceVersion')
        if since is None:
            at = self.version
            for line in self.initial(seen):
                yield line
        else:
            at = int(since)
            if at < self.compacted:
                yield _line('ERROR', status(410, 'Expired', 'too old resource version'))
                return
        # What a watch is told it is told once: a place in the history, found by version at the start.
        told = sum(change.version <= at for change in self.changes)
        while True:
            for change in self.changes[told:]:
                told += 1
                if change.type == 'RAW':
                    yield f'{change.obj["line"]}\n'.encode()
                elif change.type in {'BOOKMARK', 'ERROR'} or change.path.startswith(seen.path + '/'):
                    yield _line(change.type, change.obj)
            async with self.happened:
                await self.happened.wait_for(lambda told=told: self._cuts != cuts or len(self.changes) > told)  # type: ignore[misc]
            if self._cuts != cuts:
                raise ConnectionResetError('cut')


def merged(old: Json, patch: Json) -> Json:
    """A JSON merge patch."""
    new = dict(old)
    for key, value in patch.items():
        if value is None:
            new.pop(key, None)
        else:
            new[key] = merged(new.get(key) or {}, value) if isinstance(value, dict) else value
    return new


def _line(kind: str, obj: Json) -> bytes:
    return msgspec.json.encode({'type': kind, 'object': obj}) + b'\n'


class Carrier:
    """A way to the server without a network, for clocks that jump. ``delay`` is the time there and back, each."""

    def __init__(self, server: Server, *, delay: float = 0) -> None:
        self.server = server
        self.delay = delay
        self.is_up = True

    async def send(self, request: requests.Request) -> bytes:
        await asyncio.sleep(self.delay)
        if not self.is_up:
            raise errors.Unreachable('refused', where=str(request), sent=False)
        query = dict(urllib.parse.parse_qsl(request.query))
        answer = self.server.answer(Seen(request.method, request.path, query, request.body or b''))
        await asyncio.sleep(self.delay)
        if answer.cut or not self.is_up:
            raise errors.Unreachable('cut', where=str(request), sent=True)
        body = msgspec.json.encode(answer.body)
        if answer.code >= 300:
            raise errors.from_answer(
                answer.code, body, where=str(request), retry_after=answer.headers.get('Retry-After')
            )
        return body

    def stream(self, request: requests.Request, *, idle_timeout: float) -> contextlib.AbstractAsyncContextManager[Any]:
        raise NotImplementedError


@contextlib.asynccontextmanager
async def served(server: Server) -> AsyncIterator[str]:
    """The server over HTTP; gives its URL."""

    async def handle(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        seen = Seen(request.method, request.path, dict(request.query), body, dict(request.headers))
        try:
            if 'watch' in request.query:
                return await _watch(server, seen, request)
            answer = server.answer(seen)
            return await _reply(request, answer)
        finally:
            await server.notify()

    app = web.Application()
    app.router.add_route('*', '/{path:.*}', handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, '127.0.0.1', 0)
    await site.start()
    try:
        host, port = runner.addresses[0][:2]
        yield f'http://{host}:{port}'
    finally:
        await runner.cleanup()


async def _reply(request: web.Request, answer: Answer) -> web.StreamResponse:
    body = msgspec.json.encode(answer.body)
    if not answer.cut:
        return web.Response(status=answer.code, body=body, headers=answer.headers, content_type='application/json')
    response = web.StreamResponse(status=answer.code, headers={'Content-Length': str(len(body) + 1)})
    await response.prepare(request)
    await response.write(body)
    _hang_up(request)
    return response


async def _watch(server: Server, seen: Seen, request: web.Request) -> web.StreamResponse:
    server.seen.append(seen)
    fault = server.faults.popleft() if server.faults else None
    if fault is None and 'sendInitialEvents' in seen.query and not server.streams_lists:
        fault = refusal(422, 'Invalid', 'sendInitialEvents is forbidden for watch')
    if fault is not None:
        return await _reply(request, fault)
    response = web.StreamResponse()
    await response.prepare(request)
    server.watching += 1
    await server.notify()
    try:
        async for line in server.follow(seen):
            # In two pieces, because networks do that.
            await response.write(line[:20])
            await response.write(line[20:])
    except ConnectionResetError:
        _hang_up(request)
    finally:
        server.watching -= 1
    return response


def _hang_up(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
