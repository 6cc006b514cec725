"""What a planner decides, as data."""

from dataclasses import dataclass, field

from jobset.local.scheduling import model


@dataclass(frozen=True, slots=True)
class Bind:
    """A pod gets its node."""

    pod: model.Pod
    node: str


@dataclass(frozen=True, slots=True)
class Hold:
    """A pod gets none, and why."""

    pod: model.Pod
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a group has got its nodes, for its status."""

    group: model.PodGroup
    is_scheduled: bool
    reason: str
    message: str


@dataclass
class Plan:
    """What should be done now, in this order."""

    binds: list[Bind] = field(default_factory=list)
    holds: list[Hold] = field(default_factory=list)
    judgements: list[Judgement] = field(default_factory=list)
    again_at: float | None = None
    """When to plan again although nothing changes, on the clock of ``now``."""
