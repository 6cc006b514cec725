"""The scheduler at work: watches, asks the planner, binds.

It does to the server what kube-scheduler does: ``pods/binding`` for pods that get a node; the condition PodScheduled
and an Event for those that do not; the condition of PodGroups. So the same code schedules for any API server.
"""

import asyncio
import functools
import logging
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from jobset.api import meta
from jobset.kube import client, discovery, errors, events, informer, requests
from jobset.local import clock, objects
from jobset.local.scheduling import known, model, outbox, planner, plans

logger = logging.getLogger(__name__)

BIND_PAUSE: Final = 1.0
"""Seconds before a pod is looked at again whose binding has failed: until then the watch has told why."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the scheduler works."""

    name: str = known.SCHEDULER
    """Only pods that name it are its own."""

    workers: int = 16
    """Requests that it has under way at most."""

    tells_events: bool = True
    """Whether it records Events; each is a write, and in a long simulation nobody reads them."""

    instance: str = 'default-scheduler-embedded'
    """Who reports the Events."""


class Scheduler:
    """Gives pods their nodes, over an API client, until cancelled."""

    def __init__(
        self,
        api: client.Client,
        *,
        now: clock.Now = clock.wall,
        settings: Settings | None = None,
        watching: informer.Watching | None = None,
    ) -> None:
        self._api = api
        self._now = now
        self._settings = settings or Settings()
        self._watching = watching
        self.planner = planner.Planner(self._settings.name)
        self._pods = informer.Informer(
            api, requests.PODS, model.Pod, keep=lambda pod: not pod.has_ended, settings=watching
        )
        self._nodes = informer.Informer(api, requests.NODES, model.Node, settings=watching)
        self._wake = asyncio.Event()
        self._outbox = outbox.Outbox()
        self._alarm: asyncio.TimerHandle | None = None
        self._recorder: events.Recorder | None = None
        self._pods.subscribe(self._pod_changed)
        self._nodes.subscribe(self._node_changed)

    async def run(self) -> None:
        """Schedules until cancelled."""
        loop = asyncio.get_running_loop()
        if self._settings.tells_events:
            self._recorder = events.Recorder(
                self._api,
                controller=self._settings.name,
                instance=self._settings.instance,
                clock=loop.time,
                now=self._now,
            )
        others = await self._others()
        async with asyncio.TaskGroup() as group:
            for each in (self._nodes, *others, self._pods):
                group.create_task(each.run(), name=f'scheduler: {each.resource.plural}')
            if self._recorder is not None:
                group.create_task(self._recorder.run(), name='scheduler: events')
            for each in (self._nodes, *others, self._pods):
                await each.synced()
            group.create_task(self._outbox.run(self._settings.workers), name='scheduler: writes')
            await self._decide()

    async def _others(self) -> list[informer.Informer[Any]]:
        """Caches of what not every server has."""
        found: list[informer.Informer[Any]] = []
        for resource, kind, handler in (
            (requests.CLAIMS, model.Claim, self._claim_changed),
            (model.VOLUMES, model.PersistentVolume, self._volume_changed),
            (model.POD_GROUPS, model.PodGroup, self._group_changed),
        ):
            if await discovery.missing(self._api, (resource,)):
                logger.info('scheduler: the server does not have %s', resource)
                continue
            one: informer.Informer[Any] = informer.Informer(self._api, resource, kind, settings=self._watching)
            one.subscribe(handler)
            found.append(one)
        return found

    # What happens.

    def _pod_changed(self, old: model.Pod | None, new: model.Pod | None) -> None:
        if new is not None:
            self.planner.put_pod(new)
        elif old is not None:
            self.planner.drop_pod(old.metadata.uid)
        self._stir()

    def _node_changed(self, old: model.Node | None, new: model.Node | None) -> None:
        if new is not None:
            self.planner.put_node(new)
        elif old is not None:
            self.planner.drop_node(old.metadata.name)
        self._stir()

    def _group_changed(self, old: model.PodGroup | None, new: model.PodGroup | None) -> None:
        if new is not None:
            self.planner.put_group(new)
        elif old is not None:
            self.planner.drop_group(old.metadata.ref)
        self._stir()

    def _claim_changed(self, old: model.Claim | None, new: model.Claim | None) -> None:
        if new is not None:
            self.planner.put_claim(new)
        elif old is not None:
            self.planner.drop_claim(old.metadata.ref)
        self._stir()

    def _volume_changed(self, old: model.PersistentVolume | None, new: model.PersistentVolume | None) -> None:
        if new is not None:
            self.planner.put_volume(new)
        elif old is not None:
            self.planner.drop_volume(old.metadata.name)
        self._stir()

    def _stir(self) -> None:
        if self.planner.needs_plan:
            self._wake.set()

    async def _decide(self) -> NoReturn:
        loop = asyncio.get_running_loop()
        while True:
            await self._wake.wait()
            self._wake.clear()
            plan = self.planner.plan(loop.time())
            for bind in plan.binds:
                self._outbox.post(functools.partial(self._bind, bind))
            for judgement in plan.judgements:
                self._outbox.post(functools.partial(self._judge, judgement))
            for hold in plan.holds:
                self._outbox.post(functools.partial(self._hold, hold))
            if self._alarm is not None:
                self._alarm.cancel()
                self._alarm = None
            if plan.again_at is not None:
                self._alarm = loop.call_at(plan.again_at, self._wake.set)

    # What is written.

    async def _bind(self, bind: plans.Bind) -> None:
        metadata = bind.pod.metadata
        body = {
            'apiVersion': 'v1',
            'kind': 'Binding',
            'metadata': {'name': metadata.name, 'namespace': metadata.namespace, 'uid': metadata.uid},
            'target': {'apiVersion': 'v1', 'kind': 'Node', 'name': bind.node},
        }
        path = requests.PODS.subresource(metadata.namespace, metadata.name, 'binding')
        try:
            await self._api.send(requests.Request('POST', path, body=requests.encode(body)))
        except errors.ApiError as error:
            logger.info('scheduler: %s/%s cannot be bound to %s: %s', *metadata.ref, bind.node, error)
            self.planner.forget(metadata.uid, None)
            asyncio.get_running_loop().call_later(BIND_PAUSE, self._look_again, metadata.ref)
            self._stir()
            return
        self._tell(
            bind.pod,
            events.EventType.NORMAL,
            'Scheduled',
            'Binding',
            f'Successfully assigned {"/".join(metadata.ref)} to {bind.node}',
        )

    def _look_again(self, ref: meta.Ref) -> None:
        pod = self._pods.get(*ref)
        if pod is not None:
            self.planner.put_pod(pod)
            self._stir()

    async def _hold(self, hold: plans.Hold) -> None:
        pod = hold.pod
        condition: dict[str, Any] = {
            'type': model.SCHEDULED,
            'status': 'False',
            'reason': hold.reason,
            'message': hold.message,
            'lastProbeTime': None,
        }
        if pod.metadata.generation:
            condition['observedGeneration'] = pod.metadata.generation
        if pod.scheduled is None or pod.scheduled.status != 'False':
            condition['lastTransitionTime'] = objects.stamp(self._now())
        body = {'metadata': {'uid': pod.metadata.uid}, 'status': {'conditions': [condition]}}
        if hold.reason != known.GATED:
            self._tell(pod, events.EventType.WARNING, 'FailedScheduling', 'Scheduling', hold.message)
        await self._patch(requests.PODS, pod.metadata, body, requests.Patch.STRATEGIC)

    async def _judge(self, judgement: plans.Judgement) -> None:
        group = judgement.group
        condition = {
            'type': known.GROUP_SCHEDULED,
            'status': 'True' if judgement.is_scheduled else 'False',
            'reason': judgement.reason,
            'message': judgement.message,
            'lastTransitionTime': objects.stamp(self._now()),
        }
        body = {'metadata': {'uid': group.metadata.uid}, 'status': {'conditions': [condition]}}
        await self._patch(model.POD_GROUPS, group.metadata, body, requests.Patch.STRATEGIC)

    async def _patch(
        self, resource: requests.Resource, metadata: meta.Identity, body: dict[str, Any], kind: requests.Patch
    ) -> None:
        request = requests.patch(resource, metadata.namespace, metadata.name, body, kind, subresource='status')
        try:
            await self._api.send(request)
        except (errors.NotFound, errors.Conflict):
            # It is gone, perhaps with another one of its name in its place.
            return
        except errors.ApiError as error:
            logger.warning('scheduler: the status of %s %s/%s is not told: %s', resource, *metadata.ref, error)

    def _tell(self, pod: model.Pod, kind: events.EventType, reason: str, action: str, note: str) -> None:
        if self._recorder is None:
            return
        version = pod.metadata.resource_version
        regarding = events.ObjectRef.of(pod.metadata, api_version='v1', kind='Pod', resource_version=version)
        self._recorder.record(regarding, type=kind, reason=reason, note=note, action=action)
