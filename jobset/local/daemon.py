"""Embedded clusters in the background: started, found again, ended."""

import contextlib
import fcntl
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from jobset.local import homes
from jobset.local.node import folders
from jobset.local.store import journal

START_SECONDS: Final = 30
"""How long a cluster may take until it answers."""

END_SECONDS: Final = 20
"""How long it may take to end its pods and itself, before it is killed."""

READY: Final = 'ready'
"""What a cluster writes to its parent, on the descriptor it was given, once it answers; else it writes why not."""


@dataclass(frozen=True, slots=True)
class Running:
    """The process of a cluster."""

    pid: int
    started: int
    """When the process began, in clock ticks since boot: a pid alone may be somebody else's by now."""

    server: str
    """URL of the API server."""

    def is_alive(self) -> bool:
        """Whether it is still that process."""
        return start_of(self.pid) == self.started


def start_of(pid: int) -> int | None:
    """When a process began, in clock ticks since boot; None when there is none."""
    try:
        stat = pathlib.Path(f'/proc/{pid}/stat').read_text()
    except OSError:
        return None
    fields = stat.rpartition(')')[2].split()
    return None if fields[0] == 'Z' else int(fields[19])


def note(home: homes.Home, server: str) -> None:
    """Write down that this process runs the cluster. Raises :class:`homes.UnusableError`."""
    pid = os.getpid()
    text = json.dumps({'pid': pid, 'started': start_of(pid), 'server': server})
    partial = home.process.with_suffix('.partial')
    try:
        partial.write_text(text)
        partial.replace(home.process)
    except OSError as error:
        raise homes.UnusableError(f'{home.process}: {error.strerror}') from error


def forget(home: homes.Home) -> None:
    """Take back that this process runs the cluster; another one may do so by now."""
    found = running(home)
    if found is not None and found.pid == os.getpid():
        home.process.unlink(missing_ok=True)


def running(home: homes.Home) -> Running | None:
    """The process that runs the cluster now."""
    try:
        found = Running(**json.loads(home.process.read_text()))
    except (OSError, ValueError, TypeError):
        return None
    return found if found.is_alive() else None


def sweep() -> None:
    """Take away what runs have left that were killed: all but their logs."""
    for home in homes.of_runs():
        if home.process.exists() and running(home) is None:
            homes.strip(home)


def up(home: homes.Home, options: Sequence[str] = ()) -> Running:
    """Start the cluster in the background, or take the one that runs. Raises :class:`homes.UnusableError`."""
    with _alone(home):
        return running(home) or _start(home, options)


def _start(home: homes.Home, options: Sequence[str]) -> Running:
    reading, writing = os.pipe()
    command = [sys.executable, '-m', 'jobset.local', '--name', home.name, '--ready-fd', str(writing), *options]
    try:
        with home.log.open('ab') as log:
            process = subprocess.Popen(  # noqa: S603 - our own module
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, pass_fds=(writing,)
            )
    except OSError as error:
        os.close(reading)
        raise homes.UnusableError(f'{home.log}: {error.strerror}') from error
    finally:
        os.close(writing)
    try:
        _wait(process, reading, home)
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        os.close(reading)
    found = running(home)
    if found is None:
        raise homes.UnusableError(f'cluster "{home.name}": ended at once; {_last_words(home)}')
    return found


def _wait(process: subprocess.Popen[bytes], reading: int, home: homes.Home) -> None:
    """The pipe says that the cluster is ready, or why it is not, and ends when its process does."""
    ready, _, _ = select.select([reading], [], [], START_SECONDS)
    if not ready:
        raise homes.UnusableError(f'cluster "{home.name}": no answer within {START_SECONDS} s; see {home.log}')
    said = os.read(reading, select.PIPE_BUF).decode(errors='replace')
    if said == READY:
        return
    process.wait(END_SECONDS)
    raise homes.UnusableError(f'cluster "{home.name}" cannot be started: {said or _last_words(home)}')


def _last_words(home: homes.Home) -> str:
    lines = home.log.read_text(errors='replace').splitlines() if home.log.exists() else []
    return lines[-1].removeprefix('jobset: ') if lines else f'see {home.log}'


def down(home: homes.Home, *, keep_data: bool = False) -> bool:
    """End the cluster, and its data with it unless told to keep them; returns whether there was anything to end.

    Raises :class:`homes.UnusableError`.
    """
    if not home.folder.is_dir():
        return False
    with _alone(home):
        found = running(home) or _nameless(home)
        if found is not None:
            _end(found)
        if keep_data:
            home.process.unlink(missing_ok=True)
            return found is not None
        folders.remove(home.folder)
    if home.folder.exists():
        raise homes.UnusableError(f'{home.folder}: cannot be removed')
    return True


def _nameless(home: homes.Home) -> Running | None:
    """A process that uses the data of the cluster and has not said so yet, or cannot."""
    pid = journal.owner(home.data)
    started = start_of(pid) if pid is not None else None
    return Running(pid, started, '') if pid is not None and started is not None else None


def _end(process: Running) -> None:
    """Ask it to end its pods and itself; make it, when it does not."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)
        if _gone(process, END_SECONDS):
            return


@contextlib.contextmanager
def _alone(home: homes.Home) -> Iterator[None]:
    """Has other commands that start or end the cluster wait, and waits for them; each has an end in sight."""
    with contextlib.ExitStack() as stack:
        while True:
            home.prepare()
            handle = os.open(home.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), home.folder.stat()):
                    break
        yield


def _gone(process: Running, seconds: float) -> bool:
    """Wait for the end of a process that need not be a child of ours."""
    try:
        watched = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return True
    try:
        ended, _, _ = select.select([watched], [], [], seconds)
    finally:
        os.close(watched)
    return bool(ended) or not process.is_alive()
