"""A cluster in memory, without a network: as much of an API server as the SDK and the commands ask for."""

import asyncio
import contextlib
import copy
import urllib.parse
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from jobset.client import connections, families
from jobset.client.jobsets import Jobsets
from jobset.kube import client, errors, frames, requests

Json = dict[str, Any]

RESOURCES = (families.JOBSETS, requests.JOBS, requests.PODS, requests.EVENTS, requests.SERVICES, requests.CLAIMS)
_BY_KIND = {(one.api_version, one.kind): one for one in RESOURCES}

Piece = bytes | float | Exception
"""A part of a stream, the seconds before the next one, or what it is cut by."""


class Cluster:
    """A :class:`jobset.kube.client.Carrier`. Objects are put in before, or while something watches."""

    def __init__(self, *objects: Json) -> None:
        self.objects: dict[str, Json] = {}
        self.logs: dict[tuple[str, str], deque[list[Piece]]] = {}
        """What the next request for the log of a pod's container is answered with, in pieces."""

        self.log_requests: list[dict[str, str]] = []
        self.sent: list[requests.Request] = []
        self.answers: dict[str, Json | Exception] = {}
        """Answers by method and path, before anything else is looked at."""

        self.version = 100
        self._changes: list[tuple[str, str, Json]] = []
        self._changed = asyncio.Event()
        for one in objects:
            self.put(one)

    def put(self, obj: Json) -> None:
        """Somebody writes an object."""
        path = self.path(obj)
        kind = 'MODIFIED' if path in self.objects else 'ADDED'
        self.version += 1
        stored = copy.deepcopy(obj)
        stored['metadata']['resourceVersion'] = str(self.version)
        self.objects[path] = stored
        self._tell(kind, path, stored)

    def drop(self, obj: Json) -> None:
        """Somebody deletes an object."""
        self.version += 1
        stored = self.objects.pop(self.path(obj))
        stored['metadata']['resourceVersion'] = str(self.version)
        self._tell('DELETED', self.path(obj), stored)

    @staticmethod
    def path(obj: Json) -> str:
        resource = _BY_KIND[(obj['apiVersion'], obj['kind'])]
        return resource.item(obj['metadata'].get('namespace', 'default'), obj['metadata']['name'])

    def log(self, pod: Json, *pieces: Piece, container: str = 'main') -> None:
        """What one request for a log is answered with; further calls are for further requests."""
        self.logs.setdefault((pod['metadata']['name'], container), deque()).append(list(pieces))

    def jobsets(self) -> Jobsets:
        """The SDK on this cluster, which does not repeat what fails."""
        return Jobsets(self.client())

    def client(self) -> client.Client:
        return client.Client(self, settings=client.Retrying(attempts=1))

    @contextlib.asynccontextmanager
    async def connect(
        self,
        kubeconfig: str | None = None,
        *,
        context: str | None = None,
        cluster: str | None = None,
    ) -> AsyncIterator[connections.Connection]:
        """Stands for :func:`jobset.client.connections.connect`."""
        del kubeconfig, context, cluster
        yield connections.Connection(self.client())

    # What requests do.

    async def send(self, request: requests.Request) -> bytes:
        self.sent.append(request)
        answer = self.answers.get(f'{request.method} {request.path}')
        if answer is None:
            answer = self._answer(request)
        if isinstance(answer, Exception):
            raise answer
        return msgspec.json.encode(answer)

    def _answer(self, request: requests.Request) -> Json:
        if request.method == 'POST':
            return self._write(msgspec.json.decode(request.body or b''), request.path)
        found = self.objects.get(request.path)
        is_collection = request.path.rpartition('/')[2] in {one.plural for one in RESOURCES}
        if request.method == 'GET' and is_collection:
            return {'metadata': {'resourceVersion': str(self.version)}, 'items': self._items(request)}
        if request.method == 'PATCH':
            return self._patch(request, found)
        if found is None:
            *_, plural, name = request.path.split('/')
            raise errors.NotFound(404, 'NotFound', f'{plural} "{name}" not found', where=str(request))
        if request.method == 'DELETE':
            self.drop(found)
            return {'kind': 'Status', 'status': 'Success', 'details': {'uid': found['metadata'].get('uid')}}
        return found

    def _write(self, body: Json, collection: str) -> Json:
        namespace = collection.split('/')[-2]
        made = body | {'metadata': {'namespace': namespace, 'uid': 'made', **body['metadata']}}
        if self.path(made) in self.objects:
            raise errors.AlreadyExists(409, 'AlreadyExists', f'"{body["metadata"]["name"]}" already exists')
        self.put(made)
        return self.objects[self.path(made)]

    def _patch(self, request: requests.Request, found: Json | None) -> Json:
        body = msgspec.json.decode(request.body or b'')
        if request.content_type == requests.Patch.APPLY and found is None:
            return self._write(body, request.path.rpartition('/')[0])
        if found is None:
            raise errors.NotFound(404, 'NotFound', 'not found')
        changed = _merged(found, body)
        if changed != found:
            self.put(changed)
        return self.objects[request.path]

    def _items(self, request: requests.Request) -> list[Json]:
        takes = _selector(request)
        return [one for path, one in sorted(self.objects.items()) if _within(path, request.path) and takes(one)]

    @contextlib.asynccontextmanager
    async def stream(self, request: requests.Request, *, idle_timeout: float) -> AsyncIterator['Pieces']:
        del idle_timeout
        self.sent.append(request)
        if request.path.endswith('/log'):
            yield Pieces(self._log(request))
        else:
            yield Pieces(self._watch(request))

    async def _log(self, request: requests.Request) -> AsyncIterator[bytes]:
        query = _query(request)
        pod = request.path.split('/')[-2]
        self.log_requests.append({'pod': pod, **query})
        planned = self.logs.get((pod, query['container']))
        if not planned:
            raise errors.NotFound(404, 'NotFound', f'pods "{pod}" not found')
        for piece in planned.popleft():
            if isinstance(piece, Exception):
                raise piece
            if isinstance(piece, bytes):
                yield piece
            else:
                await asyncio.sleep(piece)

    async def _watch(self, request: requests.Request) -> AsyncIterator[bytes]:
        takes = _selector(request)
        told = len(self._changes)
        if 'sendInitialEvents' in _query(request):
            for one in self._items(request):
                yield _line('ADDED', one)
            end = {'resourceVersion': str(self.version), 'annotations': {frames.INITIAL_EVENTS_END: 'true'}}
            yield _line('BOOKMARK', {'metadata': end})
        while True:
            for kind, path, obj in self._changes[told:]:
                told += 1
                if _within(path, request.path) and takes(obj):
                    yield _line(kind, obj)
            if told == len(self._changes):
                await self._changed.wait()

    def _tell(self, kind: str, path: str, obj: Json) -> None:
        self._changes.append((kind, path, copy.deepcopy(obj)))
        # Whoever waits has seen all changes before this one, and waits for the next one anew.
        self._changed.set()
        self._changed = asyncio.Event()


class Pieces:
    """A body as it comes."""

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces

    async def readany(self) -> bytes:
        return await anext(self._pieces, b'')


def _line(kind: str, obj: Json) -> bytes:
    return msgspec.json.encode({'type': kind, 'object': obj}) + b'\n'


def _query(request: requests.Request) -> dict[str, str]:
    return dict(urllib.parse.parse_qsl(request.query))


def _within(path: str, collection: str) -> bool:
    parent, _, plural = collection.rpartition('/')
    return path.startswith(f'{collection}/') or ('/namespaces/' not in parent and f'/{plural}/' in path)


def _selector(request: requests.Request) -> Callable[[Json], bool]:
    query = _query(request)
    labels = dict(part.split('=') for part in query.get('labelSelector', '').split(',') if part)
    name = query.get('fieldSelector', '').removeprefix('metadata.name=')

    def takes(obj: Json) -> bool:
        given = obj['metadata'].get('labels') or {}
        return name in ('', obj['metadata']['name']) and labels.items() <= given.items()

    return takes


def _merged(old: Json, new: Json) -> Json:
    made = copy.deepcopy(old)
    for key, value in new.items():
        made[key] = _merged(made.get(key) or {}, value) if isinstance(value, dict) else value
    return made
