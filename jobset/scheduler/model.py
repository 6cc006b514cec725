"""What the scheduler knows: queues, flavours, topologies, and the JobSets that wait and run in them.

Values only. Times are seconds since the epoch as the caller's clock tells them; durations are seconds; amounts are
whole numbers of the smallest unit.
"""

import enum
from collections.abc import Iterator

import msgspec

from jobset.scheduler import amounts
from jobset.scheduler.amounts import Amounts
from jobset.scheduler.topology import nodes, requests
from jobset.scheduler.topology.results import Assignment


class Cell(msgspec.Struct, frozen=True, order=True):
    """What quota is counted in: a resource of a flavour."""

    flavour: str
    resource: str


Usage = dict[Cell, int]
"""Amounts by cell; what is missing is 0."""


class Strategy(enum.StrEnum):
    """Whether others may start before the head of a queue that cannot."""

    BEST_EFFORT = 'BestEffortFIFO'
    STRICT = 'StrictFIFO'


class Stop(enum.StrEnum):
    """Whether a queue starts anything."""

    NONE = 'None'
    HOLD = 'Hold'
    """Nothing new starts."""
    HOLD_AND_DRAIN = 'HoldAndDrain'
    """Nothing new starts, and what runs is evicted."""


class WithinQueue(enum.StrEnum):
    """Who in its own queue a JobSet may evict."""

    NEVER = 'Never'
    LOWER = 'LowerPriority'


class Reclaim(enum.StrEnum):
    """Who may be evicted that borrows, in other queues, what belongs to a queue."""

    NEVER = 'Never'
    LOWER = 'LowerPriority'
    ANY = 'Any'


class Quota(msgspec.Struct, frozen=True, kw_only=True):
    """How much of one cell belongs to a queue or a cohort."""

    nominal: int
    borrowing_limit: int | None = None
    """Most that may be had beyond the nominal amount; None: all that others do not use."""
    lending_limit: int | None = None
    """Most of the nominal amount that others may use; None: all."""


class ResourceGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Resources that come from one flavour together, and the flavours to try, in order."""

    resources: tuple[str, ...]
    flavours: tuple[str, ...]


class Preemption(msgspec.Struct, frozen=True, kw_only=True):
    """Whom JobSets of a queue may evict."""

    within_queue: WithinQueue = WithinQueue.LOWER
    reclaim: Reclaim = Reclaim.LOWER
    borrows: bool = False
    """Whether JobSets of lower priority in other queues may be evicted to borrow more."""
    borrows_up_to: int | None = None
    """Highest priority of those; None: all below the own."""
    prefers_preemption: bool = False
    """Evict in a flavour before a later flavour is tried."""
    prefers_next_flavour_to_borrowing: bool = False


class Queue(msgspec.Struct, frozen=True, kw_only=True):
    """Where JobSets wait, and how much those in it may use."""

    name: str
    cohort: str | None = None
    strategy: Strategy = Strategy.BEST_EFFORT
    stop: Stop = Stop.NONE
    groups: tuple[ResourceGroup, ...] = ()
    """Without any, nothing is counted: the nodes are the limit."""
    quotas: dict[Cell, Quota] = {}
    weight: float = 1
    """Of its fair share; with 0 it borrows only what nobody else wants."""
    preemption: Preemption = Preemption()
    ageing_seconds: float | None = None
    """Each so many seconds of waiting count as one more priority; None: waiting does not count."""


class Cohort(msgspec.Struct, frozen=True, kw_only=True):
    """Queues and cohorts that lend to each other."""

    name: str
    parent: str | None = None
    quotas: dict[Cell, Quota] = {}
    weight: float = 1


class Flavour(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of nodes."""

    name: str
    node_labels: dict[str, str] = {}
    taints: tuple[nodes.Taint, ...] = ()
    """Those of its nodes that JobSets must tolerate to be given this flavour."""
    tolerations: tuple[nodes.Toleration, ...] = ()
    """What pods are given on admission."""
    topology: str | None = None
    """None: the nodes without any structure."""


class Topology(msgspec.Struct, frozen=True, kw_only=True):
    """Node labels from coarse to fine. The node itself is always the last level."""

    name: str
    levels: tuple[str, ...]


class PodSet(msgspec.Struct, frozen=True, kw_only=True):
    """Equal pods: a replicated job."""

    request: requests.Request
    """``name`` is that of the replicated job, ``count`` all its pods."""
    least: int | None = None
    """So many pods are enough to start with; None: all."""
    step: int = 1
    """Pods come in multiples of this many: those of one Job."""

    @property
    def amounts(self) -> Amounts:
        """What all its pods take together."""
        each = amounts.times(self.request.pod.amounts, self.request.count)
        return amounts.total((each, self.request.leader.amounts)) if self.request.leader else each


Stage = tuple[PodSet, ...]
"""Pod sets that exist at the same time: what starts together, and what still runs beside it."""


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """A JobSet as the scheduler sees it."""

    key: str
    """``namespace/name``."""
    queue: str
    submitted: float
    """When it came; kept through evictions."""
    stages: tuple[Stage, ...]
    """One after the other; each is a gang. What the JobSet holds is enough for any one of them."""
    priority: int = 0
    may_preempt: bool = True
    is_protected: bool = False
    """Nobody may evict it."""
    duration: float | None = None
    """How long it runs, as its user says or as others like it did; None: unknown."""
    least_runtime: float = 0
    """Seconds it may run before it may be evicted."""
    grace: float = 30
    """Seconds that its pods get to end."""
    evictions: int = 0
    """How often it was evicted."""

    @property
    def namespace(self) -> str:
        """Whose it is."""
        return self.key.partition('/')[0]

    @property
    def amounts(self) -> Amounts:
        """What it takes at its peak."""
        return amounts.peak(amounts.total(each.amounts for each in stage) for stage in self.stages)

    @property
    def pod_sets(self) -> Iterator[PodSet]:
        """Each pod set once, in the order of its first stage."""
        seen = set()
        for stage in self.stages:
            for each in stage:
                if each.request.name not in seen:
                    seen.add(each.request.name)
                    yield each


class Admission(msgspec.Struct, frozen=True, kw_only=True):
    """What a JobSet was given."""

    flavours: dict[str, dict[str, str]]
    """By pod set and resource. Resources that no quota counts have none."""
    assignments: dict[str, Assignment]
    """By pod set. The last value of each leaf is the name of a node."""
    counts: dict[str, int]
    """Pods by pod set: fewer than asked for, where the pod set allows it."""
    usage: Usage
    """What is counted against the quota of the queue: the peak over all stages."""
    holds: dict[str, Amounts]
    """What is kept free, by node: the peak over all stages, pods included."""


class Eviction(msgspec.Struct, frozen=True, kw_only=True):
    """Why and since when a JobSet has to go."""

    at: float
    reason: str
    beneficiary: str | None = None
    """For whom it makes room."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A JobSet that has been admitted and has not let go of what it holds."""

    workload: Workload
    admission: Admission
    admitted: float
    """When it was let go; its pods may have come later."""
    saved: float | None = None
    """When it saved its last checkpoint: work since then is lost by an eviction. None: nothing saved since it began."""
    eviction: Eviction | None = None
    """It is ending: it holds all it has until its pods are gone."""

    def lost_work(self, now: float) -> float:
        """Seconds of work that an eviction would throw away."""
        return max(0.0, now - max(self.admitted, self.saved or self.admitted))

    @property
    def ends(self) -> float | None:
        """When it is done, as far as anybody knows."""
        return None if self.workload.duration is None else self.admitted + self.workload.duration
