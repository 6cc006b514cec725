"""Jobs and pods as the controller reads them: as much of ``batch/v1`` Job and of ``v1`` Pod as decides something.

Pod templates are kept as the JSON that they came as: the controller hands them on, with fields that it never heard of.
"""

import datetime
import enum
from typing import Any, Final

import msgspec

from jobset.api import meta
from jobset.local import objects
from jobset.local.jobs import keys


class Struct(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """Part of an object."""


class Mode(enum.StrEnum):
    """What distinguishes the pods of a Job."""

    NON_INDEXED = 'NonIndexed'
    INDEXED = 'Indexed'


class Condition(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """A condition of a Job."""

    type: str
    status: str
    last_probe_time: str | None = None
    last_transition_time: str | None = None
    reason: str = ''
    message: str = ''

    @property
    def holds(self) -> bool:
        """Whether it is true."""
        return self.status == 'True'


class Uncounted(Struct, frozen=True, gc=False, kw_only=True):
    """Pods that have ended and are not in the counters yet, by uid."""

    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class Status(Struct, frozen=True, gc=False, kw_only=True):
    """``status`` of a Job. Written as read: what is empty is absent."""

    conditions: tuple[Condition, ...] | None = None
    start_time: str | None = None
    completion_time: str | None = None
    active: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int | None = None
    completed_indexes: str = ''
    failed_indexes: str | None = None
    uncounted_terminated_pods: Uncounted | None = None
    ready: int | None = None

    @property
    def uncounted(self) -> Uncounted:
        """Pods that are not in the counters yet."""
        return self.uncounted_terminated_pods or _NONE

    def condition(self, kind: str) -> Condition | None:
        """The condition of that type, true or not."""
        for each in self.conditions or ():
            if each.type == kind:
                return each
        return None

    def has(self, kind: str) -> bool:
        """Whether there is a condition of that type that is true."""
        condition = self.condition(kind)
        return condition is not None and condition.holds

    @property
    def is_finished(self) -> bool:
        """Whether the Job has ended, so that nothing is done about it any more."""
        return self.has('Complete') or self.has('Failed')


_NONE: Final = Uncounted()


class Requirement(Struct, frozen=True, gc=False, kw_only=True):
    """One of ``matchExpressions``."""

    key: str
    operator: str
    values: tuple[str, ...] | None = None


class Selector(Struct, frozen=True, gc=False, kw_only=True):
    """Which pods belong to the Job."""

    match_labels: dict[str, str] | None = None
    match_expressions: tuple[Requirement, ...] | None = None


class ExitCodes(Struct, frozen=True, gc=False, kw_only=True):
    """Matches a container that has ended with one of some exit codes, or with another one."""

    container_name: str | None = None
    operator: str
    values: tuple[int, ...] = ()


class ConditionPattern(Struct, frozen=True, gc=False, kw_only=True):
    """Matches a condition of a pod."""

    type: str
    status: str = 'True'


class FailureRule(Struct, frozen=True, gc=False, kw_only=True):
    """What a pod failure of some kind means."""

    action: str
    on_exit_codes: ExitCodes | None = None
    on_pod_conditions: tuple[ConditionPattern, ...] | None = None


class FailurePolicy(Struct, frozen=True, gc=False, kw_only=True):
    """``spec.podFailurePolicy``; the first rule that matches counts."""

    rules: tuple[FailureRule, ...] = ()


class SuccessRule(Struct, frozen=True, gc=False, kw_only=True):
    """Which indexes, or how many, are enough."""

    succeeded_indexes: str | None = None
    succeeded_count: int | None = None


class SuccessPolicy(Struct, frozen=True, gc=False, kw_only=True):
    """``spec.successPolicy``; one rule that holds is enough."""

    rules: tuple[SuccessRule, ...] = ()


class JobSpec(Struct, frozen=True, gc=False, kw_only=True):
    """``spec`` of a Job, with the defaults of the server."""

    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str | None = None
    backoff_limit: int | None = None
    backoff_limit_per_index: int | None = None
    max_failed_indexes: int | None = None
    active_deadline_seconds: int | None = None
    suspend: bool | None = None
    selector: Selector | None = None
    pod_failure_policy: FailurePolicy | None = None
    success_policy: SuccessPolicy | None = None
    pod_replacement_policy: str | None = None
    managed_by: str | None = None
    template: msgspec.Raw = msgspec.Raw(b'{}')

    def __post_init__(self) -> None:
        # What was decoded is a view into all that came from the server at once, which it would keep in memory.
        msgspec.structs.force_setattr(self, 'template', self.template.copy())


class Job(Struct, frozen=True, gc=False, kw_only=True):
    """One Job."""

    metadata: meta.ObjectMeta = meta.ObjectMeta()
    spec: JobSpec = JobSpec()
    status: Status = Status()

    @property
    def is_indexed(self) -> bool:
        """Whether its pods have indexes."""
        return self.spec.completion_mode == Mode.INDEXED

    @property
    def is_deleted(self) -> bool:
        """Whether somebody has deleted it, and it only waits for its pods."""
        return self.metadata.deletion_timestamp is not None

    @property
    def is_ours(self) -> bool:
        """Whether this controller is to look after it."""
        return self.spec.managed_by in (None, keys.MANAGER)

    @property
    def parallelism(self) -> int:
        """How many pods may run at a time."""
        return 1 if self.spec.parallelism is None else self.spec.parallelism

    @property
    def has_limit_per_index(self) -> bool:
        """Whether each index has failures of its own."""
        return self.spec.backoff_limit_per_index is not None


class PodMeta(meta.Identity, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """``metadata`` of a pod."""

    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    creation_timestamp: str = ''
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    owner_references: tuple[meta.OwnerReference, ...] | None = None
    finalizers: tuple[str, ...] | None = None

    @property
    def controller(self) -> meta.OwnerReference | None:
        """The owner that manages the pod."""
        for owner in self.owner_references or ():
            if owner.controller:
                return owner
        return None


class PodCondition(Struct, frozen=True, gc=False, kw_only=True):
    """A condition of a pod."""

    type: str
    status: str
    last_transition_time: str | None = None


class Terminated(Struct, frozen=True, gc=False, kw_only=True):
    """How a container has ended."""

    exit_code: int = 0
    finished_at: str | None = None


class State(Struct, frozen=True, gc=False, kw_only=True):
    """What a container does, as far as it has ended."""

    terminated: Terminated | None = None


class ContainerStatus(Struct, frozen=True, gc=False, kw_only=True):
    """A container of a pod."""

    name: str = ''
    restart_count: int = 0
    state: State | None = None

    @property
    def terminated(self) -> Terminated | None:
        """How it has ended; None while it has not."""
        return self.state.terminated if self.state is not None else None


class PodStatus(Struct, frozen=True, gc=False, kw_only=True):
    """``status`` of a pod."""

    phase: str = 'Pending'
    conditions: tuple[PodCondition, ...] | None = None
    init_container_statuses: tuple[ContainerStatus, ...] | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None


class PodSpec(Struct, frozen=True, gc=False, kw_only=True):
    """``spec`` of a pod."""

    node_name: str = ''


class Pod(Struct, frozen=True, gc=False, kw_only=True):
    """One pod."""

    metadata: PodMeta = PodMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def uid(self) -> str:
        """Which pod it is."""
        return self.metadata.uid

    @property
    def is_tracked(self) -> bool:
        """Whether it still waits to be counted."""
        return keys.FINALIZER in (self.metadata.finalizers or ())

    @property
    def is_deleted(self) -> bool:
        """Whether it has been told to end."""
        return self.metadata.deletion_timestamp is not None

    @property
    def has_ended(self) -> bool:
        """Whether none of its containers runs, nor will."""
        return self.status.phase in ('Succeeded', 'Failed')

    @property
    def is_active(self) -> bool:
        """Whether it works on something, or is going to."""
        return not self.is_deleted and not self.has_ended

    @property
    def is_terminating(self) -> bool:
        """Whether it was told to end, and has not ended yet."""
        return self.is_deleted and not self.has_ended

    @property
    def has_succeeded(self) -> bool:
        """Whether all its containers have ended well."""
        return self.status.phase == 'Succeeded'

    @property
    def ready(self) -> PodCondition | None:
        """The condition that tells whether it can do its work."""
        return next((each for each in self.status.conditions or () if each.type == 'Ready'), None)

    @property
    def is_ready(self) -> bool:
        """Whether it can do its work."""
        ready = self.ready
        return ready is not None and ready.status == 'True'

    @property
    def index(self) -> int | None:
        """The completion index that it works on; None where it has none, or none that can be read."""
        text = (self.metadata.annotations or {}).get(keys.COMPLETION_INDEX, '')
        return int(text) if text.isascii() and text.isdecimal() else None


def moment(text: str | None) -> datetime.datetime | None:
    """A time of the API; None for none."""
    return objects.moment(text) if text else None


def written(status: Status) -> dict[str, Any]:
    """A status as JSON."""
    found: dict[str, Any] = msgspec.to_builtins(status)
    return found
