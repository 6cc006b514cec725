"""Deletes pods that nobody will look after: those of nodes that are gone, and ended ones when there are too many.

Source: Kubernetes, "Garbage collection of Pods".
"""

import datetime
import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from jobset.kube import errors, requests, workqueue
from jobset.local import objects
from jobset.local.controllers import models, shared
from jobset.local.controllers.nodes import placed


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When pods are deleted."""

    quarantine_seconds: float = 40
    """How long a node may be missing before its pods are given up: it may come back under its name."""

    ended_kept: int = 12_500
    """Ended pods that stay, as ``--terminated-pod-gc-threshold``."""


class PodCollector:
    """The controller. Subscribed when it is made; the informers have to run beside it."""

    def __init__(
        self,
        informers: shared.Informers,
        now: Callable[[], datetime.datetime],
        *,
        settings: Limits | None = None,
    ) -> None:
        self._source = informers.source
        self._now = now
        self._settings = settings or Limits()
        self._placed = placed.Placed(informers)
        self._ended: dict[tuple[str, str], models.Pod] = {}
        self._queue: workqueue.WorkQueue[str] = workqueue.WorkQueue()
        self._placed.nodes.subscribe(self._seen_node)
        self._placed.pods.subscribe(self._seen_pod)

    async def run(self) -> NoReturn:
        """Works until cancelled."""
        await self._placed.synced()
        # Pods may have come before their nodes; by now both are known.
        for pod in self._placed.pods.values():
            self._look(pod)
        await self._queue.run(self._pass, workers=2)
        raise AssertionError('nobody stops the queue')

    def _seen_node(self, old: models.Node | None, new: models.Node | None) -> None:
        if new is None and old is not None:
            self._queue.add_after(old.metadata.name, self._settings.quarantine_seconds)

    def _seen_pod(self, old: models.Pod | None, new: models.Pod | None) -> None:
        if new is None:
            if old is not None:
                self._ended.pop((old.metadata.namespace, old.metadata.name), None)
            return
        if new.is_finished and not new.metadata.is_deleting:
            self._ended[(new.metadata.namespace, new.metadata.name)] = new
            if len(self._ended) > self._settings.ended_kept:
                self._queue.add('')
        is_placed_anew = old is None or old.spec.node_name != new.spec.node_name
        if is_placed_anew and self._placed.nodes.is_synced and self._placed.pods.is_synced:
            self._look(new)

    def _look(self, pod: models.Pod) -> None:
        name = pod.spec.node_name
        if name and self._placed.node(name) is None:
            self._queue.add_after(name, self._settings.quarantine_seconds)

    async def _pass(self, node: str) -> None:
        if node:
            await self._give_up(node)
        else:
            await self._thin_out()

    async def _give_up(self, node: str) -> None:
        if self._placed.node(node) is not None:
            return
        try:
            await self._source.send(requests.read(requests.NODES, None, node))
        except errors.NotFound:
            for pod in self._placed.on(node):
                await self._end(pod)

    async def _end(self, pod: models.Pod) -> None:
        metadata = pod.metadata
        try:
            if not pod.is_finished:
                await self._fail(pod)
            await self._source.send(
                requests.delete(requests.PODS, metadata.namespace, metadata.name, uid=metadata.uid, grace_seconds=0)
            )
        except errors.NotFound:
            return

    async def _fail(self, pod: models.Pod) -> None:
        """Says why, for the Job: an end of this sort is no fault of the program."""
        condition = {
            'type': 'DisruptionTarget',
            'status': 'True',
            'reason': 'DeletionByPodGC',
            'message': 'PodGC: node no longer exists',
            'lastTransitionTime': objects.stamp(self._now()),
        }
        await placed.write_status(self._source, pod, {'phase': 'Failed', 'conditions': [condition]})

    async def _thin_out(self) -> None:
        surplus = len(self._ended) - self._settings.ended_kept
        oldest = heapq.nsmallest(
            max(surplus, 0),
            self._ended.items(),
            key=lambda entry: (entry[1].metadata.creation_timestamp or '', entry[0]),
        )
        for key, pod in oldest:
            await self._end(pod)
            self._ended.pop(key, None)
