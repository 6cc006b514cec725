"""The logs of all pods of a JobSet as one stream of lines, each with the rank that it comes from."""

import asyncio
import urllib.parse
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Final

from jobset.client import families, observed, together
from jobset.client.families import Family
from jobset.kube import client, errors, requests

IDLE_SECONDS: Final = 3600
"""Silence after which a log that is followed is asked for anew: programs may be quiet for long."""

READ_SECONDS: Final = 60
"""Silence after which a log that is only read is given up."""

RETRY_SECONDS: Final = 1.0
"""Seconds before a log that was cut is taken up again."""

LONGEST: Final = 1 << 20
"""Bytes of one line; what goes on longer is cut into pieces of this size."""

MOST_FAILURES: Final = 10
"""Cuts of one log without a new line between them, after which it is given up."""

QUEUE: Final = 1000
"""Lines that may wait for their reader, before the pods' streams have to."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which logs, and which part of them."""

    replicated_jobs: frozenset[str] = frozenset()
    """All of them, when empty."""

    job_index: int | None = None
    pod_index: int | None = None
    container: str = ''
    """The containers, when empty; the initial ones only with ``initial``."""

    initial: bool = False
    """Whether initial containers and sidecars are among those meant."""

    attempt: int | None = None
    """The attempts that there are, when None."""

    previous: bool = False
    """The logs of the containers before their last restart."""

    tail: int | None = None
    since_seconds: int | None = None
    at_once: int = 128
    """Logs that are read at a time. Each one is a connection to a node."""

    def takes(self, pod: observed.Pod) -> bool:
        """Whether the pod is one of those meant."""
        return (
            (not self.replicated_jobs or pod.replicated_job in self.replicated_jobs)
            and self.job_index in (None, pod.job_index)
            and self.pod_index in (None, pod.index)
            and self.attempt in (None, pod.attempt)
        )

    def containers(self, pod: observed.Pod) -> list[str]:
        """The names of the containers to read from."""
        names = [container.name for container in pod.spec.containers]
        initial = [container.name for container in pod.spec.init_containers or ()]
        if not self.container:
            return [*initial, *names] if self.initial else names
        return [name for name in (*initial, *names) if name == self.container]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a log."""

    rank: str
    """``train-0-1``, with the container where a pod has several."""

    attempt: int
    time: str
    """As the node has written it."""

    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """Something about the logs themselves: a log that cannot be read."""

    rank: str
    text: str


Put = Callable[[Line | Note], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Source:
    """One run of one container."""

    namespace: str
    pod: str
    uid: str
    container: str
    run: int
    rank: str
    attempt: int


async def read(source: client.Client, family: Family, wanted: Wanted) -> AsyncGenerator[Line | Note, None]:
    """The logs as they are now: pod after pod, in the order of the spec; several are fetched ahead."""
    runs = list(_sources(family.pods, wanted))
    queues = [asyncio.Queue[Line | Note | None](QUEUE) for _ in runs]
    slots = asyncio.Semaphore(wanted.at_once)

    async def fetch(run: _Source, queue: asyncio.Queue[Line | Note | None]) -> None:
        async with slots:
            await _deliver(source, run, wanted, queue.put, follow=False)
        await queue.put(None)

    async with together.beside(fetch(run, queue) for run, queue in zip(runs, queues, strict=True)):
        for queue in queues:
            while (line := await queue.get()) is not None:
                yield line


async def follow(
    source: client.Client,
    namespace: str,
    name: str,
    wanted: Wanted,
) -> AsyncGenerator[Line | Note, None]:
    """The logs as they come, of all pods that come, until the JobSet has ended or is gone and all has been read."""
    queue: asyncio.Queue[Line | Note | None] = asyncio.Queue(QUEUE)
    async with together.beside([_follow(source, namespace, name, wanted, queue)]):
        while (line := await queue.get()) is not None:
            yield line


async def _follow(
    source: client.Client,
    namespace: str,
    name: str,
    wanted: Wanted,
    queue: asyncio.Queue[Line | Note | None],
) -> None:
    known: set[_Source] = set()
    slots = asyncio.Semaphore(wanted.at_once)

    async def fetch(run: _Source) -> None:
        if slots.locked():
            await queue.put(Note(run.rank, f'more than {wanted.at_once} logs at once: waits for another one to end'))
        async with slots:
            await _deliver(source, run, wanted, queue.put, follow=True)

    async with (
        families.following(source, namespace, name, with_events=False) as states,
        asyncio.TaskGroup() as group,
    ):
        async for family in states:
            for run in _sources(family.pods, wanted):
                if run not in known:
                    known.add(run)
                    group.create_task(fetch(run))
            if family.jobset.status.terminal_state and all(_has_ended(pod) for pod in family.pods):
                break
    await queue.put(None)


def _sources(pods: Iterable[observed.Pod], wanted: Wanted) -> list[_Source]:
    """The runs of containers of which there may be something to read."""
    return [
        _Source(
            namespace=pod.metadata.namespace,
            pod=pod.metadata.name,
            uid=pod.metadata.uid,
            container=container,
            run=status.restart_count,
            rank=pod.rank if len(wanted.containers(pod)) == 1 else f'{pod.rank} {container}',
            attempt=pod.attempt,
        )
        for pod in pods
        if wanted.takes(pod)
        for container in wanted.containers(pod)
        if (status := next((one for one in pod.containers if one.name == container), None)) is not None
        and (status.state.waiting is None or (wanted.previous and status.restart_count))
    ]


def _has_ended(pod: observed.Pod) -> bool:
    if pod.is_over or pod.metadata.deletion_timestamp:
        return True
    return all(status.state.running is None for status in pod.containers)


class _Place:
    """How far a log has been read, so that taking it up again neither loses a line nor tells one twice.

    Several lines may have the same time: a node that reads many at once stamps them together.
    """

    def __init__(self) -> None:
        self._last = ('', '')
        self._count = 0
        """Lines of that time that have been read."""

        self._skipped = 0
        self._is_behind = False

    def resume(self) -> None:
        """The log is read from about the last time on."""
        self._is_behind = bool(self._count)
        self._skipped = 0

    def has_been(self, time: str) -> bool:
        """Whether the next line, of this time, was read before."""
        at = _sortable(time)
        if self._is_behind:
            if at < self._last:
                return True
            if at == self._last and self._skipped < self._count:
                self._skipped += 1
                return True
            self._is_behind = False
        self._count = self._count + 1 if at == self._last else 1
        self._last = at
        return False


async def _deliver(source: client.Client, run: _Source, wanted: Wanted, put: Put, *, follow: bool) -> None:
    """All lines of one run; a log that is followed is taken up again where it was cut."""
    last = ''
    failures = 0
    place = _Place()
    while True:
        place.resume()
        try:
            async for line in _lines(source, _request(run, wanted, follow=follow, since=last), follow=follow):
                time, _, text = line.partition(' ')
                if place.has_been(time):
                    continue
                last, failures = time, 0
                await put(Line(run.rank, run.attempt, time, text))
        except errors.NotFound as error:
            # The pod is gone, and what could be read has been; or the node was never there.
            if not last:
                await put(Note(run.rank, f'its log cannot be read: {error.message}'))
            return
        except errors.RetryLater as error:
            failures += 1
            if not follow or failures == MOST_FAILURES:
                await put(Note(run.rank, f'its log cannot be read: {error.message}'))
                return
            await asyncio.sleep(RETRY_SECONDS)
        except errors.ApiError as error:
            await put(Note(run.rank, f'its log cannot be read: {error.message}'))
            return
        else:
            return


async def _lines(source: client.Client, request: requests.Request, *, follow: bool) -> AsyncIterator[str]:
    rest = b''
    async with source.stream(request, idle_timeout=IDLE_SECONDS if follow else READ_SECONDS) as content:
        while piece := await content.readany():
            *whole, rest = (rest + piece).split(b'\n')
            for line in whole:
                yield line.decode(errors='replace').rstrip('\r')
            while len(rest) > LONGEST:
                # A time stamp stands before what was written at that time, and no second one in the middle.
                yield rest[:LONGEST].decode(errors='replace')
                rest = rest.partition(b' ')[0] + b' ' + rest[LONGEST:]
    if rest:
        yield rest.decode(errors='replace')


def _request(run: _Source, wanted: Wanted, *, follow: bool, since: str) -> requests.Request:
    parameters: dict[str, str] = {'container': run.container, 'timestamps': 'true'}
    if follow:
        parameters['follow'] = 'true'
    if wanted.previous:
        parameters['previous'] = 'true'
    if since:
        parameters['sinceTime'] = since
    else:
        if wanted.tail is not None:
            parameters['tailLines'] = str(wanted.tail)
        if wanted.since_seconds is not None:
            parameters['sinceSeconds'] = str(wanted.since_seconds)
    path = requests.PODS.subresource(run.namespace, run.pod, 'log')
    return requests.Request('GET', path, urllib.parse.urlencode(parameters))


def _sortable(time: str) -> tuple[str, str]:
    """A time of which some nodes leave the last zeros away."""
    seconds, _, fraction = time.rstrip('Z').partition('.')
    return seconds, fraction.ljust(9, '0')


async def tail(
    source: client.Client,
    pod: observed.Pod,
    container: str,
    *,
    lines: int,
    previous: bool = False,
) -> list[str]:
    """The last lines of a container, or of its run before, without times; none where they cannot be had."""
    run = _Source(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid, container, 0, pod.rank, pod.attempt)
    request = _request(run, Wanted(tail=lines, previous=previous), follow=False, since='')
    try:
        return [line.partition(' ')[2] async for line in _lines(source, request, follow=False)]
    except errors.ApiError:
        return []
