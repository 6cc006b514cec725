"""What one process has cost so far, as Linux counts it."""

import asyncio
import os
import pathlib
import time
from typing import Final

_TICKS_PER_SECOND: Final = os.sysconf('SC_CLK_TCK')

QUIET_SECONDS: Final = 0.5
"""A process that uses next to nothing for so long has finished what it had put off."""

SETTLING_SECONDS: Final = 60
"""How long that may take."""


class BusyError(Exception):
    """The process went on working although nothing was left to do."""


class Process:
    """One process, without its children."""

    def __init__(self, pid: int) -> None:
        self._folder = pathlib.Path('/proc', str(pid))

    def cpu_seconds(self) -> float:
        """User and system time of all its threads, to a hundredth of a second."""
        # The second field is the name in brackets, which may hold anything: count from behind it.
        fields = (self._folder / 'stat').read_text().rpartition(')')[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND

    def peak_rss_mib(self) -> float:
        """The most memory that it ever held, in MiB."""
        for line in (self._folder / 'status').read_text().splitlines():
            if line.startswith('VmHWM:'):
                return int(line.split()[1]) / 1024
        raise ValueError(f'{self._folder}: no VmHWM; is this a kernel thread?')

    async def settled(self) -> None:
        """Wait until it is idle, so that work put off is counted, too. Raises :class:`BusyError`."""
        end = time.monotonic() + SETTLING_SECONDS
        before = self.cpu_seconds()
        while time.monotonic() < end:
            await asyncio.sleep(QUIET_SECONDS)
            now = self.cpu_seconds()
            if now - before <= 1 / _TICKS_PER_SECOND:
                return
            before = now
        raise BusyError(f'the controller is still busy {SETTLING_SECONDS} s after a case; see its log')
