"""The logs of all pods of a JobSet as one stream of lines, each with the rank that it comes from."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Final

from jobset.client import families, observed, reading, runs, together
from jobset.client.families import Family
from jobset.client.reading import Line, Note, Put, Wanted
from jobset.client.runs import Container
from jobset.kube import client, errors

__all__ = ['Line', 'Note', 'Wanted', 'follow', 'read', 'tail']

QUEUE: Final = 1000
"""Lines that may wait for their reader, before the pods' streams have to."""


async def read(source: client.Client, family: Family, wanted: Wanted) -> AsyncGenerator[Line | Note, None]:
    """The logs as they are now: pod after pod, in the order of the spec; several are fetched ahead."""
    found = [each.container for pod in family.pods if wanted.takes(pod) for each in _readable(pod, wanted)]
    queues = [asyncio.Queue[Line | Note | None](QUEUE) for _ in found]
    slots = asyncio.Semaphore(wanted.at_once)

    async def fetch(container: Container, queue: asyncio.Queue[Line | Note | None]) -> None:
        async with slots:
            run = reading.Run(container, is_previous=wanted.previous, is_part=True)
            await reading.deliver(source, run, wanted, reading.Place(), queue.put, follow=False)
        await queue.put(None)

    async with together.beside(fetch(one, queue) for one, queue in zip(found, queues, strict=True)):
        for queue in queues:
            while (line := await queue.get()) is not None:
                yield line


async def follow(
    source: client.Client,
    namespace: str,
    name: str,
    wanted: Wanted,
) -> AsyncGenerator[Line | Note, None]:
    """The logs as they come, of all pods that come, until the JobSet has ended or is gone and all has been read.

    All runs of a container are read, one after another, from the present one of those that there are at the start.
    """
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
    async with asyncio.TaskGroup() as group:
        readers = _Readers(source, wanted, queue.put, group)
        # Told of each change: a pod that comes and goes in a moment is in none of the states.
        following = families.following(source, namespace, name, with_events=False, on_pod=readers.see)
        async with following as states:
            is_first = True
            async for family in states:
                if is_first and (gone := _gone(family, wanted)):
                    await queue.put(Note(name, gone))
                for pod in family.pods:
                    readers.see(pod, is_first=is_first)
                is_first = False
                if family.jobset.status.terminal_state and await readers.have_all(namespace, name, family.pods):
                    break
        readers.close()
    await queue.put(None)


class _Readers:
    """One reader for each container that has been seen to run, which reads its runs in their order."""

    def __init__(self, source: client.Client, wanted: Wanted, put: Put, group: asyncio.TaskGroup) -> None:
        self._source = source
        self._wanted = wanted
        self._put = put
        self._group = group
        self._slots = asyncio.Semaphore(wanted.at_once)
        self._readers: dict[Container, _Reader] = {}

    def see(self, pod: observed.Pod, *, is_first: bool = False) -> None:
        """Takes a state of a pod; of those that are the first ones, the present runs are wanted."""
        if not self._wanted.takes(pod):
            return
        for each in runs.begun(pod, self._wanted.containers(pod)):
            reader = self._readers.get(each.container)
            if reader is None:
                is_part = is_first and not self._wanted.earlier
                first = each.last if is_part else 0
                reader = self._readers[each.container] = _Reader(each.container, first=first, is_part=is_part)
                self._group.create_task(self._read(reader))
            reader.see(each)

    async def have_all(self, namespace: str, name: str, pods: Sequence[observed.Pod]) -> bool:
        """Whether these pods, now that the JobSet has ended, will bring nothing that has not been seen.

        Changes of pods may be told later than those of the JobSet, so what there is is asked for once more.
        """
        if not all(map(_has_ended, pods)):
            return False
        now = await families.pods(self._source, namespace, name)
        for pod in now:
            self.see(pod)
        # Those that are gone since have told of their last runs before they went; that news is yet to come.
        uids = {pod.metadata.uid for pod in now}
        return all(map(_has_ended, now)) and all(pod.metadata.uid in uids for pod in pods)

    def close(self) -> None:
        """Nothing more comes: each reader ends with the last run that has been seen."""
        for reader in self._readers.values():
            reader.close()

    async def _read(self, reader: '_Reader') -> None:
        rank = reader.container.rank
        is_told = False
        while (run := await reader.next()) is not None:
            if isinstance(run, str):
                await self._put(Note(rank, run))
                continue
            if self._slots.locked() and not is_told:
                is_told = True
                text = f'more than {self._wanted.at_once} logs at once: waits for another one to end'
                await self._put(Note(rank, text))
            async with self._slots:
                await reading.deliver(self._source, run, self._wanted, reader.place, self._put, follow=True)


class _Reader:
    """Which run of a container is to be read next."""

    def __init__(self, container: Container, *, first: int, is_part: bool) -> None:
        self.container = container
        self.place = reading.Place()
        self._is_part = is_part
        self._next = first
        self._last = -1
        self._is_kept = False
        self._is_closed = False
        self._news = asyncio.Event()

    def see(self, begun: runs.Begun) -> None:
        self._last = max(self._last, begun.last)
        self._is_kept = self._is_kept or begun.is_kept
        self._news.set()

    def close(self) -> None:
        self._is_closed = True
        self._news.set()

    async def next(self) -> 'reading.Run | str | None':
        """The next run, once it has begun; or why some cannot be read; None after the last one."""
        while self._next > self._last:
            if self._is_closed:
                return None
            self._news.clear()
            await self._news.wait()
        number = self._next
        is_part, self._is_part = self._is_part, False
        if self._is_kept:
            self._next += 1
            self.place = reading.Place()
            return reading.Run(self.container, number, is_part=is_part)
        if number < self._last - 1:
            self._next = self._last - 1
            what = f'run {number}' if number == self._last - 2 else f'runs {number} to {self._last - 2}'
            return f'the log of {what} cannot be read: its node keeps those of the last two'
        self._next += 1
        return reading.Run(self.container, is_previous=number == self._last - 1, is_part=is_part)


def _gone(family: Family, wanted: Wanted) -> str:
    """What there was before we began to look on, and cannot be read any more; empty when there was nothing."""
    here = {pod.attempt for pod in family.pods}
    there_were = range(family.jobset.status.restarts)
    gone = [str(attempt) for attempt in there_were if attempt not in here and wanted.attempt in (None, attempt)]
    if not gone:
        return ''
    which = f'attempt {gone[0]} is' if len(gone) == 1 else f'attempts {gone[0]} to {gone[-1]} are'
    return f'{which} over, and the pods are gone with what they have written'


def _readable(pod: observed.Pod, wanted: Wanted) -> Iterator[runs.Begun]:
    """The containers of which there may be something to read now."""
    for each in runs.begun(pod, wanted.containers(pod)):
        status = next(one for one in pod.containers if one.name == each.container.name)
        if status.state.waiting is None or (wanted.previous and status.restart_count):
            yield each


def _has_ended(pod: observed.Pod) -> bool:
    if pod.is_over or pod.metadata.deletion_timestamp:
        return True
    return all(status.state.running is None for status in pod.containers)


async def tail(
    source: client.Client,
    pod: observed.Pod,
    container: str,
    *,
    lines: int,
    previous: bool = False,
) -> list[str]:
    """The last lines of a container, or of its run before, without times; none where they cannot be had."""
    meta = pod.metadata
    of = Container(meta.namespace, meta.name, meta.uid, container, pod.rank, pod.attempt)
    request = reading.request_of(
        reading.Run(of, is_previous=previous, is_part=True), Wanted(tail=lines), follow=False, since=''
    )
    try:
        return [line.partition(' ')[2] async for line in reading.lines(source, request, follow=False)]
    except errors.ApiError:
        return []
