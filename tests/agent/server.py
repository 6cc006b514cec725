"""A scripted API server over HTTPS: one JobSet, its pods, watches of both, and whatever goes wrong on the way.

With :class:`Controller` it does what the Go controller does about restarts in place (KEP-467), so that what works here
works with that one.
"""

import contextlib
import copy
import datetime
import json
import re
import tempfile
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from jobset.agent import rounds
from jobset.local.server import identity

Json = dict[str, Any]

SECONDS = 30
NAMESPACE = 'team'
TOKEN = 'first-token'
JOBSETS = f'/apis/jobset.x-k8s.io/v1alpha2/namespaces/{NAMESPACE}/jobsets'
PODS = f'/api/v1/namespaces/{NAMESPACE}/pods'


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    query: Mapping[str, str]
    token: str
    body: Any
    peer: int
    """The port that it came from."""

    at: float
    """When, in seconds of a clock that only goes on."""

    @property
    def is_watch(self) -> bool:
        return self.query.get('watch') == '1'


@dataclass
class Fault:
    """What is answered in place of the truth, so many times."""

    fits: Callable[[Asked], bool]
    status: int = 0
    """0 cuts the connection without an answer."""
    headers: Mapping[str, str] = field(default_factory=dict)
    times: int = 1
    event: Json | None = None
    """Sent as the only event of a watch."""

    is_empty: bool = False
    """A watch that ends without any event."""


class Server:
    """See the text of this module. All changes go through it, and wake those who wait."""

    def __init__(self, folder: Path) -> None:
        self._known = identity.make(datetime.datetime.now(datetime.UTC))
        self._events: list[tuple[int, str, str, Json]] = []
        self._version = 100
        self.life = 0
        self.changed = threading.Condition(threading.RLock())
        self.objects: dict[tuple[str, str], Json] = {}
        self.asked: list[Asked] = []
        self.faults: list[Fault] = []
        self.tokens = {TOKEN}
        self.oldest = 0
        """Watches from before it are answered with 410."""
        self.after_change: Callable[[], None] = lambda: None
        self.account = folder
        (folder / 'token').write_text(TOKEN)
        (folder / 'ca.crt').write_bytes(self._known.authority)
        (folder / 'namespace').write_text(NAMESPACE)
        self.port = 0

    @contextlib.contextmanager
    def serving(self) -> Iterator['Server']:
        """Listens for the length of the block."""
        self._listen()
        try:
            yield self
        finally:
            self._close()

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """Is not to be reached for the length of the block, and then is at the same place again."""
        self._close()
        try:
            yield
        finally:
            self._listen()

    def _listen(self) -> None:
        self._http = _Http(self, self.port)
        self._http.socket = self._known.context().wrap_socket(
            self._http.socket, server_side=True, do_handshake_on_connect=False
        )
        self.port = self._http.server_address[1]
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={'poll_interval': 0.02}, name='scripted API server', daemon=True
        )
        self._thread.start()

    def _close(self) -> None:
        self.end_watches()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(SECONDS)

    # What tests do.

    def put(self, plural: str, name: str, obj: Json, *, kind: str = '') -> Json:
        with self.changed:
            old = self.objects.get((plural, name))
            self._version += 1
            obj = copy.deepcopy(obj)
            meta = obj.setdefault('metadata', {})
            meta.update(name=name, namespace=NAMESPACE, resourceVersion=str(self._version))
            meta.setdefault('uid', old['metadata']['uid'] if old else f'uid-{self._version}')
            self.objects[plural, name] = obj
            self._events.append((self._version, plural, kind or ('MODIFIED' if old else 'ADDED'), obj))
            self.after_change()
            self.changed.notify_all()
            return obj

    def delete(self, plural: str, name: str) -> None:
        with self.changed:
            obj = self.objects.pop((plural, name))
            self._version += 1
            obj = obj | {'metadata': obj['metadata'] | {'resourceVersion': str(self._version)}}
            self._events.append((self._version, plural, 'DELETED', obj))
            self.after_change()
            self.changed.notify_all()

    def bookmark(self) -> None:
        """Tell all watches of JobSets where they are."""
        with self.changed:
            self._version += 1
            mark = {'kind': 'JobSet', 'metadata': {'resourceVersion': str(self._version)}}
            self._events.append((self._version, 'jobsets', 'BOOKMARK', mark))
            self.changed.notify_all()

    def status(self, name: str, **values: Any) -> None:
        """Set fields of a JobSet's status."""
        with self.changed:
            one = self.objects['jobsets', name]
            self.put('jobsets', name, one | {'status': one.get('status', {}) | values})

    def annotation(self, pod: str, key: str = rounds.ATTEMPT) -> str | None:
        one = self.objects.get(('pods', pod), {})
        found: str | None = one.get('metadata', {}).get('annotations', {}).get(key)
        return found

    def end_watches(self) -> None:
        """End those that are there after what has happened up to now; those that come later are not concerned."""
        with self.changed:
            self.life += 1
            self.changed.notify_all()

    def until(self, holds: Callable[[], Any], what: str) -> None:
        """Wait for a state. Raises :class:`AssertionError`."""
        with self.changed:
            assert self.changed.wait_for(holds, SECONDS), f'{what}; asked: {self.asked[-5:]}'

    def watches(self) -> list[Asked]:
        return [one for one in self.asked if one.is_watch]

    # What it answers.

    def take(self, asked: Asked) -> Fault | None:
        with self.changed:
            self.asked.append(asked)
            self.changed.notify_all()
            for fault in self.faults:
                if fault.times > 0 and fault.fits(asked):
                    fault.times -= 1
                    return fault
        return None

    def listed(self, asked: Asked) -> Json:
        plural = asked.path.rsplit('/', 1)[-1]
        with self.changed:
            items = [one for (kind, _), one in self.objects.items() if kind == plural and _selects(asked.query, one)]
            return {'metadata': {'resourceVersion': str(self._version)}, 'items': copy.deepcopy(items)}

    def events(self, asked: Asked, life: int) -> Iterator[Json]:
        """What happens after the version asked for, for as long as this is the ``life`` of watches."""
        plural, version = asked.path.rsplit('/', 1)[-1], int(asked.query['resourceVersion'])
        at = 0
        while True:
            with self.changed:
                while len(self._events) == at and self.life == life:
                    self.changed.wait(SECONDS)
                news, is_over = self._events[at:], self.life != life
                at = len(self._events)
            for number, kind, type_, obj in news:
                if kind == plural and number > version and (type_ == 'BOOKMARK' or _selects(asked.query, obj)):
                    yield {'type': type_, 'object': obj}
            if is_over:
                return

    def patched(self, asked: Asked) -> Json | None:
        with self.changed:
            name = asked.path.rsplit('/', 1)[-1]
            one = self.objects.get(('pods', name))
            if one is None:
                return None
            meta = one['metadata']
            annotations = meta.get('annotations', {}) | asked.body['metadata']['annotations']
            return self.put('pods', name, one | {'metadata': meta | {'annotations': annotations}})


def _selects(query: Mapping[str, str], one: Json) -> bool:
    meta = one['metadata']
    labels = [each.split('=') for each in query.get('labelSelector', '').split(',') if each]
    if any(meta.get('labels', {}).get(key) != value for key, value in labels):
        return False
    match = re.fullmatch(r'metadata\.name=(.+)', query.get('fieldSelector', ''))
    if match:
        return bool(meta['name'] == match[1])
    return query.get('fieldSelector') != 'status.phase!=Failed' or one.get('status', {}).get('phase') != 'Failed'


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, scripted: Server, port: int) -> None:
        self.scripted = scripted
        super().__init__(('127.0.0.1', port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are what this is about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    server: _Http

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing: the requests are kept."""

    def do_GET(self) -> None:
        self._handle()

    def do_PATCH(self) -> None:
        self._handle()

    def _handle(self) -> None:
        scripted = self.server.scripted
        life = scripted.life
        length = int(self.headers.get('Content-Length') or 0)
        parts = urllib.parse.urlsplit(self.path)
        asked = Asked(
            self.command,
            parts.path,
            dict(urllib.parse.parse_qsl(parts.query)),
            self.headers.get('Authorization', '').removeprefix('Bearer '),
            json.loads(self.rfile.read(length)) if length else None,
            self.client_address[1],
            time.monotonic(),
        )
        fault = scripted.take(asked)
        if fault and (fault.event or fault.is_empty):
            self._stream(iter([fault.event] if fault.event else []))
        elif fault and fault.status:
            self._answer(fault.status, {'message': f'scripted {fault.status}'}, fault.headers)
        elif fault:
            self.close_connection = True
        elif asked.token not in scripted.tokens:
            self._answer(401, {'message': 'Unauthorized'})
        elif asked.method == 'PATCH':
            patched = scripted.patched(asked)
            self._answer(200 if patched else 404, patched or {'message': 'pods not found'})
        elif not asked.is_watch:
            self._answer(200, scripted.listed(asked))
        elif int(asked.query['resourceVersion']) < scripted.oldest:
            gone = {'type': 'ERROR', 'object': {'code': 410, 'message': 'too old resource version'}}
            self._stream(iter([gone]))
        else:
            self._stream(scripted.events(asked, life))

    def _answer(self, status: int, body: Json, headers: Mapping[str, str] = {}) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {'Content-Length': str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: Iterator[Json]) -> None:
        self.send_response(200)
        self.send_header('Transfer-Encoding', 'chunked')
        self.end_headers()
        for event in events:
            data = json.dumps(event).encode() + b'\n'
            # In pieces that end anywhere: nobody promises that an event is a chunk.
            for piece in (data[:7], data[7:]):
                self.wfile.write(b'%x\r\n%s\r\n' % (len(piece), piece))
        self.wfile.write(b'0\r\n\r\n')
        self.close_connection = True


class Controller:
    """The controller's side of restarts in place, as KEP-467 and the Go controller have it."""

    def __init__(self, server: Server, jobset: str, *, pods: int) -> None:
        self._server = server
        self._jobset = jobset
        self._pods = pods
        self.writes: list[Json] = []
        server.after_change = self.sync

    def sync(self) -> None:
        pods = [one for (kind, _), one in self._server.objects.items() if kind == 'pods']
        attempts = [
            int(one['metadata']['annotations'][rounds.ATTEMPT])
            for one in pods
            if one.get('status', {}).get('phase') != 'Failed'
            and rounds.ATTEMPT in one['metadata'].get('annotations', {})
        ]
        status = self._server.objects['jobsets', self._jobset].get('status', {})
        if len(attempts) == self._pods and len(set(attempts)) == 1:
            self._write(status, currentInPlaceRestartAttempt=attempts[0])
        elif max(attempts, default=0) > 0:
            previous = max(attempts) - 1
            if previous > status.get('previousInPlaceRestartAttempt', -1):
                self._write(status, previousInPlaceRestartAttempt=previous)

    def _write(self, status: Json, **values: int) -> None:
        if values.items() <= status.items():
            return
        self.writes.append(values)
        self._server.status(self._jobset, **values)


@contextlib.contextmanager
def started() -> Iterator[Server]:
    """A server for the length of the block."""
    with tempfile.TemporaryDirectory() as folder, Server(Path(folder)).serving() as server:
        yield server
