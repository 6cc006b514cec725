"""Looks at pods and nodes where a pass depends on them: only for sets that ask for it, and only at such a moment."""

import asyncio
import datetime
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from jobset.api import jobs, keys, meta, pods, types
from jobset.api.extravalues import Cause
from jobset.core import attempts, causes, conditions, family, fencing, limits, losses, ranks
from jobset.kube import client, errors, requests

_JOBS_AT_ONCE: Final = 10
"""Failed Jobs whose pods are looked at for one decision: those that failed first."""

_RANKS_AT_ONCE: Final = 10
"""Pods that are looked at because they begin an attempt in place. When one is begun by more, any of them will do."""

_PODS_AT_ONCE: Final = 500
_NODES_AT_ONCE: Final = 20


class _ListMeta(msgspec.Struct, frozen=True, rename={'continue_': 'continue'}):
    """Where a list goes on."""

    continue_: str = ''


class _Pods(msgspec.Struct, frozen=True):
    """A list of pods, or a page of it."""

    items: tuple[pods.Pod, ...] = ()
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)


class _Taint(msgspec.Struct, frozen=True):
    """What keeps pods off a node."""

    key: str = ''


class _NodeSpec(msgspec.Struct, frozen=True):
    taints: tuple[_Taint, ...] | None = None


class _NodeStatus(msgspec.Struct, frozen=True):
    conditions: tuple[meta.Condition, ...] | None = None


class _Node(msgspec.Struct, frozen=True):
    """A node, as far as it tells whether its kubelet can be reached."""

    metadata: meta.ObjectMeta
    spec: _NodeSpec = msgspec.field(default_factory=_NodeSpec)
    status: _NodeStatus = msgspec.field(default_factory=_NodeStatus)


def wanted(jobset: types.JobSet, cohort: family.Cohort, now: datetime.datetime) -> list[jobs.Job]:
    """The Jobs of which the pass has to know why they failed, or why one does not start."""
    if jobset.suspended or conditions.terminal(jobset.status) is not None:
        return []
    found: list[jobs.Job] = []
    if attempts.wants_deaths(jobset):
        found += sorted(losses.failed(jobset, cohort).values(), key=_failed_at)[:_JOBS_AT_ONCE]
    late = limits.late_job(jobset, cohort, now)
    return found if late is None else [*found, cohort.members[late]]


class Looker:
    """Reads through the same connection that passes write through."""

    def __init__(self, api: client.Client) -> None:
        self._api = api

    async def death(self, job: jobs.Job, seen: Iterable[causes.Death]) -> causes.Death:
        """Why a Job failed, or does not start; ``seen`` is what is known of pods of it that may be gone."""
        selector = f'{pods.JOB_UID}={job.metadata.uid}'
        listed = await self._list(job.metadata.namespace, selector)
        return causes.of_job(job, [*seen, *(death for pod in listed if (death := causes.of_pod(pod)) is not None)])

    async def loss(
        self, namespace: str, crew: ranks.Ranks, seen: Callable[[str], Iterable[causes.Death]]
    ) -> causes.Loss:
        """Why an attempt in place begins: by what became of the ranks that announce it first.

        A pod that has started again tells by itself; one that is new stands for another one of its rank that failed, of
        which ``seen`` knows by the uid of the Job, gone or not.
        """
        names = crew.announcing(crew.top)[:_RANKS_AT_ONCE]
        found = await asyncio.gather(*(self._loss_of(namespace, name, crew.reports[name].rank, seen) for name in names))
        known = [loss for loss in found if loss is not None]
        return min(known, key=_told_and_first, default=causes.NOBODY_KNOWS)

    async def _loss_of(
        self, namespace: str, name: str, rank: str, seen: Callable[[str], Iterable[causes.Death]]
    ) -> causes.Loss | None:
        try:
            pod = await self._api.request(requests.read(requests.PODS, namespace, name), into=pods.Pod)
        except errors.NotFound:
            return None
        death = causes.of_containers(pod)
        if death is None:
            job_uid = pod.labels.job_uid
            listed = await self._list(namespace, f'{pods.JOB_UID}={job_uid}')
            deaths = [*seen(job_uid), *(each for other in listed if (each := causes.of_pod(other)) is not None)]
            ours = [each for each in deaths if each.pod != name and each.pod.rpartition('-')[0] == rank]
            # The last one that was made is the one that this pod takes the place of.
            death = max(ours, key=lambda each: (each.made_at, each.pod), default=None)
        nobody_knows = causes.NOBODY_KNOWS.death
        return causes.Loss(pod.labels.replicated_job or '', rank, death or nobody_knows)

    async def scene(
        self, jobset: types.JobSet, kin: family.Family, now: datetime.datetime, going: Iterable[str] = ()
    ) -> fencing.Scene | None:
        """The pods of the set, where it has to be known whether they go."""
        if not fencing.must_look(jobset, kin, now, going):
            return None
        seen = await self._list(jobset.metadata.namespace, f'{keys.JOBSET_UID}={jobset.metadata.uid}')
        names = sorted({pod.spec.node_name for pod in fencing.overdue(jobset, seen, now)} - {''})
        states = await asyncio.gather(*(self._state(name) for name in names[:_NODES_AT_ONCE]))
        return fencing.Scene(seen, dict(zip(names, states, strict=False)))

    async def _list(self, namespace: str, selector: str) -> tuple[pods.Pod, ...]:
        found: list[pods.Pod] = []
        place = ''
        while True:
            request = requests.list_(
                requests.PODS, namespace, label_selector=selector, limit=_PODS_AT_ONCE, continue_=place
            )
            page = await self._api.request(request, into=_Pods)
            found += page.items
            place = page.metadata.continue_
            if not place:
                return tuple(found)

    async def _state(self, name: str) -> fencing.Node:
        try:
            node = await self._api.request(requests.read(requests.NODES, None, name), into=_Node)
        except errors.NotFound:
            return fencing.Node.GONE
        taints = {taint.key for taint in node.spec.taints or ()}
        if 'node.kubernetes.io/out-of-service' in taints:
            return fencing.Node.OUT_OF_SERVICE
        ready = next((each.status for each in node.status.conditions or () if each.type == 'Ready'), 'Unknown')
        is_silent = ready == 'Unknown' or 'node.kubernetes.io/unreachable' in taints
        return fencing.Node.UNREACHABLE if is_silent else fencing.Node.THERE


def _told_and_first(loss: causes.Loss) -> tuple[bool, str, str]:
    return (loss.death.cause is Cause.UNKNOWN, loss.death.time, loss.rank)


def _failed_at(job: jobs.Job) -> tuple[str, str]:
    ending = job.ending
    return ((ending.last_transition_time if ending is not None else None) or '', job.metadata.name)
