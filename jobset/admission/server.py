"""The webhook server: reviews over HTTPS, one answer each, whatever comes in."""

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import msgspec
from aiohttp import web

from jobset.admission import metrics, reviews

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Serving:
    """Bounds of the server."""

    largest_body: int = 8 << 20
    """Bytes. A review holds two objects at most, which the API server takes up to 3 MiB long."""

    read_seconds: float = 10
    """For a whole request to arrive, from its first byte on; the API server itself waits no longer for its answer."""

    idle_seconds: float = 300
    """How long a connection is kept between requests.

    API servers close theirs after 90 s, and we must be the later ones: a connection that closes here while a request is
    on its way fails that request, and with it what a user wanted.
    """

    drain_seconds: float = 5
    """For requests under way, at the end. With the pause before the end, less than the grace of the pod."""


class Server:
    """Answers the reviews of ``routes``."""

    def __init__(
        self,
        routes: Mapping[str, tuple[reviews.GroupVersionKind, reviews.Handler]],
        counters: metrics.Metrics,
        *,
        settings: Serving | None = None,
    ) -> None:
        self._routes = routes
        self._counters = counters
        self._settings = settings or Serving()

    @contextlib.asynccontextmanager
    async def listening(self, where: socket.socket, context: ssl.SSLContext) -> AsyncIterator[None]:
        """Serves on a bound socket inside the block, then lets requests under way end, and closes the socket."""
        settings = self._settings
        app = web.Application(client_max_size=settings.largest_body)
        app.add_routes([web.post(path, self._answer) for path in self._routes])
        runner = web.AppRunner(
            app,
            access_log=None,
            keepalive_timeout=settings.idle_seconds,
            shutdown_timeout=settings.drain_seconds,
            # After an answer to a request that has not come to its end, the rest of it is read for so long.
            lingering_time=1,
        )
        await runner.setup()
        try:
            await web.SockSite(runner, where, ssl_context=context).start()
            yield
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        with self._counters.served(request.path) as outcome:
            try:
                body = await self._review(request)
            except reviews.BadReviewError as error:
                outcome.code = 400
                return _failure(400, 'BadRequest', f'{request.path}: {error}')
            except web.HTTPRequestEntityTooLarge:
                outcome.code = 413
                most = self._settings.largest_body
                return _failure(413, 'RequestEntityTooLarge', f'{request.path}: the review is longer than {most} bytes')
            except Exception:
                # One review that we cannot handle must not end the server for all others.
                logger.exception('%s: review failed', request.path)
                return _failure(
                    500, 'InternalError', f'{request.path}: the review failed; see the log of the controller'
                )
            outcome.code = 200
            return web.Response(body=body, content_type='application/json')

    async def _review(self, request: web.Request) -> bytes:
        if request.content_type != 'application/json':
            raise reviews.BadReviewError(f'Content-Type: {request.content_type}; send application/json')
        try:
            async with asyncio.timeout(self._settings.read_seconds):
                body = await request.read()
        except TimeoutError:
            raise reviews.BadReviewError(
                f'request body: not complete after {self._settings.read_seconds:g} s'
            ) from None
        expected, handler = self._routes[request.path]
        review = reviews.decode(body, expected)
        return reviews.encode(review.uid, await handler(review))


def _failure(code: int, reason: str, message: str) -> web.Response:
    """A metav1.Status: API servers show its message to whoever asked them."""
    status = {
        'kind': 'Status',
        'apiVersion': 'v1',
        'status': 'Failure',
        'reason': reason,
        'message': message,
        'code': code,
    }
    return web.Response(status=code, body=msgspec.json.encode(status), content_type='application/json')
