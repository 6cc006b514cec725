"""HTTP/1.1, as much of it as clients of an API server speak: requests with bodies; answers, at once or in pieces.

The server has its own because a general one takes as long for a request as all that the request is about, and a fifth
of a second to be imported. What is not understood is refused, and the connection closed.

Source: RFC 9110, RFC 9112.
"""

import asyncio
import contextlib
import functools
import http
import logging
import string
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from jobset.local.problems import Problem
from jobset.local.server import refusals
from jobset.local.server.answers import Answer, Stream
from jobset.local.server.direct import close

logger = logging.getLogger(__name__)

_HEAD_BYTES: Final = 1 << 16
"""Of the head of a request, and of one line of a body in chunks."""

_IDLE_SECONDS: Final = 300
"""That a connection is kept. Clients keep theirs for up to 90, and must not be cut off in between."""

_BODY_SECONDS: Final = 30
"""For a body to come: a client on the same machine that takes longer has gone."""

_TOKEN: Final = frozenset(string.ascii_letters + string.digits + "!#$%&'*+-.^_`|~")
_HEXADECIMAL: Final = frozenset(string.hexdigits.encode())
_END: Final = b'\r\n\r\n'


@dataclass(frozen=True, slots=True)
class Head:
    """What comes before the body of a request."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    """By name in lower case; several of one name are joined."""

    @property
    def closes(self) -> bool:
        """Whether the client wants nothing more on this connection."""
        return 'close' in self.headers.get('connection', '').lower()


class UnreadableError(Exception):
    """It is not HTTP, or none that is understood; what follows on the connection cannot be either."""

    def __init__(self, status: http.HTTPStatus = http.HTTPStatus.BAD_REQUEST) -> None:
        super().__init__(status.phrase)
        self.answer = Answer.refusal(Problem(status, status.phrase.replace(' ', ''), status.phrase))


def parse(data: bytes) -> Head:
    """The head of a request, up to and with the empty line. Raises :class:`UnreadableError`."""
    first, _, rest_of_head = data.partition(b'\r\n')
    method, _, rest = first.decode('latin-1').partition(' ')
    target, _, version = rest.partition(' ')
    if version != 'HTTP/1.1':
        raise UnreadableError(
            http.HTTPStatus.HTTP_VERSION_NOT_SUPPORTED if version[:5] == 'HTTP/' else http.HTTPStatus.BAD_REQUEST
        )
    if target[:1] != '/' or not _TOKEN.issuperset(method):
        raise UnreadableError
    path, _, query = target.partition('?')
    return Head(method, path, query, _headers(rest_of_head))


@functools.lru_cache(maxsize=256)
def _headers(block: bytes) -> Mapping[str, str]:
    # A client sends the same ones with each of its requests.
    headers: dict[str, str] = {}
    for line in block[: -len(_END)].decode('latin-1').split('\r\n') if block != b'\r\n' else ():
        name, colon, value = line.partition(':')
        # Neither a line that goes on with the one before, nor a space before the colon.
        if not name or not colon or not _TOKEN.issuperset(name):
            raise UnreadableError
        name, value = name.lower(), value.strip(' \t')
        headers[name] = f'{headers[name]}, {value}' if name in headers else value
    return headers


Check = Callable[[Head], Answer | None]
"""A refusal before the body is read; None for a request that may go on."""

Reply = Callable[[Head, bytes], Awaitable[Answer | Stream]]
"""The answer to a request. It does not raise."""


class Connection:
    """One connection, until one of both sides ends it."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        check: Check,
        reply: Reply,
        most: int,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._check = check
        self._reply = reply
        self._most = most
        self.is_idle = True
        """Whether nothing has been asked that has not been answered."""

    async def serve(self) -> None:
        """Answers one request after the other. To be cancelled when the client goes: it may wait for long answers."""
        try:
            while await self._one():
                self.is_idle = True
        except (asyncio.IncompleteReadError, ConnectionError, TimeoutError):
            pass  # Nobody is there any longer.
        except Exception:
            # In the middle of an answer: it may not look like a complete one.
            logger.exception('a connection is given up')
            self._writer.transport.abort()
        finally:
            self._writer.close()

    async def _one(self) -> bool:
        """One request and its answer; whether another one may follow."""
        try:
            head = await self._head()
            refusal = self._check(head)
            body = await self._body(head) if refusal is None else b''
        except UnreadableError as error:
            return self._write(error.answer, closes=True)
        except Problem as problem:
            return self._write(Answer.refusal(problem), closes=True)
        if refusal is not None:
            # Its body, if there is one, has not been read.
            return self._write(refusal, closes=not _has_no_body(head) or head.closes)
        answer = await self._reply(head, body)
        if isinstance(answer, Stream):
            return await self._stream(answer, closes=head.closes)
        going_on = self._write(answer, closes=head.closes, is_head=head.method == 'HEAD')
        await self._writer.drain()
        return going_on

    async def _head(self) -> Head:
        try:
            async with asyncio.timeout(_IDLE_SECONDS):
                data = await self._reader.readuntil(_END)
        except asyncio.LimitOverrunError:
            raise UnreadableError(http.HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE) from None
        self.is_idle = False
        return parse(data)

    async def _body(self, head: Head) -> bytes:
        """The body. Raises Problem 408 and 413."""
        if _has_no_body(head):
            return b''
        headers = head.headers
        length, coding = headers.get('content-length'), headers.get('transfer-encoding', '').lower()
        if coding and (coding != 'chunked' or length is not None):
            raise UnreadableError
        if length is not None and not (length.isascii() and length.isdecimal()):
            raise UnreadableError
        if length is not None and int(length) > self._most:
            raise refusals.too_large(self._most)
        if headers.get('expect', '').lower() == '100-continue':
            self._writer.write(b'HTTP/1.1 100 Continue\r\n\r\n')
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                return await self._chunks() if length is None else await self._reader.readexactly(int(length))
        except TimeoutError:
            raise Problem(408, 'Timeout', f'the body has not come within {_BODY_SECONDS} s') from None

    async def _chunks(self) -> bytes:
        pieces: list[bytes] = []
        left = self._most
        while size := await self._size():
            left -= size
            if left < 0:
                raise refusals.too_large(self._most)
            pieces.append(await self._reader.readexactly(size))
            if await self._reader.readexactly(2) != b'\r\n':
                raise UnreadableError
        while await self._line():
            pass  # Headers after the body mean nothing here.
        return b''.join(pieces)

    async def _size(self) -> int:
        digits = (await self._line()).partition(b';')[0].rstrip()
        if not 0 < len(digits) <= 8 or not _HEXADECIMAL.issuperset(digits):
            raise UnreadableError
        return int(digits, 16)

    async def _line(self) -> bytes:
        try:
            return (await self._reader.readuntil(b'\r\n'))[:-2]
        except asyncio.LimitOverrunError:
            raise UnreadableError from None

    def _write(self, answer: Answer, *, closes: bool, is_head: bool = False) -> bool:
        body = answer.body
        head = b'%bContent-Length: %d\r\n\r\n' % (_beginning(answer, closes=closes), len(body))
        self._writer.write(head if is_head else head + body)
        return not closes

    async def _stream(self, stream: Stream, *, closes: bool) -> bool:
        write, pieces = self._writer.write, stream.pieces
        try:
            head = b'%bTransfer-Encoding: chunked\r\n\r\n' % _beginning(stream, closes=closes)
            if stream.content_type == 'text/plain':
                # What cannot even begin is an answer like any other: the code is sent before the first piece.
                try:
                    first = await anext(pieces, b'')
                except Problem as problem:
                    return self._write(Answer.refusal(problem), closes=closes)
                head += _chunk(first)
            write(head)
            async for piece in pieces:
                write(_chunk(piece))
                await self._writer.drain()
            write(b'0\r\n\r\n')
        finally:
            await close(pieces)
        return not closes


def _has_no_body(head: Head) -> bool:
    return 'content-length' not in head.headers and 'transfer-encoding' not in head.headers


def _chunk(piece: bytes) -> bytes:
    # An empty one would be the last.
    return b'%x\r\n%b\r\n' % (len(piece), piece) if piece else b''


def _beginning(answer: Answer | Stream, *, closes: bool) -> bytes:
    """The head of an answer, but for how long it is."""
    headers = [('Content-Type', answer.content_type), *answer.headers]
    if not any(name == 'Cache-Control' for name, _ in answer.headers):
        headers.append(('Cache-Control', 'no-cache, private'))
    if closes:
        headers.append(('Connection', 'close'))
    text = ''.join([f'{name}: {value}\r\n' for name, value in headers])
    return _STATUS[answer.status] + text.encode('latin-1')


class _Statuses(dict[int, bytes]):
    """Status lines; a webhook may answer with codes that nobody has heard of."""

    def __missing__(self, status: int) -> bytes:
        phrase = ''
        with contextlib.suppress(ValueError):
            phrase = http.HTTPStatus(status).phrase
        line = self[status] = f'HTTP/1.1 {status} {phrase}\r\n'.encode()
        return line


_STATUS: Final = _Statuses()


Begin = Callable[[asyncio.StreamReader, asyncio.StreamWriter], asyncio.Task[None]]
"""Starts to serve a connection."""


class Protocol(asyncio.StreamReaderProtocol):
    """Has a connection served, and that cancelled when the connection is lost."""

    def __init__(self, begin: Begin) -> None:
        self._begin = begin
        self._serving: asyncio.Task[None] | None = None
        super().__init__(asyncio.StreamReader(limit=_HEAD_BYTES), self._connected)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._serving = self._begin(reader, writer)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone, or has been sent away."""
        super().connection_lost(exc)
        if self._serving is not None:
            self._serving.cancel()
