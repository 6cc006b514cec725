"""What a watch has yet to tell: the changes that wait for its reader, in bounds, and until when it lasts."""

import asyncio
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from jobset.local.resources import Kind
from jobset.local.server import matching
from jobset.local.server.planes import Plane
from jobset.local.store import records
from jobset.local.store.records import Event, Record, Type


@dataclass(frozen=True, kw_only=True)
class Watching:
    """How watches are served."""

    bookmark_seconds: float = 60
    """Between two bookmarks of a watch that asks for them, as of the real server."""

    timeout_seconds: float = 1800
    """How long a watch lasts at least that names no time; up to twice as long, by chance."""

    max_waiting: int = 10_000
    """Changes that a reader may be behind before it is cut off; it can take the watch up again where it was."""

    max_bytes: int = 64 << 20
    """Bytes of the states in them."""

    piece_bytes: int = 1 << 17
    """Bytes after which a piece of the stream is full. Larger ones hold up others on the event loop."""


class Feed:
    """The changes of one kind for one reader. Whoever derives from it tells them."""

    def __init__(
        self,
        plane: Plane,
        kind: Kind,
        matches: matching.Matches | None,
        *,
        settings: Watching,
        bookmarks: bool,
        seconds: int | None,
        on_close: Callable[['Feed'], None],
    ) -> None:
        self._store = plane.store
        self._kind = kind
        self._matches = matches
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Event] = deque()
        self._bytes = 0
        self._told = 0
        self._ended = False
        self._waiter: asyncio.Future[None] | None = None
        self._notice: Callable[[], None] = self._wake
        """Called when a change has come to wait."""

        self._timer: asyncio.TimerHandle | None = None
        self._unsubscribe: Callable[[], None] = lambda: None
        self._on_close = on_close
        now = self._loop.time()
        lasting = seconds or settings.timeout_seconds * random.uniform(1, 2)  # noqa: S311
        self._until = now + lasting
        self._bookmark_every = settings.bookmark_seconds if bookmarks else None
        # The first one comes at any time, so that those of watches begun together do not come together.
        self._bookmark_at = now + settings.bookmark_seconds * random.uniform(0.5, 1)  # noqa: S311

    def end(self) -> None:
        """Ends it after what has been said already."""
        self._ended = True
        self._waiting.clear()
        self._unsubscribe()
        self._unsubscribe = lambda: None
        self._on_close(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._wake()

    def _subscribe(self) -> None:
        """From now on changes come to wait."""
        self._unsubscribe = self._store.subscribe(self._kind.key, self._on_event)

    def _on_event(self, event: Event) -> None:
        self._waiting.append(event)
        self._bytes += event.record.size
        settings = self._settings
        if len(self._waiting) > settings.max_waiting or self._bytes > settings.max_bytes:
            self.end()
        else:
            self._notice()

    def _is_bookmark_due(self) -> bool:
        """Whether a bookmark is to be told now, of the place up to which all has been told; ends what is over."""
        now = self._loop.time()
        if self._ended:
            return False
        is_over = now >= self._until
        is_due = self._bookmark_every is not None and (is_over or now >= self._bookmark_at)
        if self._bookmark_every is not None and is_due:
            self._bookmark_at = now + self._bookmark_every
            # Everything up to now has been told: changes of other kinds are none of this watch.
            self._told = self._store.revision
        if is_over:
            self.end()
        return is_due

    def _change(self, event: Event) -> tuple[Type, Record] | None:
        """What a change is to those who see only what is selected; None: nothing."""
        matches, record, previous = self._matches, event.record, event.previous
        if matches is None:
            return event.type, record
        before = previous is not None and matches(previous)
        after = event.type is not Type.DELETED and matches(record)
        if not before and not after:
            return None
        if after:
            return (Type.MODIFIED if before else Type.ADDED), record
        if event.type is Type.DELETED or previous is None:
            return Type.DELETED, record
        # It is told as it was when it was last selected, with the version of the change.
        return Type.DELETED, _renewed(previous, record.revision)

    async def _wait(self) -> None:
        at = self._until if self._bookmark_every is None else min(self._until, self._bookmark_at)
        self._waiter = self._loop.create_future()
        # One timer does for many events: it is only replaced when it has fired.
        if self._timer is None:
            self._timer = self._loop.call_at(at, self._on_timer)
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _on_timer(self) -> None:
        self._timer = None
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _renewed(record: Record, revision: int) -> Record:
    obj = record.decode()
    obj['metadata']['resourceVersion'] = str(revision)
    return records.made(obj, revision)
