"""One log of one run of a container, read line by line, and taken up again where it was cut."""

import asyncio
import urllib.parse
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from jobset.client import observed
from jobset.client.runs import Container
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

    earlier: bool = False
    """Also the runs before the present ones, of pods that are there at the start and followed."""

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
class Run:
    """One run of a container, and how to ask for it."""

    container: Container
    number: int | None = None
    """Which one, where its node gives out each one by its number."""

    is_previous: bool = False
    """The one before the present one."""

    is_part: bool = False
    """Whether only the wanted part of it is to be read: not of a run that begins while we look on."""


class Place:
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


async def deliver(
    source: client.Client,
    run: Run,
    wanted: Wanted,
    place: Place,
    put: Put,
    *,
    follow: bool,
) -> None:
    """All lines of one run; a log that is followed is taken up again where it was cut."""
    last = ''
    failures = 0
    container = run.container
    while True:
        place.resume()
        try:
            async for line in lines(source, request_of(run, wanted, follow=follow, since=last), follow=follow):
                time, _, text = line.partition(' ')
                if place.has_been(time):
                    continue
                last, failures = time, 0
                await put(Line(container.rank, container.attempt, time, text))
        except errors.NotFound as error:
            # The pod is gone, and what could be read has been; or the node was never there.
            if not last:
                await put(Note(container.rank, f'its log cannot be read: {error.message}'))
            return
        except errors.RetryLater as error:
            failures += 1
            if not follow or failures == MOST_FAILURES:
                await put(Note(container.rank, f'its log cannot be read: {error.message}'))
                return
            await asyncio.sleep(RETRY_SECONDS)
        except errors.ApiError as error:
            await put(Note(container.rank, f'its log cannot be read: {error.message}'))
            return
        else:
            return


async def lines(source: client.Client, request: requests.Request, *, follow: bool) -> AsyncIterator[str]:
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


def request_of(run: Run, wanted: Wanted, *, follow: bool, since: str) -> requests.Request:
    container = run.container
    parameters: dict[str, str] = {'container': container.name, 'timestamps': 'true'}
    if follow:
        parameters['follow'] = 'true'
    if run.number is not None:
        parameters |= {'uid': container.uid, 'run': str(run.number)}
    if run.is_previous:
        parameters['previous'] = 'true'
    if since:
        parameters['sinceTime'] = since
    elif run.is_part:
        if wanted.tail is not None:
            parameters['tailLines'] = str(wanted.tail)
        if wanted.since_seconds is not None:
            parameters['sinceSeconds'] = str(wanted.since_seconds)
    path = requests.PODS.subresource(container.namespace, container.pod, 'log')
    return requests.Request('GET', path, urllib.parse.urlencode(parameters))


def _sortable(time: str) -> tuple[str, str]:
    """A time of which some nodes leave the last zeros away."""
    seconds, _, fraction = time.rstrip('Z').partition('.')
    return seconds, fraction.ljust(9, '0')
