"""The SDK without ``async``: the same methods, each of which waits for its end.

::

    with sync.connect() as jobsets:
        jobsets.create(manifest)
        for rank, text in jobsets.logs('hello', follow=True):
            print(rank, text)

One background thread runs an event loop for each connection. Objects of this module may be used from any thread.
"""

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Concatenate, ParamSpec, TypeVar

from jobset.client import jobsets

P = ParamSpec('P')
R = TypeVar('R')


class Portal:
    """A thread with an event loop, in which coroutines are run for other threads."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name='jobset-client', daemon=True)
        self._thread.start()

    def call(self, coroutine: Coroutine[Any, Any, R]) -> R:
        """The result of a coroutine; an interruption here ends it there."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Ends the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _blocking(
    method: Callable[Concatenate[jobsets.Jobsets, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate['Jobsets', P], R]:
    """A method that waits for the one that does not."""

    def call(self: 'Jobsets', /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.portal.call(method(self.inner, *args, **kwargs))

    return _named(call, method)


def _iterating(
    method: Callable[Concatenate[jobsets.Jobsets, P], AsyncIterator[R]],
) -> Callable[Concatenate['Jobsets', P], Iterator[R]]:
    """A method that gives one thing after the other, waiting for each."""

    def call(self: 'Jobsets', /, *args: P.args, **kwargs: P.kwargs) -> Iterator[R]:
        items = method(self.inner, *args, **kwargs)
        try:
            while True:
                try:
                    yield self.portal.call(_next(items))
                except StopAsyncIteration:
                    return
        finally:
            if isinstance(items, AsyncGenerator):
                self.portal.call(_close(items))

    return _named(call, method)


T = TypeVar('T', bound=Callable[..., Any])


def _named(call: T, method: Callable[..., Any]) -> T:
    call.__name__, call.__doc__ = method.__name__, method.__doc__
    return call


async def _next(items: AsyncIterator[R]) -> R:
    return await anext(items)


async def _close(items: AsyncGenerator[Any, None]) -> None:
    await items.aclose()


class Jobsets:
    """As :class:`jobset.client.Jobsets`, whose methods these are. :func:`connect` makes one."""

    def __init__(self, inner: jobsets.Jobsets, portal: Portal) -> None:
        self.inner = inner
        self.portal = portal

    create = _blocking(jobsets.Jobsets.create)
    apply = _blocking(jobsets.Jobsets.apply)
    get = _blocking(jobsets.Jobsets.get)
    list = _blocking(jobsets.Jobsets.list)
    watch = _iterating(jobsets.Jobsets.watch)
    wait = _blocking(jobsets.Jobsets.wait)
    logs = _iterating(jobsets.Jobsets.logs)
    log_lines = _iterating(jobsets.Jobsets.log_lines)
    events = _blocking(jobsets.Jobsets.events)
    family = _blocking(jobsets.Jobsets.family)
    summary = _blocking(jobsets.Jobsets.summary)
    follow = _iterating(jobsets.Jobsets.follow)
    delete = _blocking(jobsets.Jobsets.delete)
    suspend = _blocking(jobsets.Jobsets.suspend)
    resume = _blocking(jobsets.Jobsets.resume)


@contextlib.contextmanager
def connect(
    kubeconfig: str | None = None,
    *,
    context: str | None = None,
    cluster: str | None = None,
    namespace: str | None = None,
) -> Iterator[Jobsets]:
    """Opens a connection for the length of the block, as :meth:`jobset.client.Jobsets.connect` does."""
    opening = jobsets.Jobsets.connect(kubeconfig, context=context, cluster=cluster, namespace=namespace)
    with contextlib.closing(Portal()) as portal:
        inner = portal.call(opening.__aenter__())
        try:
            yield Jobsets(inner, portal)
        finally:
            portal.call(opening.__aexit__(None, None, None))
