"""The server on HTTPS: loopback only, with a token that only the user's own files hold."""

import asyncio
import contextlib
import errno
import hmac
import logging
import os
from collections.abc import AsyncIterator
from typing import Final

from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler

from jobset.local.problems import Problem
from jobset.local.server import bodies, identity, refusals
from jobset.local.server.answers import Answer, Call, Stream
from jobset.local.server.direct import close
from jobset.local.server.server import Server

logger = logging.getLogger(__name__)

_KEEP_ALIVE: Final = 300
"""Seconds that an idle connection is kept. Clients keep theirs for up to 90, and must not be cut off in between."""

_BODY_SECONDS: Final = 30
"""For a body to come: a client on the same machine that takes longer has gone."""


class ListenError(OSError):
    """It cannot be listened there; ``strerror`` says where, why, and what to do."""


class PortTakenError(ListenError):
    """Somebody else listens there."""


class Listener:
    """Where clients reach the server."""

    def __init__(self, server: Server, known: identity.Identity) -> None:
        self._server = server
        self._identity = known
        self._expected = f'Bearer {known.token}'.encode()
        self.port = 0
        """As it turned out, where 0 was asked for."""

    @property
    def url(self) -> str:
        """What clients have to be told."""
        return f'https://{identity.ADDRESS}:{self.port}'

    @contextlib.asynccontextmanager
    async def listening(self, port: int = 0) -> AsyncIterator[None]:
        """Takes connections inside the block. Raises :class:`ListenError`."""
        loop = asyncio.get_running_loop()
        handler = web.Server(
            self._handle,
            request_factory=_request,
            handler_cancellation=True,
            access_log=None,
            keepalive_timeout=_KEEP_ALIVE,
        )
        try:
            sockets = await loop.create_server(
                handler, identity.ADDRESS, port, ssl=self._identity.context(), backlog=512
            )
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                text = f'{identity.ADDRESS}:{port} is taken by another process; stop that one, or choose another port'
                raise PortTakenError(error.errno, text) from error
            why = os.strerror(error.errno).lower() if error.errno else str(error)
            text = f'{identity.ADDRESS}:{port} cannot be used: {why}; choose another port'
            raise ListenError(error.errno, text) from error
        self.port = sockets.sockets[0].getsockname()[1]
        self._server.address = f'{identity.ADDRESS}:{self.port}'
        try:
            yield
        finally:
            sockets.close()
            # Watches end by themselves then, and their clients see a complete answer.
            self._server.close()
            await handler.shutdown(timeout=1)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        headers = request.headers
        given = headers.get(hdrs.AUTHORIZATION, '')
        if not hmac.compare_digest(given.encode(), self._expected):
            return _response(Answer.refusal(Problem(401, 'Unauthorized', 'Unauthorized')))
        try:
            body = await _body(request)
        except Problem as problem:
            response = _response(Answer.refusal(problem))
            response.force_close()
            return response
        path, _, query = request.raw_path.partition('?')
        call = Call(
            request.method,
            path,
            query,
            body,
            headers.get(hdrs.CONTENT_TYPE, ''),
            headers.get(hdrs.ACCEPT, ''),
            headers.get(hdrs.USER_AGENT, ''),
        )
        try:
            answer = await self._server.answer(call)
        except Exception:
            logger.exception('%s %s', call.method, call.path)
            text = 'the server has a fault, which it has written to its log'
            return _response(Answer.refusal(Problem(500, 'InternalError', text)))
        if isinstance(answer, Stream):
            return await _stream(request, answer)
        return _response(answer)


async def _body(request: web.BaseRequest) -> bytes:
    if not request.can_read_body:
        return b''
    length = request.content_length
    if length is not None and length > bodies.MAX_BYTES:
        raise refusals.too_large(bodies.MAX_BYTES)
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            return await request.read()
    except web.HTTPRequestEntityTooLarge:
        raise refusals.too_large(bodies.MAX_BYTES) from None
    except TimeoutError:
        raise Problem(408, 'Timeout', f'the body has not come within {_BODY_SECONDS} s') from None


def _response(answer: Answer) -> web.Response:
    response = web.Response(body=answer.body, status=answer.status)
    headers = response.headers
    headers[hdrs.CONTENT_TYPE] = answer.content_type
    headers[hdrs.CACHE_CONTROL] = 'no-cache, private'
    for key, value in answer.headers:
        if key == hdrs.CACHE_CONTROL:
            headers[key] = value
        else:
            headers.add(key, value)
    return response


async def _stream(request: web.BaseRequest, stream: Stream) -> web.StreamResponse:
    response = web.StreamResponse(status=stream.status)
    response.headers[hdrs.CONTENT_TYPE] = stream.content_type
    response.headers[hdrs.CACHE_CONTROL] = 'no-cache, private'
    for key, value in stream.headers:
        response.headers.add(key, value)
    response.enable_chunked_encoding()
    try:
        # What cannot even begin is an answer like any other: the code of a stream is sent before its first piece.
        first = await _first(request, response, stream)
        if isinstance(first, web.Response):
            return first
        async for piece in stream.pieces:
            await response.write(piece)
        await response.write_eof()
    except ConnectionError:
        # The client has gone.
        pass
    finally:
        await close(stream.pieces)
    return response


async def _first(
    request: web.BaseRequest,
    response: web.StreamResponse,
    stream: Stream,
) -> web.Response | None:
    if stream.content_type == 'text/plain':
        try:
            piece = await anext(stream.pieces, b'')
        except Problem as problem:
            return _response(Answer.refusal(problem))
        await response.prepare(request)
        await response.write(piece)
        return None
    await response.prepare(request)
    return None


def _request(
    message: RawRequestMessage,
    payload: StreamReader,
    protocol: RequestHandler,
    writer: AbstractStreamWriter,
    task: 'asyncio.Task[None]',
) -> web.BaseRequest:
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=bodies.MAX_BYTES + 1)
