"""The server's side of HTTP/1.1 connections: requests in, answers out, at once or in pieces.

What is HTTP and what is not is judged by a library (llhttp, by way of httptools). Here are the bounds - of time, of
heads and of bodies -, the order of answers, and what happens when one side goes. Where a general server spends as long
on a request as all that the request is about, this one spends a tenth of that.
"""

import asyncio
import contextlib
import functools
import http
import logging
import socket
import ssl
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, cast

import httptools

logger = logging.getLogger(__name__)

_TICK_SECONDS: Final = 5
"""How often a connection looks whether its time is up: one timer for it and not one for each request."""

_BACKLOG: Final = 512
"""Connections that may wait to be taken."""


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What a client may take."""

    head_bytes: int = 1 << 16
    body_bytes: int
    read_seconds: float = 30
    """For a whole request to come, from its first byte on."""

    idle_seconds: float = 300
    """Between requests, and for a client to read on. Clients keep connections for up to 90, and must not be cut off."""


@dataclass(frozen=True, slots=True)
class Head:
    """What comes before the body of a request."""

    method: str
    path: str
    query: str
    """Both percent-encoded."""

    headers: Mapping[str, str]
    """By name in lower case; several of one name are joined."""


@dataclass(slots=True)
class Answer:
    """A complete answer."""

    status: int
    body: bytes
    content_type: str = 'application/json'
    headers: Sequence[tuple[str, str]] = ()


@dataclass(slots=True)
class Stream:
    """An answer that goes on: its pieces as they come. Whoever gives up on it closes ``pieces``."""

    pieces: AsyncIterator[bytes]
    content_type: str = 'application/json'
    headers: Sequence[tuple[str, str]] = ()
    status: int = 200


class Service(Protocol):
    """Whoever answers."""

    def check(self, head: Head) -> Answer | None:
        """A refusal before the body is read; None for a request that may go on."""

    def reply(self, head: Head, body: bytes) -> Answer | Awaitable[Answer | Stream]:
        """The answer to a request, at once or when it is found: a task for it takes as long as a quick answer itself.

        It does not raise.
        """

    def refuse(self, status: http.HTTPStatus, head: Head | None) -> Answer:
        """What a client is told whose request cannot be read, at most its head."""


@dataclass(slots=True)
class _Incoming:
    """One request as it comes."""

    target: bytes = b''
    headers: dict[str, str] = field(default_factory=dict)
    head: Head | None = None
    body: list[bytes] = field(default_factory=list)
    read: int = 0
    """Bytes of it so far, at least."""

    head_bytes: int = 0
    body_bytes: int = 0
    is_begun: bool = False
    is_refused: bool = False

    @property
    def closes(self) -> bool:
        """Whether the client wants nothing more on this connection."""
        return 'close' in self.headers.get('connection', '').lower()


@dataclass(frozen=True, slots=True)
class _Request:
    """One that is to be answered: with a refusal, if there is one."""

    head: Head
    body: bytes = b''
    refusal: Answer | None = None
    closes: bool = False
    """Whether nothing can follow on the connection."""


_UNREAD: Final = Head('', '', '', {})
"""Of a request that could not be read."""


class Connection(asyncio.Protocol):
    """One connection, until one of both sides ends it. Requests are answered one after the other."""

    def __init__(self, service: Service, bounds: Bounds, opened: 'set[Connection]') -> None:
        self._service = service
        self._bounds = bounds
        self._opened = opened
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._coming = _Incoming()
        self._waiting: deque[_Request] = deque()
        self._is_writable: asyncio.Event | None = None
        """There while the client does not keep up; set when it does again."""

        self._stuck_since = 0.0

        self._is_deaf = False
        """Whether nothing more is read: what comes cannot be understood, or is not wanted."""

        self._ticks: asyncio.TimerHandle | None = None
        self._deadline: float | None = None
        self.answering: asyncio.Task[None] | None = None
        """The request that is being answered."""

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has come."""
        self._transport = cast(asyncio.Transport, transport)
        self._opened.add(self)
        self._deadline = self._loop.time() + self._bounds.idle_seconds
        self._ticks = self._loop.call_later(min(_TICK_SECONDS, self._bounds.read_seconds), self._tick)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone, or has been sent away."""
        self._opened.discard(self)
        self._is_deaf = True
        self._waiting.clear()
        if self._ticks is not None:
            self._ticks.cancel()
        if self.answering is not None:
            self.answering.cancel()

    def pause_writing(self) -> None:
        """The client does not keep up."""
        self._is_writable = asyncio.Event()
        self._stuck_since = self._loop.time()

    def resume_writing(self) -> None:
        """It does again."""
        if self._is_writable is not None:
            self._is_writable.set()
            self._is_writable = None

    def data_received(self, data: bytes) -> None:
        """A part of a request, or of several."""
        if self._is_deaf:
            return
        self._coming.read += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # Whatever it is to become: the request before it is answered as usual, and nothing after that.
            self._is_deaf = True
        except httptools.HttpParserCallbackError:
            logger.exception('a connection is given up')
            self.abort()
        except httptools.HttpParserError as error:
            if not self._is_deaf:
                logger.debug('what a client sends is not understood: %s', error)
                self._refuse(http.HTTPStatus.BAD_REQUEST)
        coming = self._coming
        if coming.head is None and coming.read > self._bounds.head_bytes and not self._is_deaf:
            self._refuse(http.HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    # What the parser calls.

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._coming.is_begun = True
        self._deadline = self._loop.time() + self._bounds.read_seconds

    def on_url(self, url: bytes) -> None:
        """The target, or a part of it."""
        self._coming.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header; one after the body means nothing."""
        coming = self._coming
        if coming.head is None:
            headers, (key, text) = coming.headers, _header(name, value)
            headers[key] = f'{headers[key]}, {text}' if key in headers else text
            coming.head_bytes += len(name) + len(value) + 4

    def on_headers_complete(self) -> None:
        """The head is there, which may be all that is wanted."""
        if self._is_deaf:
            return
        coming, bounds = self._coming, self._bounds
        headers = coming.headers
        path, _, query = coming.target.decode('latin-1').partition('?')
        coming.head = head = Head(self._parser.get_method().decode(), path, query, headers)
        length = headers.get('content-length', '0')
        if coming.head_bytes + len(coming.target) > bounds.head_bytes:
            self._refuse(http.HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        elif self._parser.get_http_version() != '1.1':
            self._refuse(http.HTTPStatus.HTTP_VERSION_NOT_SUPPORTED)
        elif path[:1] != '/':
            self._refuse(http.HTTPStatus.BAD_REQUEST)
        elif (refusal := self._service.check(head)) is not None:
            # Its body, if there is one, is not read.
            has_body = length != '0' or 'transfer-encoding' in headers
            coming.is_refused = True
            self._put(_Request(head, refusal=refusal, closes=has_body or coming.closes))
        elif int(length) > bounds.body_bytes:
            self._refuse(http.HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        elif headers.get('expect', '').lower() == '100-continue' and self.answering is None:
            self._transport.write(b'HTTP/1.1 100 Continue\r\n\r\n')

    def on_body(self, piece: bytes) -> None:
        """A part of the body."""
        coming = self._coming
        coming.body.append(piece)
        coming.body_bytes += len(piece)
        if coming.body_bytes > self._bounds.body_bytes and not self._is_deaf:
            self._refuse(http.HTTPStatus.REQUEST_ENTITY_TOO_LARGE)

    def on_message_complete(self) -> None:
        """All of the request is there."""
        coming, self._coming = self._coming, _Incoming()
        if coming.head is None or coming.is_refused or self._is_deaf:
            return
        body = coming.body[0] if len(coming.body) == 1 else b''.join(coming.body)
        self._put(_Request(coming.head, body, closes=coming.closes))

    # From the request to its answer.

    def _refuse(self, status: http.HTTPStatus) -> None:
        head = self._coming.head
        self._put(_Request(head or _UNREAD, refusal=self._service.refuse(status, head), closes=True))

    def _put(self, request: _Request) -> None:
        self._is_deaf = self._is_deaf or request.closes
        if self.answering is None:
            self._answer(request)
            return
        # Nobody sends the next request before the answer to the last one, or hardly anybody.
        self._waiting.append(request)
        self._transport.pause_reading()

    def _answer(self, request: _Request) -> None:
        """Answers it, and those that have come after it, as far as that can be done at once."""
        following: _Request | None = request
        while following is not None:
            request = following
            self._deadline = None
            reply = request.refusal or self._service.reply(request.head, request.body)
            if not isinstance(reply, Answer) or self._is_writable is not None:
                self.answering = self._loop.create_task(self._reply(reply, request))
                return
            self._write(reply, request)
            following = self._next(request)

    async def _reply(self, reply: Answer | Awaitable[Answer | Stream], request: _Request) -> None:
        try:
            answer = reply if isinstance(reply, Answer) else await reply
            if isinstance(answer, Stream):
                await self._stream(answer, closes=request.closes)
            else:
                self._write(answer, request)
            await self._written()
        except Exception:
            # In the middle of an answer: it may not look like a complete one.
            logger.exception('a connection is given up')
            self.abort()
        else:
            self.answering = None
            following = self._next(request)
            if following is not None:
                self._answer(following)

    def _next(self, answered: _Request) -> _Request | None:
        """The request after one that is answered, if it is there; else what the connection needs to wait for it."""
        if self._waiting and not answered.closes:
            return self._waiting.popleft()
        if answered.closes or self._is_deaf:
            self._is_deaf = True
            self._transport.close()
        else:
            self._deadline = self._loop.time() + self._bounds.idle_seconds
            if not self._transport.is_reading():
                self._transport.resume_reading()
        return None

    def _write(self, answer: Answer, request: _Request) -> None:
        body = answer.body
        beginning = _beginning(answer.status, answer.content_type, tuple(answer.headers), request.closes)
        head = b'%bContent-Length: %d\r\n\r\n' % (beginning, len(body))
        only_head = request.head.method == 'HEAD' and request.refusal is None
        self._transport.write(head if only_head else head + body)

    async def _stream(self, stream: Stream, *, closes: bool) -> None:
        write, pieces = self._transport.write, stream.pieces
        beginning = _beginning(stream.status, stream.content_type, tuple(stream.headers), closes)
        head = b'%bTransfer-Encoding: chunked\r\n\r\n' % beginning
        try:
            write(head)
            async for piece in pieces:
                write(_chunk(piece))
                await self._written()
            write(b'0\r\n\r\n')
        finally:
            await close(pieces)

    async def _written(self) -> None:
        """Waits until the client keeps up."""
        if self._is_writable is not None:
            await self._is_writable.wait()

    # The end.

    def _tick(self) -> None:
        self._ticks = self._loop.call_later(min(_TICK_SECONDS, self._bounds.read_seconds), self._tick)
        now = self._loop.time()
        if self._is_writable is not None and now >= self._stuck_since + self._bounds.idle_seconds:
            # Not closed: that would wait for it to read what has been written.
            self.abort()
        if self._deadline is None or now < self._deadline:
            return
        if self._coming.is_begun:
            self._refuse(http.HTTPStatus.REQUEST_TIMEOUT)
        else:
            self._transport.close()

    def end(self) -> None:
        """Lets the request under way be the last one."""
        self._is_deaf = True
        self._waiting.clear()
        if self.answering is None:
            self._transport.close()
        else:
            self.answering.add_done_callback(lambda _: self._transport.close())

    def abort(self) -> None:
        """Ends it now, whatever is under way."""
        if not self._transport.is_closing():
            self._transport.abort()


class Connections:
    """All connections of one server; an instance is the protocol factory that event loops take."""

    def __init__(self, service: Service, bounds: Bounds) -> None:
        self._service = service
        self._bounds = bounds
        self._opened: set[Connection] = set()

    def __call__(self) -> Connection:
        """For a client that has come."""
        return Connection(self._service, self._bounds, self._opened)

    async def finish(self, seconds: float) -> None:
        """Ends all of them; requests under way get so many seconds."""
        tasks = [one.answering for one in self._opened if one.answering is not None]
        for one in list(self._opened):
            one.end()
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        for one in list(self._opened):
            one.abort()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def listening(
    service: Service,
    where: socket.socket,
    bounds: Bounds,
    *,
    context: ssl.SSLContext | None = None,
    drain_seconds: float,
) -> AsyncIterator[None]:
    """Serves on a bound socket inside the block, then lets requests under way end, and closes the socket."""
    connections = Connections(service, bounds)
    server = await asyncio.get_running_loop().create_server(connections, sock=where, ssl=context, backlog=_BACKLOG)
    try:
        yield
    finally:
        server.close()
        await connections.finish(drain_seconds)


async def close(pieces: AsyncIterator[bytes]) -> None:
    """Gives up on a stream."""
    closing = getattr(pieces, 'aclose', None)
    if closing is not None:
        await closing()


def _chunk(piece: bytes) -> bytes:
    # An empty one would be the last.
    return b'%x\r\n%b\r\n' % (len(piece), piece) if piece else b''


@functools.lru_cache(maxsize=256)
def _header(name: bytes, value: bytes) -> tuple[str, str]:
    # A client sends the same ones with each of its requests.
    return name.decode('latin-1').lower(), value.decode('latin-1').rstrip(' \t')


@functools.lru_cache(maxsize=256)
def _beginning(status: int, content_type: str, more: tuple[tuple[str, str], ...], closes: bool) -> bytes:
    """The head of an answer, but for how long it is."""
    phrase = ''
    with contextlib.suppress(ValueError):  # a webhook may answer with codes that nobody has heard of
        phrase = http.HTTPStatus(status).phrase
    headers = [('Content-Type', content_type), *more]
    if not any(name == 'Cache-Control' for name, _ in more):
        headers.append(('Cache-Control', 'no-cache, private'))
    if closes:
        headers.append(('Connection', 'close'))
    text = ''.join([f'{name}: {value}\r\n' for name, value in headers])
    return f'HTTP/1.1 {status} {phrase}\r\n{text}'.encode('latin-1')
