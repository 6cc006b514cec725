"""A child Job as it is observed: as much of ``batch/v1`` Job as a pass needs, and no more.

Thousands of these are held in memory, so labels that nobody reads are not kept.
"""

import enum

import msgspec

from jobset.api import keys, meta


class JobCondition(enum.StrEnum):
    """The Job conditions that end it, and the one that tells that it is going to fail."""

    COMPLETE = 'Complete'
    FAILED = 'Failed'
    FAILURE_TARGET = 'FailureTarget'


class FailureReason(enum.StrEnum):
    """The reasons of a Job's ``Failed`` condition that failure-policy rules may name."""

    BACKOFF_LIMIT_EXCEEDED = 'BackoffLimitExceeded'
    DEADLINE_EXCEEDED = 'DeadlineExceeded'
    FAILED_INDEXES = 'FailedIndexes'
    MAX_FAILED_INDEXES_EXCEEDED = 'MaxFailedIndexesExceeded'
    POD_FAILURE_POLICY = 'PodFailurePolicy'


class Labels(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The labels that place a Job in its JobSet."""

    replicated_job: str = msgspec.field(default='', name=keys.REPLICATED_JOB_NAME)
    job_index: str = msgspec.field(default='', name=keys.JOB_INDEX)
    restart_attempt: str = msgspec.field(default='', name=keys.RESTART_ATTEMPT)
    job_restart_attempt: str | None = msgspec.field(default=None, name=keys.JOB_RESTART_ATTEMPT)
    pod_group: str | None = msgspec.field(default=None, name=keys.POD_GROUP)


class Annotations(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The annotations that are read."""

    execution_attempt: str | None = msgspec.field(default=None, name=keys.EXECUTION_ATTEMPT)


_NO_ANNOTATIONS = Annotations()


class Owner(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """An owner reference without what nobody compares."""

    api_version: str = ''
    kind: str = ''
    uid: str = ''
    controller: bool = False


class JobMeta(meta.Identity, frozen=True, kw_only=True, rename='camel', gc=False):
    """``metadata`` of a child Job."""

    labels: Labels = msgspec.field(default_factory=Labels)
    annotations: Annotations = _NO_ANNOTATIONS
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[Owner, ...] = ()


class JobSpec(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """``spec`` of a Job, without the template."""

    suspend: bool | None = None
    parallelism: int | None = None
    completions: int | None = None


class JobStatus(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """``status`` of a Job."""

    active: int | None = None
    ready: int | None = None
    succeeded: int | None = None
    failed: int | None = None
    terminating: int | None = None
    failed_indexes: str | None = None
    start_time: str | None = None
    conditions: tuple[meta.Condition, ...] | None = None


class Job(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """One Job."""

    metadata: JobMeta
    spec: JobSpec = msgspec.field(default_factory=JobSpec)
    status: JobStatus = msgspec.field(default_factory=JobStatus)

    @property
    def owner_uid(self) -> str | None:
        """The uid of the JobSet that controls this Job; None where something else or nothing does."""
        for owner in self.metadata.owner_references:
            if owner.controller and owner.kind == keys.KIND and owner.api_version == keys.API_VERSION:
                return owner.uid
        return None

    @property
    def ending(self) -> meta.Condition | None:
        """The condition that ended the Job: the first of ``Complete`` and ``Failed`` that is true."""
        for condition in self.status.conditions or ():
            if condition.status == 'True' and condition.type in (JobCondition.COMPLETE, JobCondition.FAILED):
                return condition
        return None

    @property
    def failing(self) -> meta.Condition | None:
        """The condition that tells that the Job has failed, or is going to once its pods have ended."""
        if self.ending is not None:
            return self.ending if self.ending.type == JobCondition.FAILED else None
        for condition in self.status.conditions or ():
            if condition.status == 'True' and condition.type == JobCondition.FAILURE_TARGET:
                return condition
        return None
