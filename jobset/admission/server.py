"""The webhook server: reviews over HTTPS, one answer each, whatever comes in."""

import contextlib
import http
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Mapping
from dataclasses import dataclass

import msgspec

from jobset.admission import metrics, reviews
from jobset.kube import httpserver
from jobset.kube.httpserver import Answer, Bounds, Head

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
        bounds = Bounds(
            body_bytes=settings.largest_body,
            read_seconds=settings.read_seconds,
            idle_seconds=settings.idle_seconds,
        )
        async with httpserver.listening(self, where, bounds, context=context, drain_seconds=settings.drain_seconds):
            yield

    def check(self, head: Head) -> Answer | None:
        """A refusal of what is no question to us."""
        if head.path not in self._routes:
            return _failure(404, 'NotFound', f'{head.path}: nothing is answered here')
        if head.method != 'POST':
            return _failure(405, 'MethodNotAllowed', f'{head.path}: {head.method} is not answered, only POST is')
        return None

    def refuse(self, status: http.HTTPStatus, head: Head | None) -> Answer:
        """What a client is told whose request does not come to its end."""
        if head is None:
            return _failure(status, status.phrase.replace(' ', ''), status.phrase)
        answer = self._unfinished(status, head.path)
        serving = self._counters.served(head.path)
        serving.end(answer.status)
        return answer

    def _unfinished(self, status: http.HTTPStatus, path: str) -> Answer:
        settings = self._settings
        match status:
            case http.HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
                text = f'the review is longer than {settings.largest_body} bytes'
                return _failure(413, 'RequestEntityTooLarge', f'{path}: {text}')
            case http.HTTPStatus.REQUEST_TIMEOUT:
                text = f'request body: not complete after {settings.read_seconds:g} s'
                return _failure(400, 'BadRequest', f'{path}: {text}')
        return _failure(status, status.phrase.replace(' ', ''), f'{path}: {status.phrase}')

    def reply(self, head: Head, body: bytes) -> Answer | Awaitable[Answer]:
        """The review that answers one. A failure of ours is an answer, too."""
        serving = self._counters.served(head.path)
        try:
            request, answer = self._review(head, body)
            if not isinstance(answer, reviews.Answer):
                return self._later(serving, head, request, answer)
            reply = Answer(200, reviews.encode(request.uid, answer))
        except Exception as error:
            reply = _failed(head, error)
        serving.end(reply.status)
        return reply

    async def _later(
        self,
        serving: metrics.Serving,
        head: Head,
        request: reviews.Request,
        coming: Awaitable[reviews.Answer],
    ) -> Answer:
        code = 500
        try:
            reply = Answer(200, reviews.encode(request.uid, await coming))
            code = reply.status
        except Exception as error:
            reply = _failed(head, error)
            code = reply.status
        finally:
            # Also where the client has gone.
            serving.end(code)
        return reply

    def _review(self, head: Head, body: bytes) -> tuple[reviews.Request, reviews.Answer | Awaitable[reviews.Answer]]:
        content_type = head.headers.get('content-type', '').partition(';')[0].strip().lower()
        if content_type != 'application/json':
            raise reviews.BadReviewError(f'Content-Type: {content_type}; send application/json')
        expected, handler = self._routes[head.path]
        request = reviews.decode(body, expected)
        return request, handler(request)


def _failed(head: Head, error: Exception) -> Answer:
    if isinstance(error, reviews.BadReviewError):
        return _failure(400, 'BadRequest', f'{head.path}: {error}')
    # One review that we cannot handle must not end the server for all others.
    logger.error('%s: review failed', head.path, exc_info=error)
    return _failure(500, 'InternalError', f'{head.path}: the review failed; see the log of the controller')


def _failure(code: int, reason: str, message: str) -> Answer:
    """A metav1.Status: API servers show its message to whoever asked them."""
    status = {
        'kind': 'Status',
        'apiVersion': 'v1',
        'status': 'Failure',
        'reason': reason,
        'message': message,
        'code': code,
    }
    return Answer(code, msgspec.json.encode(status))
