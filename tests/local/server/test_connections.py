"""HTTP/1.1 by the byte: what is read, what is refused, and what that means for the connection."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

import pytest

from jobset.local.problems import Problem
from jobset.local.server import connections
from jobset.local.server.answers import Answer, Stream

MOST = 1000


class Peer:
    """A server that answers what it was asked, and one raw connection to it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def talk(self, *pieces: bytes) -> bytes:
        """All that the server says until it closes the connection."""
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()
        async with asyncio.timeout(10):
            return await self.reader.read()


def check(head: connections.Head) -> Answer | None:
    return Answer(401, b'no', 'text/plain') if head.headers.get('authorization') == 'wrong' else None


async def reply(head: connections.Head, body: bytes) -> Answer | Stream:
    match head.path:
        case '/stream':
            return Stream(pieces([b'one', b'', b'two']), 'application/json')
        case '/late':
            return Stream(pieces([]), 'text/plain')
        case '/fault':
            return Stream(pieces([b'one', ZeroDivisionError()]), 'application/json')
        case '/new-code':
            return Answer(499, b'', 'text/plain', [('Warning', '299 - "x"')])
    return Answer(200, f'{head.method} {head.path}?{head.query} '.encode() + body, 'text/plain')


async def pieces(said: Sequence[bytes | Exception]) -> AsyncIterator[bytes]:
    if not said:
        raise Problem.bad_request('it cannot begin')
    for one in said:
        if isinstance(one, Exception):
            raise one
        yield one


@pytest.fixture
async def peer() -> AsyncIterator[Peer]:
    tasks: list[asyncio.Task[None]] = []

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> asyncio.Task[None]:
        connection = connections.Connection(reader, writer, check=check, reply=reply, most=MOST)
        tasks.append(asyncio.get_running_loop().create_task(connection.serve()))
        return tasks[-1]

    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: connections.Protocol(begin), '127.0.0.1', 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    try:
        yield Peer(reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        server.close()
        async with asyncio.timeout(10):
            await asyncio.gather(*tasks, return_exceptions=True)


def answered(body: bytes, *, status: bytes = b'200 OK', more: bytes = b'') -> bytes:
    return (
        b'HTTP/1.1 %b\r\nContent-Type: text/plain\r\nCache-Control: no-cache, private\r\n%bContent-Length: %d\r\n\r\n%b'
        % (status, more, len(body), body)
    )


CLOSE = b'Connection: close\r\n'
LAST = b'GET /last HTTP/1.1\r\nConnection: close\r\n\r\n'
GOOD_BYE = answered(b'GET /last? ', more=CLOSE)


@pytest.mark.parametrize(
    ('request_', 'answer'),
    [
        pytest.param(b'GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n', answered(b'GET /a?b=c '), id='without a body'),
        pytest.param(b'GET /a HTTP/1.1\r\n\r\n', answered(b'GET /a? '), id='without headers'),
        pytest.param(b'PUT /a HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody', answered(b'PUT /a? body'), id='with a body'),
        pytest.param(
            b'PUT /a HTTP/1.1\r\ntransfer-encoding: Chunked\r\n\r\n2;x=y\r\nbo\r\n02\r\ndy\r\n0\r\nTrailer: 1\r\n\r\n',
            answered(b'PUT /a? body'),
            id='in chunks',
        ),
        pytest.param(
            b'PUT /a HTTP/1.1\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nbody',
            b'HTTP/1.1 100 Continue\r\n\r\n' + answered(b'PUT /a? body'),
            id='asks before it sends',
        ),
        pytest.param(b'HEAD /a HTTP/1.1\r\n\r\n', answered(b'HEAD /a? ')[:-9], id='only the head is wanted'),
        pytest.param(b'GET /a HTTP/1.1\r\nAuthorization: wrong\r\n\r\n', answered(b'no', status=b'401 Unauthorized')),
        pytest.param(
            b'GET /new-code HTTP/1.1\r\n\r\n',
            b'HTTP/1.1 499 \r\nContent-Type: text/plain\r\nWarning: 299 - "x"\r\nCache-Control: no-cache, private\r\n'
            b'Content-Length: 0\r\n\r\n',
            id='a code that nobody has heard of',
        ),
        pytest.param(
            b'GET /stream HTTP/1.1\r\n\r\n',
            b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nCache-Control: no-cache, private\r\n'
            b'Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n',
            id='a stream',
        ),
    ],
)
async def test_one_request_after_the_other(peer: Peer, request_: bytes, answer: bytes) -> None:
    assert await peer.talk(request_ + request_, LAST) == answer + answer + GOOD_BYE


@pytest.mark.parametrize(
    ('request_', 'code'),
    [
        pytest.param(b'nonsense\r\n\r\n', 400, id='no HTTP'),
        pytest.param(b'GET /a HTTP/1.0\r\n\r\n', 505, id='an old version'),
        pytest.param(b'GET a HTTP/1.1\r\n\r\n', 400, id='no path'),
        pytest.param(b'GET /a HTTP/1.1\r\nA: b\r\n c\r\n\r\n', 400, id='a header over two lines'),
        pytest.param(b'GET /a HTTP/1.1\r\nA : b\r\n\r\n', 400, id='a space before the colon'),
        pytest.param(b'GET /a HTTP/1.1\r\nA: ' + b'b' * 70_000 + b'\r\n\r\n', 431, id='a head that is too long'),
        pytest.param(b'PUT /a HTTP/1.1\r\nContent-Length: x\r\n\r\n', 400, id='no length'),
        pytest.param(b'PUT /a HTTP/1.1\r\nContent-Length: -1\r\n\r\n', 400, id='a length below zero'),
        pytest.param(b'PUT /a HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', 400, id='two lengths'),
        pytest.param(b'PUT /a HTTP/1.1\r\nContent-Length: 1001\r\n\r\n', 413, id='a body that is too large'),
        pytest.param(b'PUT /a HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n', 400, id='an unknown coding'),
        pytest.param(
            b'PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n', 400, id='length and chunks'
        ),
        pytest.param(b'PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n', 400, id='no size of a chunk'),
        pytest.param(b'PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n', 413, id='too large in chunks'),
        pytest.param(b'PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc', 400, id='a chunk too long'),
        pytest.param(b'PUT /a HTTP/1.1\r\nAuthorization: wrong\r\nContent-Length: 3\r\n\r\nabc', 401, id='no token'),
    ],
)
async def test_nothing_follows_what_is_refused(peer: Peer, request_: bytes, code: int) -> None:
    said = await peer.talk(request_)

    assert (said[:12], said.count(b'HTTP/1.1'), CLOSE in said) == (b'HTTP/1.1 %d' % code, 1, True)


async def test_a_stream_that_cannot_begin_is_an_answer(peer: Peer) -> None:
    said = await peer.talk(b'GET /late HTTP/1.1\r\n\r\n', LAST)

    assert (said[:24], said[-len(GOOD_BYE) :]) == (b'HTTP/1.1 400 Bad Request', GOOD_BYE)


async def test_a_stream_that_breaks_off_does_not_look_complete(peer: Peer) -> None:
    said = b''
    with contextlib.suppress(ConnectionError):
        said = await peer.talk(b'GET /fault HTTP/1.1\r\n\r\n')

    assert not said.endswith(b'0\r\n\r\n')
