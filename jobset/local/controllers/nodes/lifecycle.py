"""Notices nodes whose kubelet has gone silent, taints them, and evicts pods that do not bear the taints of their node.

Source: Kubernetes, "Node heartbeats" and "Taint based evictions". A node without a Lease is not watched over: it was
made by hand, or is simulated, and then its conditions are what others say.
"""

import asyncio
import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import msgspec

from jobset.kube import errors, requests, workqueue
from jobset.local import objects
from jobset.local.controllers import models, shared
from jobset.local.controllers.nodes import placed, tolerating

LEASES: Final = 'kube-node-lease'
NOT_READY: Final = 'node.kubernetes.io/not-ready'
UNREACHABLE: Final = 'node.kubernetes.io/unreachable'
_KEYS: Final = (NOT_READY, UNREACHABLE)
_EFFECTS: Final = ('NoSchedule', tolerating.NO_EXECUTE)
_ROUNDING: Final = 1e-3
"""Seconds that are as good as none: waiting for less than a clock can tell would never end."""

_HEARTBEATS: Final = ('Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure')


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long a silent node is waited for."""

    grace_seconds: float = 50
    """As ``--node-monitor-grace-period``."""


def trouble(node: models.Node) -> str | None:
    """The key of the taints of a node that is not ready; None for one that is, or does not say."""
    state = next((one.status for one in node.status.conditions or () if one.type == 'Ready'), 'True')
    return {'True': None, 'False': NOT_READY}.get(state, UNREACHABLE)


def wanted_taints(node: models.Node, now: datetime.datetime, *, evicts: bool = True) -> Sequence[models.Taint]:
    """The taints of a node, with those that follow from its condition Ready.

    ``evicts`` is false while no node at all is ready: then the network is to blame rather than the nodes, and to evict
    what may well be running would only do harm.
    """
    key = trouble(node)
    effects = _EFFECTS if evicts else _EFFECTS[:1]
    wanted = [
        one for one in node.spec.taints or () if one.key not in _KEYS or (one.key == key and one.effect in effects)
    ]
    for effect in effects:
        if key is not None and not any((one.key, one.effect) == (key, effect) for one in wanted):
            wanted.append(models.Taint(key=key, effect=effect, time_added=objects.stamp(now)))
    return wanted


def silent_conditions(node: models.Node, now: datetime.datetime) -> list[dict[str, Any]]:
    """The conditions of a node of which nothing is heard any more, where they are not that already."""
    known = {one.type: one for one in node.status.conditions or ()}
    stamp = objects.stamp(now)
    found = []
    for kind in _HEARTBEATS:
        one = known.get(kind)
        if one is None or one.status == 'Unknown':
            continue
        found.append(
            {
                'type': kind,
                'status': 'Unknown',
                'reason': 'NodeStatusUnknown',
                'message': 'Kubelet stopped posting node status.',
                'lastTransitionTime': stamp,
            }
        )
    return found


class Lifecycle:
    """The controller. Subscribed when it is made; the informers have to run beside it."""

    def __init__(
        self,
        informers: shared.Informers,
        now: Callable[[], datetime.datetime],
        *,
        settings: Patience | None = None,
    ) -> None:
        self._source = informers.source
        self._now = now
        self._settings = settings or Patience()
        self._placed = placed.Placed(informers)
        self._leases = informers.leases()
        self._heard: dict[str, float] = {}
        """When a Lease was last renewed, by our own clock: those of nodes may differ."""

        self._well: set[str] = set()
        """Nodes that are ready, or do not say."""

        self._noticed: dict[tuple[str, str], datetime.datetime] = {}
        self._node_queue: workqueue.WorkQueue[str] = workqueue.WorkQueue()
        self._pod_queue: workqueue.WorkQueue[tuple[str, str]] = workqueue.WorkQueue()
        self._leases.subscribe(self._seen_lease)
        self._placed.nodes.subscribe(self._seen_node)
        self._placed.pods.subscribe(self._seen_pod)

    async def run(self) -> NoReturn:
        """Works until cancelled."""
        await self._placed.synced()
        await self._leases.synced()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._node_queue.run(self._pass_node, workers=4))
            group.create_task(self._pod_queue.run(self._pass_pod, workers=8))
        raise AssertionError('nobody stops the queues')

    def _seen_lease(self, old: models.Lease | None, new: models.Lease | None) -> None:
        if new is None or new.metadata.namespace != LEASES:
            return
        if old is None or old.spec.renew_time != new.spec.renew_time:
            name = new.metadata.name
            is_new = name not in self._heard
            self._heard[name] = asyncio.get_running_loop().time()
            if is_new:
                self._node_queue.add(name)

    def _seen_node(self, old: models.Node | None, new: models.Node | None) -> None:
        self._count(old, new)
        if new is None:
            if old is not None:
                self._heard.pop(old.metadata.name, None)
            return
        if old is None or (old.spec, old.status) != (new.spec, new.status):
            self._node_queue.add(new.metadata.name)
        if (old.spec.taints if old is not None else None) != new.spec.taints:
            for pod in self._placed.on(new.metadata.name):
                self._pod_queue.add((pod.metadata.namespace, pod.metadata.name))

    def _count(self, old: models.Node | None, new: models.Node | None) -> None:
        before = bool(self._well)
        if old is not None:
            self._well.discard(old.metadata.name)
        if new is not None and trouble(new) is None:
            self._well.add(new.metadata.name)
        if bool(self._well) != before:
            # The last one that was ready, or the first: it changes what is done about the others.
            for node in self._placed.nodes.values():
                if trouble(node) is not None:
                    self._node_queue.add(node.metadata.name)

    def _seen_pod(self, old: models.Pod | None, new: models.Pod | None) -> None:
        if new is None:
            if old is not None:
                self._noticed.pop((old.metadata.namespace, old.metadata.name), None)
            return
        if not new.spec.node_name or (old is not None and old.spec == new.spec):
            return
        node = self._placed.node(new.spec.node_name)
        if node is not None and node.spec.taints:
            self._pod_queue.add((new.metadata.namespace, new.metadata.name))

    async def _pass_node(self, name: str) -> float | None:
        node = self._placed.node(name)
        if node is None:
            return None
        try:
            wait = await self._listen(node)
            node = self._placed.node(name) or node
            await self._taint(node)
        except errors.NotFound:
            return None
        except errors.Conflict:
            return 0.05
        return wait

    async def _listen(self, node: models.Node) -> float | None:
        """Marks the node when it has been silent for too long; returns the seconds to the next look."""
        heard = self._heard.get(node.metadata.name)
        if heard is None:
            return None
        left = heard + self._settings.grace_seconds - asyncio.get_running_loop().time()
        if left > _ROUNDING:
            return left
        conditions = silent_conditions(node, self._now())
        if conditions:
            request = requests.patch(
                requests.NODES,
                None,
                node.metadata.name,
                {'status': {'conditions': conditions}},
                requests.Patch.STRATEGIC,
                subresource='status',
            )
            self._placed.nodes.observe(await self._source.request(request, models.Node))
            await self._mark_pods(node)
        return self._settings.grace_seconds

    async def _mark_pods(self, node: models.Node) -> None:
        """Nobody knows any more whether they are ready, so they count as not ready."""
        for pod in self._placed.on(node.metadata.name):
            if pod.is_ready:
                condition = {'type': 'Ready', 'status': 'False', 'lastTransitionTime': objects.stamp(self._now())}
                await placed.write_status(self._source, pod, {'conditions': [condition]})

    async def _taint(self, node: models.Node) -> None:
        wanted = wanted_taints(node, self._now(), evicts=bool(self._well))
        if list(wanted) == list(node.spec.taints or ()):
            return
        body = {
            'metadata': {'resourceVersion': node.metadata.resource_version},
            'spec': {'taints': [msgspec.to_builtins(one) for one in wanted] or None},
        }
        request = requests.patch(requests.NODES, None, node.metadata.name, body, requests.Patch.MERGE)
        self._placed.nodes.observe(await self._source.request(request, models.Node))

    async def _pass_pod(self, key: tuple[str, str]) -> float | None:
        pod = self._placed.pods.get(*key)
        node = self._placed.node(pod.spec.node_name) if pod is not None else None
        if pod is None or node is None or pod.metadata.is_deleting:
            return None
        now = self._now()
        noticed = self._noticed.setdefault(key, now)
        end = tolerating.evicted_at(pod.spec.tolerations or (), node.spec.taints or (), noticed)
        if end is None:
            self._noticed.pop(key, None)
            return None
        wait = (end - now).total_seconds()
        if wait > 0:
            return wait
        await self._evict(pod)
        return None

    async def _evict(self, pod: models.Pod) -> None:
        condition = {
            'type': 'DisruptionTarget',
            'status': 'True',
            'reason': 'DeletionByTaintManager',
            'message': 'Taint manager: deleting due to NoExecute taint',
            'lastTransitionTime': objects.stamp(self._now()),
        }
        metadata = pod.metadata
        try:
            await placed.write_status(self._source, pod, {'conditions': [condition]})
            await self._source.send(requests.delete(requests.PODS, metadata.namespace, metadata.name, uid=metadata.uid))
        except errors.NotFound:
            return
