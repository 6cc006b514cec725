"""The API client: what a request gives as a value, repeated where that is safe, guarded where it writes."""

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

import msgspec
import tenacity

from jobset.kube import errors, requests

logger = logging.getLogger(__name__)

T = TypeVar('T')

_REPEATABLE: Final = frozenset({'GET', 'DELETE'})

Guard = Callable[[], None]
"""Called before each write; raises :class:`~jobset.kube.errors.NotLeading` to forbid it."""

OnRetry = Callable[[str, str], None]
"""Called before each repetition with the method and the reason."""


class Pieces(Protocol):
    """A body as it comes."""

    async def readany(self) -> bytes:
        """The bytes that have come, at least one; none at the end. Others run meanwhile, even if they are there."""


class Listener(Protocol):
    """Who is told the changes of a watch by a server in this process, in the order in which they happen."""

    def knows(self, namespace: str, name: str, version: int) -> bool:
        """Whether it has seen this state of an object already, and takes note of its version; else it is told it."""

    def change(self, state: bytes, *, is_deletion: bool) -> None:
        """An object as it is now, or as it was last."""

    def bookmark(self, version: int) -> None:
        """Everything up to this version has been told."""


@runtime_checkable
class Follows(Protocol):
    """Pieces of a watch of a server in this process, which can do without: no text to be taken apart again."""

    async def follow(self, listener: Listener) -> None:
        """Tells what is left of it to a listener, until the watch ends."""


class Carrier(Protocol):
    """What carries requests to a server: :class:`jobset.kube.transport.Transport`, or a server in this process."""

    async def send(self, request: requests.Request) -> bytes:
        """One attempt; raises the errors of :mod:`jobset.kube.errors`."""

    def stream(self, request: requests.Request, *, idle_timeout: float) -> AbstractAsyncContextManager[Pieces]:
        """A body that goes on; cuts raise :class:`~jobset.kube.errors.Unreachable` inside the block."""


@dataclass(frozen=True, kw_only=True)
class Retrying:
    """When a request is repeated here, before its caller hears of the failure."""

    attempts: int = 3
    """How often a request is sent at most.

    Few, because callers repeat whole passes with a back-off of their own, and the two multiply.
    """

    base: float = 0.5
    """Seconds before the second attempt, doubled for each further one, with a jitter of as much again."""

    patience: float = 10
    """Seconds that the server may ask us to wait (Retry-After) here; a longer wait is the caller's to plan."""


class Client:
    """Sends requests and gives their answers as values.

    Reads and deletions are repeated after any failure that may pass; other writes only when the server surely has not
    looked at them (429, connection refused). A write that was cut in the middle is
    :class:`~jobset.kube.errors.Unreachable` with ``sent`` set: the caller must look before it writes again.
    """

    def __init__(
        self,
        carrier: Carrier,
        *,
        settings: Retrying | None = None,
        guard: Guard | None = None,
        on_retry: OnRetry | None = None,
    ) -> None:
        self._carrier = carrier
        self._settings = settings or Retrying()
        self._guard = guard
        self._on_retry = on_retry
        self._decoders: dict[object, msgspec.json.Decoder[Any]] = {}

    def guarded(self, guard: Guard) -> 'Client':
        """The same client, with ``guard`` asked before each attempt to write."""
        return Client(self._carrier, settings=self._settings, guard=guard, on_retry=self._on_retry)

    async def request(self, request: requests.Request, into: type[T]) -> T:
        """The answer as a value of the type ``into``, of which msgspec reads the fields that it names.

        Raises the errors of :mod:`jobset.kube.errors`.
        """
        body = await self.send(request)
        try:
            return self._decoder(into).decode(body)
        except msgspec.MsgspecError as error:
            raise errors.Malformed(0, 'Malformed', f'cannot be read: {error}', where=str(request)) from error

    async def send(self, request: requests.Request) -> bytes:
        """The body of the answer, for those that do not need it or decode it on their own."""
        try:
            return await self._attempt(request)
        except errors.RetryLater as error:
            # Machinery for repetitions costs more than a request that succeeds: it is set up only now.
            if not self._may_repeat(request, error):
                raise
            return await self._repeat(request, error)

    def stream(self, request: requests.Request, *, idle_timeout: float) -> AbstractAsyncContextManager[Pieces]:
        """A body that goes on, see :meth:`jobset.kube.transport.Transport.stream`. Not repeated."""
        return self._carrier.stream(request, idle_timeout=idle_timeout)

    async def _attempt(self, request: requests.Request) -> bytes:
        if self._guard is not None and request.is_write:
            self._guard()
        return await self._carrier.send(request)

    def _may_repeat(self, request: requests.Request, error: BaseException) -> bool:
        match error:
            case errors.RetryLater(retry_after=float() as wait) if wait > self._settings.patience:
                return False
            case errors.TooManyRequests():
                return True
            case errors.Unreachable(sent=False):
                return True
            case errors.ServerError() | errors.Unreachable():
                return request.method in _REPEATABLE
            case _:
                return False

    async def _repeat(self, request: requests.Request, first: errors.RetryLater) -> bytes:
        failed: errors.RetryLater | None = first

        async def attempt() -> bytes:
            nonlocal failed
            if failed is not None:
                # The attempt that was made before all this counts as the first.
                error, failed = failed, None
                raise error
            return await self._attempt(request)

        def notice(state: tenacity.RetryCallState) -> None:
            error = _error(state)
            logger.debug('%s, attempt %d; trying again', error, state.attempt_number)
            if self._on_retry is not None:
                self._on_retry(request.method, error.reason)

        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(lambda error: self._may_repeat(request, error)),
            stop=tenacity.stop_after_attempt(self._settings.attempts),
            wait=self._wait,
            before_sleep=notice,
            sleep=asyncio.sleep,
            reraise=True,
        )
        return await retrying(attempt)

    def _wait(self, state: tenacity.RetryCallState) -> float:
        base = self._settings.base * 2.0 ** (state.attempt_number - 1)
        # Jitter also above what the server asks for: it asks all its clients for the same.
        return (_error(state).retry_after or base) + random.uniform(0, base)  # noqa: S311

    def _decoder(self, into: type[T]) -> msgspec.json.Decoder[T]:
        decoder = self._decoders.get(into)
        if decoder is None:
            decoder = self._decoders[into] = msgspec.json.Decoder(into)
        return decoder


def _error(state: tenacity.RetryCallState) -> errors.RetryLater:
    error = state.outcome.exception() if state.outcome is not None else None
    assert isinstance(error, errors.RetryLater)  # noqa: S101 - for the type checker; nothing else is repeated
    return error
