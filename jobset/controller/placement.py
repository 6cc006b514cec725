"""Sees to it that the pods of a Job with exclusive placement stand where their leader does.

Webhooks place followers by what they know at that moment, and that may be outrun; or they are not there at all. What
is seen here of pods and nodes raises a suspicion only. Before anything is deleted, the Job's pods and its leader's node
are read anew, and every deletion names the uid of its pod.
"""

import datetime
import logging
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from jobset.api import keys, meta
from jobset.api.pods import Pod
from jobset.controller import fanout, places
from jobset.core import conditions, placement
from jobset.kube import client, errors, requests, times, workqueue

logger = logging.getLogger(__name__)

WORKERS: Final = 4
"""Jobs that are repaired at the same time."""


class UnknownDomainError(errors.RetryLater):
    """The domain of a leader cannot be told: nothing is deleted on a guess."""

    def __init__(self, text: str) -> None:
        super().__init__(0, 'UnknownDomain', text)


class Repairs:
    """Finds Jobs whose pods are misplaced, and deletes these pods. ``writer`` must refuse to write unless we lead."""

    def __init__(
        self,
        api: client.Client,
        writer: client.Client,
        seen: places.Places,
        *,
        now: Callable[[], datetime.datetime] = times.now,
    ) -> None:
        self._api = api
        self._now = now
        self._writer = writer
        self._seen = seen
        self.queue: workqueue.WorkQueue[placement.Group] = workqueue.WorkQueue()
        seen.on_suspect = self.queue.add

    async def work(self, *, grace: float) -> None:
        """Repair until :meth:`stop`, then end within ``grace`` seconds."""
        await self.queue.run(self.repair, workers=WORKERS, grace=grace)

    def stop(self) -> None:
        """Begin nothing further, and let :meth:`work` return."""
        self.queue.stop()

    async def repair(self, group: placement.Group) -> None:
        """Look at one Job, and delete what is misplaced. Raises what keeps that from being told or done."""
        await self._seen.nodes.synced()
        suspect = self._seen.suspect(group)
        if suspect is None:
            return
        now = await self._pods_now(group, suspect.labels.job_key or '')
        leader = placement.bound_leader(now)
        if leader is None:
            return  # its next one will bring a pass
        verdict = placement.judge(now, await self._labels_now(leader.spec.node_name))
        if verdict.unknown:
            raise UnknownDomainError(verdict.unknown)
        if verdict.delete:
            logger.info(
                '%s/%s: is on %s; deleting %d pods of its Job that are not in the same %s',
                *leader.metadata.ref,
                leader.spec.node_name,
                len(verdict.delete),
                leader.topology,
            )
            await self._delete(verdict.delete)

    async def _pods_now(self, group: placement.Group, job_key: str) -> list[Pod]:
        request = requests.list_(requests.PODS, group.namespace, label_selector=f'{keys.JOB_KEY}={job_key}')
        found = await self._api.request(request, _Pods)
        return [pod for pod in found.items or () if placement.group_of(pod) == group]

    async def _labels_now(self, node: str) -> Mapping[str, Mapping[str, str]]:
        try:
            found = await self._api.request(requests.read(requests.NODES, None, node), meta.Partial)
        except errors.NotFound:
            return {}
        return {node: found.metadata.labels}

    async def _delete(self, pods: tuple[Pod, ...]) -> None:
        for failure in await fanout.fan_out(pods, self._delete_one, give_up=True):
            raise failure

    async def _delete_one(self, pod: Pod) -> None:
        namespace, name = pod.metadata.ref
        try:
            if not placement.is_marked(pod):
                await self._writer.send(_mark(pod, self._now()))
            delete = requests.delete(
                requests.PODS,
                namespace,
                name,
                propagation=requests.Propagation.BACKGROUND,
                uid=pod.metadata.uid,
            )
            await self._writer.send(delete)
        except (errors.NotFound, errors.Conflict):
            return  # gone, or another pod by now, which its own creation brings here


class _Pods(msgspec.Struct, frozen=True, kw_only=True):
    items: list[Pod] | None = None


def _mark(pod: Pod, now: datetime.datetime) -> requests.Request:
    """Says why the pod goes, so that a pod failure policy need not count it; refused if it is another pod by now."""
    namespace, name = pod.metadata.ref
    change = {
        'metadata': {'uid': pod.metadata.uid},
        'status': {'conditions': [placement.violation(conditions.timestamp(now))]},
    }
    return requests.patch(requests.PODS, namespace, name, change, requests.Patch.STRATEGIC, subresource='status')
