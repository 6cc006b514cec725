"""Watches by somebody in this process: each change is handed over as it happens, with no text in between."""

import asyncio
from collections.abc import Callable

from jobset.kube import client
from jobset.local.server import feeds
from jobset.local.store.records import Record, Type


class Followed(feeds.Feed):
    """A feed that can be followed, where it tells whole objects."""

    _listener: client.Listener
    _body: Callable[[Record], bytes]
    _turns: 'Turns'
    _is_telling = False
    _fault: Exception | None = None

    async def follow(self, listener: client.Listener, body: Callable[[Record], bytes]) -> None:
        """Tells each change from now on, as ``body`` shows it, until the watch ends.

        To be called once what was there has been read: see :class:`jobset.kube.client.Follows`.
        """
        self._listener, self._body = listener, body
        self._notice = self._tell_soon
        try:
            self.tell_now()
            while not self._ended:
                await self._wait()
                if self._is_bookmark_due():
                    listener.bookmark(self._told)
        finally:
            self.end()
        if self._fault is not None:
            raise self._fault

    def tell_now(self) -> None:
        """Tells the listener what waits, up to the size of a piece; the rest after others had their turn."""
        listener, body, waiting, size = self._listener, self._body, self._waiting, 0
        self._is_telling = False
        while waiting and size < self._settings.piece_bytes:
            event = waiting.popleft()
            size += event.record.size
            self._told = event.record.revision
            try:
                found = self._change(event)
                if found is None or listener.knows(found[1].namespace, found[1].name, found[1].revision):
                    continue
                listener.change(body(found[1]), is_deletion=found[0] is Type.DELETED)
            except Exception as error:
                # It is for the one who has asked for the changes, not for the event loop.
                self._fault = error
                self.end()
        self._bytes = max(0, self._bytes - size) if waiting else 0
        if waiting:
            self._tell_soon()

    def _tell_soon(self) -> None:
        if not self._is_telling:
            self._is_telling = True
            self._turns.tell_soon(self)


class Turns:
    """Has feeds tell what they have soon, all that are due in one turn of the event loop."""

    def __init__(self) -> None:
        self._due: list[Followed] = []

    def tell_soon(self, feed: Followed) -> None:
        """Has that feed tell, once what runs at the moment waits for something."""
        if not self._due:
            asyncio.get_running_loop().call_soon(self._tell)
        self._due.append(feed)

    def _tell(self) -> None:
        due, self._due = self._due, []
        for feed in due:
            feed.tell_now()
