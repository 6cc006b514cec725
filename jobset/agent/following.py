"""What is to be seen of some objects at the API server, for as long as it is wanted, whatever happens in between."""

from __future__ import annotations

import os
import time

from jobset.agent import api, telling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

WATCH_SECONDS = 180
"""After which a watch is made anew, give or take a quarter; the token is read again then, too."""

SHORT_SECONDS = 5
"""A watch that ends sooner than this, without having told anything, counts as refused."""

PAUSE_SECONDS = 0.25
"""Before the first repetition of something that failed; doubled for each further one."""

LONGEST_PAUSE_SECONDS = 15


FAILURES = (api.Refused, OSError, ValueError)
"""What a server that is away, overloaded, or not what it should be, makes of a request."""


class Pauses:
    """Between repetitions of what failed, so that a thousand agents do not ask at once, and none asks all the time."""

    def __init__(self) -> None:
        self._failures = 0

    def take(self, error: Exception | None = None) -> None:
        longest = min(PAUSE_SECONDS * 2 ** min(self._failures, 10), LONGEST_PAUSE_SECONDS)
        seconds = float(getattr(error, 'after', 0)) + longest * (0.5 + chance() / 2)
        self._failures += 1
        if error is not None:
            telling.tell(f'{error or type(error).__name__}; trying again in {seconds:.1f} s')
        time.sleep(seconds)

    def reset(self) -> None:
        self._failures = 0


def chance() -> float:
    """From 0 to 1."""
    return int.from_bytes(os.urandom(2), 'big') / 65536


def insist(act: Callable[[], Any]) -> Any:
    """What ``act`` returns, once it does not fail."""
    pauses = Pauses()
    while True:
        try:
            return act()
        except FAILURES as error:
            pauses.take(error)


class Follower:
    """Lists and watches objects, for as long as ``told`` says nothing else.

    ``told`` gets them after each change, by UID and as ``kept`` makes them; it returns True when it has seen enough.
    What it asks of ``server`` may fail: then it is told again, after a pause.
    """

    def __init__(
        self,
        server: api.Api,
        path: str,
        *,
        kept: Callable[[Any], Any] = lambda one: one,
        told: Callable[[dict[str, Any]], bool],
        metadata_only: bool = False,
    ) -> None:
        self._server, self._path, self._metadata_only = server, path, metadata_only
        self._kept, self._told = kept, told
        self._objects: dict[str, Any] = {}
        self._pauses = Pauses()

    def run(self) -> None:
        version = ''
        while True:
            try:
                if version:
                    version, enough = self._watch(version)
                else:
                    version, enough = self._list()
                if enough:
                    return
            except FAILURES as error:
                version = ''
                self._pauses.take(error)

    def _list(self) -> tuple[str, bool]:
        # Without a version: what a cache still holds may be of the round before, and would be joined in the middle.
        found = self._server.call('GET', self._path, headers=self._headers('List'))
        self._objects = {one['metadata']['uid']: self._kept(one) for one in found.get('items') or ()}
        return found['metadata']['resourceVersion'], self._told(self._objects)

    def _watch(self, version: str) -> tuple[str, bool]:
        began, seen = time.monotonic(), 0
        path = f'{self._path}&watch=1&allowWatchBookmarks=true&resourceVersion={version}'
        for event in self._server.watch(path, self._headers(), int(WATCH_SECONDS * (0.75 + chance() / 2))):
            kind, one = event['type'], event['object']
            if kind == 'ERROR':
                # Most often 410: the version is too old to go on from.
                raise api.Refused(f'the watch has ended: {one.get("message", one)}')
            seen += 1
            version = one['metadata']['resourceVersion']
            if kind != 'BOOKMARK' and self._takes(kind, one) and self._told(self._objects):
                return version, True
            self._pauses.reset()
        if not seen and time.monotonic() - began < SHORT_SECONDS:
            self._pauses.take()
        else:
            self._pauses.reset()
        # What else it depends on may have changed.
        return version, self._told(self._objects)

    def _takes(self, kind: str, one: Any) -> bool:
        """Whether the event changes anything."""
        uid, before = one['metadata']['uid'], len(self._objects)
        if kind == 'DELETED':
            self._objects.pop(uid, None)
            return len(self._objects) < before
        old, self._objects[uid] = self._objects.get(uid), self._kept(one)
        return len(self._objects) > before or old != self._objects[uid]

    def _headers(self, suffix: str = '') -> dict[str, str]:
        shape = f'application/json;as=PartialObjectMetadata{suffix};g=meta.k8s.io;v=v1,' if self._metadata_only else ''
        return {'Accept': f'{shape}application/json'}
