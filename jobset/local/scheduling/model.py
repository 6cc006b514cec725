"""What a scheduler reads of pods, nodes, groups and volumes.

Parts that most pods have alike (affinity, tolerations, resources of containers) stay JSON text, kept once for all pods
that have the same: a hundred thousand pods of a few templates take little memory, and comparing two is cheap. They are
read where they matter, see :mod:`jobset.local.scheduling.shapes`.
"""

from typing import Final

import msgspec

from jobset.api import meta
from jobset.kube import requests

POD_GROUPS: Final = requests.Resource('scheduling.k8s.io', 'v1beta1', 'podgroups', 'PodGroup')
VOLUMES: Final = requests.Resource('', 'v1', 'persistentvolumes', 'PersistentVolume', namespaced=False)

SCHEDULED: Final = 'PodScheduled'
"""The condition of pods that says whether they have a node."""

_ABSENT: Final = msgspec.Raw()
_NULLS: Final = (b'', b'null', b'{}', b'[]')
_KEPT_MOST: Final = 20_000

_kept: dict[bytes, msgspec.Raw] = {}


def _once(raw: msgspec.Raw) -> msgspec.Raw:
    """The same text as kept for all; else it would hold on to the whole answer that it was cut from."""
    text = bytes(raw)
    if text in _NULLS:
        return _ABSENT
    kept = _kept.get(text)
    if kept is None:
        if len(_kept) >= _KEPT_MOST:
            _kept.clear()
        kept = _kept[text] = msgspec.Raw(text)
    return kept


class Metadata(meta.Identity, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """Name, identity and labels."""

    generation: int = 0
    labels: meta.StringMap = msgspec.field(default_factory=dict)
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None

    def __post_init__(self) -> None:
        null: object = None
        if self.labels is null:
            msgspec.structs.force_setattr(self, 'labels', {})


class _Struct(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """Options of all structures here."""


class Container(_Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """What a container asks of its node."""

    resources: msgspec.Raw = _ABSENT
    ports: msgspec.Raw = _ABSENT
    restart_policy: str | None = None

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, 'resources', _once(self.resources))
        if self.ports is not _ABSENT:
            msgspec.structs.force_setattr(self, 'ports', _once(self.ports))


class ClaimSource(_Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """The claim that a volume is."""

    claim_name: str = ''


class Volume(_Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """A volume of a pod."""

    persistent_volume_claim: ClaimSource | None = None
    ephemeral: dict[str, object] | None = None
    name: str = ''


class Group(_Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """The group that a pod is scheduled with."""

    pod_group_name: str = ''


class Gate(_Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """Something that has to happen before a pod may be scheduled."""

    name: str = ''


_PARTS: Final = ('affinity', 'tolerations', 'topology_spread_constraints', 'overhead', 'resources')


class PodSpec(_Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """What a pod asks for."""

    node_name: str = ''
    scheduler_name: str = 'default-scheduler'
    priority: int | None = None
    preemption_policy: str | None = None
    scheduling_gates: tuple[Gate, ...] | None = None
    scheduling_group: Group | None = None
    node_selector: dict[str, str] | None = None
    affinity: msgspec.Raw = _ABSENT
    tolerations: msgspec.Raw = _ABSENT
    topology_spread_constraints: msgspec.Raw = _ABSENT
    overhead: msgspec.Raw = _ABSENT
    resources: msgspec.Raw = _ABSENT
    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Container, ...] | None = None
    volumes: tuple[Volume, ...] | None = None

    def __post_init__(self) -> None:
        for part in _PARTS:
            value = getattr(self, part)
            if value is not _ABSENT:
                msgspec.structs.force_setattr(self, part, _once(value))
        if self.volumes:
            claims = tuple(one for one in self.volumes if one.persistent_volume_claim or one.ephemeral)
            msgspec.structs.force_setattr(self, 'volumes', claims)


class Condition(_Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """A condition of anything."""

    type: str
    status: str = ''
    reason: str = ''
    message: str = ''


class PodStatus(_Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """How far a pod has come."""

    phase: str = ''
    conditions: tuple[Condition, ...] | None = None

    def __post_init__(self) -> None:
        if self.conditions:
            told = tuple(one for one in self.conditions if one.type == SCHEDULED)
            msgspec.structs.force_setattr(self, 'conditions', told)


class Pod(_Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """A pod, as far as it matters where it runs."""

    metadata: Metadata = Metadata()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def has_ended(self) -> bool:
        """Whether it takes up nothing any more."""
        return self.status.phase in {'Succeeded', 'Failed'}

    @property
    def scheduled(self) -> Condition | None:
        """What was said about it so far."""
        return self.status.conditions[0] if self.status.conditions else None


class Taint(_Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """Keeps pods away from a node."""

    key: str = ''
    value: str = ''
    effect: str = ''


class NodeSpec(_Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """What somebody has decided about a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] | None = None


class NodeStatus(_Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """What a node has to give."""

    allocatable: dict[str, str] | None = None


class Node(_Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """A node."""

    metadata: Metadata = Metadata()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class Gang(_Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """All or nothing."""

    min_count: int = 1


class Policy(_Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """How a group is scheduled; without ``gang`` each pod counts for itself."""

    gang: Gang | None = None


class Topology(_Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """The label of nodes that must be the same for all of a group."""

    key: str = ''


class Constraints(_Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """Where a group may go as a whole."""

    topology: tuple[Topology, ...] | None = None


class PodGroupSpec(_Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """What a group asks for."""

    scheduling_policy: Policy = Policy()
    scheduling_constraints: Constraints | None = None
    priority: int | None = None


class PodGroupStatus(_Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """How far a group has come."""

    conditions: tuple[Condition, ...] | None = None


class PodGroup(_Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """A group of pods that are scheduled together."""

    metadata: Metadata = Metadata()
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()

    @property
    def min_count(self) -> int:
        """How many of its pods must have a node before any may."""
        gang = self.spec.scheduling_policy.gang
        return gang.min_count if gang is not None else 0

    @property
    def topology_key(self) -> str:
        """The label that must be the same for all its nodes; empty where they may be anywhere."""
        constraints = self.spec.scheduling_constraints
        return constraints.topology[0].key if constraints is not None and constraints.topology else ''


class ClaimSpec(_Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """What is claimed."""

    volume_name: str = ''
    storage_class_name: str | None = None


class ClaimStatus(_Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """Whether there is a volume."""

    phase: str = ''


class Claim(_Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """A claim for a volume."""

    metadata: Metadata = Metadata()
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()

    @property
    def is_bound(self) -> bool:
        """Whether it has its volume."""
        return bool(self.spec.volume_name) and self.status.phase == 'Bound'


class VolumeAffinity(_Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """Which nodes a volume can be reached from."""

    required: dict[str, object] | None = None


class VolumeSpec(_Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """What a volume is."""

    node_affinity: VolumeAffinity | None = None


class PersistentVolume(_Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """A volume."""

    metadata: Metadata = Metadata()
    spec: VolumeSpec = VolumeSpec()
