"""What is seen of the groups of a JobSet: the objects, in part, and how their pods fare."""

import enum
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from jobset.api import meta, pods

GROUP: Final = 'scheduling.k8s.io'


class Version(enum.StrEnum):
    """The versions of the API that we speak, the newest first."""

    V1 = 'v1'
    V1BETA1 = 'v1beta1'
    V1ALPHA2 = 'v1alpha2'


class Gang(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """The policy of a gang."""

    min_count: int = 0


class Policy(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """How a group is scheduled."""

    gang: Gang | None = None


class Constraints(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """Where a group may be."""

    topology: tuple[dict[str, str], ...] | None = None


class Template(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """A sort of groups in a Workload."""

    name: str = ''
    scheduling_policy: Policy = msgspec.field(default_factory=Policy)


class WorkloadSpec(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """``spec`` of a Workload."""

    pod_group_templates: tuple[Template, ...] | None = None


class Workload(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """A Workload."""

    metadata: meta.ObjectMeta
    spec: WorkloadSpec = msgspec.field(default_factory=WorkloadSpec)


class PodGroupSpec(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """``spec`` of a PodGroup."""

    scheduling_policy: Policy = msgspec.field(default_factory=Policy)
    scheduling_constraints: Constraints | None = None
    resource_claims: tuple[dict[str, str], ...] | None = None


class PodGroupStatus(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """``status`` of a PodGroup."""

    conditions: tuple[meta.Condition, ...] | None = None


class PodGroup(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """A PodGroup."""

    metadata: meta.ObjectMeta
    spec: PodGroupSpec = msgspec.field(default_factory=PodGroupSpec)
    status: PodGroupStatus = msgspec.field(default_factory=PodGroupStatus)

    @property
    def min_count(self) -> int | None:
        """The size of the gang; None where each pod counts for itself."""
        gang = self.spec.scheduling_policy.gang
        return gang.min_count if gang is not None else None

    def condition(self, *types: str) -> meta.Condition | None:
        """The first condition of one of these types."""
        return next((one for one in self.status.conditions or () if one.type in types), None)


@dataclass(slots=True)
class PodTally:
    """The pods of one group that count."""

    exist: int = 0
    bound: int = 0
    said: Counter[str] = field(default_factory=Counter)
    """What the scheduler said of those that wait, and of how many."""

    disrupted: str = ''
    """Why pods of it lost their nodes, since all of them had one."""

    @property
    def waiting(self) -> int:
        """Pods without a node."""
        return self.exist - self.bound

    def count(self, pod: pods.Pod, sign: int) -> None:
        """Take a pod in, or with ``sign=-1`` out."""
        if not pod.stands:
            return
        self.exist += sign
        if pod.spec.node_name:
            self.bound += sign
        elif said := refusal(pod):
            self.said[said] += sign
            if not self.said[said]:
                del self.said[said]


def refusal(pod: pods.Pod) -> str:
    """Why a pod has no node, in the scheduler's words; empty where nothing was said."""
    said = pod.unscheduled
    return '' if said is None else said.message


def disruption(pod: pods.Pod) -> str:
    """Who took a pod's node away, in that one's words; empty where nobody did."""
    said = pod.disruption
    return '' if said is None else said.message or said.reason


class State(enum.Enum):
    """What is known of the API."""

    UNKNOWN = enum.auto()
    """Not yet whether it is served, or not yet what there is."""

    ABSENT = enum.auto()
    READY = enum.auto()


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The groups of one JobSet."""

    state: State = State.UNKNOWN
    version: Version = Version.V1BETA1
    trouble: str = ''
    """What keeps us from looking, while the state is unknown."""

    workloads: Mapping[str, Workload] = field(default_factory=dict)
    """Those that the JobSet controls, by name."""

    pod_groups: Mapping[str, PodGroup] = field(default_factory=dict)
    """Those that the JobSet controls, by name."""

    pods: Mapping[str, PodTally] = field(default_factory=dict)
    """Pods by name of their group."""


NOTHING: Final = Seen()
"""Nothing is known: nobody has looked."""
