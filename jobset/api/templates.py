"""What policies read of the Job and claim templates inside a JobSet: partial views, never written back."""

import enum

import msgspec


class CompletionMode(enum.StrEnum):
    """Whether the pods of a Job have indexes."""

    INDEXED = 'Indexed'
    NON_INDEXED = 'NonIndexed'


class TemplateMeta(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """``metadata`` of an embedded template."""

    name: str = ''
    namespace: str = ''
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class VolumeMount(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """Where a container mounts which volume."""

    name: str = ''


class Container(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """A container, an init container or a sidecar."""

    name: str = ''
    volume_mounts: tuple[VolumeMount, ...] | None = None


class Volume(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """A volume of the pod, whatever is behind it."""

    name: str = ''


class ResourceClaim(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False, omit_defaults=True):
    """A claim for devices: of one pod, or, where the pod's PodGroup has an equal entry, of the group."""

    name: str = ''
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class SchedulingGroup(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """The PodGroup that pods belong to."""

    pod_group_name: str | None = None


class PodSpec(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """``spec`` of the pod template."""

    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Container, ...] | None = None
    volumes: tuple[Volume, ...] | None = None
    restart_policy: str | None = None
    node_selector: dict[str, str] | None = None
    tolerations: tuple[dict[str, object], ...] | None = None
    scheduling_gates: tuple[dict[str, object], ...] | None = None
    scheduler_name: str | None = None
    priority_class_name: str | None = None
    priority: int | None = None
    preemption_policy: str | None = None
    resource_claims: tuple[ResourceClaim, ...] | None = None
    scheduling_group: SchedulingGroup | None = None

    @property
    def mounted(self) -> frozenset[str]:
        """The names of all volumes that some container or init container mounts."""
        every = (self.containers or ()) + (self.init_containers or ())
        return frozenset(mount.name for container in every for mount in container.volume_mounts or ())


class PodTemplate(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """The pod template of a Job."""

    metadata: TemplateMeta = msgspec.field(default_factory=TemplateMeta)
    spec: PodSpec = msgspec.field(default_factory=PodSpec)


class JobSpec(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """``spec`` of a Job."""

    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str | None = None
    backoff_limit: int | None = None
    ttl_seconds_after_finished: int | None = None
    pod_replacement_policy: str | None = None
    scheduling: dict[str, object] | None = None
    template: PodTemplate = msgspec.field(default_factory=PodTemplate)

    @property
    def pods(self) -> int:
        """How many pods a Job has at the same time, as long as none of them has ended."""
        parallelism = 1 if self.parallelism is None else self.parallelism
        return parallelism if self.completions is None else min(parallelism, self.completions)


class JobTemplate(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """The template of a child Job."""

    metadata: TemplateMeta = msgspec.field(default_factory=TemplateMeta)
    spec: JobSpec = msgspec.field(default_factory=JobSpec)


class ClaimTemplate(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """A PersistentVolumeClaim that the set makes."""

    metadata: TemplateMeta = msgspec.field(default_factory=TemplateMeta)
    raw_spec: msgspec.Raw = msgspec.field(default=msgspec.Raw(b'null'), name='spec')

    @property
    def spec(self) -> msgspec.Raw | None:
        """The spec as the bytes that arrived; None where it is absent or null."""
        return None if bytes(self.raw_spec) == b'null' else self.raw_spec
