"""Keeps the hosts files of pods up to date: which names there are is decided in :mod:`names`."""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from jobset.api import meta
from jobset.kube import client, informer, requests
from jobset.local.node import names
from jobset.local.node.model import Pod

_PAUSE: float = 0.02
"""Seconds in which changes are gathered before all files are written: a hundred pods that start are one change."""


class Service(meta.Partial, frozen=True, gc=False, kw_only=True, rename='camel'):
    """A Service as read from the server."""

    spec: dict[str, Any] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Reader:
    namespace: str
    header: str


class Directory:
    """Follows the pods and Services of the whole cluster, so that several nodes may share one."""

    def __init__(self, api: client.Client, *, domain: str = names.DOMAIN) -> None:
        self.pods = informer.Informer(api, requests.PODS, Pod)
        self.services = informer.Informer(api, requests.SERVICES, Service)
        self._domain = domain
        self._readers: dict[Path, _Reader] = {}
        self._found: list[tuple[str, str, str]] = []
        self._alarm: asyncio.TimerHandle | None = None
        self.pods.subscribe(self._on_change)
        self.services.subscribe(self._on_change)

    async def run(self) -> None:
        """Follows the server until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.pods.run())
            tasks.create_task(self.services.run())

    async def synced(self) -> None:
        """Waits until all pods and Services are known."""
        await self.pods.synced()
        await self.services.synced()

    def add(self, path: Path, *, namespace: str, header: str) -> None:
        """Writes the hosts file of a pod, and keeps it up to date from now on."""
        self._readers[path] = _Reader(namespace, header)
        self._compute()
        self._write(path, names.render(self._found, namespace, domain=self._domain))

    def remove(self, path: Path) -> None:
        """Leaves a file alone from now on."""
        self._readers.pop(path, None)

    def of_namespace(self, namespace: str) -> list[Mapping[str, Any]]:
        """The Services of a namespace, as JSON."""
        return [
            {'metadata': {'name': service.metadata.name, 'namespace': namespace}, 'spec': service.spec}
            for service in self.services.values()
            if service.metadata.namespace == namespace
        ]

    def _on_change(self, old: meta.Object | None, new: meta.Object | None) -> None:
        if self._alarm is None:
            self._alarm = asyncio.get_running_loop().call_later(_PAUSE, self._refresh)

    def _refresh(self) -> None:
        self._alarm = None
        before = self._found
        self._compute()
        if self._found == before:
            return
        bodies: dict[str, str] = {}
        for path, reader in self._readers.items():
            if reader.namespace not in bodies:
                bodies[reader.namespace] = names.render(self._found, reader.namespace, domain=self._domain)
            self._write(path, bodies[reader.namespace])

    def _compute(self) -> None:
        hosts = [host for pod in self.pods.values() if (host := _host(pod)) is not None]
        self._found = names.entries(hosts, [_service(service) for service in self.services.values()])

    def _write(self, path: Path, body: str) -> None:
        data = (self._readers[path].header + body).encode()
        # In place, because containers see this very file; cut only afterwards, so that no moment lacks a name.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            os.pwrite(descriptor, data, 0)
            os.ftruncate(descriptor, len(data))
        finally:
            os.close(descriptor)


def _host(pod: Pod) -> names.Host | None:
    ip = pod.status.get('podIP')
    if not ip or pod.status.get('phase') in ('Succeeded', 'Failed'):
        return None
    is_ready = any(
        condition.get('type') == 'Ready' and condition.get('status') == 'True'
        for condition in pod.status.get('conditions') or ()
    )
    return names.Host(
        namespace=pod.metadata.namespace,
        name=pod.metadata.name,
        ip=ip,
        hostname=str(pod.spec.get('hostname') or ''),
        subdomain=str(pod.spec.get('subdomain') or ''),
        labels=pod.metadata.labels,
        is_ready=is_ready and pod.metadata.deletion_timestamp is None,
    )


def _service(service: Service) -> names.Service:
    return names.Service(
        namespace=service.metadata.namespace,
        name=service.metadata.name,
        selector=service.spec.get('selector') or {},
        publishes_unready=bool(service.spec.get('publishNotReadyAddresses')),
    )
