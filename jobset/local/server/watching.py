"""Watches: what is there, if wanted, then each change as it happens, until the client has had enough of it.

Source: Kubernetes API concepts, "Efficient detection of changes", "Watch bookmarks" and "Streaming lists".
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from jobset.kube import client
from jobset.local.describing import tables
from jobset.local.objects import Object
from jobset.local.problems import Cause, Problem
from jobset.local.resources import Kind
from jobset.local.server import answers, matching, negotiating, queries, reading, refusals, selectors
from jobset.local.server.negotiating import Form
from jobset.local.server.planes import Plane
from jobset.local.server.registry import Target
from jobset.local.store import records, storage
from jobset.local.store.records import Event, Record, Type

_INITIAL_END: Final = 'k8s.io/initial-events-end'


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


class Watcher:
    """Makes watches of any kind."""

    def __init__(self, plane: Plane, settings: Watching) -> None:
        self._plane = plane
        self._settings = settings
        self._open: set[Watch] = set()

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
            _encoder(plane, kind, wanted.form, params),
            settings=self._settings,
            bookmarks=params.flag('allowWatchBookmarks'),
            seconds=params.number('timeoutSeconds'),
            on_close=self._open.discard,
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


class Watch:
    """One watch: an iterator of pieces, closed by whoever reads it."""

    def __init__(
        self,
        plane: Plane,
        kind: Kind,
        matches: matching.Matches | None,
        encode: '_Encoder',
        *,
        settings: Watching,
        bookmarks: bool,
        seconds: int | None,
        on_close: Callable[['Watch'], None],
    ) -> None:
        self._store = plane.store
        self._kind = kind
        self._matches = matches
        self._encode = encode
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._initial: Iterator[Record] = iter(())
        self._ready: list[bytes] = []
        self._waiting: deque[Event] = deque()
        self._bytes = 0
        self._told = 0
        self._ended = False
        self._has_begun = False
        """Whether what was there has been told, so that only changes are left to tell."""

        self._waiter: asyncio.Future[None] | None = None
        self._listener: client.Listener | None = None
        self._is_telling = False
        self._fault: Exception | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._unsubscribe: Callable[[], None] = lambda: None
        self._on_close = on_close
        now = self._loop.time()
        lasting = seconds or settings.timeout_seconds * random.uniform(1, 2)  # noqa: S311
        self._until = now + lasting
        self._bookmark_every = settings.bookmark_seconds if bookmarks else None
        # The first one comes at any time, so that those of watches begun together do not come together.
        self._bookmark_at = now + settings.bookmark_seconds * random.uniform(0.5, 1)  # noqa: S311

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
            self._unsubscribe = store.subscribe(self._kind.key, self._on_event)

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

    async def follow(self, listener: client.Listener) -> None:
        """Tells each change from now on to a listener in this process, until the watch ends.

        To be called once what was there has been read: see :class:`jobset.kube.client.Follows`.
        """
        self._listener = listener
        try:
            self._tell()
            while not self._ended:
                await self._wait()
                lines: list[bytes] = []
                self._tick(lines)
                if lines:
                    listener.bookmark(self._told)
        finally:
            self.end()
        if self._fault is not None:
            raise self._fault

    def _tell(self) -> None:
        """What waits, up to the size of a piece; the rest after others had their turn."""
        listener, waiting, size = self._listener, self._waiting, 0
        assert listener is not None  # noqa: S101 - for the type checker
        self._is_telling = False
        while waiting and size < self._settings.piece_bytes:
            event = waiting.popleft()
            size += event.record.size
            self._told = event.record.revision
            found = self._change(event)
            if found is None or listener.knows(found[1].namespace, found[1].name, found[1].revision):
                continue
            try:
                listener.change(self._encode.body(found[1]), is_deletion=found[0] is Type.DELETED)
            except Exception as error:
                # It is for the one who has asked for the changes, not for the event loop.
                self._fault = error
                self.end()
        self._bytes = max(0, self._bytes - size) if waiting else 0
        if waiting:
            self._tell_soon()

    def _tell_soon(self) -> None:
        self._is_telling = True
        self._loop.call_soon(self._tell)

    @property
    def can_follow(self) -> bool:
        """Whether it tells objects as they are, not a part of them or a table, and has not failed."""
        return type(self._encode) is _Encoder and not self._ready

    async def aclose(self) -> None:
        """Ends it; to be called by whoever stops reading."""
        self.end()

    def end(self) -> None:
        """Ends it after what has been said already."""
        self._ended = True
        self._waiting.clear()
        self._initial = iter(())
        self._unsubscribe()
        self._unsubscribe = lambda: None
        self._on_close(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._wake()

    def _on_event(self, event: Event) -> None:
        self._waiting.append(event)
        self._bytes += event.record.size
        settings = self._settings
        if len(self._waiting) > settings.max_waiting or self._bytes > settings.max_bytes:
            self.end()
        elif self._listener is not None:
            if not self._is_telling:
                self._tell_soon()
        elif self._waiter is not None:
            self._wake()

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
            self._tick(lines)
        return b''.join(lines)

    def _all_waiting(self) -> bytes:
        """The changes that wait, all in one piece: what is said nearly always, in the quickest way."""
        waiting = self._waiting
        lines = [line for event in waiting if (line := self._line(event))]
        if waiting:
            self._told = waiting[-1].record.revision
            waiting.clear()
            self._bytes = 0
        self._tick(lines)
        return lines[0] if len(lines) == 1 else b''.join(lines)

    def _tick(self, lines: list[bytes]) -> None:
        now = self._loop.time()
        if self._ended:
            return
        is_over = now >= self._until
        if self._bookmark_every is not None and (is_over or now >= self._bookmark_at):
            self._bookmark_at = now + self._bookmark_every
            # Everything up to now has been told: changes of other kinds are none of this watch.
            self._told = self._store.revision
            lines.append(self._encode.bookmark(self._told, None))
        if is_over:
            self.end()

    def _line(self, event: Event) -> bytes:
        found = self._change(event)
        return b'' if found is None else self._encode.line(*found)

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

    def _fail(self, problem: Problem) -> None:
        self._ready.append(b'{"type":"ERROR","object":%s}\n' % answers.encode(problem.status()))
        self._ended = True
        self._marks_end = False

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


class _Encoder:
    """Lines of one watch."""

    def __init__(self, plane: Plane, kind: Kind) -> None:
        self._plane = plane
        self._kind = kind

    def line(self, change: Type, record: Record) -> bytes:
        """One change."""
        return _LINES[change] % self.body(record)

    def body(self, record: Record) -> bytes:
        """The object of a change."""
        return self._plane.show(self._kind, record)

    def bookmark(self, revision: int, annotations: Object | None) -> bytes:
        """One bookmark."""
        return b'{"type":"BOOKMARK","object":%s}\n' % answers.encode(self._mark(revision, annotations))

    def _mark(self, revision: int, annotations: Object | None) -> Object:
        metadata: Object = {'resourceVersion': str(revision)}
        if annotations:
            metadata['annotations'] = annotations
        return {'kind': self._kind.kind, 'apiVersion': self._kind.api_version, 'metadata': metadata}


_LINES: Final = {change: b'{"type":"%s","object":%%s}\n' % change.value.encode() for change in Type}


class _Partials(_Encoder):
    def body(self, record: Record) -> bytes:
        return answers.encode(tables.partial(self._plane.open(self._kind, record)))

    def _mark(self, revision: int, annotations: Object | None) -> Object:
        return tables.partial(super()._mark(revision, annotations))


class _Tables(_Encoder):
    def __init__(self, plane: Plane, kind: Kind, include: tables.Include) -> None:
        super().__init__(plane, kind)
        self._include = include
        self._is_first = True

    def body(self, record: Record) -> bytes:
        return answers.encode(self._table(self._plane.open(self._kind, record)))

    def _mark(self, revision: int, annotations: Object | None) -> Object:
        return self._table(super()._mark(revision, annotations))

    def _table(self, obj: Object) -> Object:
        first, self._is_first = self._is_first, False
        return tables.render(self._kind, [obj], self._plane.now(), include=self._include, is_first=first)


def _encoder(plane: Plane, kind: Kind, form: Form, params: queries.Params) -> _Encoder:
    match form:
        case Form.TABLE:
            return _Tables(plane, kind, reading.include(params))
        case Form.PARTIAL:
            return _Partials(plane, kind)
        case Form.WHOLE:
            return _Encoder(plane, kind)


def _demand_match(match: str, initial: bool | None) -> None:
    def forbidden(why: str) -> Problem:
        return refusals.options(
            'ListOptions', Cause('resourceVersionMatch', f'Forbidden: {why}', 'FieldValueForbidden')
        )

    if initial is not None and match != 'NotOlderThan':
        raise forbidden('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan')
    if initial is None and match:
        raise forbidden('resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided')
