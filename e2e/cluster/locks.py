"""One at a time: locks between processes that end with their holder, however it ends."""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class BusyError(RuntimeError):
    """Another process held the lock for too long."""


@contextmanager
def held(path: Path, *, seconds: float) -> Iterator[None]:
    """Hold the lock file ``path``; raises :class:`BusyError` when it does not come free within ``seconds``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + seconds
    with path.open('w') as lock:
        while not _taken(lock.fileno()):
            if time.monotonic() > deadline:
                raise BusyError(
                    f'{path}: another process has held this lock for {seconds:.0f} s; end it, or wait for it'
                )
            time.sleep(0.1)
        yield


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
