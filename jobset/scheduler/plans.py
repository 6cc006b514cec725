"""What a cycle of the scheduler has decided, as values."""

import msgspec

from jobset.scheduler import model, verdicts
from jobset.scheduler.topology.results import Assignment


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """Let a JobSet go."""

    key: str
    admission: model.Admission
    waited: float
    """Seconds since it was submitted."""


class Evict(msgspec.Struct, frozen=True, kw_only=True):
    """Hold a JobSet that runs; it waits anew, at the time of its submission."""

    key: str
    eviction: model.Eviction
    lost_work: float
    """Seconds."""
    text: str
    """Who needs what, with both priorities."""


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """Pods of lost nodes go elsewhere; whoever runs on healthy nodes stays."""

    key: str
    admission: model.Admission
    moved: dict[str, Assignment]
    """By pod set, where all its pods are now."""
    lost: tuple[str, ...]
    """Nodes."""


class Resize(msgspec.Struct, frozen=True, kw_only=True):
    """A JobSet that was started smaller gets more pods."""

    key: str
    admission: model.Admission


Decision = Start | Evict | Move | Resize


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All decisions of a cycle, in the order in which they were taken, and why the others looked at go on waiting."""

    decisions: tuple[Decision, ...] = ()
    waiting: dict[str, verdicts.Verdict] = {}
    """By JobSet, of those that were looked at. Others wait for the reason that they had."""
    again_at: float | None = None
    """When time alone may change something: a promise that ends, or somebody who may be evicted then."""

    @property
    def starts(self) -> tuple[str, ...]:
        """Keys of those that start."""
        return tuple(each.key for each in self.decisions if isinstance(each, Start))

    @property
    def evictions(self) -> tuple[str, ...]:
        """Keys of those that are evicted."""
        return tuple(each.key for each in self.decisions if isinstance(each, Evict))
