"""Watches: what is there, if wanted, then each change as it happens, until the client has had enough of it.

Source: Kubernetes API concepts, "Efficient detection of changes", "Watch bookmarks" and "Streaming lists".
"""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from jobset.kube import client
from jobset.local.problems import Cause, Problem
from jobset.local.resources import Kind
from jobset.local.server import answers, feeds, following, matching, negotiating, queries, refusals, selectors, telling
from jobset.local.server.planes import Plane
from jobset.local.server.registry import Target
from jobset.local.store import storage
from jobset.local.store.records import Event, Record, Type

_INITIAL_END: Final = 'k8s.io/initial-events-end'


class Watcher:
    """Makes watches of any kind."""

    def __init__(self, plane: Plane, settings: feeds.Watching) -> None:
        self._plane = plane
        self._settings = settings
        self._open: set[feeds.Feed] = set()
        self._turns = following.Turns()

    def watch(self, target: Target, call: answers.Call, params: queries.Params) -> answers.Stream:
        """Answers a GET of a collection with ``watch``."""
        plane, kind = self._plane, target.kind
        wanted = negotiating.wanted(call.accept)
        label_selector, field_selector = params.text('labelSelector'), params.text('fieldSelector')
        if target.name:
            field_selector = f'metadata.name={target.name}'
        selector = selectors.parse(kind, label_selector, field_selector)
        start = self._start(kind, params)
        watch = Watch(
            plane,
            kind,
            matching.matcher(selector, target.namespace, plane.opener(kind)),
            telling.encoder(plane, kind, wanted.form, params),
            settings=self._settings,
            bookmarks=params.flag('allowWatchBookmarks'),
            seconds=params.number('timeoutSeconds'),
            on_close=self._open.discard,
            turns=self._turns,
        )
        self._open.add(watch)
        watch.start(start, target.namespace)
        return answers.Stream(watch)

    def close(self) -> None:
        """Ends all watches, as a server does that stops."""
        for watch in list(self._open):
            watch.end()

    def _start(self, kind: Kind, params: queries.Params) -> '_Start':
        text, match = params.text('resourceVersion'), params.text('resourceVersionMatch')
        initial = params.flag('sendInitialEvents') if 'sendInitialEvents' in params else None
        _demand_match(match, initial)
        if initial is False and not text:
            text = str(self._plane.store.revision)
        try:
            version = queries.version(text) if text else 0
        except ValueError as error:
            raise refusals.internal(f'resourceVersion: Invalid value: "{text}": {error}') from None
        current = self._plane.store.revision
        if initial or version == 0:
            if version > current:
                raise refusals.from_future(version, current)
            # The oldest way to ask for it, by the version 0, is answered like the newest one.
            return _Start(initial=True, marks_end=initial is True or text == '0')
        return _Start(since=version)


@dataclass(frozen=True, kw_only=True)
class _Start:
    since: int = 0
    initial: bool = False
    """Whether what is there is told first."""

    marks_end: bool = False
    """Whether a bookmark says when all that has been told."""


class Watch(following.Followed):
    """One watch: an iterator of pieces, closed by whoever reads it."""

    def __init__(
        self,
        plane: Plane,
        kind: Kind,
        matches: matching.Matches | None,
        encode: telling.Encoder,
        *,
        settings: feeds.Watching,
        bookmarks: bool,
        seconds: int | None,
        on_close: Callable[[feeds.Feed], None],
        turns: following.Turns,
    ) -> None:
        super().__init__(
            plane, kind, matches, settings=settings, bookmarks=bookmarks, seconds=seconds, on_close=on_close
        )
        self._encode = encode
        self._turns = turns
        self._initial: Iterator[Record] = iter(())
        self._ready: list[bytes] = []
        self._has_begun = False
        """Whether what was there has been told, so that only changes are left to tell."""

    def start(self, start: _Start, namespace: str) -> None:
        """Takes what is to be told first, and follows the store from there, without a gap."""
        store = self._store
        revision = store.revision
        if start.initial:
            # A copy of the list, not of the objects: it is told while changes come.
            self._initial = iter(list(store.walk(self._kind.key, namespace)))
            self._told = revision
        elif start.since > revision:
            text = f'too large resource version: {start.since} ({revision})'
            self._fail(Problem.expired(text))
        else:
            self._told = start.since
            try:
                missed = store.since(self._kind.key, start.since)
            except storage.ExpiredError:
                oldest = store.oldest(self._kind.key)
                self._fail(Problem.expired(f'too old resource version: {start.since} ({oldest})'))
            else:
                self._waiting.extend(missed)
        self._marks_end = start.marks_end and self._bookmark_every is not None
        if not self._ended:
            self._subscribe()

    def __aiter__(self) -> 'Watch':
        return self

    async def __anext__(self) -> bytes:
        if self._is_quiet:
            await self._wait()
        else:
            # A reader that never has to wait would stop all else.
            await asyncio.sleep(0)
        while True:
            piece = self._piece()
            if piece:
                return piece
            if self._ended:
                await self.aclose()
                raise StopAsyncIteration
            await self._wait()

    @property
    def _is_quiet(self) -> bool:
        """Whether there is nothing to say before something happens."""
        return self._has_begun and not self._waiting and not self._ready and not self._ended

    @property
    def can_follow(self) -> bool:
        """Whether it tells objects as they are, not a part of them or a table, and has not failed."""
        return type(self._encode) is telling.Encoder and not self._ready

    async def tell(self, listener: client.Listener) -> None:
        """Tells each change from now on to a listener in this process: see :meth:`follow`."""
        await self.follow(listener, self._encode.body)

    def end(self) -> None:
        """Ends it after what has been said already."""
        self._initial = iter(())
        super().end()

    async def aclose(self) -> None:
        """Ends it; to be called by whoever stops reading."""
        self.end()

    def _piece(self) -> bytes:
        """What there is to say, up to a piece."""
        full = self._settings.piece_bytes
        if self._has_begun and self._bytes < full and not self._ready:
            return self._all_waiting()
        lines, self._ready = self._ready, []
        size = sum(map(len, lines))
        for record in self._initial:
            if self._matches is None or self._matches(record):
                line = self._encode.line(Type.ADDED, record)
                lines.append(line)
                size += len(line)
                if size >= full:
                    return b''.join(lines)
        self._has_begun = True
        if self._marks_end:
            self._marks_end = False
            lines.append(self._encode.bookmark(self._told, {_INITIAL_END: 'true'}))
        while self._waiting and size < full:
            event = self._waiting.popleft()
            self._bytes = max(0, self._bytes - event.record.size)
            self._told = event.record.revision
            found = self._line(event)
            if found:
                lines.append(found)
                size += len(found)
        if not self._waiting:
            self._mark(lines)
        return b''.join(lines)

    def _all_waiting(self) -> bytes:
        """The changes that wait, all in one piece: what is said nearly always, in the quickest way."""
        waiting = self._waiting
        lines = [line for event in waiting if (line := self._line(event))]
        if waiting:
            self._told = waiting[-1].record.revision
            waiting.clear()
            self._bytes = 0
        self._mark(lines)
        return lines[0] if len(lines) == 1 else b''.join(lines)

    def _mark(self, lines: list[bytes]) -> None:
        if self._is_bookmark_due():
            lines.append(self._encode.bookmark(self._told, None))

    def _line(self, event: Event) -> bytes:
        found = self._change(event)
        return b'' if found is None else self._encode.line(*found)

    def _fail(self, problem: Problem) -> None:
        self._ready.append(b'{"type":"ERROR","object":%s}\n' % answers.encode(problem.status()))
        self._ended = True
        self._marks_end = False


def _demand_match(match: str, initial: bool | None) -> None:
    def forbidden(why: str) -> Problem:
        return refusals.options(
            'ListOptions', Cause('resourceVersionMatch', f'Forbidden: {why}', 'FieldValueForbidden')
        )

    if initial is not None and match != 'NotOlderThan':
        raise forbidden('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan')
    if initial is None and match:
        raise forbidden('resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided')
