"""Objects that every cluster has: its first namespaces and classes, and what each namespace is given.

Source: kube-apiserver and kube-controller-manager, as they set a new cluster up.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

from jobset.api import meta
from jobset.kube import client, errors, informer, requests, workqueue
from jobset.local.controllers import models, shared
from jobset.local.controllers.volumes import binding

NAMESPACES: Final = ('default', 'kube-system', 'kube-public', 'kube-node-lease')
ACCOUNTS: Final = requests.Resource('', 'v1', 'serviceaccounts', 'ServiceAccount')
CONFIG_MAPS: Final = requests.Resource('', 'v1', 'configmaps', 'ConfigMap')
PRIORITY_CLASSES: Final = requests.Resource(
    'scheduling.k8s.io', 'v1', 'priorityclasses', 'PriorityClass', namespaced=False
)
ACCOUNT: Final = 'default'
AUTHORITY: Final = 'kube-root-ca.crt'

_PRIORITIES: Final[Mapping[str, tuple[int, str]]] = {
    'system-cluster-critical': (
        2_000_000_000,
        'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
    ),
    'system-node-critical': (
        2_000_001_000,
        'Used for system critical pods that must not be moved from their current node.',
    ),
}
STORAGE_CLASS: Final = 'local'
_STORAGE_CLASS: Final[dict[str, Any]] = {
    'apiVersion': shared.STORAGE_CLASSES.api_version,
    'kind': shared.STORAGE_CLASSES.kind,
    'metadata': {'name': STORAGE_CLASS, 'annotations': {'storageclass.kubernetes.io/is-default-class': 'true'}},
    'provisioner': binding.PROVISIONER,
    'reclaimPolicy': 'Delete',
    'volumeBindingMode': 'Immediate',
}
_AUTHORITY_DESCRIPTION: Final = (
    'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the '
    'internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes '
    'clusters.'
)


def first_objects() -> Sequence[tuple[requests.Resource, dict[str, Any]]]:
    """What a new cluster has."""
    namespaces = [
        (requests.NAMESPACES, {'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': name}})
        for name in NAMESPACES
    ]
    classes = [
        (
            PRIORITY_CLASSES,
            {
                'apiVersion': PRIORITY_CLASSES.api_version,
                'kind': PRIORITY_CLASSES.kind,
                'metadata': {'name': name},
                'value': value,
                'description': description,
            },
        )
        for name, (value, description) in _PRIORITIES.items()
    ]
    return [*namespaces, *classes, (shared.STORAGE_CLASSES, _STORAGE_CLASS)]


async def create_first(source: client.Client) -> None:
    """Makes those of them that are not there yet."""
    for resource, obj in first_objects():
        await _create(source, resource, None, obj)


async def _create(source: client.Client, resource: requests.Resource, namespace: str | None, obj: object) -> None:
    try:
        await source.send(requests.create(resource, namespace, requests.encode(obj)))  # type: ignore[arg-type]
    except errors.AlreadyExists:
        return


class Defaults:
    """Gives each namespace its service account and, where there is one, the authority of the server."""

    def __init__(self, informers: shared.Informers, *, authority: str = '') -> None:
        self._source = informers.source
        self._wanted: dict[requests.Resource, dict[str, Any]] = {ACCOUNTS: {'metadata': {'name': ACCOUNT}}}
        if authority:
            self._wanted[CONFIG_MAPS] = {
                'metadata': {
                    'name': AUTHORITY,
                    'annotations': {'kubernetes.io/description': _AUTHORITY_DESCRIPTION},
                },
                'data': {'ca.crt': authority},
            }
        self._namespaces = informers.namespaces()
        self._namespaces.subscribe(self._seen_namespace)
        self._informers = {
            resource: informer.Informer(
                informers.source,
                resource,
                meta.Partial,
                field_selector=f'metadata.name={obj["metadata"]["name"]}',
                settings=informers.settings,
            )
            for resource, obj in self._wanted.items()
        }
        for one in self._informers.values():
            one.subscribe(self._seen_object)
        self._queue: workqueue.WorkQueue[str] = workqueue.WorkQueue()

    async def run(self) -> NoReturn:
        """Works until cancelled. The shared informers have to run beside it."""
        async with asyncio.TaskGroup() as group:
            for one in self._informers.values():
                group.create_task(one.run())
            for one in self._informers.values():
                await one.synced()
            await self._queue.run(self._pass, workers=4)
        raise AssertionError('nobody stops the queue')

    def _seen_namespace(self, old: models.Namespace | None, new: models.Namespace | None) -> None:
        if old is None and new is not None:
            self._queue.add(new.metadata.name)

    def _seen_object(self, old: 'meta.Partial | None', new: 'meta.Partial | None') -> None:
        if new is None and old is not None:
            self._queue.add(old.metadata.namespace)

    async def _pass(self, name: str) -> None:
        namespace = self._namespaces.get('', name)
        if namespace is None or namespace.metadata.is_deleting:
            return
        for resource, obj in self._wanted.items():
            if self._informers[resource].get(name, obj['metadata']['name']) is None:
                kind = {'apiVersion': resource.api_version, 'kind': resource.kind}
                try:
                    await _create(self._source, resource, name, kind | obj)
                except (errors.Forbidden, errors.NotFound):
                    # The namespace is on its way out.
                    return
