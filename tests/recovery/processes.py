"""A plane as a process that may be killed, and what of it can be seen from outside."""

import asyncio
import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from jobset.local import daemon

READY_SECONDS: Final = 90
"""How long a start may take, on a machine that does other things too."""

END_SECONDS: Final = 60

MARK: Final = 'JOBSET_RECOVERY'
"""A variable that all processes of one test have, those of its pods too."""


class Process(NamedTuple):
    """A process that no other is taken for, whatever number it has."""

    pid: int
    started: int


class Plane:
    """``python -m jobset.local`` on one folder, time and again."""

    def __init__(self, folder: Path, *options: str, mark: str = '', around: Sequence[str] = ()) -> None:
        self.folder = folder
        self.log = folder.parent / f'{folder.name}.log'
        self.kubeconfig = folder / 'kubeconfig'
        self._options = options
        self._mark = mark
        self._around = around
        self._process: subprocess.Popen[bytes] | None = None
        self._reading = -1

    def start(self) -> None:
        """Begin a life."""
        self._reading, writing = os.pipe()
        command = [sys.executable, '-m', 'jobset.local', '--folder', str(self.folder), '--ready-fd', str(writing)]
        with self.log.open('ab') as log:
            self._process = subprocess.Popen(
                [*self._around, *command, *self._options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(writing,),
                start_new_session=True,
                env={**os.environ, MARK: self._mark},
            )
        os.close(writing)

    async def ready(self) -> None:
        """Wait until pods can run. Raises AssertionError with the end of the log."""
        said = await asyncio.to_thread(self._read)
        assert said == daemon.READY, f'the plane does not start: {said}\n{self.tail()}'

    async def kill(self) -> None:
        """End it as a power cut would, but for the machine's memory."""
        assert self._process is not None
        assert self._process.poll() is None, f'the plane has ended by itself:\n{self.tail()}'
        self._process.kill()
        await self._ended()

    async def stop(self) -> int:
        """Ask it to end; returns its exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return await self._ended()

    async def refused(self) -> str:
        """Wait until it has ended by itself, because it cannot start; returns what it says."""
        assert self._process is not None
        said = await asyncio.to_thread(self._read)
        assert await self._ended() == 1, self.tail()
        return said

    def _read(self) -> str:
        ready, _, _ = select.select([self._reading], [], [], READY_SECONDS)
        return os.read(self._reading, 4096).decode() if ready else ''

    async def clear(self) -> None:
        """End it whatever it does."""
        if self._process is not None and self._process.poll() is None:
            await self.kill()

    def processor_seconds(self) -> float:
        """What this life has used: the honest measure on a machine that does other things too."""
        assert self._process is not None
        stat = Path(f'/proc/{self._process.pid}/stat').read_text()
        user, system = stat.rpartition(')')[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf('SC_CLK_TCK')

    def tail(self) -> str:
        """The end of its log."""
        return '\n'.join(self.log.read_text(errors='replace').splitlines()[-40:])

    async def _ended(self) -> int:
        assert self._process is not None
        code = await asyncio.to_thread(self._process.wait, END_SECONDS)
        os.close(self._reading)
        return code


def marked(mark: str) -> set[Process]:
    """All processes with the mark."""
    wanted = f'{MARK}={mark}'.encode()
    found = set()
    for folder in Path('/proc').iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and wanted in (folder / 'environ').read_bytes().split(b'\0'):
                pid = int(folder.name)
                found.add(Process(pid, daemon.start_of(pid) or 0))
    return {each for each in found if each.started}


def alive(processes: set[Process]) -> dict[Process, str]:
    """Those that still run, each with its command."""
    found = {}
    for each in processes:
        if daemon.start_of(each.pid) == each.started:
            with contextlib.suppress(OSError):
                found[each] = Path(f'/proc/{each.pid}/cmdline').read_bytes().replace(b'\0', b' ').decode()
    return found


def address_ranges() -> set[str]:
    """The ranges of loopback addresses that are claimed on this machine."""
    names = (line.split()[-1] for line in Path('/proc/net/unix').read_text().splitlines()[1:])
    return {name for name in names if name.startswith('@jobset/127.')}
