"""Where the server gets what containers have written."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from jobset.local.objects import Object


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which part of a log, and in which form."""

    container: str
    follow: bool = False
    previous: bool = False
    """Of the container's life before its last restart."""

    timestamps: bool = False
    since_seconds: int | None = None
    since_time: str = ''
    tail_lines: int | None = None
    limit_bytes: int | None = None


class LogSource(Protocol):
    """The node, or whoever else holds logs."""

    def read(self, pod: Object, wanted: Wanted) -> AsyncIterator[bytes]:
        """The log in pieces. Raises :class:`~jobset.local.problems.Problem` at the first piece where there is none.

        With ``follow`` it ends when the container has ended. Whoever gives up closes it (``aclose``).
        """
