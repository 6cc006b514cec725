"""A small server of pages: each path has a function that makes its answer. For probes, metrics and the like."""

import contextlib
import http
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Final

from jobset.kube import httpserver
from jobset.kube.httpserver import Answer, Head

logger = logging.getLogger(__name__)

Page = Callable[[Head], Awaitable[Answer]]
"""Makes the answer to a GET."""

_BOUNDS: Final = httpserver.Bounds(body_bytes=0, read_seconds=10)


def text(said: str, status: int = 200) -> Answer:
    """A line or so for people."""
    return Answer(status, said.encode(), 'text/plain; charset=utf-8')


class Pages:
    """A :class:`~jobset.kube.httpserver.Service` of pages by their paths."""

    def __init__(self, pages: Mapping[str, Page]) -> None:
        self._pages = pages

    def check(self, head: Head) -> Answer | None:
        """Only what is there can be had, and only read."""
        if head.path not in self._pages:
            return text('404: Not Found', 404)
        return None if head.method in ('GET', 'HEAD') else text('405: Method Not Allowed', 405)

    async def reply(self, head: Head, body: bytes) -> Answer:
        """The page."""
        try:
            return await self._pages[head.path](head)
        except Exception:
            logger.exception('%s: the page cannot be made', head.path)
            return text('the page cannot be made; see the log', 500)

    def refuse(self, status: http.HTTPStatus, head: Head | None) -> Answer:
        """For what is no request."""
        return text(f'{status.value}: {status.phrase}', status)


@contextlib.asynccontextmanager
async def served(
    pages: Mapping[str, Page],
    where: socket.socket,
    *,
    context: ssl.SSLContext | None = None,
    drain_seconds: float = 1,
) -> AsyncIterator[None]:
    """Serves the pages on a bound socket inside the block, and closes it."""
    async with httpserver.listening(Pages(pages), where, _BOUNDS, context=context, drain_seconds=drain_seconds):
        yield
