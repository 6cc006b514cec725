"""A JobSet with all that belongs to it, read from a cluster at once or followed as it changes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import msgspec

from jobset.api import keys, meta, types
from jobset.client import kin, observed, shortages, together
from jobset.core import network
from jobset.kube import client, discovery, errors, informer, listing, requests

JOBSETS: Final = requests.Resource(keys.GROUP, keys.VERSION, keys.PLURAL, keys.KIND)

_SCHEDULING: Final = 'scheduling.k8s.io'
_GROUPS: Final = (('workloads', 'Workload'), ('podgroups', 'PodGroup'))

_PAGE: Final = 500

SETTLING_SECONDS: Final = 0.05
"""Changes that come so close together are shown as one."""

T = TypeVar('T', bound=meta.Object)


class Owned(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """Who has written which fields of an object last."""

    manager: str = ''
    time: str | None = None
    fields_v1: dict[str, Any] | None = msgspec.field(default=None, name='fieldsV1')


class _OwnedMeta(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    managed_fields: tuple[Owned, ...] | None = None


class _OwnedObject(msgspec.Struct, frozen=True, kw_only=True):
    metadata: _OwnedMeta = _OwnedMeta()


@dataclass(frozen=True, kw_only=True)
class Family:
    """A JobSet and what belongs to it, as seen at one time. Jobs and pods are in the order of the spec."""

    jobset: types.JobSet
    jobs: Sequence[observed.Job] = ()
    pods: Sequence[observed.Pod] = ()
    services: Sequence[observed.Service] = ()
    claims: Sequence[observed.Claim] = ()
    groups: Sequence[observed.Group] = ()
    events: Sequence[observed.Event] = ()
    """In the order of time; empty when they were not asked for."""

    suspender: str = ''
    """Who has written ``spec.suspend`` last."""

    nodes: Sequence[observed.Node] = ()
    """Those of the cluster, read only where a pod is too large for one of them; none where that is not allowed."""

    @property
    def name(self) -> str:
        """The name of the JobSet."""
        return self.jobset.metadata.name

    @property
    def current_jobs(self) -> list[observed.Job]:
        """The Jobs of the running attempt."""
        return [job for job in self.jobs if job.attempt >= self.jobset.status.restarts]


async def read(source: client.Client, namespace: str, name: str, *, with_events: bool = True) -> Family:
    """Everything of a JobSet. Raises :class:`~jobset.kube.errors.NotFound` and the other errors of requests."""
    body = await source.send(requests.read(JOBSETS, namespace, name))
    try:
        jobset = msgspec.json.decode(body, type=types.JobSet)
        owned = msgspec.json.decode(body, type=_OwnedObject).metadata.managed_fields or ()
    except msgspec.MsgspecError as error:
        raise errors.Malformed(0, 'Malformed', f'jobset {name!r} cannot be read: {error}', where=name) from error
    selector = selector_of(name)
    parts: list[Coroutine[Any, Any, Any]] = [
        _list(source, requests.JOBS, observed.Job, namespace, selector),
        _list(source, requests.PODS, observed.Pod, namespace, selector),
        _named(source, requests.SERVICES, observed.Service, namespace, _services(jobset)),
        _named(source, requests.CLAIMS, observed.Claim, namespace, kin.claim_names(jobset)),
        _groups(source, jobset),
        events(source, namespace, kin.of(jobset)) if with_events else _nothing(),
    ]
    jobs, made, services, claims, groups, found = await together.all_of(parts)
    family = Family(
        jobset=jobset,
        jobs=jobs,
        pods=made,
        services=services,
        claims=claims,
        groups=groups,
        events=found,
        suspender=_suspender(owned),
    )
    return _in_order(await _with_nodes(source, family))


async def _with_nodes(source: client.Client, family: Family) -> Family:
    if family.nodes or not any(map(shortages.named, family.pods)):
        return family
    with contextlib.suppress(errors.ApiError):
        reader = listing.Reader(source, observed.Node, page_size=_PAGE)
        found = await reader.read(requests.NODES, None)
        return replace(family, nodes=list(found.objects.values()))
    return family


async def pods(source: client.Client, namespace: str, name: str) -> list[observed.Pod]:
    """The pods of a JobSet as they are now."""
    return await _list(source, requests.PODS, observed.Pod, namespace, selector_of(name))


async def events(source: client.Client, namespace: str, of: kin.Kin) -> list[observed.Event]:
    """The events about all that belongs to a JobSet, in the order of time."""
    found = await _list(source, requests.EVENTS, observed.Event, namespace, None)
    return sorted_events(event for event in found if of.is_regarded_by(event))


def sorted_events(found: Any) -> list[observed.Event]:  # noqa: ANN401 - anything to iterate over
    """Events in the order of their last time."""
    return sorted(found, key=lambda event: (str(event.last or ''), event.metadata.name))


def selector_of(name: str) -> str:
    """The label selector for the Jobs and pods of a JobSet."""
    return f'{keys.JOBSET_NAME}={name}'


@contextlib.asynccontextmanager
async def following(
    source: client.Client,
    namespace: str,
    name: str,
    *,
    with_events: bool = True,
    on_pod: Callable[[observed.Pod], object] | None = None,
    on_job: Callable[[observed.Job], object] | None = None,
) -> AsyncIterator[AsyncIterator[Family]]:
    """Follows a JobSet for the length of the block: an iterator of its states, which ends when it is deleted.

    A state that comes while another one is looked at replaces those before it; ``on_pod`` and ``on_job`` are called
    with each one of each pod and Job. Raises like :func:`read`.
    """
    first = await read(source, namespace, name, with_events=with_events)
    of = kin.of(first.jobset)
    following = _Following(source, first, of, with_events=with_events)
    following.tell(on_pod, on_job)
    async with together.beside(one.run() for one in following.informers):
        yield following.states()


class _Following:
    """The caches of one JobSet, and whether something in them is new."""

    def __init__(self, source: client.Client, first: Family, of: kin.Kin, *, with_events: bool) -> None:
        self._source = source
        self._first = first
        self._changed = asyncio.Event()
        namespace, name = first.jobset.metadata.namespace, first.name
        selector = selector_of(name)
        self._jobsets = informer.Informer(
            source, JOBSETS, types.JobSet, namespace=namespace, field_selector=f'metadata.name={name}'
        )
        self._jobs = informer.Informer(
            source, requests.JOBS, observed.Job, namespace=namespace, label_selector=selector
        )
        self._pods = informer.Informer(
            source, requests.PODS, observed.Pod, namespace=namespace, label_selector=selector
        )
        self._events = informer.Informer(
            source, requests.EVENTS, observed.Event, namespace=namespace, keep=of.is_regarded_by
        )
        self.informers: list[informer.Informer[Any]] = [self._jobsets, self._jobs, self._pods]
        if with_events:
            self.informers.append(self._events)
        for one in self.informers:
            one.subscribe(self._note)

    def tell(
        self,
        on_pod: Callable[[observed.Pod], object] | None,
        on_job: Callable[[observed.Job], object] | None,
    ) -> None:
        if on_pod is not None:
            self._pods.subscribe(_with_new(on_pod))
        if on_job is not None:
            self._jobs.subscribe(_with_new(on_job))

    async def states(self) -> AsyncIterator[Family]:
        yield self._first
        for one in self.informers:
            await one.synced()
        while True:
            self._changed.clear()
            state = self._state()
            if state is None:
                return
            state = await _with_nodes(self._source, state)
            # Read once: what nodes have changes seldom, and there may be thousands of them.
            self._first = replace(self._first, nodes=state.nodes)
            yield state
            await self._changed.wait()
            await asyncio.sleep(SETTLING_SECONDS)

    def _state(self) -> Family | None:
        metadata = self._first.jobset.metadata
        jobset = self._jobsets.get(metadata.namespace, metadata.name)
        if jobset is None or jobset.metadata.uid != metadata.uid:
            return None
        state = replace(
            self._first,
            jobset=jobset,
            jobs=list(self._jobs.values()),
            pods=list(self._pods.values()),
            events=sorted_events(self._events.values()),
        )
        return _in_order(state)

    def _note(self, old: object, new: object) -> None:
        del old, new
        self._changed.set()


def _with_new(tell: Callable[[T], object]) -> Callable[[T | None, T | None], None]:
    def changed(old: T | None, new: T | None) -> None:
        del old
        if new is not None:
            tell(new)

    return changed


def _in_order(family: Family) -> Family:
    """Only what belongs to this very JobSet, in the order of its spec."""
    places = {job.name: place for place, job in enumerate(family.jobset.spec.replicated_jobs)}

    def key(one: observed.Job | observed.Pod) -> tuple[Any, ...]:
        index = one.index if isinstance(one, observed.Job) else one.job_index
        last = -1 if isinstance(one, observed.Job) or one.index is None else one.index
        return (places.get(one.replicated_job, len(places)), index, last, one.attempt, one.metadata.name)

    return replace(family, jobs=sorted(family.jobs, key=key), pods=sorted(family.pods, key=key))


async def _list(
    source: client.Client,
    resource: requests.Resource,
    model: type[T],
    namespace: str,
    selector: str | None,
) -> list[T]:
    reader = listing.Reader(source, model, page_size=_PAGE)
    found = await reader.read(resource, namespace, label_selector=selector)
    return list(found.objects.values())


async def _named(
    source: client.Client,
    resource: requests.Resource,
    model: type[T],
    namespace: str,
    names: Sequence[str],
) -> list[T]:
    """Those of the names that are there, and may be seen."""

    async def one(name: str) -> T | None:
        with contextlib.suppress(errors.NotFound, errors.Forbidden):
            return await source.request(requests.read(resource, namespace, name), model)
        return None

    found = await together.all_of(one(name) for name in dict.fromkeys(names))
    return [obj for obj in found if obj is not None]


async def _groups(source: client.Client, jobset: types.JobSet) -> list[observed.Group]:
    """The Workloads and PodGroups that the JobSet owns; none where the server has no such kinds."""
    found: list[observed.Group] = []
    with contextlib.suppress(errors.NotFound, errors.Forbidden):
        for version in await discovery.versions(source, _SCHEDULING):
            served = await discovery.served(source, _SCHEDULING, version)
            for plural, kind in _GROUPS:
                if plural not in served:
                    continue
                resource = requests.Resource(_SCHEDULING, version, plural, kind)
                there = await _list(source, resource, observed.Group, jobset.metadata.namespace, None)
                found += [msgspec.structs.replace(group, kind=kind) for group in there if _is_owned(group, jobset)]
            if found:
                break
    return found


def _is_owned(group: observed.Group, jobset: types.JobSet) -> bool:
    return any(owner.uid == jobset.metadata.uid for owner in group.metadata.owner_references)


async def _nothing() -> list[Any]:
    return []


def _services(jobset: types.JobSet) -> list[str]:
    return [network.service_name(jobset)] if network.is_enabled(jobset) else []


def _suspender(owned: Sequence[Owned]) -> str:
    writers = [one for one in owned if 'f:suspend' in (one.fields_v1 or {}).get('f:spec', {})]
    return max(writers, key=lambda one: one.time or '').manager if writers else ''
