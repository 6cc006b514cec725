"""What is seen of where Jobs with exclusive placement are: their pods, the nodes, and leaders that find none.

Pods and nodes are followed from the first JobSet on that asks for exclusive placement: most clusters have none.
"""

import asyncio
from collections.abc import Callable
from typing import Final, NamedTuple

from jobset.api import meta, pods, types
from jobset.controller import podcache
from jobset.core import domains, placement
from jobset.kube import client, index, informer, requests


class Places:
    """``concerns`` is told the uid of a JobSet of which a leader finds a node, or does not, or for another reason."""

    def __init__(
        self,
        api: client.Client,
        jobsets: informer.Informer[types.JobSet],
        seen: podcache.PodCache,
        concerns: Callable[[str], None],
        *,
        settings: informer.Watching | None = None,
    ) -> None:
        self._pods = seen
        self._concerns = concerns
        self._wanted = asyncio.Event()
        self.on_suspect: Callable[[placement.Group], None] = lambda _: None
        """Called with each Job whose pods may not be where they should."""

        self.nodes = informer.Informer(api, requests.NODES, meta.Partial, metadata_only=True, settings=settings)
        self.resource: Final = self.nodes.resource
        self._by_job = index.Index(_groups)
        self._by_node = index.Index(_leaders_node)
        self._unplaced = index.Index(_unplaced_of)
        self._bound = index.Index(_topology_of_bound)
        self._domains: dict[tuple[str, str | None], domains.Domains] = {}
        """As they have been counted since anything changed in what counts."""

        jobsets.subscribe(self._jobset_changed)
        self.nodes.subscribe(self._node_changed)

    async def run(self) -> None:
        """Keep nodes up to date until cancelled, from when they are wanted."""
        await self._wanted.wait()
        await self.nodes.run()

    def suspect(self, group: placement.Group) -> pods.Pod | None:
        """The leader of a Job whose other pods do not seem to be where it is, as far as the caches know."""
        found = tuple(self._by_job.get(group).values())
        leader = placement.bound_leader(found)
        if leader is None:
            return None
        node = self.nodes.get('', leader.spec.node_name)
        labels = {} if node is None else {leader.spec.node_name: node.metadata.labels}
        return None if placement.judge(found, labels) == placement.NOTHING else leader

    def unplaced(self, jobset: types.JobSet) -> tuple[domains.Unplaced, ...]:
        """The leaders of a JobSet that find no node; none before all nodes have been seen."""
        found = self._unplaced.get(jobset.metadata.uid)
        if not found or not self.nodes.is_synced:
            return ()
        return tuple(self._judged(pod) for pod in found.values())

    def _judged(self, leader: pods.Pod) -> domains.Unplaced:
        topology, priority = leader.topology or '', leader.labels.priority
        counted = self._domains.get((topology, priority))
        if counted is None:
            labels = {node.metadata.name: node.metadata.labels for node in self.nodes.values()}
            counted = domains.domains(self._bound.get(topology).values(), labels, topology=topology, priority=priority)
            self._domains[(topology, priority)] = counted
        return domains.Unplaced(domains.job_of(leader), topology, placement.unplaceable(leader) or '', counted)

    def _jobset_changed(self, _: types.JobSet | None, new: types.JobSet | None) -> None:
        if self._wanted.is_set() or new is None:
            return
        templates = (bytes(job.template) for job in new.spec.replicated_jobs)
        if placement.asks(new.metadata.annotations, templates):
            self._wanted.set()
            for each in (self._by_job, self._by_node, self._unplaced, self._bound):
                self._pods.follow(each.on_change)
            self._pods.follow(self._pod_changed)

    def _pod_changed(self, old: pods.Pod | None, new: pods.Pod | None) -> None:
        for pod in (old, new):
            group = placement.group_of(pod) if pod is not None else None
            if group is not None:
                self.on_suspect(group)
        before, after = _stand(old), _stand(new)
        if before == after:
            return
        self._domains.clear()
        for stand in dict.fromkeys((before, after)):
            if stand is not None:
                self._concerns(stand.jobset_uid)

    def _node_changed(self, old: meta.Partial | None, new: meta.Partial | None) -> None:
        node = new or old
        if node is None or (old is not None and new is not None and old.metadata.labels == new.metadata.labels):
            return
        self._domains.clear()
        for pod in self._by_node.get(node.metadata.name).values():
            group = placement.group_of(pod)
            if group is not None:
                self.on_suspect(group)


class _Stand(NamedTuple):
    """Where a leader is, or why it is nowhere."""

    jobset_uid: str
    node: str
    refusal: str | None


def _stand(pod: pods.Pod | None) -> _Stand | None:
    """None for all but leaders that take up their place."""
    if pod is None or pod.topology is None or not (pod.is_leader and pod.stands):
        return None
    return _Stand(pod.labels.jobset_uid, pod.spec.node_name, placement.unplaceable(pod))


def _groups(pod: pods.Pod) -> tuple[placement.Group, ...]:
    group = placement.group_of(pod)
    return () if group is None else (group,)


def _leaders_node(pod: pods.Pod) -> tuple[str, ...]:
    is_leader = pod.is_leader and pod.topology is not None
    return (pod.spec.node_name,) if is_leader and pod.spec.node_name else ()


def _topology_of_bound(pod: pods.Pod) -> tuple[str, ...]:
    stand = _stand(pod)
    return (pod.topology or '',) if stand is not None and stand.node else ()


def _unplaced_of(pod: pods.Pod) -> tuple[str, ...]:
    stand = _stand(pod)
    return (stand.jobset_uid,) if stand is not None and stand.refusal is not None else ()
