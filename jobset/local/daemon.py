"""Embedded clusters in the background: started, found again, ended."""

import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from jobset.local import homes

START_SECONDS: Final = 30
"""How long a cluster may take until it answers."""

END_SECONDS: Final = 20
"""How long it may take to end its pods and itself, before it is killed."""

READY: Final = 'ready'
"""What a cluster writes to its parent, on the descriptor it was given, once it answers."""


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
    """Write down that this process runs the cluster."""
    pid = os.getpid()
    text = json.dumps({'pid': pid, 'started': start_of(pid), 'server': server})
    partial = home.process.with_suffix('.partial')
    partial.write_text(text)
    partial.replace(home.process)


def running(home: homes.Home) -> Running | None:
    """The process that runs the cluster now."""
    try:
        found = Running(**json.loads(home.process.read_text()))
    except (OSError, ValueError, TypeError):
        return None
    return found if found.is_alive() else None


def up(home: homes.Home, options: Sequence[str] = ()) -> Running:
    """Start the cluster in the background, or take the one that runs. Raises :class:`homes.UnusableError`."""
    if found := running(home):
        return found
    home.prepare()
    reading, writing = os.pipe()
    command = [sys.executable, '-m', 'jobset.local', '--name', home.name, '--ready-fd', str(writing), *options]
    try:
        with home.log.open('ab') as log:
            process = subprocess.Popen(  # noqa: S603 - our own module
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, pass_fds=(writing,)
            )
    finally:
        os.close(writing)
    try:
        _wait(process, reading, home)
    finally:
        os.close(reading)
    found = running(home)
    if found is None:
        raise homes.UnusableError(f'cluster "{home.name}": ended at once; {_words(home)}')
    return found


def _wait(process: subprocess.Popen[bytes], reading: int, home: homes.Home) -> None:
    """The pipe says more when the cluster is ready, and ends when its process does."""
    ready, _, _ = select.select([reading], [], [], START_SECONDS)
    said = os.read(reading, len(READY)) if ready else b''
    if said.decode() == READY:
        return
    if ready:
        process.wait(END_SECONDS)
        raise homes.UnusableError(f'cluster "{home.name}": cannot be started: {_words(home)}')
    process.kill()
    process.wait()
    raise homes.UnusableError(f'cluster "{home.name}": no answer within {START_SECONDS} s; see {home.log}')


def _words(home: homes.Home) -> str:
    lines = home.log.read_text(errors='replace').splitlines() if home.log.exists() else []
    return lines[-1] if lines else f'see {home.log}'


def down(home: homes.Home, *, keep_data: bool = False) -> bool:
    """End the cluster, and its data with it unless told to keep them; returns whether there was anything to end."""
    found = running(home)
    if found is not None:
        os.kill(found.pid, signal.SIGTERM)
        if not _gone(found, END_SECONDS):
            os.kill(found.pid, signal.SIGKILL)
            _gone(found, END_SECONDS)
    existed = home.folder.exists()
    if not keep_data:
        shutil.rmtree(home.folder, ignore_errors=True)
    return found is not None or (existed and not keep_data)


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
