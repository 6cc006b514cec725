"""What the controllers here read of objects. Nothing else of them is decoded."""

from typing import Any

import msgspec

from jobset.api import meta


class Toleration(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel'):
    """A taint that a pod bears, and for how long."""

    key: str = ''
    operator: str = ''
    value: str = ''
    effect: str = ''
    toleration_seconds: int | None = None


class ContainerPort(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel'):
    """A port that a container names."""

    name: str = ''
    container_port: int = 0
    protocol: str = 'TCP'


class Container(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel'):
    """A container of a pod."""

    ports: tuple[ContainerPort, ...] | None = None


class ClaimSource(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel'):
    """Which claim a volume is."""

    claim_name: str = ''


class PodVolume(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel'):
    """A volume of a pod, when it is a claim."""

    persistent_volume_claim: ClaimSource | None = None


class PodSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel'):
    """The spec of a pod."""

    node_name: str = ''
    hostname: str = ''
    subdomain: str = ''
    containers: tuple[Container, ...] | None = None
    volumes: tuple[PodVolume, ...] | None = None
    tolerations: tuple[Toleration, ...] | None = None


class PodStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel'):
    """The status of a pod."""

    phase: str = ''
    pod_ip: str = msgspec.field(name='podIP', default='')
    conditions: tuple[meta.Condition, ...] | None = None


class Pod(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A pod."""

    metadata: meta.Common
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def is_finished(self) -> bool:
        """Whether nothing of it will ever run again."""
        return self.status.phase in ('Succeeded', 'Failed')

    @property
    def is_ready(self) -> bool:
        """Whether it says that it is."""
        return any(one.type == 'Ready' and one.status == 'True' for one in self.status.conditions or ())

    @property
    def claims(self) -> list[str]:
        """Names of the claims that it uses."""
        volumes = self.spec.volumes or ()
        return [one.persistent_volume_claim.claim_name for one in volumes if one.persistent_volume_claim is not None]


class Taint(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """What keeps pods away from a node."""

    key: str
    value: str = ''
    effect: str = ''
    time_added: str | None = None


class NodeSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel'):
    """The spec of a node."""

    taints: tuple[Taint, ...] | None = None


class NodeStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel'):
    """The status of a node."""

    conditions: tuple[meta.Condition, ...] | None = None


class Node(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A node."""

    metadata: meta.Common
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class LeaseSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel'):
    """The spec of a lease."""

    renew_time: str | None = None


class Lease(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A lease."""

    metadata: meta.Common
    spec: LeaseSpec = LeaseSpec()


class ServicePort(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel'):
    """A port of a service."""

    name: str = ''
    port: int = 0
    protocol: str = 'TCP'
    target_port: int | str | None = None
    app_protocol: str | None = None


class ServiceSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel'):
    """The spec of a service."""

    selector: dict[str, str] | None = None
    cluster_ip: str = msgspec.field(name='clusterIP', default='')
    type: str = ''
    publish_not_ready_addresses: bool = False
    ports: tuple[ServicePort, ...] | None = None


class Service(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A service."""

    metadata: meta.Common
    spec: ServiceSpec = ServiceSpec()


class EndpointSlice(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """A slice of the endpoints of a service; its content is compared, not read."""

    metadata: meta.Common
    endpoints: list[dict[str, Any]] | None = None
    ports: list[dict[str, Any]] | None = None


class NamespaceSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The spec of a namespace."""

    finalizers: tuple[str, ...] | None = None


class NamespaceStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The status of a namespace."""

    conditions: tuple[meta.Condition, ...] | None = None


class Namespace(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A namespace."""

    metadata: meta.Common
    spec: NamespaceSpec = NamespaceSpec()
    status: NamespaceStatus = NamespaceStatus()


class JobSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel'):
    """The spec of a Job."""

    ttl_seconds_after_finished: int | None = None


class JobStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The status of a Job."""

    conditions: tuple[meta.Condition, ...] | None = None


class Job(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A Job."""

    metadata: meta.Common
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class EventSeries(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel'):
    """How often an event has come again."""

    last_observed_time: str | None = None


class Event(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel'):
    """An event; the times of ``events.k8s.io/v1``."""

    metadata: meta.Common
    event_time: str | None = None
    series: EventSeries | None = None
    deprecated_last_timestamp: str | None = None


class ObjectReference(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel'):
    """A claim, as the volume that is bound to it names it."""

    namespace: str = ''
    name: str = ''
    uid: str = ''


class Quantities(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Requests of a claim."""

    requests: dict[str, str | int | float] | None = None


class ClaimSpec(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """The spec of a claim."""

    access_modes: tuple[str, ...] | None = None
    resources: Quantities = Quantities()
    storage_class_name: str | None = None
    volume_name: str = ''
    volume_mode: str = 'Filesystem'
    selector: dict[str, Any] | None = None


class ClaimStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The status of a claim."""

    phase: str = ''


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim of storage."""

    metadata: meta.Common
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()


class HostPath(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A folder of this machine."""

    path: str = ''


class VolumeSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel'):
    """The spec of a volume."""

    capacity: dict[str, str | int | float] | None = None
    access_modes: tuple[str, ...] | None = None
    claim_ref: ObjectReference | None = None
    storage_class_name: str = ''
    volume_mode: str = 'Filesystem'
    persistent_volume_reclaim_policy: str = 'Retain'
    host_path: HostPath | None = None


class VolumeStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The status of a volume."""

    phase: str = ''


class Volume(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Storage."""

    metadata: meta.Common
    spec: VolumeSpec = VolumeSpec()
    status: VolumeStatus = VolumeStatus()


class StorageClass(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel'):
    """How volumes are made."""

    metadata: meta.Common
    provisioner: str = ''
    reclaim_policy: str = 'Delete'
