"""Nodes by the thousand, as objects of the API; no heartbeats, for nobody judges them by their Leases."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from jobset.kube import client, errors, requests
from jobset.local import clock, objects

SIMULATED: Final = 'simulation.jobset.x-k8s.io/node'
"""Label of nodes that nobody runs."""

_NOT_READY: Final = 'node.kubernetes.io/not-ready'


@dataclass(frozen=True, kw_only=True)
class Pool:
    """Nodes that are alike."""

    count: int
    prefix: str = 'node'
    """Their names are this and a number, from 0 on, all of one width."""

    cpu: str = '64'
    memory: str = '256Gi'
    pods: int = 110
    extended: Mapping[str, str] = field(default_factory=dict)
    """Extended resources, as ``{'example.com/gpu': '8'}``."""

    levels: Mapping[str, int] = field(default_factory=dict)
    """Topology: a label, and how many nodes in a row have the same value of it: ``{'example.com/rack': 16}``.

    The values are the last part of the label and a number: ``rack-0``, ``rack-1``.
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Mapping[str, str]] = ()

    def names(self) -> list[str]:
        """All of them."""
        width = len(str(max(self.count - 1, 0)))
        return [f'{self.prefix}-{number:0{width}}' for number in range(self.count)]

    def made(self, now: clock.Now) -> Iterator[objects.Object]:
        """The nodes as objects."""
        stamp = objects.stamp(now())
        for number, name in enumerate(self.names()):
            levels = {key: f'{key.rpartition("/")[2]}-{number // size}' for key, size in self.levels.items()}
            yield self._node(name, levels, stamp)

    def _node(self, name: str, levels: Mapping[str, str], stamp: str) -> objects.Object:
        labels = {
            'kubernetes.io/hostname': name,
            'kubernetes.io/os': 'linux',
            'kubernetes.io/arch': 'amd64',
            SIMULATED: 'true',
        }
        amounts = {'cpu': self.cpu, 'memory': self.memory, 'pods': str(self.pods), **self.extended}
        spec: dict[str, Any] = {'taints': [dict(one) for one in self.taints]} if self.taints else {}
        return {
            'apiVersion': 'v1',
            'kind': 'Node',
            'metadata': {'name': name, 'labels': {**labels, **levels, **self.labels}},
            'spec': spec,
            'status': {
                'capacity': amounts,
                'allocatable': amounts,
                'conditions': [ready(stamp)],
                'addresses': [{'type': 'Hostname', 'address': name}],
                'nodeInfo': _INFO,
                # Without it kube-scheduler keeps pods with such restart rules away.
                'declaredFeatures': ['RestartAllContainersOnContainerExits'],
            },
        }


_INFO: Final = {
    'architecture': 'amd64',
    'bootID': '',
    'containerRuntimeVersion': 'simulated://1',
    'kernelVersion': '',
    'kubeProxyVersion': '',
    'kubeletVersion': 'v1.37.2',
    'machineID': '',
    'operatingSystem': 'linux',
    'osImage': 'simulated',
    'systemUUID': '',
}


def ready(stamp: str) -> objects.Object:
    """The condition of a node that works."""
    return {
        'type': 'Ready',
        'status': 'True',
        'reason': 'KubeletReady',
        'message': 'kubelet is posting ready status',
        'lastHeartbeatTime': stamp,
        'lastTransitionTime': stamp,
    }


class _Taint(msgspec.Struct, frozen=True, kw_only=True):
    key: str = ''


class _Spec(msgspec.Struct, frozen=True, kw_only=True):
    taints: tuple[_Taint, ...] | None = None


class _Status(msgspec.Struct, frozen=True, kw_only=True):
    allocatable: dict[str, str] | None = None


class _Made(msgspec.Struct, frozen=True, kw_only=True):
    spec: _Spec = _Spec()
    status: _Status = _Status()


async def create(api: client.Client, pool: Pool, *, now: clock.Now = clock.wall, at_once: int = 16) -> None:
    """Make the nodes of a pool, ready for pods; those that are there already stay."""
    wanted = pool.made(now)

    async def work() -> None:
        for node in wanted:
            await _create(api, node)

    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(work())


async def _create(api: client.Client, node: objects.Object) -> None:
    name = objects.name(node)
    try:
        made = await api.request(requests.create(requests.NODES, None, node), _Made)
    except errors.AlreadyExists:
        return
    if not made.status.allocatable:
        status = {'status': node['status']}
        await api.send(
            requests.patch(requests.NODES, None, name, status, requests.Patch.STRATEGIC, subresource='status')
        )
    if any(taint.key == _NOT_READY for taint in made.spec.taints or ()):
        # An API server taints every new node; on a real cluster the node controller takes it back when it is ready.
        spec = {'spec': {'taints': node['spec'].get('taints')}}
        await api.send(requests.patch(requests.NODES, None, name, spec, requests.Patch.MERGE))
