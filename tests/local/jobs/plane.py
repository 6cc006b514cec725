"""A small API server in this process, in virtual time, with what the Job controller needs of one beside the usual."""

import asyncio
import contextlib
import datetime
import re
import urllib.parse
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Final

import msgspec

from jobset.kube import client, errors, requests
from jobset.local.jobs import controller, keys
from tests.kube import fakes
from tests.kube.fakes import Answer, Json, Seen

NAMESPACE: Final = 'default'
EPOCH: Final = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


class Server(fakes.Server):
    """Pods have finalizers and are gone when they are deleted and have none; Jobs have a status of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.refuse: Callable[[Seen], Answer | None] = lambda seen: None
        """Refuses requests; the answer is given instead of doing anything."""

        self.lose: Callable[[Seen], bool] = lambda seen: False
        """Whether the answer to a request is lost on the way back."""

        self.at_once = 0
        self.most_at_once = 0
        """How many pods were asked for at the same time."""

    def pods(self) -> list[Json]:
        """Those that are there."""
        return [obj for path, obj in self.objects.items() if '/pods/' in path]

    def notes(self) -> list[str]:
        """What Events say, in order."""
        return [f'{obj["reason"]}: {obj["note"]}' for path, obj in self.objects.items() if '/events/' in path]

    def job(self, name: str) -> Json:
        """A Job as it is stored."""
        return self.objects[requests.JOBS.item(NAMESPACE, name)]

    def put_job(self, name: str, **spec: Any) -> Json:
        """Makes a Job, or changes its spec, as the server would with its defaults."""
        path = requests.JOBS.item(NAMESPACE, name)
        held = self.objects.get(path)
        metadata: Json = held['metadata'] if held else {'name': name, 'namespace': NAMESPACE, 'uid': f'uid-of-{name}'}
        labels = {'batch.kubernetes.io/controller-uid': metadata['uid']}
        template = {'metadata': {'labels': labels}, 'spec': {'restartPolicy': 'Never', 'containers': [{'name': 'a'}]}}
        made = {'parallelism': 1, 'completions': 1, 'backoffLimit': 6, 'completionMode': 'NonIndexed', 'suspend': False}
        made |= {
            'selector': {'matchLabels': labels},
            'template': template,
            'podReplacementPolicy': 'TerminatingOrFailed',
        }
        spec = (held['spec'] if held else made) | spec
        generation = metadata.get('generation', 0) + 1
        body = (held or {'status': {}}) | {'metadata': metadata | {'generation': generation}, 'spec': spec}
        return self._store(path, body, 'MODIFIED' if held else 'ADDED')

    def set_status(self, pod: Json, **status: Any) -> None:
        """What a kubelet does."""
        path = requests.PODS.item(NAMESPACE, pod['metadata']['name'])
        self._store(path, self.objects[path] | {'status': status}, 'MODIFIED')

    # All watches of a controller are cluster-wide, so that is how places in the history are named.

    def initial(self, seen: Seen) -> Iterator[bytes]:
        held = self.objects
        self.objects = {_cluster_wide(path): obj for path, obj in held.items()}
        try:
            lines = tuple(super().initial(seen))
        finally:
            self.objects = held
        return iter(lines)

    def _record(self, kind: str, path: str, obj: Json) -> None:
        super()._record(kind, _cluster_wide(path), obj)

    def _serve(self, seen: Seen) -> Answer:
        refused = self.refuse(seen)
        if refused is not None:
            return refused
        body: Json = msgspec.json.decode(seen.body) if seen.body else {}
        held = self.objects.get(seen.path.removesuffix('/status'))
        if seen.method == 'POST' and seen.path.endswith('/pods'):
            body['status'] = {'phase': 'Pending'}
            return self._create(f'{seen.path}/{body["metadata"]["name"]}', NAMESPACE, body)
        if held is not None and '/pods/' in seen.path:
            if seen.method == 'PATCH':
                return Answer(body=self._patch_pod(seen.path, held, body))
            if seen.method == 'DELETE':
                return Answer(body=self._delete_pod(seen.path, held))
        if held is not None and seen.method == 'PATCH' and seen.path.endswith('/status'):
            return self._patch_status(seen.path.removesuffix('/status'), held, body)
        return super()._serve(seen)

    def _patch_pod(self, path: str, held: Json, patch: Json) -> Json:
        metadata = dict(patch['metadata'])
        gone = metadata.pop('$deleteFromPrimitiveList/finalizers', [])
        finalizers = [each for each in held['metadata'].get('finalizers', []) if each not in gone]
        finalizers += metadata.pop('finalizers', [])
        return self._settle(path, fakes.merged(held, {'metadata': metadata | {'finalizers': finalizers}}))

    def _delete_pod(self, path: str, held: Json) -> Json:
        metadata = {'deletionTimestamp': '2026-01-01T00:00:00Z', 'deletionGracePeriodSeconds': 0}
        return self._settle(path, fakes.merged(held, {'metadata': metadata}))

    def _settle(self, path: str, pod: Json) -> Json:
        if 'deletionTimestamp' in pod['metadata'] and not pod['metadata'].get('finalizers'):
            self._remove(path)
            return pod
        return self._store(path, pod, 'MODIFIED')

    def _patch_status(self, path: str, held: Json, patch: Json) -> Answer:
        if patch['metadata']['resourceVersion'] != held['metadata']['resourceVersion']:
            return fakes.refusal(409, 'Conflict', 'the object has been modified')
        return Answer(body=self._store(path, fakes.merged(held, {'status': patch['status']}), 'MODIFIED'))


class Carrier(fakes.Carrier):
    """A way to it, with watches; those of kinds that are ``deaf`` tell nothing."""

    server: Server

    def __init__(self, server: Server, *, delay: float = 0.001) -> None:
        super().__init__(server, delay=delay)
        self.deaf: set[str] = set()
        self._hears = asyncio.Event()

    def listen(self) -> None:
        """Lets watches tell what they have to tell."""
        self.deaf.clear()
        self._hears.set()

    async def hear(self, request: requests.Request) -> None:
        """Waits until a watch may tell something."""
        if request.path.rpartition('/')[2] in self.deaf:
            await self._hears.wait()

    async def send(self, request: requests.Request) -> bytes:
        server = self.server
        is_creation = request.method == 'POST' and request.path.endswith('/pods')
        server.at_once += is_creation
        server.most_at_once = max(server.most_at_once, server.at_once)
        try:
            body = await super().send(request)
        finally:
            server.at_once -= is_creation
            await server.notify()
        if server.lose(Seen(request.method, request.path, {}, request.body or b'')):
            raise errors.Unreachable('cut', where=str(request), sent=True)
        return body

    @contextlib.asynccontextmanager
    async def stream(self, request: requests.Request, *, idle_timeout: float) -> AsyncIterator[client.Pieces]:
        seen = Seen('GET', request.path, dict(urllib.parse.parse_qsl(request.query)), b'')
        self.server.seen.append(seen)
        yield _Pieces(self, request, self.server.follow(seen))


class _Pieces:
    def __init__(self, carrier: Carrier, request: requests.Request, lines: AsyncIterator[bytes]) -> None:
        self._carrier = carrier
        self._request = request
        self._lines = lines

    async def readany(self) -> bytes:
        line = await anext(self._lines)
        await self._carrier.hear(self._request)
        return line


def _cluster_wide(path: str) -> str:
    return re.sub('/namespaces/[^/]+', '', path)


def now() -> datetime.datetime:
    """The time of day in virtual time."""
    return EPOCH + datetime.timedelta(seconds=asyncio.get_running_loop().time())


@contextlib.asynccontextmanager
async def controlled(server: Server) -> AsyncIterator[Carrier]:
    """The controller at work on the server."""
    carrier = Carrier(server)
    ours = controller.Controller(client.Client(carrier), now=now)
    async with asyncio.timeout(10_000):
        task = asyncio.create_task(ours.run())
        try:
            await ours.synced()
            yield carrier
            assert not task.done(), task
        finally:
            task.cancel()
            await asyncio.wait([task])


async def settled(server: Server, seconds: float = 5) -> None:
    """Lets some time go by after something was done to the server behind its back."""
    await server.notify()
    await asyncio.sleep(seconds)


def is_tracked(pod: Json) -> bool:
    """Whether a pod waits to be counted."""
    return keys.FINALIZER in pod['metadata'].get('finalizers', [])


def creates(server: Server) -> int:
    """How often a pod was asked for."""
    return sum(seen.method == 'POST' and re.fullmatch(r'.*/pods', seen.path) is not None for seen in server.seen)
