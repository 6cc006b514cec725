"""Reads the logs of containers for the API server: a part of them, in the wanted form, and on and on if wanted."""

import asyncio
import datetime
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from jobset.local import objects, problems
from jobset.local.node import logfiles, loglines, phases
from jobset.local.objects import Object
from jobset.local.server.logs import Wanted

_PIECE: Final = 64 << 10
_CREATING: Final = 'ContainerCreating'


class Logs:
    """A :class:`jobset.local.server.logs.LogSource` over a folder; nodes put in it what they write at the moment."""

    def __init__(self, folder: Path, *, now: Callable[[], datetime.datetime]) -> None:
        self.folder = folder
        self._now = now
        self._writers: dict[Path, logfiles.Writer] = {}

    def add(self, writer: logfiles.Writer) -> None:
        """This log is being written."""
        self._writers[writer.file] = writer

    def remove(self, writer: logfiles.Writer) -> None:
        """It is not written any more."""
        self._writers.pop(writer.file, None)

    async def read(self, pod: Object, wanted: Wanted) -> AsyncIterator[bytes]:
        """See :class:`jobset.local.server.logs.LogSource`."""
        meta = objects.metadata(pod)
        where = logfiles.folder(self.folder, namespace=meta['namespace'], pod=meta['name'], uid=meta['uid'])
        if wanted.run is None:
            file = logfiles.path(where, wanted.container, _run(pod, wanted))
        else:
            file = logfiles.path(where, wanted.container, wanted.run)
            if file not in self._writers and not logfiles.parts(file):
                what = f'run {wanted.run} of container "{wanted.container}" in pod "{meta["name"]}"'
                raise problems.Problem.bad_request(f'{what} has no log')
        left = wanted.limit_bytes
        async for piece in self._pieces(file, wanted):
            if left is not None and len(piece) >= left:
                yield piece[:left]
                return
            if left is not None:
                left -= len(piece)
            yield piece

    async def _pieces(self, file: Path, wanted: Wanted) -> AsyncIterator[bytes]:
        since = _since(wanted, self._now())
        files = logfiles.parts(file)
        tail: Iterator[bytes] = _lines(files)
        if wanted.tail_lines is not None:
            tail = iter(deque(tail, maxlen=wanted.tail_lines))
        # What is there is read before anything else can happen, so the place to go on from is the end of the file.
        at, inode = _place(file)
        for piece in _joined(tail, since, with_time=wanted.timestamps):
            yield piece
            await asyncio.sleep(0)
        writer = self._writers.get(file)
        while wanted.follow and writer is not None:
            is_last = not writer.is_open
            for data in _news(file, at, inode):
                at, inode, lines = data
                for piece in _joined(lines, since, with_time=wanted.timestamps):
                    yield piece
            if is_last:
                return
            if at == _place(file)[0]:
                await writer.changed()


def _news(file: Path, at: int, inode: int) -> Iterator[tuple[int, int, list[bytes]]]:
    """What was written after a place, also when the log was rotated meanwhile; with the place to go on from."""
    for part in logfiles.parts(file):
        stat = part.stat()
        if stat.st_ino == inode:
            with part.open('rb') as source:
                source.seek(at)
                data = source.read()
        elif part == file:
            data, at = part.read_bytes(), 0
        else:
            continue
        # A text may hold whatever else ends a line elsewhere: progress bars are full of it.
        yield at + len(data), stat.st_ino, data.removesuffix(b'\n').split(b'\n')


def _place(file: Path) -> tuple[int, int]:
    """The end of a file, and which file it is."""
    try:
        stat = file.stat()
    except FileNotFoundError:
        return 0, 0
    return stat.st_size, stat.st_ino


def _lines(files: list[Path]) -> Iterator[bytes]:
    for file in files:
        with file.open('rb') as source:
            for line in source:
                yield line[:-1] if line.endswith(b'\n') else line


def _joined(lines: Iterable[bytes], since: datetime.datetime | None, *, with_time: bool) -> Iterator[bytes]:
    """The text of entries, in large pieces."""
    made: list[bytes] = []
    size = 0
    for line in lines:
        entry = loglines.parse(line)
        if entry is None or (since is not None and loglines.moment(entry) < since):
            continue
        text = entry.text if entry.is_part else entry.text + b'\n'
        made.append(entry.time + b' ' + text if with_time else text)
        size += len(text)
        if size >= _PIECE:
            yield b''.join(made)
            made, size = [], 0
    if made:
        yield b''.join(made)


def _since(wanted: Wanted, now: datetime.datetime) -> datetime.datetime | None:
    if wanted.since_seconds is not None:
        return now - datetime.timedelta(seconds=wanted.since_seconds)
    return objects.moment(wanted.since_time) if wanted.since_time else None


def _run(pod: Object, wanted: Wanted) -> int:
    """Which run of the container is meant. Raises :class:`~jobset.local.problems.Problem` when there was none."""
    status = pod.get('status') or {}
    shown = next(
        (
            one
            for key in ('containerStatuses', 'initContainerStatuses')
            for one in status.get(key) or ()
            if one['name'] == wanted.container
        ),
        None,
    )
    what = f'container "{wanted.container}" in pod "{objects.name(pod)}"'
    state = (shown or {}).get('state') or {}
    last = ((shown or {}).get('lastState') or {}).get('terminated')
    count = int((shown or {}).get('restartCount') or 0)
    is_waiting = not state or 'waiting' in state
    reason = (state.get('waiting') or {}).get('reason') or _CREATING
    # While it waits to start again, the count is still that of the run that ended; unless the next one is being made.
    is_counted = reason == _CREATING or (last or {}).get('reason') == phases.RESTARTING
    before = count - 1 if not is_waiting or is_counted else count
    if wanted.previous:
        if not last:
            raise problems.Problem.bad_request(f'previous terminated {what} not found')
        return before
    if is_waiting:
        if last:
            return before
        raise problems.Problem.bad_request(f'{what} is waiting to start: {reason}')
    return count
