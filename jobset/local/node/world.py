"""What all pods of a node share."""

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jobset.kube import client, events
from jobset.local.node import addresses, directory, logs, specs
from jobset.local.node.model import Pod
from jobset.local.node.settings import Settings

Now = Callable[[], datetime.datetime]


@dataclass(kw_only=True)
class World:
    """The surroundings of pods."""

    api: client.Client
    node: str
    folder: Path
    now: Now
    settings: Settings
    addresses: addresses.Addresses
    directory: directory.Directory
    logs: logs.Logs
    recorder: events.Recorder
    host_ip: str = '127.0.0.1'
    namespaces: str = ''
    """Which kind of namespaces containers get; empty when none can be made."""

    why_none: str = ''
    """Why not."""

    has_ports: bool = False
    """Whether pods have ports of their own."""

    why_no_ports: str = ''
    """Why not, where they should."""

    shown: Sequence[str] = ()
    """Folders below ``/tmp`` that containers see although they have a ``/tmp`` of their own."""

    allocatable: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that every container has, below its own ones."""

    def record(self, pod: Pod, reason: str, note: str, *, container: str = '', is_warning: bool = False) -> None:
        """Tells people what happens to a pod, or to one of its containers."""
        place = specs.place(pod.spec, container) if container else ''
        regarding = events.ObjectRef.of(pod.metadata, api_version='v1', kind='Pod', field_path=place)
        kind = events.EventType.WARNING if is_warning else events.EventType.NORMAL
        self.recorder.record(regarding, type=kind, reason=reason, note=note, action=reason)
