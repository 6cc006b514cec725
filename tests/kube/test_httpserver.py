"""HTTP/1.1 by the byte: what is read, what is refused, and what that means for the connection."""

import asyncio
import contextlib
import http
from collections.abc import AsyncIterator, Sequence

import pytest

from jobset.kube import httpserver
from jobset.kube.httpserver import Answer, Head, Stream
from tests.kube import virtual

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


class Service:
    """Answers with what it was asked."""

    def check(self, head: Head) -> Answer | None:
        return Answer(401, b'no', 'text/plain') if head.headers.get('authorization') == 'wrong' else None

    async def reply(self, head: Head, body: bytes) -> Answer | Stream:
        match head.path:
            case '/stream':
                return Stream(pieces([b'one', b'', b'two']), 'application/json')
            case '/fault':
                return Stream(pieces([b'one', ZeroDivisionError()]), 'application/json')
            case '/new-code':
                return Answer(499, b'', 'text/plain', [('Warning', '299 - "x"')])
        return Answer(200, f'{head.method} {head.path}?{head.query} '.encode() + body, 'text/plain')

    def refuse(self, status: http.HTTPStatus, head: Head | None) -> Answer:
        return Answer(status, status.phrase.encode(), 'text/plain')


async def pieces(said: Sequence[bytes | Exception]) -> AsyncIterator[bytes]:
    for one in said:
        if isinstance(one, Exception):
            raise one
        yield one


@pytest.fixture
async def peer() -> AsyncIterator[Peer]:
    connections = httpserver.Connections(Service(), httpserver.Bounds(body_bytes=MOST))
    server = await asyncio.get_running_loop().create_server(connections, '127.0.0.1', 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    try:
        yield Peer(reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        server.close()
        async with asyncio.timeout(10):
            await connections.finish(5)


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


async def test_who_asks_before_it_sends_is_told_to(peer: Peer) -> None:
    said = await peer.talk(b'PUT /a HTTP/1.1\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nbody', LAST)

    assert said == b'HTTP/1.1 100 Continue\r\n\r\n' + answered(b'PUT /a? body') + GOOD_BYE


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
        pytest.param(
            b'GET /a HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade, close\r\n\r\n', 200, id='something else'
        ),
        pytest.param(b'PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n', 400, id='no size of a chunk'),
        pytest.param(
            b'PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n' + b'x' * 1001, 413, id='too large in chunks'
        ),
        pytest.param(b'PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc', 400, id='a chunk too long'),
        pytest.param(b'PUT /a HTTP/1.1\r\nAuthorization: wrong\r\nContent-Length: 3\r\n\r\nabc', 401, id='no token'),
    ],
)
async def test_nothing_follows_what_is_refused(peer: Peer, request_: bytes, code: int) -> None:
    said = await peer.talk(request_)

    assert (said[:12], said.count(b'HTTP/1.1'), CLOSE in said) == (b'HTTP/1.1 %d' % code, 1, True)


async def test_a_stream_that_breaks_off_does_not_look_complete(peer: Peer) -> None:
    said = b''
    with contextlib.suppress(ConnectionError):
        said = await peer.talk(b'GET /fault HTTP/1.1\r\n\r\n')

    assert not said.endswith(b'0\r\n\r\n')


class Wire(asyncio.Transport):
    """The server's end of a connection in virtual time."""

    def __init__(self) -> None:
        super().__init__()
        self.said = b''
        self.closed_after: float | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.said += data

    def abort(self) -> None:
        self.close()

    def close(self) -> None:
        if self.closed_after is None:
            self.closed_after = virtual.now()

    def is_closing(self) -> bool:
        return self.closed_after is not None

    def is_reading(self) -> bool:
        return True


def connected() -> tuple[httpserver.Connection, Wire]:
    bounds = httpserver.Bounds(body_bytes=MOST, read_seconds=30, idle_seconds=300)
    connection, wire = httpserver.Connections(Service(), bounds)(), Wire()
    connection.connection_made(wire)
    return connection, wire


@virtual.timed
async def test_an_idle_connection_is_closed_without_a_word() -> None:
    connection, wire = connected()
    await asyncio.sleep(200)
    connection.data_received(b'GET /a HTTP/1.1\r\n\r\n')
    await asyncio.sleep(1000)
    connection.connection_lost(None)

    assert (wire.said, wire.closed_after) == (answered(b'GET /a? '), 500)


@pytest.mark.parametrize('part', [b'GET', b'PUT /a HTTP/1.1\r\nContent-Length: 4\r\n\r\nbod'])
def test_a_client_that_sends_no_more_is_told(part: bytes) -> None:
    @virtual.timed
    async def wait() -> Wire:
        connection, wire = connected()
        connection.data_received(part)
        await asyncio.sleep(1000)
        connection.connection_lost(None)
        return wire

    wire = wait()
    assert (wire.said, wire.closed_after) == (
        answered(b'Request Timeout', status=b'408 Request Timeout', more=CLOSE),
        30,
    )


@virtual.timed
async def test_a_client_that_does_not_keep_up_is_waited_for() -> None:
    connection, wire = connected()
    connection.pause_writing()
    connection.data_received(b'GET /stream HTTP/1.1\r\n\r\n')
    await asyncio.sleep(10)
    before = wire.said
    connection.resume_writing()
    await asyncio.sleep(10)
    connection.connection_lost(None)

    assert (before[-8:], wire.said[-21:]) == (b'3\r\none\r\n', b'3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n'[-21:])


@virtual.timed
async def test_a_client_that_never_reads_on_is_left() -> None:
    connection, wire = connected()
    connection.pause_writing()
    connection.data_received(b'GET /stream HTTP/1.1\r\n\r\n')
    await asyncio.sleep(1000)
    connection.connection_lost(None)

    assert (wire.said[-8:], wire.closed_after) == (b'3\r\none\r\n', 300)
