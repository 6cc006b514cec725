"""The server on HTTPS: loopback only, with a token that only the user's own files hold."""

import asyncio
import contextlib
import errno
import hmac
import http
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Final

from jobset.kube import httpserver
from jobset.local.problems import Problem
from jobset.local.server import answers, bodies, identity, refusals
from jobset.local.server.answers import Answer, Call, Stream
from jobset.local.server.server import Server

logger = logging.getLogger(__name__)

_CLOSING_SECONDS: Final = 1
"""For answers that are under way when the server stops."""


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
        self._connections = httpserver.Connections(self, httpserver.Bounds(body_bytes=bodies.MAX_BYTES))
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
        try:
            sockets = await loop.create_server(
                self._connections,
                identity.ADDRESS,
                port,
                ssl=self._identity.context(),
                backlog=512,
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
            await self._connections.finish(_CLOSING_SECONDS)

    def check(self, head: httpserver.Head) -> Answer | None:
        """A refusal where the token is missing or wrong."""
        given = head.headers.get('authorization', '')
        if hmac.compare_digest(given.encode(), self._expected):
            return None
        return Answer.refusal(Problem(401, 'Unauthorized', 'Unauthorized'))

    def refuse(self, status: http.HTTPStatus, _: httpserver.Head | None) -> Answer:
        """What a client is told whose request cannot be read."""
        match status:
            case http.HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
                return Answer.refusal(refusals.too_large(bodies.MAX_BYTES))
            case http.HTTPStatus.REQUEST_TIMEOUT:
                return Answer.refusal(Problem(status, 'Timeout', 'the request has not come to its end in time'))
        return Answer.refusal(Problem(status, status.phrase.replace(' ', ''), status.phrase))

    async def reply(self, head: httpserver.Head, body: bytes) -> Answer | Stream:
        """What the server says. A fault of it is an answer, too."""
        headers = head.headers
        call = Call(
            head.method,
            head.path,
            head.query,
            body,
            headers.get('content-type', ''),
            headers.get('accept', ''),
            headers.get('user-agent', ''),
        )
        try:
            answer = await self._server.answer(call)
            return await _begun(answer) if isinstance(answer, Stream) else answer
        except Exception:
            logger.exception('%s %s', call.method, call.path)
            text = 'the server has a fault, which it has written to its log'
            return Answer.refusal(Problem(500, 'InternalError', text))


async def _begun(stream: Stream) -> Answer | Stream:
    """The stream; of a log, once its first piece is there: one that cannot even begin is an answer like any other."""
    if stream.content_type != answers.LOG:
        return stream
    try:
        first = await anext(stream.pieces, b'')
    except Problem as problem:
        return Answer.refusal(problem)
    stream.pieces = _after(first, stream.pieces)
    return stream


async def _after(first: bytes, pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    try:
        yield first
        async for piece in pieces:
            yield piece
    finally:
        await httpserver.close(pieces)
