"""The worker where the agent runs it: a process group of its own, so that a shell in front swallows no signal."""

from __future__ import annotations

import os
import signal
import time

from jobset.agent import telling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from threading import Lock


LOOK_SECONDS = 0.05
"""How often it is looked whether anything is left."""


class Worker:
    """One command, run once."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._process = 0
        self._waiting: list[int] = []
        self.has_begun = False
        """From here on signals are for the worker."""

    def run(self, leaving: Lock) -> int:
        """Run it to its end; returns its exit code, or 128 and its signal. Starts nothing while ``leaving`` is held."""
        with leaving:
            self.has_begun = True
            try:
                self._process = os.posix_spawnp(
                    self._command[0],
                    self._command,
                    os.environ,
                    setpgroup=0,
                    # Python ignores these, and a program that is started would go on doing so.
                    setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
                )
            except OSError as error:
                telling.tell(f'{self._command[0]}: {error.strerror}')
                return 1
        while self._waiting:
            self.pass_on(self._waiting.pop(0))
        while True:
            # As the first process of a container it also inherits, and buries, all orphans.
            process, status = os.waitpid(-1, 0)
            if process == self._process:
                return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)

    def wait_for_the_rest(self) -> None:
        """Wait until nothing is left of it: a shell in front may have ended before what it has started."""
        while _send(self._process, 0):
            time.sleep(LOOK_SECONDS)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                pass  # the others are somebody else's to bury

    def pass_on(self, number: int) -> None:
        """Send a signal to it; for signal handlers."""
        if not self._process:
            self._waiting.append(number)
        else:
            _send(self._process, number)

    def kill(self) -> None:
        """End what is left of it."""
        if self._process:
            _send(self._process, signal.SIGKILL)


def _send(group: int, number: int) -> bool:
    """Whether there was anybody to take it."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True
