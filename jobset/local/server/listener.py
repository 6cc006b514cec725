"""The server on HTTPS: loopback only, with a token that only the user's own files hold."""

import asyncio
import contextlib
import errno
import hmac
import logging
import os
from collections.abc import AsyncIterator
from typing import Final

from jobset.local.problems import Problem
from jobset.local.server import bodies, connections, identity
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
        self._open: dict[asyncio.Task[None], connections.Connection] = {}
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
                lambda: connections.Protocol(self._begin),
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
            await self._finish()

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> asyncio.Task[None]:
        connection = connections.Connection(reader, writer, check=self._check, reply=self._reply, most=bodies.MAX_BYTES)
        task = asyncio.get_running_loop().create_task(connection.serve(), name='connection')
        self._open[task] = connection
        task.add_done_callback(self._open.pop)
        return task

    async def _finish(self) -> None:
        """Ends all connections, those that are answering last."""
        for task, connection in self._open.items():
            if connection.is_idle:
                task.cancel()
        if self._open:
            await asyncio.wait(list(self._open), timeout=_CLOSING_SECONDS)
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    def _check(self, head: connections.Head) -> Answer | None:
        given = head.headers.get('authorization', '')
        if hmac.compare_digest(given.encode(), self._expected):
            return None
        return Answer.refusal(Problem(401, 'Unauthorized', 'Unauthorized'))

    async def _reply(self, head: connections.Head, body: bytes) -> Answer | Stream:
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
            return await self._server.answer(call)
        except Exception:
            logger.exception('%s %s', call.method, call.path)
            text = 'the server has a fault, which it has written to its log'
            return Answer.refusal(Problem(500, 'InternalError', text))
