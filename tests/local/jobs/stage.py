"""An API server as the stage of stories: the controller that runs there is the one that is told about."""

import asyncio
import contextlib
import datetime
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from jobset.api import meta
from jobset.kube import client, errors, informer, requests
from tests.local.jobs.narration import Narrator, Object
from tests.local.jobs.stories import Story

EVENTS: Final = requests.Resource('', 'v1', 'events', 'Event')

QUIET_SECONDS: Final = 2.6
"""How long nothing must have changed for a step to be over. Upstream gathers changes for one second."""


class _Raw(meta.Partial, frozen=True, gc=False, kw_only=True, rename='camel'):
    spec: dict[str, Any] = msgspec.field(default_factory=dict)
    status: dict[str, Any] = msgspec.field(default_factory=dict)

    def object(self) -> Object:
        """As it would be in JSON."""
        return dict(msgspec.to_builtins(self))


class _Events(msgspec.Struct):
    items: list[dict[str, Any]] | None = None


class Server:
    """Plays stories, several at a time, in a namespace of their own."""

    def __init__(
        self, api: client.Client, namespace: str, *, now: Callable[[], datetime.datetime] | None = None
    ) -> None:
        self._api = api
        self._namespace = namespace
        self._now = now or _wall
        self._narrators: dict[str, Narrator] = {}
        self._jobs = informer.Informer(api, requests.JOBS, _Raw, namespace=namespace)
        self._pods = informer.Informer(api, requests.PODS, _Raw, namespace=namespace)
        self._jobs.subscribe(self._job_changed)
        self._pods.subscribe(self._pod_changed)
        self._running: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self._clear()
        body: Object = {'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': self._namespace}}
        await self._api.send(requests.create(requests.NAMESPACES, None, body))
        account = requests.Resource('', 'v1', 'serviceaccounts', 'ServiceAccount')
        async with asyncio.timeout(30):
            while True:
                with contextlib.suppress(errors.NotFound):
                    await self._api.send(requests.read(account, self._namespace, 'default'))
                    break
                await asyncio.sleep(0.1)
        self._running = asyncio.create_task(self._follow())
        await self._jobs.synced()
        await self._pods.synced()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._running is not None
        self._running.cancel()
        await asyncio.wait([self._running])
        await self._clear()

    async def play(self, story: Story) -> Object:
        """What happens in a story."""
        narrator = self._narrators[story.name] = Narrator()
        scene = _Scene(self._api, self._namespace, story.name, narrator, self._now)
        if story.before is not None:
            await self._api.send(requests.create(requests.PODS, self._namespace, story.before))
        body = story.job(self._namespace)
        made = await self._api.request(requests.create(requests.JOBS, self._namespace, body), _Raw)
        moments = [{'after': 'create'} | await scene.moment()]
        for step in story.steps:
            await step.do(scene)
            moments.append({'after': str(step)} | await scene.moment())
        uid = made.metadata.uid
        told: Object = {'job': _anonymous(made.object(), uid), 'moments': moments}
        if story.shows_bodies:
            told['bodies'] = dict(sorted(narrator.bodies.items()))
        return told

    async def _follow(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._jobs.run())
            group.create_task(self._pods.run())

    async def _clear(self) -> None:
        """Removes the namespace and all that is in it, also pods that wait for a kubelet that never was."""
        with contextlib.suppress(errors.NotFound):
            await self._api.send(requests.delete(requests.NAMESPACES, None, self._namespace))
        async with asyncio.timeout(120):
            while True:
                try:
                    await self._api.send(requests.read(requests.NAMESPACES, None, self._namespace))
                except errors.NotFound:
                    return
                pods = await self._api.request(requests.list_(requests.PODS, self._namespace), _Events)
                for pod in pods.items or ():
                    with contextlib.suppress(errors.NotFound):
                        name = pod['metadata']['name']
                        nothing = {'metadata': {'finalizers': None}}
                        await self._api.send(
                            requests.patch(requests.PODS, self._namespace, name, nothing, requests.Patch.MERGE)
                        )
                        await self._api.send(requests.delete(requests.PODS, self._namespace, name, grace_seconds=0))
                await asyncio.sleep(0.5)

    def _job_changed(self, old: _Raw | None, new: _Raw | None) -> None:
        seen = new or old
        if seen is not None and (narrator := self._narrators.get(seen.metadata.name)):
            narrator.saw_job(new.object() if new is not None else None)

    def _pod_changed(self, old: _Raw | None, new: _Raw | None) -> None:
        seen = new or old
        if seen is None:
            return
        labels = seen.metadata.labels
        known = {labels.get('batch.kubernetes.io/job-name', ''), labels.get('story', '')}
        for name, narrator in self._narrators.items():
            if name in known or seen.metadata.name in narrator.names:
                narrator.saw_pod(seen.object(), gone=new is None)


class _Scene:
    """The stage of one story."""

    def __init__(
        self,
        api: client.Client,
        namespace: str,
        job: str,
        narrator: Narrator,
        now: Callable[[], datetime.datetime],
    ) -> None:
        self._api = api
        self._namespace = namespace
        self._job = job
        self.narrator = narrator
        self.now = now

    async def patch_job(self, patch: Object) -> None:
        await self._api.send(requests.patch(requests.JOBS, self._namespace, self._job, patch, requests.Patch.MERGE))

    async def delete_job(self, propagation: str) -> None:
        await self._api.send(
            requests.delete(requests.JOBS, self._namespace, self._job, propagation=requests.Propagation(propagation))
        )

    async def patch_pod(self, name: str, patch: Object, subresource: str = '') -> None:
        await self._api.send(
            requests.patch(requests.PODS, self._namespace, name, patch, requests.Patch.MERGE, subresource=subresource)
        )

    async def bind(self, name: str, node: str) -> None:
        body: Object = {
            'apiVersion': 'v1',
            'kind': 'Binding',
            'metadata': {'name': name, 'namespace': self._namespace},
            'target': {'apiVersion': 'v1', 'kind': 'Node', 'name': node},
        }
        path = requests.PODS.subresource(self._namespace, name, 'binding')
        await self._api.send(requests.Request('POST', path, body=requests.encode(body)))

    async def delete_pod(self, name: str, *, grace: int | None) -> None:
        await self._api.send(requests.delete(requests.PODS, self._namespace, name, grace_seconds=grace))

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def moment(self) -> Object:
        """What is there once nothing changes any more."""
        loop = asyncio.get_running_loop()
        seen, since = -1, loop.time()
        async with asyncio.timeout(60):
            while seen != self.narrator.changes or loop.time() - since < QUIET_SECONDS:
                if seen != self.narrator.changes:
                    seen, since = self.narrator.changes, loop.time()
                await asyncio.sleep(0.1)
        return self.narrator.moment(await self._events())

    async def _events(self) -> list[tuple[str, int, str, str, str]]:
        query = requests.list_(
            EVENTS, self._namespace, field_selector=f'involvedObject.name={self._job},involvedObject.kind=Job'
        )
        found = await self._api.request(query, _Events)
        items = sorted(found.items or (), key=lambda each: int(each['metadata']['name'].rpartition('.')[2], 16))
        return [
            (
                each['metadata']['name'],
                (each.get('series') or {}).get('count') or each.get('count') or 1,
                each['type'],
                each['reason'],
                each['message'],
            )
            for each in items
        ]


def _wall() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def _anonymous(job: Object, uid: str) -> Object:
    text = msgspec.json.encode(job).decode().replace(uid, '<uid>')
    found: Object = msgspec.json.decode(text)
    for key in ('creationTimestamp', 'resourceVersion', 'namespace', 'uid'):
        found['metadata'].pop(key, None)
    return found


def essence(told: Object) -> Object:
    """What two runs must have in common."""
    return {key: value for key, value in told.items() if key != 'job'}


def differences(before: Object, now: Object) -> list[str]:
    """Where a run differs from an earlier one, a line for each moment and part of it."""
    found = []
    for old, new in zip(before['moments'], now['moments'], strict=True):
        for key, value in old.items():
            if new[key] != value:
                found.append(f'after {old["after"]}: {key}: recorded {value}, now {new[key]}')
    if before.get('bodies') != now.get('bodies'):
        found.append(f'bodies: recorded {before.get("bodies")}, now {now.get("bodies")}')
    return found
