"""A pod as it is observed: as much of it as tells why it ended, or why it does not."""

import msgspec

from jobset.api import keys, meta

JOB_UID = 'batch.kubernetes.io/controller-uid'
JOB_TRACKING = 'batch.kubernetes.io/job-tracking'
"""The finalizer by which the Job controller counts each pod once."""


class Labels(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The labels that place a pod in its JobSet."""

    jobset_uid: str = msgspec.field(default='', name=keys.JOBSET_UID)
    replicated_job: str = msgspec.field(default='', name=keys.REPLICATED_JOB_NAME)
    job_index: str = msgspec.field(default='', name=keys.JOB_INDEX)
    restart_attempt: str = msgspec.field(default='', name=keys.RESTART_ATTEMPT)
    job_restart_attempt: str = msgspec.field(default='', name=keys.JOB_RESTART_ATTEMPT)
    job_uid: str = msgspec.field(default='', name=JOB_UID)


class PodMeta(meta.Identity, frozen=True, kw_only=True, rename='camel', gc=False):
    """``metadata`` of a pod."""

    labels: Labels = msgspec.field(default_factory=Labels)
    creation_timestamp: str = ''
    deletion_timestamp: str | None = None
    """When its time to end is over: the moment of the request and the grace after it."""

    finalizers: tuple[str, ...] = ()


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


class ContainerStatus(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """What the kubelet says of a container."""

    name: str = ''
    state: ContainerState = msgspec.field(default_factory=ContainerState)
    last_state: ContainerState = msgspec.field(default_factory=ContainerState)
    """How it was before it started again, if it did."""


class PodSpec(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """``spec`` of a pod."""

    node_name: str = ''


class PodStatus(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """``status`` of a pod."""

    phase: str = ''
    reason: str = ''
    message: str = ''
    conditions: tuple[meta.Condition, ...] | None = None
    init_container_statuses: tuple[ContainerStatus, ...] | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None


class Pod(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """One pod."""

    metadata: PodMeta
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)

    @property
    def has_ended(self) -> bool:
        """Whether none of its containers will ever run again."""
        return self.status.phase in ('Succeeded', 'Failed')

    @property
    def containers(self) -> tuple[ContainerStatus, ...]:
        """All containers, initial ones first."""
        return (self.status.init_container_statuses or ()) + (self.status.container_statuses or ())
