"""Where the leaders of Jobs are: from a cache that follows the server, and from the server where that does not know.

A follower is created right after its leader. Were it refused at once, the Job controller would try again a second or
more later, for the scheduler mostly takes milliseconds. So a request waits a moment, as long as the scheduler has not
looked at the leader; when it has looked and found no place, nothing is waited for.

All waits are bounded: the API server waits ten seconds for the answer, and a worker of the Job controller with it.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import msgspec

from jobset.admission import pods
from jobset.api import keys, meta
from jobset.api.pods import Pod
from jobset.core import placement
from jobset.kube import client, errors, index, informer, requests

K = TypeVar('K', bound=Hashable)
T = TypeVar('T')

Found = Pod | placement.NoLeader

SELECTOR: Final = f'{keys.JOBSET_NAME},{keys.COMPLETION_INDEX}=0'
"""The first pods of all Jobs of JobSets: as many as there are Jobs, and not as there are pods."""


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long things may take. All in seconds."""

    binding: float = 0.4
    """For the scheduler to find a node for a leader, while a follower's request is held.

    Few: the Job controller has five workers, and a request that is held holds up one of them.
    """

    asking: float = 2
    """For an answer of the API server, repetitions included."""

    looking: float = 0.25
    """How old an answer about a leader may be for judging a pod that has just been completed by it."""

    domain: float = 10
    """How long the labels of a node are taken as they were. The repair sees to it when they change."""


_HELD: Final = 10_000
"""Answers of the API server that are kept, of each sort."""


class Leaders:
    """See :class:`jobset.admission.pods.Leaders`. Without :meth:`follow`, the server is asked each time."""

    def __init__(self, api: client.Client, *, patience: Patience | None = None) -> None:
        self._api = api
        self._patience = patience or Patience()
        self._cache = informer.Informer(
            api,
            requests.PODS,
            Pod,
            label_selector=SELECTOR,
            keep=lambda pod: pod.topology is not None and pod.stands,
        )
        self._by_name = index.Index(_names)
        self._cache.subscribe(self._by_name.on_change)
        self._cache.subscribe(self._tell)
        self._follows = False
        self._waiting: dict[placement.LeaderName, set[asyncio.Future[None]]] = {}
        self._listed: _Answers[placement.LeaderName, tuple[Pod, ...]] = _Answers()
        self._labels: _Answers[str, Mapping[str, str]] = _Answers()

    async def follow(self) -> None:
        """Keep the cache up to date until cancelled."""
        self._follows = True
        try:
            await self._cache.run()
        finally:
            self._follows = False

    async def find(self, follower: Pod, name: placement.LeaderName) -> Found:
        """The leader, once it is bound or it is clear that it will not be so soon."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self._patience.binding
        has_asked = False
        while True:
            found = self.known(follower, name)
            if _is_bound(found):
                return found
            if self._follows and _may_be_bound(found) and await self._changed(name, end - loop.time()):
                continue
            if has_asked:
                return found
            # What is not bound in the cache may be so at the server, and what is not in it may have come just now.
            found = await self._ask(follower, name)
            if not self._follows or _is_bound(found) or not _may_be_bound(found):
                return found
            has_asked = True

    async def look(self, follower: Pod, name: placement.LeaderName) -> Found:
        """The leader as it is now, or was a moment ago."""
        found = self.known(follower, name)
        return found if _is_bound(found) else await self._ask(follower, name, younger_than=self._patience.looking)

    def known_domain(self, node: str, topology: str) -> str | None:
        """The value of a node's label, if the node was looked at not long ago and had it."""
        labels = self._labels.known(node, younger_than=self._patience.domain)
        return None if labels is None else labels.get(topology)

    async def domain(self, node: str, topology: str) -> str:
        """The value of a node's label. What is not there is looked for anew."""
        known = self.known_domain(node, topology)
        if known is not None:
            return known
        labels = await self._labels_of(node)
        if topology not in labels:
            raise pods.NotYetError(f'node does not have topology label: {topology}')
        return labels[topology]

    def known(self, follower: Pod, name: placement.LeaderName) -> Found:
        """The leader as the cache has it."""
        return placement.leader_of(follower, name, self._by_name.get(name).values())

    async def _ask(self, follower: Pod, name: placement.LeaderName, *, younger_than: float = 0) -> Found:
        async with self._bounded(f'leader pod {name.name}'):
            candidates = await self._listed.get(name, lambda: self._list(name), younger_than=younger_than)
        return placement.leader_of(follower, name, candidates)

    async def _list(self, name: placement.LeaderName) -> tuple[Pod, ...]:
        """The pods of that name, by what the Job controller writes on them."""
        selector = f'{keys.JOB_NAME}={name.name.removesuffix("-0")},{keys.COMPLETION_INDEX}=0'
        found = await self._api.request(requests.list_(requests.PODS, name.namespace, label_selector=selector), _Pods)
        candidates = tuple(pod for pod in found.items or () if placement.name_of(pod) == name)
        if self._follows:
            for pod in candidates:
                self._cache.observe(pod)
        return candidates

    async def _labels_of(self, node: str) -> Mapping[str, str]:
        async with self._bounded(f'node {node} of the leader pod'):
            return await self._labels.get(node, lambda: self._read(node))

    async def _read(self, node: str) -> Mapping[str, str]:
        try:
            return (await self._api.request(requests.read(requests.NODES, None, node), meta.Partial)).metadata.labels
        except errors.NotFound:
            raise pods.NodeNotFoundError(f'Node "{node}" not found') from None

    @contextlib.asynccontextmanager
    async def _bounded(self, what: str) -> AsyncIterator[None]:
        seconds = self._patience.asking
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError:
            raise pods.UnknownError(f'{what}: no answer from the API server within {seconds:g} s') from None
        except errors.ApiError as error:
            raise pods.UnknownError(f'{what}: {error}') from error

    async def _changed(self, name: placement.LeaderName, seconds: float) -> bool:
        """Waits for a change of a leader of that name; returns whether there was one."""
        if seconds <= 0:
            return False
        change: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(name, set())
        waiting.add(change)
        try:
            done, _ = await asyncio.wait({change}, timeout=seconds)
        finally:
            waiting.discard(change)
            if not waiting and self._waiting.get(name) is waiting:
                del self._waiting[name]
        return bool(done)

    def _tell(self, old: Pod | None, new: Pod | None) -> None:
        for pod in (old, new):
            for change in self._waiting.get(placement.name_of(pod), ()) if pod is not None else ():
                if not change.done():
                    change.set_result(None)


class _Pods(msgspec.Struct, frozen=True, kw_only=True):
    items: list[Pod] | None = None


class _Answer(Generic[T]):
    """The last answer to one question, and the right to ask it."""

    def __init__(self) -> None:
        self.asking = asyncio.Lock()
        self.at = float('-inf')
        self.value: T | None = None


class _Answers(Generic[K, T]):
    """Answers of the server. Whoever asks the same at the same time waits for one answer."""

    def __init__(self) -> None:
        self._answers: dict[K, _Answer[T]] = {}

    def known(self, key: K, *, younger_than: float) -> T | None:
        """The last answer, if it came not more than so many seconds ago."""
        answer = self._answers.get(key)
        if answer is None or answer.at < asyncio.get_running_loop().time() - younger_than:
            return None
        return answer.value

    async def get(self, key: K, ask: Callable[[], Awaitable[T]], *, younger_than: float = 0) -> T:
        """An answer that came after this call, or not more than so many seconds before it."""
        loop = asyncio.get_running_loop()
        since = loop.time() - younger_than
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = _Answer()
            if len(self._answers) > _HELD:
                del self._answers[next(iter(self._answers))]
        async with answer.asking:
            if answer.value is None or answer.at < since:
                answer.value = await ask()
                answer.at = loop.time()
            return answer.value


def _names(pod: Pod) -> tuple[placement.LeaderName]:
    return (placement.name_of(pod),)


def _is_bound(found: Found) -> bool:
    return isinstance(found, Pod) and found.spec.node_name != ''


def _may_be_bound(found: Found) -> bool:
    """Whether the scheduler has not looked yet, as far as one knows."""
    return isinstance(found, Pod) and placement.unplaceable(found) is None
