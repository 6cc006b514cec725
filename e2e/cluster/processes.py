"""Long-running programs of a cluster: started into the background, found again and ended by pid, never by name.

A record beside the logs holds pid, start time and boot of each program. A pid that the kernel has given to another
process since then does not match its record, and is left alone.
"""

import os
import select
import shutil
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

STOP_SECONDS = 10.0
"""Grace between the request to end and the kill."""

_BOOT = Path('/proc/sys/kernel/random/boot_id')

# The process writes its own record before it becomes the program: a crash of the starter at any moment leaves no
# program that nobody knows of. The rename keeps a half-written record from being read.
_LAUNCH = f'cat /proc/$$/stat {_BOOT} > "$0.new" && mv "$0.new" "$0" && exec "$@"'


class NotReadyError(RuntimeError):
    """Something did not come up in time, or ended while it should have come up."""


class StuckProcessError(RuntimeError):
    """A process outlived a kill: it hangs in the kernel."""


@dataclass(frozen=True)
class Identity:
    """One process, told apart from every other that has or will have its pid."""

    pid: int
    started: int
    """Kernel ticks between boot and the start of the process."""
    boot: str


def parse(record: str) -> Identity | None:
    """The process that a record names: the text of its ``/proc/PID/stat``, then the id of the boot."""
    stat, _, boot = record.strip().rpartition('\n')
    # The second field is the program's name in brackets, in which spaces and brackets may stand.
    head, _, tail = stat.rpartition(')')
    fields = tail.split()
    if not boot or len(fields) < 20:
        return None
    return Identity(pid=int(head.split(' ', 1)[0]), started=int(fields[19]), boot=boot)


def read(record: Path) -> Identity | None:
    """The process that the file ``record`` names; None when there is no record."""
    try:
        return parse(record.read_text())
    except FileNotFoundError:
        return None


def running(pid: int) -> Identity | None:
    """The process that has ``pid`` now; None when it has ended, also when nobody has collected it yet."""
    try:
        stat = Path(f'/proc/{pid}/stat').read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state = stat.rpartition(')')[2].split()[0]
    return None if state in {'Z', 'X'} else parse(f'{stat.strip()}\n{_BOOT.read_text()}')


def alive(record: Path) -> bool:
    """True when the very process that ``record`` names still runs."""
    identity = read(record)
    return identity is not None and running(identity.pid) == identity


@dataclass(frozen=True)
class Program:
    """Where one program of a cluster keeps its record and its log."""

    name: str
    record: Path
    log: Path

    def start(self, argv: Sequence[str], *, surroundings: Mapping[str, str]) -> None:
        """Start it into the background, in a session of its own; the log is written anew."""
        self.record.parent.mkdir(parents=True, exist_ok=True)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.record.unlink(missing_ok=True)
        pid = os.posix_spawn(
            '/bin/sh',
            ['sh', '-c', _LAUNCH, str(self.record), *argv],
            dict(surroundings),
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, str(self.log), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,
        )
        wait_until(
            lambda: self.record.exists() or running(pid) is None, seconds=10, what=f'{self.name} to write its record'
        )
        self.check()

    def check(self) -> None:
        """Raises :class:`NotReadyError` with the end of the log when the program has ended."""
        if not alive(self.record):
            raise NotReadyError(f'{self.name}: ended on its own; the end of {self.log}:\n{tail(self.log)}')

    def stop(self, *, grace_seconds: float = STOP_SECONDS) -> None:
        """End it when it runs, and forget it."""
        if identity := read(self.record):
            end(identity, grace_seconds=grace_seconds)
        self.record.unlink(missing_ok=True)


def end(identity: Identity, *, grace_seconds: float = STOP_SECONDS) -> None:
    """Ask one process to end, then kill it. Does nothing when its pid belongs to another process by now.

    Raises :class:`StuckProcessError`.
    """
    try:
        handle = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return
    try:
        # Compared after the handle was taken: from here on the handle cannot come to mean another process.
        if running(identity.pid) != identity:
            return
        for number, seconds in ((signal.SIGTERM, grace_seconds), (signal.SIGKILL, 10.0)):
            signal.pidfd_send_signal(handle, number)
            if _ended(handle, seconds=seconds):
                _collect(identity.pid)
                return
    except ProcessLookupError:
        return
    finally:
        os.close(handle)
    raise StuckProcessError(f'process {identity.pid}: still there 10 s after a kill; see /proc/{identity.pid}/stack')


def _ended(handle: int, *, seconds: float) -> bool:
    poller = select.poll()
    poller.register(handle, select.POLLIN)
    return bool(poller.poll(seconds * 1000))


def _collect(pid: int) -> None:
    """Take the end of a child of ours off the process table; another's child is that one's to collect."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return


def matching(argument: str, *, program: str) -> Iterable[Identity]:
    """Processes whose program file is ``program`` and that carry ``argument``, such as a socket of the cluster."""
    for entry in Path('/proc').iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / 'cmdline').read_bytes().decode(errors='replace').split('\0')
            same = Path(words[0]).name == program and argument in words
        except (FileNotFoundError, ProcessLookupError):
            continue
        if same and (identity := running(int(entry.name))):
            yield identity


def wait_until(
    condition: Callable[[], bool], *, seconds: float, what: str, every: float = 0.05, programs: Sequence[Program] = ()
) -> None:
    """Look again and again until ``condition`` holds; raises :class:`NotReadyError` after ``seconds``.

    A program of ``programs`` that ends meanwhile ends the wait: what it should bring will not come.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        for program in programs:
            program.check()
        if time.monotonic() > deadline:
            logs = ', '.join(str(program.log) for program in programs)
            raise NotReadyError(f'waited {seconds:.0f} s for {what}' + (f'; see {logs}' if logs else ''))
        time.sleep(every)


def tail(log: Path, *, lines: int = 15) -> str:
    """The last lines of a log, cut to a readable width."""
    if not log.exists():
        return '(no log)'
    with log.open('rb') as file:
        file.seek(max(0, log.stat().st_size - 16384))
        text = file.read().decode(errors='replace')
    return '\n'.join(line[:400] for line in text.splitlines()[-lines:])


def program_path(name: str) -> str | None:
    """The path of a program of the machine, also where ``PATH`` has no system folders."""
    return shutil.which(name, path=f'{os.environ.get("PATH", "")}:/usr/sbin:/sbin:/usr/bin:/bin')
