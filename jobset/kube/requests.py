"""Requests to an API server as plain values: built here, sent by :mod:`jobset.kube.client`.

Nothing here does I/O, so that tests, the embedded control plane and dry runs can compare what would be sent.
"""

import enum
import re
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec

Body = bytes | msgspec.Struct | dict[str, Any]
"""An object to send: encoded already, or a value that msgspec can encode."""


class Patch(enum.StrEnum):
    """How the body of a PATCH is meant."""

    JSON = 'application/json-patch+json'
    MERGE = 'application/merge-patch+json'
    STRATEGIC = 'application/strategic-merge-patch+json'
    APPLY = 'application/apply-patch+yaml'


class Propagation(enum.StrEnum):
    """What becomes of the dependants of a deleted object."""

    BACKGROUND = 'Background'
    FOREGROUND = 'Foreground'
    ORPHAN = 'Orphan'


WRITES: Final = frozenset({'POST', 'PUT', 'PATCH', 'DELETE'})


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of objects as the server names it in paths."""

    group: str
    """Empty for the core group."""

    version: str
    plural: str
    kind: str
    namespaced: bool = True
    _root: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        base = f'/apis/{self.group}/{self.version}' if self.group else f'/api/{self.version}'
        object.__setattr__(self, '_root', base)

    @property
    def api_version(self) -> str:
        """As written in ``apiVersion``."""
        return f'{self.group}/{self.version}' if self.group else self.version

    def collection(self, namespace: str | None = None) -> str:
        """Path of all objects of a namespace, or of all namespaces."""
        if self.namespaced and namespace:
            return f'{self._root}/namespaces/{_quoted(namespace)}/{self.plural}'
        return f'{self._root}/{self.plural}'

    def item(self, namespace: str | None, name: str) -> str:
        """Path of one object. Raises ValueError where a path would name something else than one object."""
        if not name or (self.namespaced and not namespace):
            raise ValueError(f'{self.plural}: an object is named by {"namespace and " * self.namespaced}name')
        return f'{self.collection(namespace)}/{_quoted(name)}'

    def subresource(self, namespace: str | None, name: str, subresource: str) -> str:
        """Path of a part of one object, as ``status``."""
        return f'{self.item(namespace, name)}/{subresource}'

    def __str__(self) -> str:
        return f'{self.plural}.{self.group}' if self.group else self.plural


class Request(msgspec.Struct, frozen=True, gc=False):
    """One request; ``path`` and ``query`` are percent-encoded already."""

    method: str
    path: str
    query: str = ''
    body: bytes | None = None
    content_type: str = 'application/json'
    accept: str = ''
    """The form of the answer that is asked for, as a Table; empty for plain JSON."""

    @property
    def is_write(self) -> bool:
        """Whether it may change anything."""
        return self.method in WRITES

    @property
    def target(self) -> str:
        """Path and query."""
        return f'{self.path}?{self.query}' if self.query else self.path

    def __str__(self) -> str:
        # The body may hold secrets, and the query adds nothing that a reader of an error needs.
        return f'{self.method} {self.path}'


LEASES: Final = Resource('coordination.k8s.io', 'v1', 'leases', 'Lease')
EVENTS: Final = Resource('events.k8s.io', 'v1', 'events', 'Event')
JOBS: Final = Resource('batch', 'v1', 'jobs', 'Job')
PODS: Final = Resource('', 'v1', 'pods', 'Pod')
SERVICES: Final = Resource('', 'v1', 'services', 'Service')
CLAIMS: Final = Resource('', 'v1', 'persistentvolumeclaims', 'PersistentVolumeClaim')
CONFIG_MAPS: Final = Resource('', 'v1', 'configmaps', 'ConfigMap')
NODES: Final = Resource('', 'v1', 'nodes', 'Node', namespaced=False)
NAMESPACES: Final = Resource('', 'v1', 'namespaces', 'Namespace', namespaced=False)


_PARTIAL: Final = 'as={};g=meta.k8s.io;v=v1'
METADATA: Final = f'application/json;{_PARTIAL.format("PartialObjectMetadata")}'
METADATA_LIST: Final = f'application/json;{_PARTIAL.format("PartialObjectMetadataList")}'
"""Forms of answers that have only the metadata of objects: of one or of watches, and of lists."""


def read(resource: Resource, namespace: str | None, name: str, *, subresource: str = '') -> Request:
    """Read one object, or a part of it."""
    return Request('GET', _path(resource, namespace, name, subresource))


def list_(
    resource: Resource,
    namespace: str | None = None,
    *,
    label_selector: str | None = None,
    field_selector: str | None = None,
    limit: int = 0,
    continue_: str = '',
    accept: str = '',
) -> Request:
    """Read all objects that match, at most ``limit`` at once when it is not 0."""
    query = _query(
        labelSelector=label_selector,
        fieldSelector=field_selector,
        limit=limit,
        **{'continue': continue_},
    )
    return Request('GET', resource.collection(namespace), query, accept=accept)


def watch(
    resource: Resource,
    namespace: str | None = None,
    *,
    label_selector: str | None = None,
    field_selector: str | None = None,
    since: str | None,
    timeout_seconds: int,
    accept: str = '',
) -> Request:
    """Stream changes after the resource version ``since``; None streams all objects first, then changes."""
    start = (
        {'sendInitialEvents': 'true', 'resourceVersionMatch': 'NotOlderThan'}
        if since is None
        else {'resourceVersion': since}
    )
    query = _query(
        watch='true',
        allowWatchBookmarks='true',
        labelSelector=label_selector,
        fieldSelector=field_selector,
        timeoutSeconds=timeout_seconds,
        **start,
    )
    return Request('GET', resource.collection(namespace), query, accept=accept)


def create(resource: Resource, namespace: str | None, body: Body) -> Request:
    """Create an object; a server that has one of that name answers :class:`~jobset.kube.errors.AlreadyExists`."""
    return Request('POST', resource.collection(namespace), body=encode(body))


def replace(resource: Resource, namespace: str | None, name: str, body: Body, *, subresource: str = '') -> Request:
    """Write an object as a whole; with a ``resourceVersion`` in it, only if it has not changed since."""
    return Request('PUT', _path(resource, namespace, name, subresource), body=encode(body))


def patch(
    resource: Resource,
    namespace: str | None,
    name: str,
    body: Body | list[Any],
    kind: Patch,
    *,
    subresource: str = '',
    field_manager: str = '',
    force: bool = False,
    dry_run: bool = False,
) -> Request:
    """Change parts of an object, or with ``dry_run`` only see whether that can be.

    ``field_manager`` is needed, and ``force`` has a meaning, with APPLY only.
    """
    query = ''
    if field_manager or force or dry_run:
        query = _query(fieldManager=field_manager, force='true' if force else '', dryRun='All' if dry_run else '')
    return Request('PATCH', _path(resource, namespace, name, subresource), query, encode(body), kind)


def delete(
    resource: Resource,
    namespace: str | None,
    name: str,
    *,
    propagation: Propagation | None = None,
    uid: str | None = None,
    resource_version: str | None = None,
    grace_seconds: int | None = None,
) -> Request:
    """Delete one object; with ``uid`` or ``resource_version`` only if it is still that one."""
    options = _delete_options(propagation, grace_seconds)
    preconditions = {
        key: value for key, value in (('uid', uid), ('resourceVersion', resource_version)) if value is not None
    }
    if preconditions:
        options['preconditions'] = preconditions
    return Request('DELETE', resource.item(namespace, name), body=encode(options))


def delete_collection(
    resource: Resource,
    namespace: str,
    *,
    label_selector: str | None = None,
    field_selector: str | None = None,
    propagation: Propagation | None = None,
) -> Request:
    """Delete all objects of a namespace that match. Raises ValueError without any selector."""
    if not label_selector and not field_selector:
        raise ValueError(f'{resource.plural}: a selector is needed to delete a collection')
    query = _query(labelSelector=label_selector, fieldSelector=field_selector)
    options = _delete_options(propagation, None)
    return Request('DELETE', resource.collection(namespace), query, encode(options))


def encode(body: Body | list[Any]) -> bytes:
    """The body as JSON."""
    return body if isinstance(body, bytes) else _encode(body)


_encode: Final = msgspec.json.Encoder().encode


def _path(resource: Resource, namespace: str | None, name: str, subresource: str) -> str:
    if subresource:
        return resource.subresource(namespace, name, subresource)
    return resource.item(namespace, name)


def _query(**parameters: str | int | None) -> str:
    wanted = {key: value for key, value in parameters.items() if value}
    return urlencode(wanted) if wanted else ''


def _quoted(name: str) -> str:
    # Names that Kubernetes gives out need no quoting, and looking for that is quicker than doing it.
    return name if _PLAIN.fullmatch(name) else quote(name, safe='')


_PLAIN: Final = re.compile(r'[A-Za-z0-9_.~-]*', re.ASCII)


def _delete_options(propagation: Propagation | None, grace_seconds: int | None) -> dict[str, Any]:
    options: dict[str, Any] = {'apiVersion': 'v1', 'kind': 'DeleteOptions'}
    if propagation is not None:
        options['propagationPolicy'] = propagation
    if grace_seconds is not None:
        options['gracePeriodSeconds'] = grace_seconds
    return options
