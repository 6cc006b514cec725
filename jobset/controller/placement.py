"""Sees to it that the pods of a Job with exclusive placement stand where their leader does.

Webhooks place followers by what they know at that moment, and that may be outrun; or they are not there at all. What
is seen here of pods and nodes raises a suspicion only. Before anything is deleted, the Job's pods and its leader's node
are read anew, and every deletion names the uid of its pod.

Pods and nodes are followed from the first JobSet on that asks for exclusive placement: most clusters have none.
"""

import asyncio
import datetime
import logging
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from jobset.api import keys, meta, types
from jobset.api.pods import Pod
from jobset.controller import fanout, podcache
from jobset.core import conditions, placement
from jobset.kube import client, errors, index, informer, requests, times, workqueue

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
        jobsets: informer.Informer[types.JobSet],
        pods: podcache.PodCache,
        *,
        watching: informer.Watching | None = None,
        now: Callable[[], datetime.datetime] = times.now,
    ) -> None:
        self._api = api
        self._now = now
        self._writer = writer
        self.queue: workqueue.WorkQueue[placement.Group] = workqueue.WorkQueue()
        self._pods = pods
        self.nodes = informer.Informer(api, requests.NODES, meta.Partial, metadata_only=True, settings=watching)
        self._by_job = index.Index(_groups)
        self._by_node = index.Index(_leaders_node)
        self._wanted = asyncio.Event()
        jobsets.subscribe(self._jobset_changed)
        self.nodes.subscribe(self._node_changed)

    async def follow(self) -> None:
        """Keep nodes up to date until cancelled, from when they are wanted."""
        await self._wanted.wait()
        await self.nodes.run()

    async def work(self, *, grace: float) -> None:
        """Repair until :meth:`stop`, then end within ``grace`` seconds."""
        await self.queue.run(self.repair, workers=WORKERS, grace=grace)

    def stop(self) -> None:
        """Begin nothing further, and let :meth:`work` return."""
        self.queue.stop()

    async def repair(self, group: placement.Group) -> None:
        """Look at one Job, and delete what is misplaced. Raises what keeps that from being told or done."""
        await self.nodes.synced()
        suspect = self._suspect(group)
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

    def _suspect(self, group: placement.Group) -> Pod | None:
        """The leader of a Job whose other pods do not seem to be where it is, as far as the caches know."""
        pods = tuple(self._by_job.get(group).values())
        leader = placement.bound_leader(pods)
        if leader is None:
            return None
        node = self.nodes.get('', leader.spec.node_name)
        labels = {} if node is None else {leader.spec.node_name: node.metadata.labels}
        return None if placement.judge(pods, labels) == placement.NOTHING else leader

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

    def _jobset_changed(self, _: types.JobSet | None, new: types.JobSet | None) -> None:
        if self._wanted.is_set() or new is None:
            return
        templates = (bytes(job.template) for job in new.spec.replicated_jobs)
        if placement.asks(new.metadata.annotations, templates):
            self._wanted.set()
            for handler in (self._by_job.on_change, self._by_node.on_change, self._pod_changed):
                self._pods.follow(handler)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        for pod in (old, new):
            group = placement.group_of(pod) if pod is not None else None
            if group is not None:
                self.queue.add(group)

    def _node_changed(self, old: meta.Partial | None, new: meta.Partial | None) -> None:
        node = new or old
        if node is None or (old is not None and new is not None and old.metadata.labels == new.metadata.labels):
            return
        for pod in self._by_node.get(node.metadata.name).values():
            self._pod_changed(None, pod)


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


def _groups(pod: Pod) -> tuple[placement.Group, ...]:
    group = placement.group_of(pod)
    return () if group is None else (group,)


def _leaders_node(pod: Pod) -> tuple[str, ...]:
    return (pod.spec.node_name,) if pod.is_leader and pod.spec.node_name else ()
