"""Where the server gets what containers have written."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final, Protocol

from jobset.local.objects import Object

UID: Final = 'uid'
"""Parameter of a request: the pod of that uid is meant, also when it is gone. Real servers do not look at it."""

RUN: Final = 'run'
"""Parameter of a request: which run of the container. A real node has only the present one and the one before."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which part of a log, and in which form."""

    container: str
    follow: bool = False
    previous: bool = False
    """Of the container's life before its last restart."""

    run: int | None = None
    """Of this very run, counted by restarts; the present one when None."""

    timestamps: bool = False
    since_seconds: int | None = None
    since_time: str = ''
    tail_lines: int | None = None
    limit_bytes: int | None = None


class LogSource(Protocol):
    """The node, or whoever else holds logs."""

    def read(self, pod: Object, wanted: Wanted) -> AsyncIterator[bytes]:
        """The log in pieces; of a pod that is gone, whose metadata is all that is known, where logs are kept.

        Raises :class:`~jobset.local.problems.Problem` at the first piece where there is none.

        With ``follow`` it ends when the container has ended. Whoever gives up closes it (``aclose``).
        """
