"""A server over plain kinds: what others make (schemas, rules, ownership) is left out or done the simplest way."""

import asyncio
import datetime
import json
from collections.abc import Callable, Collection, Sequence
from typing import Any

from jobset.local import resources
from jobset.local.objects import Object
from jobset.local.patches import fields
from jobset.local.problems import Cause, Problem
from jobset.local.schemas import Node, Schema
from jobset.local.schemas.nodes import ANYTHING
from jobset.local.server import feeds, planes
from jobset.local.server.answers import Answer, Call, Stream
from jobset.local.server.server import Server
from jobset.local.store import storage

MOMENT = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)


class Open(Schema):
    """Takes everything, except for fields called ``unknown``."""

    root: Node = ANYTHING
    document: Object = {}  # noqa: RUF012

    def fits(self, obj: Object) -> bool:
        return False

    def check(self, obj: Object) -> None:
        if not isinstance(obj.get('metadata') or {}, dict):
            raise Problem.bad_request('metadata is not an object')

    def unknown_fields(self, obj: Object) -> Sequence[str]:
        return [key for key in obj if key.startswith('unknown')]

    def prune(self, obj: Object) -> None:
        for key in self.unknown_fields(obj):
            del obj[key]

    def default(self, obj: Object, settled: Collection[str] = (), *, keeps_null: bool = False) -> None:
        pass

    def validate(
        self, obj: Object, old: Object | None = None, *, subresource: str = '', found: Sequence[Cause] = ()
    ) -> list[Cause]:
        bad = (obj.get('spec') or {}).get('bad')
        return [Cause('spec.bad', f'Invalid value: "{bad}": is bad')] if bad else []


class Plain(resources.Rules):
    has_generation = False
    has_status = False


class Pods(resources.Rules):
    def default(self, obj: Object, settled: Collection[str] = ()) -> None:
        obj.setdefault('spec', {}).setdefault('terminationGracePeriodSeconds', 30)

    def grace_seconds(self, obj: Object, wanted: int | None) -> int:
        spec = obj.get('spec') or {}
        if not spec.get('nodeName'):
            return 0
        return int(spec['terminationGracePeriodSeconds'] if wanted is None else wanted)


class Ownership:
    """Field ownership that only says who has written last."""

    def apply(self, live: Object | None, applied: Object, node: Node, write: fields.Write, *, force: bool) -> Object:
        manager = write.manager
        owners = {one['manager'] for one in (live or {}).get('metadata', {}).get('managedFields', ())} - {manager}
        if live is not None and owners and not force:
            raise Problem(409, 'Conflict', f'Apply failed with 1 conflict: conflict with "{min(owners)}": .data')
        new = Patches().merge(live or {}, applied)
        new['metadata']['managedFields'] = [{'manager': manager, 'operation': 'Apply'}]
        return new

    def track(self, old: Object | None, new: Object, node: Node, write: fields.Write) -> None:
        new['metadata']['managedFields'] = [{'manager': write.manager, 'operation': 'Update'}]

    def manager_of(self, user_agent: str) -> str:
        return user_agent.partition('/')[0] or 'unknown'


class Patches:
    """Patches by copying."""

    def json_patch(self, obj: Object, operations: Sequence[Object]) -> Object:
        for operation in operations:
            *path, last = operation['path'].strip('/').split('/')
            inner: Any = obj
            for part in path:
                inner = inner[part]
            inner[last] = operation['value']
        return obj

    def merge(self, obj: Object, patch: Object) -> Object:
        new = dict(obj)
        for key, value in patch.items():
            if value is None:
                new.pop(key, None)
            elif isinstance(value, dict):
                new[key] = self.merge(new.get(key) or {}, value)
            else:
                new[key] = value
        return new

    def strategic(self, obj: Object, patch: Object, node: Node) -> Object:
        return self.merge(obj, patch)


def kind(group: str, version: str, plural: str, name: str, **options: Any) -> resources.Kind:
    options.setdefault('schema', Open())
    return resources.Kind(group=group, version=version, plural=plural, singular=name.lower(), kind=name, **options)


KINDS = (
    kind('', 'v1', 'namespaces', 'Namespace', namespaced=False, rules=Plain()),
    kind('', 'v1', 'configmaps', 'ConfigMap', rules=Plain(), subresources=frozenset()),
    kind('', 'v1', 'services', 'Service', rules=Plain()),
    kind('', 'v1', 'nodes', 'Node', namespaced=False),
    kind(
        '',
        'v1',
        'pods',
        'Pod',
        rules=Pods(),
        subresources=frozenset({'status', 'log', 'binding', 'eviction'}),
        selectable={'spec.nodeName': lambda pod: str((pod.get('spec') or {}).get('nodeName') or '')},
    ),
    kind('', 'v1', 'serviceaccounts', 'ServiceAccount', rules=Plain(), subresources=frozenset({'token'})),
    kind('batch', 'v1', 'jobs', 'Job'),
    kind('coordination.k8s.io', 'v1', 'leases', 'Lease', rules=Plain()),
    kind('apiextensions.k8s.io', 'v1', 'customresourcedefinitions', 'CustomResourceDefinition', namespaced=False),
)


class Clock:
    """Stands until it is moved."""

    def __init__(self) -> None:
        self.time = MOMENT

    def __call__(self) -> datetime.datetime:
        return self.time

    def pass_(self, seconds: float) -> None:
        self.time += datetime.timedelta(seconds=seconds)


def server(
    *,
    store: storage.Store | None = None,
    now: planes.Now | None = None,
    admission: planes.Admission | None = None,
    settings: feeds.Watching | None = None,
    kinds: Sequence[resources.Kind] = KINDS,
    **options: Any,
) -> Server:
    """A server with a namespace ``default``."""
    store = store or storage.Store()
    if store.get('namespaces', '', 'default') is None:
        store.create('namespaces', namespace('default'))
    return Server(
        store,
        kinds,
        now=now or Clock(),
        admission=admission,
        ownership=Ownership(),
        patching_by=Patches(),
        watch_settings=settings or feeds.Watching(),
        **options,
    )


def namespace(name: str) -> Object:
    """A namespace as it is stored."""
    metadata = {'name': name, 'uid': f'uid-of-{name}', 'creationTimestamp': '2026-01-01T00:00:00Z'}
    return {
        'apiVersion': 'v1',
        'kind': 'Namespace',
        'metadata': metadata,
        'spec': {'finalizers': ['kubernetes']},
        'status': {'phase': 'Active'},
    }


class Caller:
    """Sends requests as a person would type them."""

    def __init__(self, server: Server) -> None:
        self.server = server

    async def answer(self, method: str, target: str, body: object = None, **headers: str) -> Answer | Stream:
        path, _, query = target.partition('?')
        data = body if isinstance(body, bytes) else b'' if body is None else json.dumps(body).encode()
        if data:
            headers.setdefault('content_type', 'application/json')
        return await self.server.answer(Call(method, path, query, data, **headers))  # type: ignore[arg-type]

    async def __call__(self, method: str, target: str, body: object = None, **headers: str) -> tuple[int, Any]:
        """The code and the body of the answer, decoded where it is JSON."""
        answer = await self.answer(method, target, body, **headers)
        assert isinstance(answer, Answer)
        if answer.content_type.startswith('application/json'):
            return answer.status, json.loads(answer.body)
        return answer.status, answer.body.decode()

    async def warnings(self, method: str, target: str, body: object = None, **headers: str) -> list[str]:
        """The warnings that come with the answer."""
        answer = await self.answer(method, target, body, **headers)
        return [value for key, value in answer.headers if key == 'Warning']

    async def watch(self, target: str, **headers: str) -> 'Watched':
        """A watch that goes on."""
        answer = await self.answer('GET', target, **headers)
        assert isinstance(answer, Stream), answer
        return Watched(answer)


class Watched:
    """The events of a watch, one after the other."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self._lines: list[bytes] = []

    async def next(self) -> tuple[str, Any] | None:
        """The next event: its type and object; None at the end. Fails when none comes."""
        while not self._lines:
            async with asyncio.timeout(5):
                piece = await anext(self.stream.pieces, b'')
            if not piece:
                return None
            assert piece.endswith(b'\n')
            self._lines = piece.splitlines()
        event = json.loads(self._lines.pop(0))
        return event['type'], event['object']

    async def names(self, count: int) -> list[tuple[str, str]]:
        """Types and names of that many events."""
        found = []
        for _ in range(count):
            event = await self.next()
            assert event is not None, 'the watch has ended'
            found.append((event[0], event[1]['metadata'].get('name', '')))
        return found

    async def is_idle(self) -> bool:
        """Whether nothing has come after everybody else had the chance to run."""
        pending = asyncio.ensure_future(anext(self.stream.pieces, b''))
        for _ in range(5):
            await asyncio.sleep(0)
        if pending.done():
            self._lines += (await pending).splitlines()
            return False
        pending.cancel()
        await asyncio.wait([pending])
        return True

    async def close(self) -> None:
        closing: Callable[[], Any] = self.stream.pieces.aclose  # type: ignore[attr-defined]
        await closing()


def configmap(name: str, **data: str) -> Object:
    return {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': name}, 'data': data}


def pod(name: str, **spec: Any) -> Object:
    spec.setdefault('containers', [{'name': 'main', 'image': 'none'}])
    return {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': name}, 'spec': spec}


def job(name: str, **spec: Any) -> Object:
    return {'apiVersion': 'batch/v1', 'kind': 'Job', 'metadata': {'name': name}, 'spec': spec}
