"""One attempt at a request: connections, credentials, time bounds, a bound on how many are in flight.

Retries and decoding are above, in :mod:`jobset.kube.client`. All clients of a process share one transport.
"""

import asyncio
import contextlib
import errno
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self, TypedDict, TypeVar, Unpack

import aiohttp
import yarl
from aiohttp.client import _RequestContextManager

from jobset.kube import auth, errors, requests

logger = logging.getLogger(__name__)

T = TypeVar('T')

OnAnswer = Callable[[str, str, str, float], None]
"""Called with the code (``<error>`` when there was no answer), the method, the host and the seconds it took."""

NO_ANSWER: Final = '<error>'

REFRESH_PAUSE: Final = 10
"""Seconds between attempts to renew credentials that could not be renewed."""


@dataclass(frozen=True, kw_only=True)
class Requesting:
    """How requests are sent."""

    in_flight: int = 64
    """Requests under way at once, and connections kept for them. Watches are not counted.

    The throughput of one event loop is flat between 32 and 64, and falls above.
    """

    timeout: float = 30
    """Seconds for one attempt, from the moment it gets a connection to the last byte of the answer.

    An API server gives up after 60 by default. Shorter than that, because a caller that tries again helps more than
    one that waits for an answer that is lost.
    """

    connect_timeout: float = 10
    """Seconds to make a connection, TLS included."""

    watch_buffer: int = 1 << 18
    """Bytes of a watch that are read ahead. A larger one costs memory for each watch, a smaller one time."""

    qps: float | None = None
    """Requests a second in the long run, watches not counted; None for as many as the server takes.

    Servers have priority and fairness, and answer 429 when they want less: a fixed rate is only for those that lack it.
    """

    burst: int | None = None
    """Requests that may be sent at once before ``qps`` holds them; as ``qps`` when None."""


class _Options(TypedDict, total=False):
    timeout: aiohttp.ClientTimeout
    read_bufsize: int


class TokenBucket:
    """Lets ``burst`` through at once and ``qps`` a second after that, in the order of asking."""

    def __init__(self, qps: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval = 1 / qps
        self._tolerance = self._interval * max(burst - 1, 0)
        self._clock = clock
        self._next = 0.0

    def reserve(self) -> float:
        """Takes a token, which may be one of the future; returns the seconds until it is there."""
        now = self._clock()
        at = max(self._next, now)
        self._next = at + self._interval
        return max(0.0, at - self._tolerance - now)


class Transport:
    """Connections to one API server. An async context manager; usable inside it only."""

    def __init__(
        self,
        credentials: auth.Credentials,
        *,
        user_agent: str,
        settings: Requesting | None = None,
        on_answer: OnAnswer | None = None,
    ) -> None:
        self._credentials = credentials
        self._settings = settings or Requesting()
        self._on_answer = on_answer
        self._user_agent = user_agent
        self._server = credentials.server.rstrip('/')
        self._host = yarl.URL(self._server).authority
        self._slots = asyncio.Semaphore(self._settings.in_flight)
        self._bucket = _bucket(self._settings)
        self._refreshing = asyncio.Lock()
        self._refreshed = 0
        self._refresh_after = 0.0
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        settings = self._settings
        self._session = aiohttp.ClientSession(
            # Requests are bounded by the semaphore and watches by their number: a limit here would let watches starve
            # requests. An idle connection is given up long before the server does it under our next request.
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=30, ttl_dns_cache=60),
            cookie_jar=aiohttp.DummyCookieJar(),
            # The server would spend its time on compression, and we ours on the reverse, within one data centre.
            headers={'User-Agent': self._user_agent, 'Accept': 'application/json', 'Accept-Encoding': 'identity'},
            timeout=aiohttp.ClientTimeout(total=settings.timeout, sock_connect=settings.connect_timeout),
            trust_env=False,
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def send(self, request: requests.Request) -> bytes:
        """One request and the body of its answer.

        A token that the server no longer takes is refreshed once, and the request repeated: a refused request has
        not been looked at. Raises the errors of :mod:`jobset.kube.errors`.
        """
        if self._bucket is not None:
            await asyncio.sleep(self._bucket.reserve())
        async with self._slots:
            return await self._with_fresh_credentials(request, self._answer)

    @contextlib.asynccontextmanager
    async def stream(self, request: requests.Request, *, idle_timeout: float) -> AsyncIterator['_Pieces']:
        """The body of an answer that goes on, in pieces as they come.

        Raises :class:`~jobset.kube.errors.Unreachable` inside the block when the stream is cut, or when nothing has
        come for ``idle_timeout`` seconds.
        """
        response = await self._with_fresh_credentials(request, lambda one: self._open(one, idle_timeout))
        try:
            yield _Pieces(response.content)
        except aiohttp.SocketTimeoutError as error:
            text = f'nothing has come for {idle_timeout} s'
            raise errors.Silent(text, where=str(request), sent=True) from error
        except (aiohttp.ClientError, OSError) as error:
            raise errors.Unreachable(_text(error), where=str(request), sent=True) from error
        finally:
            # Not returned to the pool: there is always more to come.
            response.close()

    async def _with_fresh_credentials(
        self,
        request: requests.Request,
        attempt: Callable[[requests.Request], Awaitable[T]],
    ) -> T:
        if self._credentials.due():
            # What we have may be good for a while yet, so a failure to renew it early is not one of the request.
            with contextlib.suppress(errors.Unreachable):
                await self._refresh(self._refreshed, request)
        used = self._refreshed
        try:
            return await attempt(request)
        except errors.Unauthorized:
            await self._refresh(used, request)
        return await attempt(request)

    async def _refresh(self, used: int, request: requests.Request) -> None:
        async with self._refreshing:
            # All requests under way are refused together; the first one of them refreshes for the others.
            if self._refreshed != used:
                return
            if time.monotonic() < self._refresh_after:
                raise errors.Unreachable('credentials: refused, and renewal has failed', where=str(request), sent=False)
            try:
                await self._credentials.refresh()
            except (auth.Misconfigured, OSError) as error:
                self._refresh_after = time.monotonic() + REFRESH_PAUSE
                logger.warning('credentials: cannot be renewed: %s', error)
                raise errors.Unreachable(f'credentials: {_text(error)}', where=str(request), sent=False) from error
            self._refreshed += 1

    async def _answer(self, request: requests.Request) -> bytes:
        started = time.perf_counter()
        code = NO_ANSWER
        try:
            async with self._call(request) as response:
                body = await response.read()
                code = str(response.status)
        except aiohttp.ClientConnectorError as error:
            raise errors.Unreachable(_text(error), where=str(request), sent=False) from error
        except (aiohttp.ClientError, OSError) as error:
            sent = not isinstance(error, aiohttp.ConnectionTimeoutError)
            raise errors.Unreachable(_text(error), where=str(request), sent=sent) from error
        finally:
            self._count(code, request, started)
        if response.status >= 300:
            raise _refusal(request, response, body)
        return body

    async def _open(self, request: requests.Request, idle_timeout: float) -> aiohttp.ClientResponse:
        started = time.perf_counter()
        code = NO_ANSWER
        settings = self._settings
        timeout = aiohttp.ClientTimeout(sock_connect=settings.connect_timeout, sock_read=idle_timeout)
        try:
            async with asyncio.timeout(settings.timeout):
                response = await self._call(request, timeout=timeout, read_bufsize=settings.watch_buffer)
                code = str(response.status)
                if response.status < 300:
                    return response
                async with response:
                    body = await response.read()
        except (aiohttp.ClientError, OSError) as error:
            raise errors.Unreachable(_text(error), where=str(request), sent=True) from error
        finally:
            self._count(code, request, started)
        raise _refusal(request, response, body)

    def _call(
        self,
        request: requests.Request,
        **options: Unpack[_Options],
    ) -> _RequestContextManager:
        if self._session is None:
            raise RuntimeError('transport: not open; use it inside "async with"')
        credentials = self._credentials
        headers = credentials.headers()
        if request.body is not None:
            headers = {**headers, 'Content-Type': request.content_type}
        if request.accept:
            headers = {**headers, 'Accept': request.accept}
        return self._session.request(
            request.method,
            yarl.URL(self._server + request.target, encoded=True),
            data=request.body,
            headers=headers,
            ssl=credentials.ssl or True,
            server_hostname=credentials.server_hostname,
            proxy=credentials.proxy,
            # A redirect would carry the token elsewhere, and API servers send none.
            allow_redirects=False,
            **options,
        )

    def _count(self, code: str, request: requests.Request, started: float) -> None:
        if self._on_answer is not None:
            self._on_answer(code, request.method, self._host, time.perf_counter() - started)


class _Pieces:
    """See :class:`jobset.kube.client.Pieces`."""

    def __init__(self, content: aiohttp.StreamReader) -> None:
        self._content = content

    async def readany(self) -> bytes:
        # While there is more to read, reading does not wait: let others run once for each piece.
        await asyncio.sleep(0)
        return await self._content.readany()


def _bucket(settings: Requesting) -> TokenBucket | None:
    if not settings.qps:
        return None
    return TokenBucket(settings.qps, settings.burst or max(1, round(settings.qps)))


def _refusal(request: requests.Request, response: aiohttp.ClientResponse, body: bytes) -> errors.ApiError:
    retry_after = response.headers.get('Retry-After')
    return errors.from_answer(response.status, body, where=str(request), retry_after=retry_after)


def _text(error: BaseException) -> str:
    if isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, ConnectionRefusedError):
        # What aiohttp says has the representation of objects in it.
        return f'cannot connect to {error.host}:{error.port}: {os.strerror(errno.ECONNREFUSED)}'
    # Some of these errors have no text of their own.
    return str(error) or type(error).__name__
