"""Workloads, PodGroups and their pods as they are observed, in whichever version of the API the cluster serves.

Nothing is asked of the server before a JobSet asks for a gang: most clusters have none of it, and most installations
need it not. From then on the version is looked up again now and then; it may appear, and go, with an upgrade.
"""

import asyncio
import contextlib
import functools
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from jobset.api import keys, meta, pods, types
from jobset.controller import podcache
from jobset.core.groups import observed
from jobset.kube import backoff, client, discovery, errors, index, informer, requests

logger = logging.getLogger(__name__)

TROUBLE: Final = 3
"""How often in a row a kind must not be seen until that is worth telling: lists are refused in one form first."""

OWNED: Final = keys.JOBSET_UID
"""The label of objects that we made for a JobSet."""


@dataclass(frozen=True, kw_only=True)
class Looking:
    """How the version is looked for."""

    poll_seconds: float = 60
    """How soon a version that is newly served, or no longer, is noticed when nothing fails."""

    backoff_base: float = 1
    backoff_cap: float = 30
    """Seconds until a look that failed is repeated."""


class Served:
    """The kinds in one version."""

    def __init__(self, version: observed.Version) -> None:
        self.version = version
        self.workloads = requests.Resource(observed.GROUP, version, 'workloads', 'Workload')
        self.pod_groups = requests.Resource(observed.GROUP, version, 'podgroups', 'PodGroup')

    def resource(self, kind: str) -> requests.Resource:
        """The kind by its name."""
        return self.workloads if kind == self.workloads.kind else self.pod_groups


class _Caches:
    """The informers of one version, and what follows from them."""

    def __init__(self, source: 'Groups', api: client.Client, served: Served, namespace: str | None) -> None:
        self._source = source
        self.served = served
        follow = functools.partial(
            informer.Informer,
            api,
            namespace=namespace,
            settings=source.watching,
            on_trouble=source.note_trouble,
        )
        self.workloads: informer.Informer[observed.Workload] = follow(
            served.workloads, observed.Workload, label_selector=OWNED
        )
        self.pod_groups: informer.Informer[observed.PodGroup] = follow(
            served.pod_groups, observed.PodGroup, label_selector=OWNED
        )
        self.pods = source.pods.cache
        self.workloads_of: index.Index[str, observed.Workload] = index.Index(_owner)
        self.groups_of: index.Index[str, observed.PodGroup] = index.Index(_owner)
        self.failures: Counter[requests.Resource] = Counter()

        self.workloads.subscribe(self.workloads_of.on_change)
        self.workloads.subscribe(self._changed)
        self.pod_groups.subscribe(self.groups_of.on_change)
        self.pod_groups.subscribe(self._changed)

    @property
    def own(self) -> tuple[informer.Informer[observed.Workload] | informer.Informer[observed.PodGroup], ...]:
        """Those that end with the version."""
        return (self.workloads, self.pod_groups)

    @property
    def is_synced(self) -> bool:
        return self.pods.is_synced and all(each.is_synced for each in self.own)

    @property
    def trouble(self) -> str:
        for each in (*self.own, self.pods):
            if each.trouble is not None and self.failures[each.resource] >= TROUBLE:
                return f'{each.resource}: {each.trouble}'
        return ''

    def _changed(
        self, old: observed.Workload | observed.PodGroup | None, new: observed.Workload | observed.PodGroup | None
    ) -> None:
        for one in (old, new):
            controller = one.metadata.controller if one is not None else None
            if controller is not None:
                self._source.concerns(controller.uid)


class Groups:
    """What there is of groups. ``concerns`` is told the uid of the JobSet that a change is about."""

    def __init__(
        self,
        api: client.Client,
        seen: podcache.PodCache,
        concerns: Callable[[str], None],
        *,
        namespace: str | None = None,
        watching: informer.Watching | None = None,
        looking: Looking | None = None,
    ) -> None:
        self.concerns = concerns
        self.pods = seen
        self.watching = watching
        self._api = api
        self._namespace = namespace
        self._looking = looking or Looking()
        self._wanted = asyncio.Event()
        self._look = asyncio.Event()
        self._state = observed.State.UNKNOWN
        self._trouble = ''
        self._left = ''
        """Which version has gone."""

        self._caches: _Caches | None = None
        self._askers: set[str] = set()
        self._tallies: dict[str, dict[str, observed.PodTally]] = {}
        """Pods by the uid of their JobSet, and the name of their group."""

    @property
    def served(self) -> Served | None:
        """The kinds, as they are served."""
        return self._caches.served if self._caches is not None else None

    def of(self, jobset: types.JobSet) -> observed.Seen:
        """What there is of the groups of a JobSet that asks for some."""
        uid = jobset.metadata.uid
        self._askers.add(uid)
        self._begin()
        caches = self._caches
        if self._state is observed.State.ABSENT or caches is None:
            is_absent = self._state is observed.State.ABSENT
            return observed.Seen(state=self._state, trouble=self._left if is_absent else self._trouble)
        if not caches.is_synced:
            return observed.Seen(version=caches.served.version, trouble=caches.trouble)
        return observed.Seen(
            state=observed.State.READY,
            version=caches.served.version,
            workloads={one.metadata.name: one for one in caches.workloads_of.get(uid).values()},
            pod_groups={one.metadata.name: one for one in caches.groups_of.get(uid).values()},
            pods=self._tallies.get(uid, {}),
        )

    def forget(self, uid: str) -> None:
        """A JobSet is gone."""
        self._askers.discard(uid)
        self._tallies.pop(uid, None)

    def observe(self, one: observed.Workload | observed.PodGroup) -> None:
        """Takes the answer to a write of ours."""
        if self._caches is None:
            return
        if isinstance(one, observed.Workload):
            self._caches.workloads.observe(one)
        else:
            self._caches.pod_groups.observe(one)

    def look_again(self) -> None:
        """Something speaks for it that the version is not served any more."""
        self._look.set()

    def note_trouble(self, resource: requests.Resource, error: errors.ApiError) -> None:
        """A list or a watch failed."""
        if isinstance(error, errors.NotFound):
            self.look_again()
        if self._caches is not None and not self._caches.is_synced:
            self._caches.failures[resource] += 1
            if self._caches.failures[resource] == TROUBLE:
                self._announce()

    def _begin(self) -> None:
        if not self._wanted.is_set():
            self._wanted.set()
            self.pods.follow(self._pod_changed)

    def _pod_changed(self, old: pods.Pod | None, new: pods.Pod | None) -> None:
        if old is not None and new is not None and _account(old) == _account(new):
            return
        for pod, sign in ((old, -1), (new, 1)):
            if pod is not None and pod.labels.pod_group:
                self._count(pod, sign)

    def _count(self, pod: pods.Pod, sign: int) -> None:
        labels = pod.labels
        if sign < 0 and labels.pod_group not in self._tallies.get(labels.jobset_uid, {}):
            return  # forgotten with its JobSet
        groups = self._tallies.setdefault(labels.jobset_uid, {})
        tally = groups.setdefault(labels.pod_group, observed.PodTally())
        tally.count(pod, sign)
        if disruption := observed.disruption(pod):
            tally.disrupted = disruption
        elif tally.exist and not tally.waiting:
            tally.disrupted = ''
        if not (tally.exist or tally.disrupted):
            del groups[labels.pod_group]
        if not groups:
            del self._tallies[labels.jobset_uid]
        self.concerns(labels.jobset_uid)

    async def run(self) -> NoReturn:
        """Follows whatever is served, from the time that somebody asks for it until cancelled."""
        await self._wanted.wait()
        while True:
            version = await self._look_up()
            if version is None:
                self._set(observed.State.ABSENT, None)
                await self._pause()
            else:
                await self._follow(version)

    async def _follow(self, version: observed.Version) -> None:
        """Keep the caches of a version up to date while it is the one to use."""
        caches = _Caches(self, self._api, Served(version), self._namespace)
        self._set(observed.State.UNKNOWN, caches)
        async with asyncio.TaskGroup() as group:
            tasks: list[asyncio.Task[Any]] = [
                group.create_task(each.run(), name=f'informer of {each.resource.plural}') for each in caches.own
            ]
            tasks.append(group.create_task(self._tell_when_synced(caches), name='groups are seen'))
            found: observed.Version | None = version
            while found == version:
                await self._pause()
                found = await self._look_up()
            for task in tasks:
                task.cancel()
        logger.warning('%s %s is no longer the version to use; now it is %s', observed.GROUP, version, found or 'none')
        self._left = f'{version} was served before, and is not any more'

    async def _tell_when_synced(self, caches: _Caches) -> None:
        for each in (*caches.own, caches.pods):
            await each.synced()
        self._announce()

    async def _look_up(self) -> observed.Version | None:
        """The newest version that we speak; failures to ask are waited out."""
        pause = backoff.Backoff(base=self._looking.backoff_base, cap=self._looking.backoff_cap)
        while True:
            try:
                return await _newest(self._api)
            except errors.ApiError as error:
                if str(error) != self._trouble and self._caches is None:
                    self._trouble = str(error)
                    self._announce()
                logger.warning('versions of %s cannot be seen: %s; trying again', observed.GROUP, error)
                await asyncio.sleep(pause.next(at_least=error.retry_after or 0.0))

    async def _pause(self) -> None:
        """Wait until it is time to look again."""
        loop = asyncio.get_running_loop()
        with _cancelled(loop.call_later(self._looking.poll_seconds, self._look.set)):
            await self._look.wait()
        self._look.clear()

    def _set(self, state: observed.State, caches: _Caches | None) -> None:
        if (state, caches) == (self._state, self._caches):
            return
        self._state, self._caches = state, caches
        self._announce()

    def _announce(self) -> None:
        """What is known of the API has changed: everybody who asks for groups is concerned."""
        for uid in tuple(self._askers):
            self.concerns(uid)


@contextlib.contextmanager
def _cancelled(timer: asyncio.TimerHandle) -> Iterator[None]:
    try:
        yield
    finally:
        timer.cancel()


async def _newest(api: client.Client) -> observed.Version | None:
    served = await discovery.versions(api, observed.GROUP)
    for version in observed.Version:
        if version in served and {'workloads', 'podgroups'} <= await discovery.served(api, observed.GROUP, version):
            return version
    return None


def _owner(one: observed.Workload | observed.PodGroup) -> tuple[str, ...]:
    controller: meta.OwnerReference | None = one.metadata.controller
    return () if controller is None else (controller.uid,)


def _account(pod: pods.Pod) -> tuple[object, ...]:
    """What of a pod is counted."""
    said = (observed.refusal(pod), observed.disruption(pod))
    return (pod.metadata.uid, pod.stands, pod.spec.node_name, said, pod.labels.jobset_uid, pod.labels.pod_group)
