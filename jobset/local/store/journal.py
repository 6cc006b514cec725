"""The journal: every change in a file before it counts, so that a process may be killed at any moment.

A folder holds ``snapshot-N`` with everything up to some revision, and ``journal-N`` with all changes after it. When the
journal has grown, ``journal-N+1`` is begun, then ``snapshot-N+1`` is written aside and renamed, then what is older is
removed; a kill in between leaves files that :mod:`jobset.local.store.recovery` reads in the right order.

A journal begins with an entry of its own, and is in place only with that: one without any was shortened afterwards.

A change is in the hands of the operating system before it is acknowledged, which survives the death of this process.
It is on the disk after the next sync; a loss of power costs what came after that. How far a sync has come is noted in
``synced``, so that a file that has lost its end since then is not taken for one that had no more to say.
"""

import asyncio
import contextlib
import errno
import fcntl
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import msgspec

from jobset.local.store import framing, recovery, storage
from jobset.local.store.records import Event, Record, Type

logger = logging.getLogger(__name__)

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass(frozen=True, kw_only=True)
class Keeping:
    """How changes are kept."""

    sync_seconds: float = 1
    """Between two syncs: what a loss of power may cost. A killed process costs nothing whatever this is."""

    sync_each: bool = False
    """Whether each change is synced before it is acknowledged; a few hundred changes a second then."""

    compact_bytes: int = 64 << 20
    """Size of a journal from which on a snapshot is made, when it is also larger than the snapshot before it."""


class LockedError(Exception):
    """Another process uses the folder."""


class Unwritable(Exception):  # noqa: N818 - says what the journal is
    """A change cannot be written down, so it has not happened."""

    def __init__(self, path: Path, why: str, *, full: bool = False) -> None:
        super().__init__(f'{path}: {why}')
        self.full = full
        """Whether there is no space left: making some is all that it takes."""


class Journal:
    """One folder, owned by this process from :meth:`open` to :meth:`close`."""

    def __init__(self, folder: Path, settings: Keeping, lock: int, found: recovery.Found) -> None:
        self._folder = folder
        self._settings = settings
        self._lock = lock
        self._number = found.number
        self._snapshot_bytes = found.snapshot_bytes
        self._path = recovery.journal_path(folder, self._number)
        self._file = self._begin(self._path)
        self._size = os.fstat(self._file).st_size
        self._synced = -1
        self._broken = ''

    @classmethod
    def open(cls, folder: Path, settings: Keeping = Keeping()) -> tuple[Self, storage.Recovered]:
        """Takes the folder, which is made when it is not there, and reads what it holds.

        Raises :class:`LockedError`, :class:`~jobset.local.store.recovery.DamagedFileError`, :class:`Unwritable`.
        """
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = _take(folder)
        except OSError as error:
            raise Unwritable(folder, _text(error)) from error
        try:
            found = recovery.read(folder)
            return cls(folder, settings, lock, found), found.recovered
        except OSError as error:
            os.close(lock)
            raise Unwritable(Path(error.filename or folder), _text(error)) from error
        except BaseException:
            os.close(lock)
            raise

    def append(self, kind: str, event: Event) -> None:
        """Writes a change down; the operating system has it when this returns."""
        if self._broken:
            raise Unwritable(self._path, self._broken)
        data = _entry(event.type, kind, event.record)
        try:
            self._write(data)
            if self._settings.sync_each:
                os.fsync(self._file)
        except OSError as error:
            self._undo()
            raise Unwritable(self._path, _text(error), full=error.errno in _FULL) from error
        self._size += len(data)

    async def run(self, everything: Callable[[], storage.Recovered]) -> None:
        """Syncs and compacts until cancelled; ``everything`` gives all objects as they are at the moment."""
        while True:
            await asyncio.sleep(self._settings.sync_seconds)
            await self.sync()
            if self._size > max(self._settings.compact_bytes, self._snapshot_bytes):
                try:
                    await self.compact(everything)
                except OSError as error:
                    logger.warning('%s: no snapshot, the journal goes on: %s', self._folder, _text(error))

    async def sync(self) -> None:
        """Has the disk hold all that has been written so far."""
        if self._size == self._synced or self._broken:
            return
        with contextlib.suppress(OSError):
            await asyncio.to_thread(self._flush)

    async def compact(self, everything: Callable[[], storage.Recovered]) -> None:
        """Starts a new journal, with a snapshot of what the old ones amount to."""
        await self.sync()
        # What has come since then must be on disk before anything of the next file is, or a loss of power could leave
        # a gap.
        self._flush()
        old, number = self._file, self._number + 1
        path = recovery.journal_path(self._folder, number)
        self._file = self._begin(path)
        self._path, self._number, self._size = path, number, os.fstat(self._file).st_size
        os.close(old)
        state = everything()
        self._snapshot_bytes = await asyncio.to_thread(_snapshot, self._folder, number, state)

    def close(self) -> None:
        """Syncs, and gives the folder back."""
        with contextlib.suppress(OSError):
            self._flush()
        os.close(self._file)
        os.close(self._lock)

    def _flush(self) -> None:
        # Changes may come meanwhile; those up to here have been written.
        size = self._size
        try:
            os.fsync(self._file)
        except OSError as error:
            # The kernel may have dropped the pages: nobody knows what the file holds now.
            self._broken = f'could not be synced, start again: {_text(error)}'
            logger.error('%s: %s', self._path, self._broken)
            raise
        self._synced = size
        # An earlier note that stays says less, and nothing wrong.
        with contextlib.suppress(OSError):
            recovery.note_synced(self._folder, self._number, size)

    def _begin(self, path: Path) -> int:
        if not path.exists():
            _begin(path)
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        _sync_folder(self._folder)
        return file

    def _write(self, data: bytes) -> None:
        written = os.write(self._file, data)
        while written < len(data):
            # The disk has become full within this entry; the rest says so, or finds space again.
            written += os.write(self._file, data[written:])

    def _undo(self) -> None:
        try:
            os.ftruncate(self._file, self._size)
        except OSError as error:
            self._broken = f'ends with half an entry that cannot be removed, start again: {_text(error)}'


def _begin(path: Path) -> None:
    """Makes a journal without changes, aside first: it is never there without its beginning."""
    aside = path.with_suffix('.new')
    number = int(path.name.rpartition('-')[2])
    try:
        with open(aside, 'wb', opener=_private) as file:
            file.write(framing.encode(_encode((recovery.JOURNAL, number, 0)) + b'\n'))
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except OSError:
        aside.unlink(missing_ok=True)
        raise


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def _entry(change: Type, kind: str, record: Record) -> bytes:
    head = (change, kind, record.revision, record.namespace, record.name, record.uid, record.api_version)
    data = b'' if change is Type.DELETED else record.data
    return framing.encode(b''.join((_encode(head), b'\n', data)))


_encode: Final = msgspec.json.Encoder().encode


def _snapshot(folder: Path, number: int, state: storage.Recovered) -> int:
    """Writes a snapshot aside and puts it in place; returns its size. Then removes what it stands for."""
    target = recovery.snapshot_path(folder, number)
    aside = target.with_suffix('.new')
    try:
        size = _write_snapshot(aside, state)
        aside.replace(target)
    except OSError:
        # What is of no use must not fill a full disk further.
        aside.unlink(missing_ok=True)
        raise
    _sync_folder(folder)
    recovery.remove_before(folder, number)
    return size


def owner(folder: Path) -> int | None:
    """The process that uses a folder at the moment."""
    try:
        lock = os.open(folder / 'lock', os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = _noted(lock)
        return int(text) if text.isdigit() else None
    finally:
        os.close(lock)
    return None


def _take(folder: Path) -> int:
    lock = os.open(folder / 'lock', os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(lock, 0)
        os.pwrite(lock, f'{os.getpid()}\n'.encode(), 0)
    except BlockingIOError:
        who = _noted(lock) or 'unknown'
        os.close(lock)
        raise LockedError(f'{folder}: is in use by process {who}; stop that one, or use another folder') from None
    except BaseException:
        os.close(lock)
        raise
    return lock


def _noted(lock: int) -> str:
    return os.pread(lock, 32, 0).decode(errors='replace').strip()


def _write_snapshot(path: Path, state: storage.Recovered) -> int:
    with path.open('wb', buffering=1 << 20) as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(framing.encode(_encode((recovery.SNAPSHOT, state.revision, len(state.objects))) + b'\n'))
        for kind, record in state.objects:
            file.write(_entry(Type.ADDED, kind, record))
        file.flush()
        os.fsync(file.fileno())
        return file.tell()


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _text(error: OSError) -> str:
    return 'is not a folder' if isinstance(error, FileExistsError) else error.strerror or str(error)
