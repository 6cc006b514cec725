"""Calls of webhooks: over HTTPS, or in this process for those that are registered here."""

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import urlsplit

import msgspec

from jobset.local import objects
from jobset.local.admission import hooks, review, wire

if TYPE_CHECKING:
    import aiohttp

Handler = Callable[[review.Review, str], Awaitable[review.Answer]]
"""A webhook in this process: a review and its uid in, an answer out. It must not change the objects of the review."""

Registry = Mapping[tuple[str, str, str], Handler]
"""Webhooks in this process by namespace and name of their service, and path."""

Resolve = Callable[[hooks.Service], Awaitable[tuple[str, int] | None]]
"""Where a service of the cluster is reached: host and port of an endpoint that is ready, None without any."""

LARGEST_ANSWER: Final = 8 << 20
"""Bytes that an answer may have."""


class CallError(Exception):
    """No answer that counts; what becomes of the request is said by the failure policy."""


class Caller:
    """Asks webhooks. An async context manager; what is registered in this process can be asked outside of it, too."""

    def __init__(self, registry: Registry | None = None, *, resolve: Resolve | None = None) -> None:
        self._registry = dict(registry or {})
        self._resolve = resolve
        self._contexts: dict[bytes, ssl.SSLContext] = {}
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
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

    async def call(self, hook: hooks.Hook, asked: review.Review) -> review.Answer:
        """The answer of a webhook, in its time. Raises :class:`CallError`."""
        uid = objects.new_uid()
        try:
            async with asyncio.timeout(hook.timeout_seconds):
                return await self._ask(hook, asked, uid)
        except wire.BadAnswerError as error:
            raise CallError(str(error)) from error
        except TimeoutError as error:
            raise CallError(f'failed to call webhook: {_post(hook)}: context deadline exceeded') from error

    async def _ask(self, hook: hooks.Hook, asked: review.Review, uid: str) -> review.Answer:
        if isinstance(hook.target, hooks.Service):
            handler = self._registry.get((hook.target.namespace, hook.target.name, hook.target.path))
            if handler is not None:
                return await _handle(handler, asked, uid)
        version = wire.version_for(hook)
        body = await self._post(hook, wire.question(asked, uid, version))
        return wire.answer(body, uid, version=version, is_mutating=hook.is_mutating)

    async def _post(self, hook: hooks.Hook, body: bytes) -> bytes:
        # Most clusters have no webhooks but those in this process, and it takes a fifth of a second.
        import aiohttp  # noqa: PLC0415

        url, name = await self._place(hook)
        if self._session is None:
            self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), trust_env=False)
        try:
            async with self._session.post(
                url,
                params={'timeout': f'{hook.timeout_seconds:g}s'},
                data=body,
                headers={'Content-Type': 'application/json', 'Accept': 'application/json'},
                ssl=self._context(hook.ca),
                server_hostname=name,
                allow_redirects=False,
            ) as response:
                answer = await _read(response)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # A ValueError is a certificate bundle or an address that is none.
            raise CallError(f'failed to call webhook: {_post(hook)}: {error}') from error
        if response.status >= 300:
            raise CallError(f'failed to call webhook: {_failure(response.status, answer)}')
        return answer

    async def _place(self, hook: hooks.Hook) -> tuple[str, str | None]:
        """The URL, and the name in the certificate where that is another one than that of the URL."""
        target = hook.target
        if isinstance(target, str):
            if urlsplit(target).scheme != 'https':
                raise CallError(f'failed to call webhook: url: "{target}" is not https')
            return target, None
        place = await self._resolve(target) if self._resolve is not None else None
        if place is None:
            raise CallError(f'failed to call webhook: {_post(hook)}: service "{target.name}" not found')
        host, port = place
        return f'https://{host}:{port}{target.path}', target.host

    def _context(self, ca: bytes) -> ssl.SSLContext:
        context = self._contexts.get(ca)
        if context is None:
            context = ssl.create_default_context(cadata=ca.decode() if ca else None)
            self._contexts[ca] = context
        return context


async def _handle(handler: Handler, asked: review.Review, uid: str) -> review.Answer:
    try:
        return await handler(asked, uid)
    except Exception as error:
        # A fault of a webhook is none of the server, in this process as in another one.
        raise CallError(f'failed to call webhook: {error}') from error


async def _read(response: 'aiohttp.ClientResponse') -> bytes:
    pieces = []
    size = 0
    async for piece in response.content.iter_any():
        size += len(piece)
        if size > LARGEST_ANSWER:
            raise CallError(f'failed to call webhook: the answer has more than {LARGEST_ANSWER} bytes')
        pieces.append(piece)
    return b''.join(pieces)


class _Status(msgspec.Struct):
    message: str = ''


def _failure(code: int, body: bytes) -> str:
    with contextlib.suppress(msgspec.MsgspecError):
        status = msgspec.json.decode(body, type=_Status)
        if status.message:
            return status.message
    match code:
        case 404:
            return 'the server could not find the requested resource'
        case _ if code >= 500:
            text = body[:200].decode(errors='replace').strip()
            return f'an error on the server ("{text}") has prevented the request from succeeding'
        case _:
            return f'the server responded with the status code {code} but did not return more information'


def _post(hook: hooks.Hook) -> str:
    joint = '&' if '?' in hook.url else '?'
    return f'Post "{hook.url}{joint}timeout={hook.timeout_seconds:g}s"'
