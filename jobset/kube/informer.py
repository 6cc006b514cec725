"""A cache of one resource that follows the server: what is there, and a call for each change.

The server is listed once, as a stream where it serves that and else in pages, and watched from there. A cut watch is
taken up where it ended; where the server no longer knows that place (410), or says that something went wrong, all is
listed anew, and what has vanished meanwhile is told as deleted. What a list, a watch and the answers to our own writes
mean together is decided in :mod:`jobset.kube.store`.
"""

import asyncio
import logging
import random
from collections.abc import Callable, ValuesView
from dataclasses import dataclass
from typing import Final, Generic, NoReturn, TypeVar

from jobset.api import meta
from jobset.kube import backoff, client, errors, frames, listing, requests, store

logger = logging.getLogger(__name__)

T = TypeVar('T', bound=meta.Object)

_CHANGES: Final = (frames.Modified, frames.Added)

OnTrouble = Callable[[requests.Resource, errors.ApiError], None]
"""Called each time that a list or a watch fails, for a metric."""


@dataclass(frozen=True, kw_only=True)
class Watching:
    """How a resource is followed."""

    idle_timeout: float = 75
    """Seconds of silence, bookmarks included, after which a watch is taken for dead and made anew.

    API servers send a bookmark about once a minute. Taking up a living watch anew costs one request.
    """

    watch_seconds: float = 300
    """Seconds that the server is asked to hold a watch, at least; up to twice as many, by chance.

    Watches that end now and then spread over the API servers again after one of them was restarted.
    """

    list_timeout: float = 300
    """Seconds that a streamed list may take. Paged ones are bounded by the time of each request."""

    page_size: int = 500
    """Objects in one page of a list. Larger ones would hold the event loop for longer than 3 ms while decoding."""

    stream_lists: bool = True
    """Whether to try streamed lists, which cost the server less memory. A refusal is remembered."""

    backoff_base: float = 0.1
    """Seconds before a failed list or a cut watch is tried again, doubled for each further one."""

    backoff_cap: float = 30
    """Seconds to which that grows while nothing at all comes through."""

    progress_cap: float = 1
    """Seconds to which it grows while each watch brings something before it is cut.

    So a slow reader, which the server cuts off again and again, still gets on.
    """

    healthy_seconds: float = 5
    """Seconds after which a watch has been so good that its end is no failure."""


class Informer(Generic[T]):
    """Follows the objects of a resource, decoded as ``model``; those for which ``keep`` is false are dropped at once.

    With ``metadata_only`` the server sends nothing else of them, which is much less for kinds with a large status.

    Handlers are subscribed before :meth:`run`. They are called in the order of changes, and must be quick: nothing
    else happens meanwhile. A second object under the name of a first one is told as a deletion and an addition.
    """

    def __init__(
        self,
        source: client.Client,
        resource: requests.Resource,
        model: type[T],
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        keep: Callable[[T], bool] | None = None,
        metadata_only: bool = False,
        settings: Watching | None = None,
        on_trouble: OnTrouble | None = None,
    ) -> None:
        self.resource = resource
        self.trouble: errors.ApiError | None = None
        """Why nothing comes from the server at the moment; None while all is well."""

        self._source = source
        self._model = model
        self._namespace = namespace
        self._label_selector = label_selector
        self._field_selector = field_selector
        self._settings = settings or Watching()
        self._on_trouble = on_trouble
        self._handlers: list[store.OnChange[T]] = []
        self._store: store.Store[T] = store.Store(keep=keep, on_change=self._tell)
        self._accept = requests.METADATA if metadata_only else ''
        self._reader = listing.Reader(
            source,
            model,
            page_size=self._settings.page_size,
            accept=requests.METADATA_LIST if metadata_only else '',
        )
        self._streams_lists = self._settings.stream_lists
        self._is_current = False
        self._silences = 0
        self._synced = asyncio.Event()
        self._last_seen: float | None = None
        self._time: Callable[[], float] = _no_time

    def subscribe(self, handler: store.OnChange[T]) -> None:
        """Has ``handler(old, new)`` called for each change from now on."""
        self._handlers.append(handler)

    def get(self, namespace: str, name: str) -> T | None:
        """The object of that name as far as we know."""
        return self._store.get(namespace, name)

    def values(self) -> ValuesView[T]:
        """All objects; must not be kept across an await."""
        return self._store.values()

    def __len__(self) -> int:
        return len(self._store)

    def observe(self, obj: T) -> bool:
        """Takes the answer to a write of our own, so that the next look sees it; returns whether it was news.

        The object must match the selectors. Handlers are called before this returns.
        """
        return self._store.observe(obj)

    @property
    def is_synced(self) -> bool:
        """Whether the first list is complete."""
        return self._synced.is_set()

    async def synced(self) -> None:
        """Waits for the first list; for as long as the server takes, see ``trouble``."""
        await self._synced.wait()

    def age(self) -> float:
        """Seconds since the server last gave a sign of life, infinite before the first one."""
        if self._last_seen is None:
            return float('inf')
        return asyncio.get_running_loop().time() - self._last_seen

    async def run(self) -> NoReturn:
        """Follows the server until cancelled. Every failure is retried, and shown in ``trouble``."""
        loop = asyncio.get_running_loop()
        self._time = loop.time
        settings = self._settings
        pause = backoff.Backoff(base=settings.backoff_base, cap=settings.backoff_cap)
        while True:
            started, before = loop.time(), self._store.seen
            wait = 0.0
            try:
                if not self._is_current and not self._streams_lists:
                    await self._list()
                await self._watch()
            except errors.ApiError as error:
                wait = error.retry_after or 0.0
                self._note(error)
            alive = self._last_seen is not None and self._last_seen > started
            if alive and loop.time() - started >= settings.healthy_seconds:
                pause.reset()
            progressed = self._store.seen > before
            await asyncio.sleep(pause.next(at_least=wait, cap=settings.progress_cap if progressed else None))

    async def _list(self) -> None:
        found = await self._reader.read(
            self.resource,
            self._namespace,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
        )
        self._sign_of_life()
        self._replace(found)

    async def _watch(self) -> None:
        """One watch, from its request to its end; with the list before it where that is streamed."""
        settings = self._settings
        request = requests.watch(
            self.resource,
            self._namespace,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            since=str(self._store.seen) if self._is_current else None,
            timeout_seconds=round(settings.watch_seconds * random.uniform(1, 2)),  # noqa: S311
            accept=self._accept,
        )
        async with self._source.stream(request, idle_timeout=settings.idle_timeout) as content:
            decoder = frames.Decoder(self._model)
            if not self._is_current:
                async with asyncio.timeout(settings.list_timeout):
                    await self._receive_list(content, decoder)
            if isinstance(content, client.Follows):
                await content.follow(_Listener(self._store, decoder, self._apply, self._sign_of_life))
                return
            while piece := await content.readany():
                self._sign_of_life()
                for event in decoder.feed(piece):
                    self._apply(event)

    async def _receive_list(self, content: client.Pieces, decoder: frames.Decoder[T]) -> None:
        """Takes a streamed list. Nothing of it counts before its end, as with one in pages."""
        found: listing.Listing[T] = listing.Listing()
        while piece := await content.readany():
            self._sign_of_life()
            events = decoder.feed(piece)
            for place, event in enumerate(events):
                match event:
                    case frames.Bookmark() if event.ends_list:
                        found.version = event.object.metadata.resource_version
                        self._replace(found)
                        for later in events[place + 1 :]:
                            self._apply(later)
                        return
                    case frames.Failed(status):
                        raise errors.from_status(status, where=self._where)
                    case frames.Added() | frames.Modified() | frames.Deleted() | frames.Unread():
                        found.take(event)
        raise errors.Unreachable('cut before the streamed list was complete', where=self._where, sent=True)

    def _apply(self, event: frames.Event[T]) -> None:
        if isinstance(event, _CHANGES):
            # Nearly all are: looked for first, and in the quickest way.
            self._store.apply(event.object)
            return
        match event:
            case frames.Deleted(obj):
                self._store.remove(obj.metadata)
            case frames.Bookmark(obj):
                if obj.metadata.version < self._store.seen:
                    raise errors.Gone(410, 'Expired', 'the server has gone back in time', where=self._where)
                self._store.bookmark(obj.metadata.version)
            case frames.Unread(metadata, is_deleted, problem):
                if is_deleted:
                    self._store.remove(metadata)
                else:
                    self._store.bookmark(metadata.version)
                    self._report(metadata.ref, problem)
            case frames.Failed(status):
                # Whatever it is, the stream has lost something: only a list is sure again.
                self._is_current = False
                raise errors.from_status(status, where=self._where)

    def _replace(self, found: listing.Listing[T]) -> None:
        try:
            version = int(found.version)
        except ValueError:
            raise errors.Malformed(
                0, 'Malformed', f'the list has the resource version {found.version!r}', where=self._where
            ) from None
        for ref, problem in found.unread.items():
            self._report(ref, problem)
        self._store.replace(found.objects, version, unread=found.unread.keys())
        self._is_current = True
        self._synced.set()

    def _report(self, ref: meta.Ref, problem: str) -> None:
        logger.error(
            '%s %s/%s: cannot be read, its last known state is kept: %s',
            self.resource,
            ref.namespace,
            ref.name,
            problem,
        )

    def _sign_of_life(self) -> None:
        self._last_seen = self._time()
        self._silences = 0
        self.trouble = None

    def _note(self, error: errors.ApiError) -> None:
        """Decides what a failure means for the next round."""
        streaming = not self._is_current and self._streams_lists
        match error:
            case errors.Gone() | errors.Malformed():
                self._is_current = False
            case errors.Invalid() | errors.Forbidden() | errors.Silent() if streaming:
                # Old servers refuse, or do not know the parameter and never end the list; roles may allow "list" alone.
                self._streams_lists = False
            case errors.Silent():
                # Servers that have lost data (restored from a backup) say nothing to those who ask for the future.
                self._silences += 1
                self._is_current = self._silences < 2
        if str(error) != str(self.trouble):
            logger.warning('%s: %s; trying again', self.resource, error)
        self.trouble = error
        if self._on_trouble is not None:
            self._on_trouble(self.resource, error)

    def _tell(self, old: T | None, new: T | None) -> None:
        for handler in self._handlers:
            try:
                handler(old, new)
            except Exception:
                # One handler's fault must neither cost the others their news nor end the watch.
                logger.exception('%s: a handler has failed', self.resource)

    @property
    def _where(self) -> str:
        return f'GET {self.resource.collection(self._namespace)}'


def _no_time() -> float:
    raise AssertionError('nothing comes before the informer runs')


class _Listener(Generic[T]):
    """Takes the changes from a server in this process: see :class:`jobset.kube.client.Listener`."""

    def __init__(
        self,
        store_: store.Store[T],
        decoder: frames.Decoder[T],
        apply: Callable[[frames.Event[T]], None],
        sign_of_life: Callable[[], None],
    ) -> None:
        self._store = store_
        self._decoder = decoder
        self._apply = apply
        self._sign_of_life = sign_of_life

    def knows(self, namespace: str, name: str, version: int) -> bool:
        """Whether the answer to a write of our own has told it before."""
        return self._store.knows(namespace, name, version)

    def change(self, state: bytes, *, is_deletion: bool) -> None:
        """Takes a change."""
        self._sign_of_life()
        self._apply(self._decoder.change(state, is_deletion=is_deletion))

    def bookmark(self, version: int) -> None:
        """Takes the word that there was nothing else."""
        self._sign_of_life()
        self._store.bookmark(version)
