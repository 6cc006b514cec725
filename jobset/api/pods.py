"""A pod as it is observed: as much of it as anybody here reads, and no more.

Tens of thousands of these are held in memory, most of them well and alike. So of their status only that is held which
tells of trouble, and what is equal in many of them is held once: labels and owners are those of all pods of a Job.
"""

import functools
from collections.abc import Hashable
from typing import Final, TypeVar

import msgspec

from jobset.api import jobs, keys, meta

JOB_UID = 'batch.kubernetes.io/controller-uid'
JOB_TRACKING = 'batch.kubernetes.io/job-tracking'
"""The finalizer by which the Job controller counts each pod once."""

_SHARED_AT_MOST: Final = 8192
"""Parts that are looked for again. Of what is in more pods than so many Jobs have, equal parts are held twice."""


class Labels(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The labels that place a pod in its JobSet, its Job, and its gang."""

    jobset: str | None = msgspec.field(default=None, name=keys.JOBSET_NAME)
    jobset_uid: str = msgspec.field(default='', name=keys.JOBSET_UID)
    replicated_job: str | None = msgspec.field(default=None, name=keys.REPLICATED_JOB_NAME)
    job_index: str | None = msgspec.field(default=None, name=keys.JOB_INDEX)
    job_key: str | None = msgspec.field(default=None, name=keys.JOB_KEY)
    job_restart_attempt: str = msgspec.field(default='', name=keys.JOB_RESTART_ATTEMPT)
    job_uid: str = msgspec.field(default='', name=JOB_UID)
    restart_attempt: str = msgspec.field(default='', name=keys.RESTART_ATTEMPT)
    priority: str | None = msgspec.field(default=None, name=keys.PRIORITY)
    pod_group: str = msgspec.field(default='', name=keys.POD_GROUP)


class Annotations(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Which of the pods of its Job it is, where it belongs, and what its agent announces."""

    jobset: str | None = msgspec.field(default=None, name=keys.JOBSET_NAME)
    topology: str | None = msgspec.field(default=None, name=keys.EXCLUSIVE_TOPOLOGY)
    strategy: str | None = msgspec.field(default=None, name=keys.NODE_SELECTOR_STRATEGY)
    index: str | None = msgspec.field(default=None, name=keys.COMPLETION_INDEX)
    attempt: str | None = msgspec.field(default=None, name=keys.IN_PLACE_RESTART_ATTEMPT)


class PodMeta(meta.Identity, frozen=True, kw_only=True, rename='camel', gc=False):
    """``metadata`` of a pod."""

    labels: Labels | None = None
    annotations: Annotations | None = None
    creation_timestamp: str = ''
    deletion_timestamp: str | None = None
    """When its time to end is over: the moment of the request and the grace after it."""

    finalizers: tuple[str, ...] | None = None
    owner_references: tuple[jobs.Owner, ...] | None = None


class Waiting(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Why a container has not started."""

    reason: str = ''
    message: str = ''


class Terminated(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """How a container ended."""

    exit_code: int = 0
    reason: str = ''
    message: str = ''
    finished_at: str | None = None


class ContainerState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How a container is."""

    waiting: Waiting | None = None
    terminated: Terminated | None = None


_RUNS: Final = ContainerState()


class ContainerStatus(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """What the kubelet says of a container."""

    name: str = ''
    state: ContainerState = _RUNS
    last_state: ContainerState = _RUNS
    """How it was before it started again, if it did."""

    restart_count: int = 0


class PodSpec(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """``spec`` of a pod."""

    node_name: str = ''
    node_selector: dict[str, str] | None = None


class PodStatus(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """``status`` of a pod."""

    phase: str = ''
    reason: str = ''
    message: str = ''
    conditions: tuple[meta.Condition, ...] | None = None
    """Those that tell of trouble: it has no node, or is taken off it."""

    init_container_statuses: tuple[ContainerStatus, ...] | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None
    """Of both kinds, those of which there is something to tell: they have not started, have ended, or did before."""


_NO_LABELS: Final = Labels()
_NO_ANNOTATIONS: Final = Annotations()


class Pod(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """One pod."""

    metadata: PodMeta = PodMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    def __post_init__(self) -> None:
        put = msgspec.structs.force_setattr
        metadata, spec, status = self.metadata, self.spec, self.status
        if metadata.labels is not None:
            put(metadata, 'labels', _shared(metadata.labels))
        if metadata.annotations is not None:
            put(metadata, 'annotations', _shared(metadata.annotations))
        if metadata.owner_references is not None:
            put(metadata, 'owner_references', _shared(metadata.owner_references))
        if metadata.finalizers is not None:
            put(metadata, 'finalizers', _shared(metadata.finalizers))
        put(metadata, 'namespace', _shared(metadata.namespace))
        put(spec, 'node_name', _shared(spec.node_name))
        if spec.node_selector is not None:
            put(spec, 'node_selector', _shared_map(tuple(spec.node_selector.items())))
        if status.conditions is not None:
            put(status, 'conditions', tuple([each for each in status.conditions if _tells(each)]) or None)
        if status.container_statuses is not None:
            put(status, 'container_statuses', _telling(status.container_statuses))
        if status.init_container_statuses is not None:
            put(status, 'init_container_statuses', _telling(status.init_container_statuses))
        put(self, 'status', _shared(status))

    @property
    def labels(self) -> Labels:
        """Its labels."""
        return self.metadata.labels or _NO_LABELS

    @property
    def annotations(self) -> Annotations:
        """Its annotations."""
        return self.metadata.annotations or _NO_ANNOTATIONS

    @property
    def has_ended(self) -> bool:
        """Whether none of its containers will ever run again."""
        return self.status.phase in ('Succeeded', 'Failed')

    @property
    def stands(self) -> bool:
        """Whether it takes up its place: a pod that is ending, or has ended, does so no more."""
        return self.metadata.deletion_timestamp is None and not self.has_ended

    @property
    def containers(self) -> tuple[ContainerStatus, ...]:
        """All containers of which there is something to tell, initial ones first."""
        return (self.status.init_container_statuses or ()) + (self.status.container_statuses or ())

    @property
    def owner_uid(self) -> str | None:
        """The uid of what controls it."""
        # A loop, because this is asked for each pod of each request, and a generator takes thrice as long.
        for owner in self.metadata.owner_references or ():
            if owner.controller:
                return owner.uid
        return None

    @property
    def topology(self) -> str | None:
        """The topology key whose domain it has to itself; None where it is not ours to place.

        Pods that a node selector was prepared for are not: see :mod:`jobset.core.jobs`.
        """
        notes = self.annotations
        return None if notes.strategy is not None else notes.topology

    @property
    def is_leader(self) -> bool:
        """Whether it is the first pod of an Indexed Job. All pods of other Jobs are followers."""
        return self.annotations.index == '0'

    @property
    def unscheduled(self) -> meta.Condition | None:
        """The condition by which the scheduler says why it has no node; None where it has one, or nothing was said."""
        if self.spec.node_name:
            return None
        return next((each for each in self.status.conditions or () if each.type == _SCHEDULED), None)

    @property
    def disruption(self) -> meta.Condition | None:
        """The condition by which somebody says that its place was taken away; None where nobody does."""
        return next((each for each in self.status.conditions or () if each.type == _DISRUPTED), None)


_SCHEDULED: Final = 'PodScheduled'
_DISRUPTED: Final = 'DisruptionTarget'


def _tells(condition: meta.Condition) -> bool:
    kind = condition.type
    return (kind == _DISRUPTED and condition.status == 'True') or (kind == _SCHEDULED and condition.status == 'False')


def _telling(statuses: tuple[ContainerStatus, ...]) -> tuple[ContainerStatus, ...] | None:
    return tuple([each for each in statuses if each.restart_count or each.state != _RUNS]) or None


T = TypeVar('T', bound=Hashable)


@functools.lru_cache(maxsize=_SHARED_AT_MOST)
def _held(part: Hashable) -> Hashable:
    return part


def _shared(part: T) -> T:
    """The first one of those that are equal to ``part``."""
    return _held(part)  # type: ignore[return-value]


@functools.lru_cache(maxsize=_SHARED_AT_MOST)
def _shared_map(items: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """A map of these items, to be looked at."""
    return dict(items)
