"""What a node knows of a pod: its object, and what has become of its containers. Values only."""

import datetime
import enum
from dataclasses import dataclass, field
from typing import Any

import msgspec

from jobset.api import meta

Spec = dict[str, Any]
"""A pod's ``spec``, or a container in it, as JSON."""


class PodMeta(meta.ObjectMeta, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """Metadata with what a deletion adds."""

    deletion_grace_period_seconds: int | None = None


class Pod(meta.Partial, frozen=True, gc=False, kw_only=True, rename='camel'):
    """A pod as read from the server."""

    metadata: PodMeta = PodMeta()
    spec: Spec = msgspec.field(default_factory=dict)
    status: Spec = msgspec.field(default_factory=dict)


class Step(enum.Enum):
    """How far a container has come."""

    NEW = enum.auto()
    STARTING = enum.auto()
    RUNNING = enum.auto()
    ENDED = enum.auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How one run of a container ended."""

    exit_code: int
    reason: str
    message: str = ''
    started_at: datetime.datetime | None = None
    """None when it never came so far."""

    finished_at: datetime.datetime | None = None
    container_id: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Why a container waits."""

    reason: str
    message: str = ''
    retry_at: datetime.datetime | None = None
    """When to try again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """How long a container has to wait before its next start; see :mod:`jobset.local.node.backoffs`."""

    seconds: float = 0
    since: datetime.datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One container of a pod."""

    name: str
    step: Step = Step.NEW
    container_id: str = ''
    started_at: datetime.datetime | None = None
    ended: Ended | None = None
    """How the present run ended; set exactly when the step is ``ENDED``."""

    last: Ended | None = None
    """How the run before ended."""

    restarts: int = 0
    delay: Delay = Delay()
    trouble: Trouble | None = None
    is_started: bool = False
    """Whether its startup probe has succeeded, and its start hook has ended."""

    is_ready: bool = False
    is_stopping: bool = False
    failing: str = ''
    """Why the present run must end although it would go on: what its probes say."""

    failing_grace: int | None = None
    """Seconds that it has then, when the probe says so."""

    @property
    def is_live(self) -> bool:
        """Whether it has processes, or is about to."""
        return self.step in (Step.STARTING, Step.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """The pod has to end, whatever its containers do."""

    until: datetime.datetime
    """When nothing may be left of it."""

    is_forced: bool = False
    """Whether there is nobody left to wait for: not even those that end last get any time."""

    reason: str = ''
    message: str = ''
    """For the status, when the node itself ends it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All that has been observed of one pod."""

    containers: dict[str, Container] = field(default_factory=dict)
    """By name, init containers too."""

    seen_at: datetime.datetime
    """When the node took it on."""

    ip: str = ''
    is_prepared: bool = False
    """Whether its address and volumes are there."""

    trouble: Trouble | None = None
    """Why they are not."""

    is_restarting: bool = False
    """Whether all containers are being ended to begin anew."""

    ending: Ending | None = None

    @property
    def live(self) -> list[Container]:
        """Containers with processes."""
        return [container for container in self.containers.values() if container.is_live]
