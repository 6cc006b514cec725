"""The JobSet object, ``jobset.x-k8s.io/v1alpha2``, as typed values.

Source: JobSet API ``v1alpha2``. The Job templates and claims inside are kept as the bytes that arrived
(:class:`msgspec.Raw`), so that fields of newer Kubernetes versions survive; :mod:`jobset.api.templates` reads what
policies need of them.

Fields whose values the schema limits stay plain strings here, and are compared with the enumerations below: a stored
object with a value of a later version must not make the whole list undecodable.
"""

import enum
import functools

import msgspec

from jobset.api import meta, templates


class Operator(enum.StrEnum):
    """How many of the targets have to succeed."""

    ALL = 'All'
    ANY = 'Any'


class RestartStrategy(enum.StrEnum):
    """What may overlap when the set restarts."""

    RECREATE = 'Recreate'
    BLOCKING_RECREATE = 'BlockingRecreate'
    IN_PLACE_RESTART = 'InPlaceRestart'


class Action(enum.StrEnum):
    """What a failure-policy rule does."""

    FAIL_JOBSET = 'FailJobSet'
    RESTART_JOBSET = 'RestartJobSet'
    RESTART_JOBSET_AND_IGNORE_MAX_RESTARTS = 'RestartJobSetAndIgnoreMaxRestarts'
    RESTART_JOB = 'RestartJob'
    RESTART_JOB_AND_IGNORE_MAX_RESTARTS = 'RestartJobAndIgnoreMaxRestarts'


class StartupOrder(enum.StrEnum):
    """Whether replicated jobs start one after the other (deprecated in favour of ``dependsOn``)."""

    ANY_ORDER = 'AnyOrder'
    IN_ORDER = 'InOrder'


class DependsOnStatus(enum.StrEnum):
    """What a dependency must have reached."""

    READY = 'Ready'
    COMPLETE = 'Complete'


class RetentionPolicy(enum.StrEnum):
    """What happens to a volume claim when its JobSet is deleted."""

    DELETE = 'Delete'
    RETAIN = 'Retain'


class TerminalState(enum.StrEnum):
    """How a JobSet ended; the empty text while it has not."""

    COMPLETED = 'Completed'
    FAILED = 'Failed'


class DependsOn(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """One dependency on an earlier replicated job."""

    name: str
    status: str


class ReplicatedJob(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True, dict=True):
    """A group of ``replicas`` equal Jobs."""

    name: str = ''
    group_name: str = 'default'
    template: msgspec.Raw
    replicas: int | None = None
    depends_on: tuple[DependsOn, ...] | None = None

    @property
    def count(self) -> int:
        """The number of Jobs wanted; one where the schema's default is missing."""
        return 1 if self.replicas is None else self.replicas

    @property
    def pods(self) -> int:
        """How many pods all its Jobs have at the same time, as long as none of them has ended."""
        return self.count * self.job.spec.pods

    @functools.cached_property
    def job(self) -> templates.JobTemplate:
        """What policies read of the Job template."""
        return msgspec.json.decode(self.template, type=templates.JobTemplate)


class Network(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True):
    """Host names for the pods; a null flag is off for ``enable_dns_hostnames`` and on for the other."""

    enable_dns_hostnames: bool | None = msgspec.field(default=None, name='enableDNSHostnames')
    subdomain: str | None = None
    publish_not_ready_addresses: bool | None = None


class SuccessPolicy(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True):
    """When the set is complete. No targets means all replicated jobs."""

    operator: str = Operator.ALL
    target_replicated_jobs: tuple[str, ...] = ()


class FailurePolicyRule(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True):
    """What to do about a failed Job that fits all of the given filters; an empty filter fits every Job."""

    name: str = ''
    action: str
    on_job_failure_reasons: tuple[str, ...] = ()
    on_job_failure_message_patterns: tuple[str, ...] = ()
    target_replicated_jobs: tuple[str, ...] = ()


class FailurePolicy(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True):
    """How failures are answered: the first rule that fits, else a restart while fewer than ``max_restarts`` counted."""

    max_restarts: int = 0
    restart_strategy: str = RestartStrategy.RECREATE
    rules: tuple[FailurePolicyRule, ...] = ()


class StartupPolicy(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True):
    """The order of starting."""

    startup_policy_order: str = StartupOrder.ANY_ORDER


class Coordinator(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True):
    """The pod whose host name all pods are told."""

    replicated_job: str
    job_index: int = 0
    pod_index: int = 0


class Retention(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True):
    """What becomes of a claim; a block without a value means Delete."""

    when_deleted: str | None = None


class VolumeClaimPolicy(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True, dict=True):
    """Volume claims that all Jobs of the set share."""

    claim_templates: tuple[msgspec.Raw, ...] = msgspec.field(default=(), name='templates')
    retention_policy: Retention | None = None

    @functools.cached_property
    def claims(self) -> tuple[templates.ClaimTemplate, ...]:
        """What is read of the claim templates, in order."""
        return tuple(msgspec.json.decode(raw, type=templates.ClaimTemplate) for raw in self.claim_templates)


class Empty(msgspec.Struct, frozen=True, kw_only=True):
    """A choice that says all by being there."""


class GroupOfGroups(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True):
    """A gang of groups."""

    min_group_count: int | None = None


class Gang(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True):
    """A gang of pods."""

    min_count: int | None = None


class CompositeSchedulingPolicy(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True):
    """How the whole set is scheduled: one of these."""

    basic: Empty | None = None
    gang: GroupOfGroups | None = None


class SchedulingPolicy(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True):
    """How the pods of a group are scheduled: one of these."""

    basic: Empty | None = None
    gang: Gang | None = None


class TopologyConstraint(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True):
    """All pods of a group on nodes that have the same value of a label."""

    key: str


class SchedulingConstraints(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True):
    """Where the pods of a group may be."""

    topology: tuple[TopologyConstraint, ...] = ()


class DisruptionMode(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True):
    """What a preemption takes away: one of these."""

    single: Empty | None = None
    all: Empty | None = None


class JobScheduling(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True):
    """How the pods of each Job are scheduled."""

    scheduling_policy: SchedulingPolicy | None = None
    scheduling_constraints: SchedulingConstraints | None = None
    disruption_mode: DisruptionMode | None = None
    resource_claims: tuple[templates.ResourceClaim, ...] = ()


class ReplicatedJobScheduling(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True):
    """How the pods of some replicated jobs are scheduled: together, or with ``job`` those of each Job by themselves."""

    target_replicated_jobs: tuple[str, ...]
    scheduling_policy: SchedulingPolicy | None = None
    scheduling_constraints: SchedulingConstraints | None = None
    disruption_mode: DisruptionMode | None = None
    job: JobScheduling | None = None


class Scheduling(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True):
    """What is scheduled together: the whole set, or what the entries of ``replicated_jobs`` say."""

    scheduling_policy: CompositeSchedulingPolicy | None = None
    scheduling_constraints: SchedulingConstraints | None = None
    disruption_mode: DisruptionMode | None = None
    replicated_jobs: tuple[ReplicatedJobScheduling, ...] = ()


class Spec(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True):
    """What the user wants."""

    replicated_jobs: tuple[ReplicatedJob, ...] = ()
    network: Network | None = None
    success_policy: SuccessPolicy | None = None
    failure_policy: FailurePolicy | None = None
    startup_policy: StartupPolicy | None = None
    suspend: bool | None = None
    coordinator: Coordinator | None = None
    managed_by: str | None = None
    ttl_seconds_after_finished: int | None = None
    volume_claim_policies: tuple[VolumeClaimPolicy, ...] = ()
    scheduling: Scheduling | None = None
    active_deadline_seconds: int | None = None


class Condition(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True):
    """A ``metav1.Condition``. Times have whole seconds, UTC, and end in ``Z``."""

    type: str
    status: str
    reason: str
    message: str
    last_transition_time: str
    observed_generation: int | None = None

    @property
    def is_true(self) -> bool:
        """Whether the condition holds now."""
        return self.status == 'True'


class ReplicatedJobStatus(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True):
    """How many Jobs of a replicated job are in which state. The counters overlap, and zeros are always written."""

    name: str
    ready: int
    succeeded: int
    failed: int
    active: int
    suspended: int
    job_restarts: tuple[int, ...] = ()
    job_restarts_count_towards_max: tuple[int, ...] = ()


class Status(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True):
    """What we tell. Encode it with :func:`encode_status`, which keeps ``restarts: 0``."""

    conditions: tuple[Condition, ...] = ()
    restarts: int = 0
    restarts_count_towards_max: int = 0
    terminal_state: str = ''
    replicated_jobs_status: tuple[ReplicatedJobStatus, ...] = ()
    previous_in_place_restart_attempt: int | None = None
    current_in_place_restart_attempt: int | None = None
    execution_attempts: int | None = None


def counts_only(before: Status, after: Status) -> bool:
    """Whether two statuses differ in nothing but how many Jobs are in which state, which decides nothing."""
    if msgspec.structs.replace(after, replicated_jobs_status=before.replicated_jobs_status) != before:
        return False
    return _restarts(before) == _restarts(after)


def _restarts(status: Status) -> dict[str, tuple[int, ...]]:
    return {entry.name: entry.job_restarts for entry in status.replicated_jobs_status if entry.job_restarts}


class JobSet(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True):
    """One JobSet as the API server holds it."""

    metadata: meta.ObjectMeta
    spec: Spec = msgspec.field(default_factory=Spec)
    status: Status = msgspec.field(default_factory=Status)

    @property
    def suspended(self) -> bool:
        """Whether the user wants nothing to run."""
        return bool(self.spec.suspend)


def encode_status(status: Status) -> dict[str, object]:
    """The status as it is written: counters and ``restarts`` also when zero, other empty fields left out."""
    body: dict[str, object] = msgspec.to_builtins(status)
    return {'restarts': status.restarts} | body
