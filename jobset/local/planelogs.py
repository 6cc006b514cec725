"""What a cluster in the background says of itself: a file that is put aside when it has grown."""

import logging.handlers
import os
import pathlib
import sys
from typing import Final

MOST_BYTES: Final = 10 << 20
"""Size of the file from which on it is put aside: weeks of an ordinary cluster, and what a person may still search."""

KEPT: Final = 2
"""Files that were put aside, ``plane.log.1`` the younger one."""


class Rotating(logging.handlers.RotatingFileHandler):
    """Also holds what is written to standard output and error without the log, as the last words of a fault are.

    Whoever has started this process has made the file, and these two write to it; they follow it.
    """

    def __init__(self, file: pathlib.Path, *, most_bytes: int = MOST_BYTES) -> None:
        super().__init__(file, maxBytes=most_bytes, backupCount=KEPT, delay=True)
        self._file = file

    def doRollover(self) -> None:  # noqa: N802 - as logging calls it
        """Put the file aside, and begin another one."""
        for one in (sys.stdout, sys.stderr):
            one.flush()
        ours = [stream for stream in (1, 2) if is_stream(self._file, stream)]
        super().doRollover()
        self.stream = self.stream or self._open()
        for stream in ours:
            os.dup2(self.stream.fileno(), stream)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - as logging calls it
        """A line for which there is no room is lost; to say so where it is missing takes room, too."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)


def is_stream(file: pathlib.Path, stream: int) -> bool:
    """Whether what is written to that descriptor of this process goes to the file."""
    try:
        return os.path.samestat(os.fstat(stream), file.stat())
    except OSError:
        return False
