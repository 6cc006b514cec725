"""The Node object of a node, and the Lease by which others see that it lives."""

import asyncio
import contextlib
import datetime
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from jobset.kube import client, errors, requests
from jobset.local import objects
from jobset.local.node import machine
from jobset.local.node.settings import Settings

logger = logging.getLogger(__name__)

LEASE_NAMESPACE: Final = 'kube-node-lease'
VERSION: Final = '0.1.0'

_CONDITIONS: Final = (
    ('MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'),
    ('DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'),
    ('PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'),
    ('Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'),
)


def labels(name: str, extra: Mapping[str, str]) -> dict[str, str]:
    """The labels of a Node."""
    arch, system = machine.architecture(), machine.operating_system()
    own = {'kubernetes.io/hostname': name, 'kubernetes.io/os': system, 'kubernetes.io/arch': arch}
    return own | {'beta.kubernetes.io/os': system, 'beta.kubernetes.io/arch': arch} | dict(extra)


def status(name: str, capacity: Mapping[str, str], *, host_ip: str, now: datetime.datetime) -> dict[str, Any]:
    """The status of a Node."""
    stamp = objects.stamp(now)
    return {
        'capacity': dict(capacity),
        'allocatable': dict(capacity),
        'conditions': [
            {
                'type': kind,
                'status': holds,
                'reason': reason,
                'message': message,
                'lastHeartbeatTime': stamp,
                'lastTransitionTime': stamp,
            }
            for kind, holds, reason, message in _CONDITIONS
        ],
        'addresses': [{'type': 'InternalIP', 'address': host_ip}, {'type': 'Hostname', 'address': name}],
        'nodeInfo': machine.info(VERSION),
    }


class Registration:
    """Keeps the Node and its Lease on the server."""

    def __init__(self, api: client.Client, name: str, settings: Settings) -> None:
        self._api = api
        self._name = name
        self._settings = settings
        self._uid = ''

    async def register(self, capacity: Mapping[str, str], *, host_ip: str, now: datetime.datetime) -> None:
        """Makes the Node, or brings the one that is there up to date."""
        wanted = labels(self._name, self._settings.labels)
        body: dict[str, Any] = {'apiVersion': 'v1', 'kind': 'Node', 'metadata': {'name': self._name, 'labels': wanted}}
        body['metadata']['annotations'] = {'volumes.kubernetes.io/controller-managed-attach-detach': 'true'}
        try:
            made = await self._api.request(requests.create(requests.NODES, None, body), dict[str, Any])
        except errors.AlreadyExists:
            change = {'metadata': {'labels': wanted}}
            request = requests.patch(requests.NODES, None, self._name, change, requests.Patch.MERGE)
            made = await self._api.request(request, dict[str, Any])
        self._uid = made['metadata']['uid']
        change = {'status': status(self._name, capacity, host_ip=host_ip, now=now)}
        await self._api.send(
            requests.patch(requests.NODES, None, self._name, change, requests.Patch.STRATEGIC, subresource='status')
        )
        # The node controller of a real cluster marks Nodes that have not reported yet.
        await self._renew(now)

    async def beat(self, now: Callable[[], datetime.datetime]) -> None:
        """Renews the Lease until cancelled."""
        while True:
            await asyncio.sleep(self._settings.heartbeat_seconds)
            try:
                await self._renew(now())
            except errors.ApiError as error:
                logger.warning('lease of node %s: %s', self._name, error)

    async def _renew(self, now: datetime.datetime) -> None:
        spec = {
            'holderIdentity': self._name,
            'leaseDurationSeconds': self._settings.lease_seconds,
            'renewTime': objects.micro_stamp(now),
        }
        change = {'spec': spec}
        request = requests.patch(requests.LEASES, LEASE_NAMESPACE, self._name, change, requests.Patch.MERGE)
        try:
            await self._api.send(request)
        except errors.NotFound:
            owner = {'apiVersion': 'v1', 'kind': 'Node', 'name': self._name, 'uid': self._uid}
            meta = {'name': self._name, 'namespace': LEASE_NAMESPACE, 'ownerReferences': [owner]}
            body = {'apiVersion': requests.LEASES.api_version, 'kind': 'Lease', 'metadata': meta, 'spec': spec}
            with contextlib.suppress(errors.NotFound):
                await self._api.send(requests.create(requests.LEASES, LEASE_NAMESPACE, body))
