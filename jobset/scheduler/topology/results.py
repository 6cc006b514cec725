"""What placement answers."""

import msgspec

from jobset.scheduler.topology.domains import Values
from jobset.scheduler.topology.requests import Problem


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """Where the pods of one request go."""

    name: str
    pods: dict[Values, int]
    """Pods by leaf, in the order of their names; never 0."""
    leader: Values | None = None

    @property
    def count(self) -> int:
        """Pods on all leaves, without the leader."""
        return sum(self.pods.values())


class Placement(msgspec.Struct, frozen=True):
    """Where a whole gang goes, in the order of its requests."""

    assignments: tuple[Assignment, ...]


class NoRoom(msgspec.Struct, frozen=True, kw_only=True):
    """Not now: what is missing, as text and as numbers."""

    name: str
    text: str
    """To be read after "topology …"."""
    level: str | None = None
    domain: Values | None = None
    """The domain that comes nearest; None where not even one slice fits in any."""
    wanted: int = 0
    """Slices."""
    fitting: int = 0
    total_nodes: int = 0
    excluded: dict[str, int] = {}
    only_leader: bool = False


class Invalid(msgspec.Struct, frozen=True):
    """Never: the request itself is wrong."""

    problems: tuple[Problem, ...]

    @property
    def text(self) -> str:
        """All problems in one line."""
        return '; '.join(map(str, self.problems))
