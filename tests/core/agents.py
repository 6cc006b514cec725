"""The agent of a pod that restarts in place, as a script after upstream's protocol: what it does about what it sees."""

from dataclasses import dataclass
from typing import NamedTuple


class Numbers(NamedTuple):
    """What the status of a JobSet tells the agents."""

    previous: int | None = None
    current: int | None = None


@dataclass
class Agent:
    """One process of it, from the start of the pod's containers until their next."""

    attempt: int | None = None
    """Which attempt it has announced; None before."""

    is_open: bool = False
    """Whether it has let the main container run."""

    def begin(self, seen: Numbers) -> int:
        """It has started: the attempt to announce, in the annotation of its pod."""
        return 0 if seen.current is None else seen.current + 1

    def must_leave(self, seen: Numbers) -> bool:
        """Whether it ends, and with it all containers of the pod, which then start again."""
        return self.attempt is not None and seen.previous is not None and self.attempt <= seen.previous

    def may_open(self, seen: Numbers) -> bool:
        """Whether the main container may run."""
        return not self.is_open and self.attempt is not None and self.attempt == seen.current
