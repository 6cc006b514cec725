"""The server as a carrier of requests from this very process: no sockets, no bytes of HTTP, the same answers.

Controllers of the plane and, in ``jobset run``, the JobSet controller speak to the server through it. They cannot tell
the difference to :class:`jobset.kube.transport.Transport`.
"""

import asyncio
import contextlib
import math
from collections.abc import AsyncGenerator, AsyncIterator

from jobset.kube import client, errors, requests
from jobset.kube.httpserver import close
from jobset.local.server import answers, watching
from jobset.local.server.server import Server


class Direct:
    """A :class:`jobset.kube.client.Carrier`."""

    def __init__(self, server: Server, *, user_agent: str = 'jobset') -> None:
        self._server = server
        self._user_agent = user_agent

    async def send(self, request: requests.Request) -> bytes:
        """One request and the body of its answer. Raises the errors of :mod:`jobset.kube.errors`."""
        answer = await self._server.answer(self._call(request))
        if isinstance(answer, answers.Answer):
            if answer.status < 300:
                return answer.body
            raise _refusal(request, answer)
        async with contextlib.aclosing(_generator(answer)) as pieces:
            return b''.join([piece async for piece in pieces])

    @contextlib.asynccontextmanager
    async def stream(self, request: requests.Request, *, idle_timeout: float) -> AsyncIterator['Pieces']:
        """The body of an answer that goes on, in pieces as they come."""
        answer = await self._server.answer(self._call(request))
        if isinstance(answer, answers.Answer):
            if answer.status >= 300:
                raise _refusal(request, answer)
            yield Pieces(_once(answer.body), request, idle_timeout)
            return
        pieces = answer.pieces
        try:
            if isinstance(pieces, watching.Watch) and pieces.can_follow:
                yield Changes(pieces, request, idle_timeout)
            else:
                yield Pieces(pieces, request, idle_timeout)
        finally:
            await close(pieces)

    def _call(self, request: requests.Request) -> answers.Call:
        body = request.body
        return answers.Call(
            request.method,
            request.path,
            request.query,
            body or b'',
            request.content_type if body is not None else '',
            request.accept,
            self._user_agent,
            warns=False,
        )


class Pieces:
    """A body as it comes: see :class:`jobset.kube.client.Pieces`."""

    def __init__(self, pieces: AsyncIterator[bytes], request: requests.Request, idle_timeout: float) -> None:
        self._pieces = pieces
        self._request = request
        self._idle_timeout = idle_timeout

    async def readany(self) -> bytes:
        """The bytes that have come, at least one; none at the end."""
        if self._idle_timeout == math.inf:
            # A timer for each piece costs as much as all else that is done to hand it over.
            try:
                return await self._pieces.__anext__()
            except StopAsyncIteration:
                return b''
        try:
            async with asyncio.timeout(self._idle_timeout):
                return await anext(self._pieces, b'')
        except TimeoutError:
            text = f'nothing has come for {self._idle_timeout} s'
            raise errors.Silent(text, where=str(self._request), sent=True) from None


class Changes(Pieces):
    """A watch of a server that does not go silent: see :class:`jobset.kube.client.Follows`."""

    def __init__(self, watch: watching.Watch, request: requests.Request, idle_timeout: float) -> None:
        super().__init__(watch, request, idle_timeout)
        self._watch = watch

    async def follow(self, listener: client.Listener) -> None:
        """Tells the changes from now on, until the watch ends."""
        await self._watch.tell(listener)


async def _generator(stream: answers.Stream) -> AsyncGenerator[bytes, None]:
    try:
        async for piece in stream.pieces:
            yield piece
    finally:
        await close(stream.pieces)


async def _once(body: bytes) -> AsyncIterator[bytes]:
    if body:
        yield body


def _refusal(request: requests.Request, answer: answers.Answer) -> errors.ApiError:
    return errors.from_answer(answer.status, answer.body, where=str(request))
