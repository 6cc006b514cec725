"""As much of an API server as a node needs, in this process: objects, watches, graceful deletion of pods."""

import asyncio
import contextlib
import datetime
import re
import urllib.parse
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from jobset.kube import client, errors, frames, requests
from jobset.local import objects

Json = dict[str, Any]

_PATH = re.compile(
    r'/(?:api|apis/[^/]+)/[^/]+(?:/namespaces/(?P<ns>[^/]+))?/(?P<plural>[a-z]+)(?:/(?P<name>[^/]+)(?:/(?P<sub>\w+))?)?'
)


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


class Stream:
    def __init__(self) -> None:
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()

    def put(self, kind: str, obj: Json) -> None:
        self._lines.put_nowait(msgspec.json.encode({'type': kind, 'object': obj}) + b'\n')

    async def readany(self) -> bytes:
        return await self._lines.get()


class Plane:
    """A :class:`jobset.kube.client.Carrier`. ``history`` keeps every state of every object."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str, str], Json] = {}
        self.history: list[Json] = []
        self.version = 100
        self.api = client.Client(self)
        self._watches: list[tuple[str, str, str, Stream]] = []
        self._changed = asyncio.Condition()

    # What tests do.

    def put(self, plural: str, name: str, namespace: str = 'default', **more: Any) -> Json:
        return self._store((plural, namespace, name), {'metadata': {'name': name, 'namespace': namespace}} | more)

    def get(self, plural: str, name: str, namespace: str = 'default') -> Json | None:
        return self.objects.get((plural, namespace, name))

    def pod(self, name: str) -> Json:
        found = self.get('pods', name)
        assert found is not None, f'no pod {name}'
        return found

    def notes(self) -> list[str]:
        """What events tell."""
        return [one['note'] for (kind, _, _), one in self.objects.items() if kind == 'events']

    async def until(self, holds: Callable[[], Any], *, within: float = 20) -> None:
        """Waits for a state of the server."""
        async with asyncio.timeout(within), self._changed:
            await self._changed.wait_for(holds)

    async def ended(self, name: str, *, within: float = 20) -> Json:
        await self.until(lambda: self.phase(name) in ('Succeeded', 'Failed'), within=within)
        return self.pod(name)

    async def gone(self, name: str, *, within: float = 20) -> None:
        await self.until(lambda: self.get('pods', name) is None, within=within)

    def phase(self, name: str) -> str:
        return str(((self.get('pods', name) or {}).get('status') or {}).get('phase'))

    def states(self, name: str) -> list[Json]:
        """Every status that a pod has had."""
        return [one['status'] for one in self.history if one['metadata']['name'] == name and 'status' in one]

    async def delete(self, name: str, *, grace: int | None = None) -> None:
        await self.api.send(requests.delete(requests.PODS, 'default', name, grace_seconds=grace))

    # What clients do.

    async def send(self, request: requests.Request) -> bytes:
        await asyncio.sleep(0)
        match = _PATH.fullmatch(request.path)
        assert match is not None, request.path
        body: Any = msgspec.json.decode(request.body) if request.body else {}
        key = (match['plural'], match['ns'] or '', match['name'] or '')
        try:
            answer = self._answer(request, key, body, match['sub'] or '')
        finally:
            async with self._changed:
                self._changed.notify_all()
        return msgspec.json.encode(answer)

    @contextlib.asynccontextmanager
    async def stream(self, request: requests.Request, *, idle_timeout: float) -> AsyncIterator[Stream]:
        query = dict(urllib.parse.parse_qsl(request.query))
        match = _PATH.fullmatch(request.path)
        assert match is not None
        stream = Stream()
        selector = query.get('fieldSelector', '')
        watch = (match['plural'], match['ns'] or '', selector, stream)
        if 'resourceVersion' not in query:
            for (plural, _, _), obj in self.objects.items():
                if plural == match['plural'] and _fits(obj, selector):
                    stream.put('ADDED', obj)
            end = {'resourceVersion': str(self.version), 'annotations': {frames.INITIAL_EVENTS_END: 'true'}}
            stream.put('BOOKMARK', {'metadata': end})
        self._watches.append(watch)
        try:
            yield stream
        finally:
            self._watches.remove(watch)

    def _answer(self, request: requests.Request, key: tuple[str, str, str], body: Any, sub: str) -> Json:
        if request.method == 'POST':
            key = (*key[:2], body['metadata']['name'])
            if key in self.objects:
                raise errors.AlreadyExists(409, 'AlreadyExists', 'there is one', where=str(request))
            return self._store(key, body)
        held = self.objects.get(key)
        if held is None:
            raise errors.NotFound(404, 'NotFound', f'{key} not found', where=str(request))
        match request.method:
            case 'GET':
                return held
            case 'PATCH':
                uid = body.get('metadata', {}).get('uid')
                if uid and uid != held['metadata']['uid']:
                    raise errors.Conflict(409, 'Conflict', 'another uid', where=str(request))
                return self._store(key, _merged(held, body))
            case 'DELETE':
                return self._delete(key, held, body)
        raise AssertionError(request)

    def _delete(self, key: tuple[str, str, str], held: Json, body: Json) -> Json:
        uid = body.get('preconditions', {}).get('uid')
        if uid and uid != held['metadata']['uid']:
            raise errors.Conflict(409, 'Conflict', 'another uid', where='DELETE')
        spec = held.get('spec', {})
        grace = body.get('gracePeriodSeconds', spec.get('terminationGracePeriodSeconds', 30))
        if key[0] != 'pods' or (grace == 0 and not held['metadata'].get('finalizers')):
            del self.objects[key]
            self._tell('DELETED', held)
            return held
        meta = held['metadata'] | {
            'deletionTimestamp': objects.stamp(now() + datetime.timedelta(seconds=grace)),
            'deletionGracePeriodSeconds': grace,
        }
        return self._store(key, held | {'metadata': meta})

    def _store(self, key: tuple[str, str, str], obj: Json) -> Json:
        kind = 'MODIFIED' if key in self.objects else 'ADDED'
        self.version += 1
        meta = {'uid': str(uuid.uuid4()), 'generation': 1} | obj['metadata'] | {'resourceVersion': str(self.version)}
        if key[1]:
            meta['namespace'] = key[1]
        obj = obj | {'metadata': meta}
        self.objects[key] = obj
        self.history.append(obj)
        self._tell(kind, obj, key)
        return obj

    def _tell(self, kind: str, obj: Json, key: tuple[str, str, str] | None = None) -> None:
        if kind == 'DELETED':
            self.version += 1
            obj = obj | {'metadata': obj['metadata'] | {'resourceVersion': str(self.version)}}
        plural = key[0] if key else 'pods'
        for watched, namespace, selector, stream in self._watches:
            if watched == plural and namespace in ('', obj['metadata'].get('namespace')) and _fits(obj, selector):
                stream.put(kind, obj)


def _fits(obj: Json, selector: str) -> bool:
    field, _, value = selector.partition('=')
    return not selector or (field == 'spec.nodeName' and obj.get('spec', {}).get('nodeName') == value)


def _merged(old: Json, patch: Json) -> Json:
    new = dict(old)
    for key, value in patch.items():
        if value is None:
            new.pop(key, None)
        elif key == 'conditions':
            held = {one['type']: one for one in old.get(key) or ()}
            for one in value:
                held[one['type']] = _merged(held.get(one['type'], {}), one)
            new[key] = list(held.values())
        elif isinstance(value, dict):
            new[key] = _merged(old.get(key) or {}, value)
        else:
            new[key] = value
    return new
