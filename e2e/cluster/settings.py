"""What a cluster is to be like."""

import enum
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Self

GATES: Mapping[str, bool] = {'GenericWorkload': True, 'TopologyAwareWorkloadScheduling': True}
"""Feature gates that every cluster has, unless it says otherwise: those behind Workload and PodGroup."""

APIS: Mapping[str, str] = {'scheduling.k8s.io/v1beta1': 'true', 'scheduling.k8s.io/v1alpha3': 'true'}
"""API versions that are served beside the default ones; v1alpha3 stays empty without the gate CompositePodGroup."""


class Profile(enum.StrEnum):
    """How much of a cluster there is."""

    FULL = 'full'
    """Everything: real pods, pod network, volumes, DNS. In a network namespace of its own, as root."""
    CONTROL_PLANE = 'control-plane'
    """API server and garbage collection on the loopback of the machine; no Job controller, no scheduler, no node."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One cluster's wishes; two equal values make equal clusters."""

    profile: Profile = Profile.FULL
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    """Added to :data:`GATES`, for the control plane and the node alike."""
    runtime_config: Mapping[str, str] = field(default_factory=dict)
    """Added to :data:`APIS`."""
    controller_manager: tuple[str, ...] = ()
    """Flags of the controller manager, such as ``--controllers=*,-job-controller``; each replaces ours of its name."""

    @property
    def gates(self) -> dict[str, bool]:
        return {**GATES, **self.feature_gates}

    @property
    def apis(self) -> dict[str, str]:
        return {**APIS, **self.runtime_config}

    def text(self) -> str:
        """The settings as JSON, for the record of a running cluster."""
        return json.dumps({**asdict(self), 'controller_manager': list(self.controller_manager)}, sort_keys=True)

    @classmethod
    def parse(cls, text: str) -> Self:
        """The settings that :meth:`text` wrote."""
        data = json.loads(text)
        return cls(
            profile=Profile(data['profile']),
            feature_gates=dict(data['feature_gates']),
            runtime_config=dict(data['runtime_config']),
            controller_manager=tuple(data['controller_manager']),
        )


def pairs(text: str) -> dict[str, str]:
    """``A=1,B=2`` as a mapping; raises ValueError that names the part which is no pair."""
    found: dict[str, str] = {}
    for part in filter(None, (one.strip() for one in text.split(','))):
        key, equals, value = part.partition('=')
        if not (key and equals and value):
            raise ValueError(f'"{part}" is not NAME=VALUE')
        found[key] = value
    return found


def gates(text: str) -> dict[str, bool]:
    """``A=true,B=false`` as feature gates; raises ValueError for anything but true and false."""
    words = {'true': True, 'false': False}
    found = pairs(text)
    for gate, value in found.items():
        if value.lower() not in words:
            raise ValueError(f'feature gate {gate}: "{value}" is neither true nor false')
    return {gate: words[value.lower()] for gate, value in found.items()}


def flag(values: Mapping[str, object]) -> str:
    """A mapping as the value of a flag: ``A=true,B=false``."""
    return ','.join(f'{key}={str(value).lower()}' for key, value in values.items())


def overridden(flags: Iterable[str], extra: Iterable[str]) -> list[str]:
    """``flags`` without those that ``extra`` sets too, then ``extra``.

    Repeating a flag is not enough: flags that take lists would add up.
    """
    extra = list(extra)
    set_anew = {one.partition('=')[0] for one in extra}
    return [one for one in flags if one.partition('=')[0] not in set_anew] + extra
