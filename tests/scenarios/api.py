"""The API server as tests look at it: objects, and every change of them in the server's own order."""

import contextlib
import http.client
import json
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

Object = dict[str, Any]
Objects = dict[str, Object]
"""Objects of one kind and namespace by their names."""

SECONDS: Final = 150
"""How long a state may take until it is there, on a machine that does other things too."""

_REQUEST_SECONDS: Final = 60

Connect = Callable[[float], http.client.HTTPConnection]
"""Makes a connection whose waits are bounded by so many seconds."""


class ApiError(Exception):
    """The server refused; has its answer."""

    def __init__(self, code: int, answer: Object) -> None:
        super().__init__(f'{code} {answer.get("reason")}: {answer.get("message")}')
        self.code = code
        self.answer = answer


class Api:
    """Requests to one server; may be used by many threads."""

    def __init__(self, connect: Connect, headers: Mapping[str, str] | None = None) -> None:
        self._connect = connect
        self._headers = dict(headers or {})

    def request(
        self,
        method: str,
        path: str,
        body: Object | list[Object] | None = None,
        *,
        content_type: str = 'application/json',
        query: dict[str, str] | None = None,
    ) -> Object:
        """The object that the server answers with. Raises :class:`ApiError`."""
        with contextlib.closing(self._connect(_REQUEST_SECONDS)) as connection:
            data = None if body is None else json.dumps(body)
            connection.request(
                method, _url(path, query), body=data, headers={**self._headers, 'Content-Type': content_type}
            )
            answer = connection.getresponse()
            said: Object = json.loads(answer.read())
        if answer.status >= 400:
            raise ApiError(answer.status, said)
        return said

    def text(self, path: str, query: dict[str, str] | None = None) -> str:
        """An answer that is no object, such as a log."""
        with contextlib.closing(self._connect(_REQUEST_SECONDS)) as connection:
            connection.request('GET', _url(path, query), headers=self._headers)
            answer = connection.getresponse()
            said = answer.read().decode(errors='replace')
        if answer.status >= 400:
            raise ApiError(answer.status, {'message': said})
        return said

    def follow(self, path: str, *, seconds: float) -> Iterator[str]:
        """The lines of a log as they come, until it ends or nothing has come for ``seconds``."""
        with contextlib.closing(self._connect(seconds)) as connection:
            connection.request('GET', _url(path, {'follow': 'true'}), headers=self._headers)
            answer = connection.getresponse()
            if answer.status >= 400:
                raise ApiError(answer.status, {'message': answer.read().decode(errors='replace')})
            with contextlib.suppress(TimeoutError):
                for line in answer:
                    yield line.decode(errors='replace')

    def find(self, path: str) -> Object | None:
        """The object at a path, None when there is none."""
        try:
            return self.request('GET', path)
        except ApiError as error:
            if error.code == 404:
                return None
            raise

    def snapshot(self, path: str, query: dict[str, str] | None = None) -> tuple[Objects, str]:
        """All objects of a collection, and the resource version from which changes follow."""
        listing = self.request('GET', path, query=query)
        return {one['metadata']['name']: one for one in listing['items']}, listing['metadata']['resourceVersion']

    def watch(
        self, path: str, version: str, *, seconds: float, query: dict[str, str] | None = None
    ) -> Iterator[Object]:
        """Changes and bookmarks from a resource version on, until the time is over and the server ends it."""
        asked = {
            **(query or {}),
            'watch': 'true',
            'allowWatchBookmarks': 'true',
            'resourceVersion': version,
            'timeoutSeconds': str(int(seconds) + 1),
        }
        with contextlib.closing(self._connect(seconds + _REQUEST_SECONDS)) as connection:
            connection.request('GET', _url(path, asked), headers=self._headers)
            answer = connection.getresponse()
            if answer.status >= 400:
                raise ApiError(answer.status, json.loads(answer.read()))
            with contextlib.suppress(TimeoutError):
                for line in answer:
                    yield json.loads(line)

    def until(
        self,
        path: str,
        holds: Callable[[Objects], bool],
        *,
        what: str,
        seconds: float = SECONDS,
        query: dict[str, str] | None = None,
    ) -> Objects:
        """The objects of a collection at the first moment at which ``holds`` is true of them.

        Raises :class:`AssertionError`, with what was there last, when that moment does not come.
        """
        end = time.monotonic() + seconds
        while True:
            for seen in self.moments(path, seconds=end - time.monotonic(), query=query):
                if holds(seen):
                    return seen
            if time.monotonic() >= end:
                last, _ = self.snapshot(path, query)
                raise AssertionError(f'{what}: not after {seconds:.0f} s; {path} has\n{_summary(last)}')

    def moments(self, path: str, *, seconds: float, query: dict[str, str] | None = None) -> Iterator[Objects]:
        """The collection as it is now, and then after each change; ends where the watch does."""
        seen, version = self.snapshot(path, query)
        yield dict(seen)
        for change in self.watch(path, version, seconds=max(seconds, 0), query=query):
            if _apply(change, seen):
                yield dict(seen)


class History:
    """What a collection looked like after each change of it, from the start of the block on."""

    def __init__(self, api: Api, path: str, query: dict[str, str] | None = None) -> None:
        self._api = api
        self._path = path
        self._query = query
        self._seen, self._version = api.snapshot(path, query)
        self.moments: list[Objects] = [dict(self._seen)]
        self._ended = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> 'History':
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(_REQUEST_SECONDS)
        if self._failure:
            raise self._failure

    def first(self, holds: Callable[[Objects], bool]) -> Objects:
        """The first moment at which it held. Raises :class:`AssertionError` when there was none."""
        for moment in self.moments:
            if holds(moment):
                return moment
        raise AssertionError(
            f'{self._path}: in none of {len(self.moments)} moments; at the end\n{_summary(self._seen)}'
        )

    def _follow(self) -> None:
        try:
            # Short watches: each one is asked to end soon, so that the thread ends soon after the block.
            while not self._ended.is_set():
                for change in self._api.watch(self._path, self._version, seconds=2, query=self._query):
                    self._note(change)
        except Exception as error:
            # Raised where the block ends.
            self._failure = error

    def _note(self, change: Object) -> None:
        if change['type'] == 'BOOKMARK':
            # Where others write much and nothing happens here, the last change may soon be too old to go on from.
            self._version = change['object']['metadata']['resourceVersion']
            return
        if not _apply(change, self._seen):
            raise RuntimeError(f'{self._path}: the story of its changes has a gap: {change}')
        self._version = change['object']['metadata']['resourceVersion']
        self.moments.append(dict(self._seen))


def _apply(change: Object, seen: Objects) -> bool:
    """Bring a change into what is seen; False when it changes nothing there."""
    match change['type'], change['object']:
        case (('ADDED' | 'MODIFIED'), one):
            seen[one['metadata']['name']] = one
            return True
        case 'DELETED', one:
            seen.pop(one['metadata']['name'], None)
            return True
    return False


def _summary(objects: Objects) -> str:
    return '\n'.join(f'{name}: {json.dumps(one.get("status"))[:2000]}' for name, one in objects.items()) or '(nothing)'


def _url(path: str, query: dict[str, str] | None) -> str:
    return f'{path}?{urllib.parse.urlencode(query)}' if query else path
