"""The log of one run of a container: written, rotated, watched by those that follow it."""

import asyncio
import datetime
import errno
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from jobset.local.node import loglines

logger = logging.getLogger(__name__)

_PIECE: Final = 64 << 10

_LAST_PIECES: Final = 16
"""Pieces that are taken of a stream when it is closed: as much as a pipe can hold, which is 1 MiB."""


def folder(logs: Path, *, namespace: str, pod: str, uid: str) -> Path:
    """Where all logs of a pod are."""
    return logs / f'{namespace}_{pod}_{uid}'


def path(pod_folder: Path, container: str, run: int) -> Path:
    """The log of one run of a container, counted by its restarts."""
    return pod_folder / container / f'{run}.log'


def parts(file: Path) -> list[Path]:
    """The files of one log, oldest first: rotated ones have a number behind their name, 1 for the youngest."""
    rotated = sorted(
        (other for other in file.parent.glob(f'{file.name}.*') if other.suffix[1:].isdigit()),
        key=lambda other: -int(other.suffix[1:]),
    )
    return [*rotated, file] if file.exists() else rotated


def begun(pod_folder: Path) -> dict[str, int]:
    """The last run of each container that was begun, which a node may not have lived to tell: its log is there."""
    runs: dict[str, int] = {}
    for file in pod_folder.glob('*/*.log*'):
        number, container = file.name.partition('.')[0], file.parent.name
        if number.isdigit():
            runs[container] = max(runs.get(container, 0), int(number))
    return runs


class Writer:
    """Writes what comes from a container's streams to its log."""

    def __init__(
        self,
        file: Path,
        *,
        now: Callable[[], datetime.datetime],
        most_bytes: int,
        most_files: int,
        on_loss: Callable[[str], object] | None = None,
    ) -> None:
        self.file = file
        self.is_open = True
        self._now = now
        self._most_bytes = most_bytes
        self._most_files = most_files
        self._news: asyncio.Future[None] | None = None
        self._pending: dict[int, asyncio.Future[None]] = {}
        self._splitters: dict[int, loglines.Splitter] = {}
        self._on_loss = on_loss
        file.parent.mkdir(parents=True, exist_ok=True)
        self._output = file.open('ab', buffering=0)
        self._size = self._output.tell()
        self._lost_bytes = 0
        self._stamps = loglines.Stamps()

    def pipe(self, stream: str) -> int:
        """The end of a new pipe that a process may write to; the caller closes its own copy."""
        reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        os.set_blocking(writer, True)
        loop = asyncio.get_running_loop()
        self._pending[reader] = loop.create_future()
        self._splitters[reader] = loglines.Splitter(stream, self._stamps)
        loop.add_reader(reader, self._take, reader)
        return writer

    async def finish(self, *, within: float) -> None:
        """Waits until all that was written has come, which is when nobody can write any more; then closes the log."""
        if self._pending:
            await asyncio.wait(self._pending.values(), timeout=within)
        self.close()

    def close(self) -> None:
        """Takes nothing more but what has been written already."""
        for reader in list(self._pending):
            for _ in range(_LAST_PIECES):
                if reader not in self._pending or not self._take(reader):
                    break
            if reader in self._pending:
                self._append(self._splitters[reader].finish(self._now()))
                self._end(reader)
        if self.is_open:
            if self._lost_bytes:
                self._settle()
            self.is_open = False
            self._output.close()
            self._tell()

    async def changed(self) -> None:
        """Waits until there is more in the log, or it is closed."""
        if not self.is_open:
            return
        if self._news is None:
            self._news = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._news)

    def _take(self, reader: int) -> bool:
        """Takes a piece of what has come, if there is any."""
        try:
            data = os.read(reader, _PIECE)
        except BlockingIOError:
            return False
        except OSError:
            data = b''
        moment, splitter = self._now(), self._splitters[reader]
        if data:
            self._append(splitter.feed(data, moment))
        else:
            self._append(splitter.finish(moment))
            self._end(reader)
        return bool(data)

    def _end(self, reader: int) -> None:
        asyncio.get_running_loop().remove_reader(reader)
        os.close(reader)
        del self._splitters[reader]
        done = self._pending.pop(reader)
        if not done.done():
            done.set_result(None)

    def _append(self, data: bytes) -> None:
        if not data or not self.is_open:
            return
        try:
            self._keep(self._gap() + data)
        except OSError as error:
            # A full disk must not stop the container: its output is lost, and the loss is told.
            if not self._lost_bytes:
                self._complain(f'its output is not kept: {error.strerror}')
            self._lost_bytes += len(data)
            return
        if self._lost_bytes:
            self._complain(f'its output is kept again, {self._lost_bytes} bytes of it are lost')
            self._lost_bytes = 0
        self._tell()

    def _settle(self) -> None:
        """Says at the end what is lost for good."""
        try:
            self._keep(self._gap())
        except OSError as error:
            logger.debug('%s: %s', self.file, error)
        self._complain(f'{self._lost_bytes} bytes of its output are lost')
        self._lost_bytes = 0

    def _gap(self) -> bytes:
        """An entry where something is missing, so that whoever reads the log later knows of it."""
        if not self._lost_bytes:
            return b''
        splitter = loglines.Splitter('stderr', self._stamps)
        return splitter.feed(b'jobset: %d bytes of output are missing here\n' % self._lost_bytes, self._now())

    def _keep(self, data: bytes) -> None:
        """Writes entries, all of them or none. Raises OSError."""
        if self._output.closed:
            # The last rotation came only half way.
            self._output = self.file.open('ab', buffering=0)
            self._size = self._output.tell()
        if self._size + len(data) > self._most_bytes and self._size:
            self._rotate()
        written = self._output.write(data)
        if written != len(data):
            # A disk that has become full takes the first part only, which is no entry.
            self._output.truncate(self._size)
            self._output.seek(self._size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._size += len(data)

    def _complain(self, text: str) -> None:
        logger.error('%s: %s', self.file, text)
        if self._on_loss is not None:
            self._on_loss(text)

    def _rotate(self) -> None:
        rotated = parts(self.file)[:-1]
        for old in rotated[: max(0, len(rotated) - (self._most_files - 2))]:
            old.unlink()
        for old in parts(self.file)[:-1]:
            old.rename(old.with_suffix(f'.{int(old.suffix[1:]) + 1}'))
        self._output.close()
        if self._most_files > 1:
            self.file.rename(self.file.with_name(f'{self.file.name}.1'))
        self._output = self.file.open('wb', buffering=0)
        self._size = 0

    def _tell(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)
        self._news = None
