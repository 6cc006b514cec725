"""Processes that a node has left behind which ended without a chance to end them.

Launchers end by themselves when their node does. This is for those that could not, as one that was stopped by a
debugger: each is noted with the time of its start, so that no other process that has its number now is taken for it.
"""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path


def note(file: Path, *pids: int) -> None:
    """Writes down processes that belong to a pod."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(''.join(f'{pid} {started_at(pid)}\n' for pid in pids), encoding='ascii')


def end(pods: Path) -> list[int]:
    """Kills all noted processes that still run, with all that they have started; returns their numbers."""
    killed = []
    for file in pods.glob('*/pids/*'):
        for line in file.read_text(encoding='ascii').splitlines():
            pid, _, started = line.partition(' ')
            if pid.isdigit() and started and started_at(int(pid)) == started:
                killed.append(int(pid))
                # First what is below it: afterwards nobody can tell whose it was.
                for one in (*_descendants(int(pid)), int(pid)):
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.kill(one, signal.SIGKILL)
        file.unlink()
    return killed


def _descendants(pid: int) -> Iterator[int]:
    for task in Path(f'/proc/{pid}/task').glob('*/children'):
        with contextlib.suppress(OSError):
            for child in task.read_text(encoding='ascii').split():
                yield from _descendants(int(child))
                yield int(child)


def started_at(pid: int) -> str:
    """When a process was started, in the kernel's own measure; empty when it has ended, buried or not."""
    try:
        stat = Path(f'/proc/{pid}/stat').read_text(encoding='ascii', errors='replace')
    except OSError:
        return ''
    fields = stat.rpartition(')')[2].split()
    return '' if fields[0] == 'Z' else fields[19]
