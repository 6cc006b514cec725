"""One informer for each resource, for all controllers: what several of them follow is read and kept once."""

import asyncio
from typing import Any, Final, TypeVar, cast

from jobset.api import meta
from jobset.kube import client, informer, requests
from jobset.local.controllers import models

T = TypeVar('T', bound=meta.Object)

SLICES: Final = requests.Resource('discovery.k8s.io', 'v1', 'endpointslices', 'EndpointSlice')
STORAGE_CLASSES: Final = requests.Resource('storage.k8s.io', 'v1', 'storageclasses', 'StorageClass', namespaced=False)
VOLUMES: Final = requests.Resource('', 'v1', 'persistentvolumes', 'PersistentVolume', namespaced=False)


class Informers:
    """Informers by resource. Controllers ask for theirs when they are made; then :meth:`run` follows them all."""

    def __init__(self, source: client.Client, *, settings: informer.Watching | None = None) -> None:
        self.source = source
        self.settings = settings
        self._informers: dict[requests.Resource, tuple[type[Any], informer.Informer[Any]]] = {}

    def of(self, resource: requests.Resource, model: type[T]) -> informer.Informer[T]:
        """The informer of a resource, all of whose users read it as the same model."""
        if resource not in self._informers:
            self._informers[resource] = model, informer.Informer(self.source, resource, model, settings=self.settings)
        known, found = self._informers[resource]
        if known is not model:
            raise TypeError(f'{resource}: read as {known.__name__} already, not as {model.__name__}')
        return cast('informer.Informer[T]', found)

    def pods(self) -> informer.Informer[models.Pod]:
        """Pods."""
        return self.of(requests.PODS, models.Pod)

    def nodes(self) -> informer.Informer[models.Node]:
        """Nodes."""
        return self.of(requests.NODES, models.Node)

    def services(self) -> informer.Informer[models.Service]:
        """Services."""
        return self.of(requests.SERVICES, models.Service)

    def slices(self) -> informer.Informer[models.EndpointSlice]:
        """Endpoint slices."""
        return self.of(SLICES, models.EndpointSlice)

    def namespaces(self) -> informer.Informer[models.Namespace]:
        """Namespaces."""
        return self.of(requests.NAMESPACES, models.Namespace)

    def jobs(self) -> informer.Informer[models.Job]:
        """Jobs."""
        return self.of(requests.JOBS, models.Job)

    def claims(self) -> informer.Informer[models.Claim]:
        """Claims of storage."""
        return self.of(requests.CLAIMS, models.Claim)

    def volumes(self) -> informer.Informer[models.Volume]:
        """Storage."""
        return self.of(VOLUMES, models.Volume)

    def storage_classes(self) -> informer.Informer[models.StorageClass]:
        """Ways to make storage."""
        return self.of(STORAGE_CLASSES, models.StorageClass)

    def leases(self) -> informer.Informer[models.Lease]:
        """Leases."""
        return self.of(requests.LEASES, models.Lease)

    def events(self) -> informer.Informer[models.Event]:
        """Events."""
        return self.of(requests.EVENTS, models.Event)

    def find(self, resource: requests.Resource) -> informer.Informer[Any] | None:
        """The informer of a resource, when somebody has asked for one."""
        found = self._informers.get(resource)
        return found[1] if found is not None else None

    async def run(self) -> None:
        """Follows all of them until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _, one in self._informers.values():
                group.create_task(one.run())

    async def synced(self) -> None:
        """Waits until each of them has its first list."""
        for _, one in list(self._informers.values()):
            await one.synced()
