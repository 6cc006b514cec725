"""What is read of the objects that belong to a JobSet: enough to tell how it is doing."""

import datetime
from typing import Any

import msgspec

from jobset.api import keys, meta

COMPLETION_INDEX = 'batch.kubernetes.io/job-completion-index'


class Condition(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """A condition of a Job or a pod."""

    type: str
    status: str = ''
    reason: str = ''
    message: str = ''
    last_transition_time: str | None = None


class JobSpec(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """``spec`` of a Job."""

    suspend: bool | None = None
    parallelism: int | None = None
    completions: int | None = None
    backoff_limit: int | None = None


class JobStatus(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """``status`` of a Job."""

    active: int | None = None
    ready: int | None = None
    succeeded: int | None = None
    failed: int | None = None
    start_time: str | None = None
    completion_time: str | None = None
    conditions: tuple[Condition, ...] | None = None


class Job(meta.Partial, frozen=True, kw_only=True, rename='camel'):
    """One Job of a JobSet."""

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    @property
    def replicated_job(self) -> str:
        """The name of its replicated job."""
        return self.metadata.labels.get(keys.REPLICATED_JOB_NAME, '')

    @property
    def index(self) -> int:
        """Its place among the Jobs of the replicated job."""
        return _number(self.metadata.labels.get(keys.JOB_INDEX))

    @property
    def attempt(self) -> int:
        """The restart of the JobSet that it was made for."""
        return _number(self.metadata.labels.get(keys.RESTART_ATTEMPT))

    @property
    def ending(self) -> Condition | None:
        """The condition that ended it."""
        return _true(self.status.conditions, 'Complete', 'Failed')


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """Why a container does not run yet."""

    reason: str = ''
    message: str = ''


class Running(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """Since when a container runs."""

    started_at: str | None = None


class Terminated(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """How a container ended."""

    container_id: str = msgspec.field(default='', name='containerID')
    exit_code: int = 0
    signal: int = 0
    reason: str = ''
    message: str = ''
    started_at: str | None = None
    finished_at: str | None = None


class State(msgspec.Struct, frozen=True, kw_only=True):
    """One of the three."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """How one container is."""

    name: str
    ready: bool = False
    restart_count: int = 0
    container_id: str = msgspec.field(default='', name='containerID')
    state: State = State()
    last_state: State = State()


class Resources(msgspec.Struct, frozen=True, kw_only=True):
    """What a container, or a pod as a whole, asks for."""

    requests: dict[str, str | int | float] | None = None
    limits: dict[str, str | int | float] | None = None


class Container(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """A container as it is wanted."""

    name: str
    restart_policy: str | None = None
    resources: Resources | None = None


class PodSpec(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """``spec`` of a pod."""

    node_name: str = ''
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] | None = None
    scheduling_gates: tuple[Any, ...] | None = None
    resources: Resources | None = None


class PodStatus(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """``status`` of a pod."""

    phase: str = 'Pending'
    reason: str = ''
    message: str = ''
    start_time: str | None = None
    conditions: tuple[Condition, ...] | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None
    init_container_statuses: tuple[ContainerStatus, ...] | None = None


class Pod(meta.Partial, frozen=True, kw_only=True, rename='camel'):
    """One pod of a JobSet."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def job(self) -> str:
        """The name of its Job."""
        owner = self.metadata.controller
        return owner.name if owner is not None else ''

    @property
    def replicated_job(self) -> str:
        """The name of its replicated job."""
        return self.metadata.labels.get(keys.REPLICATED_JOB_NAME, '')

    @property
    def job_index(self) -> int:
        """The place of its Job in the replicated job."""
        return _number(self.metadata.labels.get(keys.JOB_INDEX))

    @property
    def index(self) -> int | None:
        """Its place in its Job; None in a Job whose pods have none."""
        text = self.metadata.labels.get(COMPLETION_INDEX) or self.metadata.annotations.get(COMPLETION_INDEX)
        return _number(text) if text else None

    @property
    def attempt(self) -> int:
        """The restart of the JobSet that it was made for."""
        return _number(self.metadata.labels.get(keys.RESTART_ATTEMPT))

    @property
    def rank(self) -> str:
        """``train-0-1``: replicated job, Job and pod; the end of its name where pods have no index."""
        last = self.metadata.name.rpartition('-')[2] if self.index is None else self.index
        return f'{self.replicated_job}-{self.job_index}-{last}'

    @property
    def containers(self) -> tuple[ContainerStatus, ...]:
        """How its containers are, the initial ones first."""
        return (*(self.status.init_container_statuses or ()), *(self.status.container_statuses or ()))

    @property
    def is_ready(self) -> bool:
        """Whether it can do its work."""
        return _true(self.status.conditions, 'Ready') is not None

    @property
    def restarts(self) -> int:
        """How often its containers were started anew."""
        return sum(status.restart_count for status in self.containers)

    @property
    def is_over(self) -> bool:
        """Whether nothing of it runs any more."""
        return self.status.phase in ('Succeeded', 'Failed')


class NodeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """``status`` of a node."""

    allocatable: dict[str, str | int | float] = {}


class Node(meta.Partial, frozen=True, kw_only=True):
    """A node of the cluster."""

    status: NodeStatus = NodeStatus()


class ClaimStatus(msgspec.Struct, frozen=True, kw_only=True):
    """``status`` of a volume claim."""

    phase: str = 'Pending'


class Claim(meta.Partial, frozen=True, kw_only=True):
    """A volume claim."""

    status: ClaimStatus = ClaimStatus()


class Service(meta.Partial, frozen=True, kw_only=True):
    """The Service that gives the pods their names."""


class GroupStatus(msgspec.Struct, frozen=True, kw_only=True):
    """``status`` of a Workload or a PodGroup."""

    conditions: tuple[Condition, ...] | None = None


class Group(meta.Partial, frozen=True, kw_only=True):
    """A Workload or a PodGroup, by which pods are placed together."""

    kind: str = ''
    status: GroupStatus = GroupStatus()


class Regarding(msgspec.Struct, frozen=True, kw_only=True):
    """What an event is about."""

    kind: str = ''
    name: str = ''
    namespace: str = ''
    uid: str = ''


class Series(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """How often an event has come again."""

    count: int = 0
    last_observed_time: str | None = None


class Event(meta.Partial, frozen=True, kw_only=True, rename='camel'):
    """An event, of either of the two ways in which they are recorded."""

    event_time: str | None = None
    series: Series | None = None
    regarding: Regarding = Regarding()
    reason: str = ''
    note: str = ''
    type: str = ''
    reporting_controller: str = ''
    deprecated_source: dict[str, str] | None = None
    deprecated_count: int | None = None
    deprecated_first_timestamp: str | None = None
    deprecated_last_timestamp: str | None = None

    @property
    def count(self) -> int:
        """How often it has happened."""
        return (self.series.count if self.series else 0) or self.deprecated_count or 1

    @property
    def first(self) -> datetime.datetime | None:
        """When it happened first."""
        return moment(self.event_time or self.deprecated_first_timestamp or self.metadata.creation_timestamp)

    @property
    def last(self) -> datetime.datetime | None:
        """When it happened last."""
        seen = self.series.last_observed_time if self.series else None
        return moment(seen or self.deprecated_last_timestamp) or self.first

    @property
    def source(self) -> str:
        """Who says so."""
        return self.reporting_controller or (self.deprecated_source or {}).get('component', '')


def moment(text: str | None) -> datetime.datetime | None:
    """A time as the server writes it; None for none, or for what is no time."""
    if not text:
        return None
    try:
        parsed = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=datetime.UTC)


def condition(conditions: tuple[Condition, ...] | None, *kinds: str) -> Condition | None:
    """The first condition of one of these types."""
    return next((one for one in conditions or () if one.type in kinds), None)


def _true(conditions: tuple[Condition, ...] | None, *kinds: str) -> Condition | None:
    return next((one for one in conditions or () if one.type in kinds and one.status == 'True'), None)


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() else 0
