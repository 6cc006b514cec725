"""Which groups, versions and resources the server has, in the forms that clients ask for.

Source: Kubernetes API concepts, "API Discovery"; shapes and orders as kube-apiserver 1.37 gives them. All functions
take the kinds that are served, in any order; the server keeps the answers until the kinds change.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from jobset.local import resources
from jobset.local.objects import Object

AGGREGATED: Final = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
"""The content type of :func:`aggregated`."""

_ORDER: Final = (
    '',
    'apiregistration.k8s.io',
    'apps',
    'events.k8s.io',
    'authentication.k8s.io',
    'authorization.k8s.io',
    'autoscaling',
    'batch',
    'certificates.k8s.io',
    'networking.k8s.io',
    'policy',
    'rbac.authorization.k8s.io',
    'storage.k8s.io',
    'admissionregistration.k8s.io',
    'apiextensions.k8s.io',
    'scheduling.k8s.io',
    'coordination.k8s.io',
    'node.k8s.io',
    'discovery.k8s.io',
    'resource.k8s.io',
    'flowcontrol.apiserver.k8s.io',
    'storagemigration.k8s.io',
)
"""Groups of Kubernetes itself: kubectl takes a short name from the first group that has it."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A subresource, where it differs from what is usual: the kind of its parent, read and written."""

    verbs: Sequence[str] = ('get', 'patch', 'update')
    group: str = ''
    version: str = ''
    kind: str = ''


_USUAL: Final = _Part()
_PARTS: Final = {
    'binding': _Part(verbs=('create',), kind='Binding'),
    'eviction': _Part(verbs=('create',), group='policy', version='v1', kind='Eviction'),
    'finalize': _Part(verbs=('update',)),
    'log': _Part(verbs=('get',)),
    'scale': _Part(group='autoscaling', version='v1', kind='Scale'),
    'token': _Part(verbs=('create',), group='authentication.k8s.io', version='v1', kind='TokenRequest'),
}


def core(kinds: Iterable[resources.Kind], address: str) -> Object:
    """The answer to ``/api``: versions of the core group. ``address`` is host and port of the server."""
    return {
        'kind': 'APIVersions',
        'versions': _versions(kind for kind in kinds if not kind.group),
        'serverAddressByClientCIDRs': [{'clientCIDR': '0.0.0.0/0', 'serverAddress': address}],
    }


def groups(kinds: Sequence[resources.Kind]) -> Object:
    """The answer to ``/apis``."""
    named = [_group(kinds, name) for name in _group_names(kinds) if name]
    return {'kind': 'APIGroupList', 'apiVersion': 'v1', 'groups': named}


def group(kinds: Sequence[resources.Kind], name: str) -> Object | None:
    """The answer to ``/apis/<group>``; None when there is no such group."""
    if not name or all(kind.group != name for kind in kinds):
        return None
    return {'kind': 'APIGroup', 'apiVersion': 'v1'} | _group(kinds, name)


def resource_list(kinds: Sequence[resources.Kind], group_name: str, version: str) -> Object | None:
    """The answer to ``/api/v1`` and ``/apis/<group>/<version>``; None when that is not served."""
    own = _of(kinds, group_name, version)
    if not own:
        return None
    listed: list[Object] = []
    for kind in own:
        listed.append(_resource(kind))
        listed.extend(_subresource(kind, name) for name in sorted(kind.subresources))
    body: Object = {'kind': 'APIResourceList'}
    if group_name:
        # Not in the core group: its answer is older than the rule.
        body['apiVersion'] = 'v1'
    return body | {'groupVersion': own[0].api_version, 'resources': listed}


def aggregated(kinds: Sequence[resources.Kind], *, is_core: bool) -> Object:
    """Everything at once: the answer to ``/api`` and to ``/apis`` for those who accept :data:`AGGREGATED`."""
    names = [name for name in _group_names(kinds) if bool(name) != is_core]
    items = [
        {
            'metadata': {'name': name} if name else {},
            'versions': [
                {
                    'version': version,
                    'resources': [_aggregated_resource(kind) for kind in _of(kinds, name, version)],
                    'freshness': 'Current',
                }
                for version in _versions(kind for kind in kinds if kind.group == name)
            ],
        }
        for name in names
    ]
    return {'kind': 'APIGroupDiscoveryList', 'apiVersion': 'apidiscovery.k8s.io/v2', 'metadata': {}, 'items': items}


def etag(body: Object) -> str:
    """What changes with the body: for clients that ask whether what they have is still true."""
    return f'"{hashlib.sha512(msgspec.json.encode(body)).hexdigest().upper()}"'


def paths(kinds: Sequence[resources.Kind]) -> Object:
    """The answer to ``/``."""
    roots = {f'/api/{kind.version}' if not kind.group else f'/apis/{kind.group}/{kind.version}' for kind in kinds}
    named = {f'/apis/{kind.group}' for kind in kinds if kind.group}
    others = {'/api', '/apis', '/healthz', '/livez', '/readyz', '/openapi/v2', '/openapi/v3', '/version'}
    return {'paths': sorted(roots | named | others)}


def accepts_aggregated(accept: str) -> bool:
    """Whether a header ``Accept`` asks for :data:`AGGREGATED`."""
    for one in accept.split(','):
        media, *parameters = (part.strip() for part in one.split(';'))
        wanted = {'g=apidiscovery.k8s.io', 'v=v2', 'as=APIGroupDiscoveryList'}
        if media == 'application/json' and wanted <= set(parameters):
            return True
    return False


def _group(kinds: Iterable[resources.Kind], name: str) -> Object:
    versions = [
        {'groupVersion': f'{name}/{version}', 'version': version}
        for version in _versions(kind for kind in kinds if kind.group == name)
    ]
    return {'name': name, 'versions': versions, 'preferredVersion': versions[0]}


def _group_names(kinds: Iterable[resources.Kind]) -> list[str]:
    found = {kind.group for kind in kinds}
    known = [name for name in _ORDER if name in found]
    return known + sorted(found - set(known))


def _of(kinds: Iterable[resources.Kind], group_name: str, version: str) -> list[resources.Kind]:
    own = [kind for kind in kinds if (kind.group, kind.version) == (group_name, version)]
    return sorted(own, key=lambda kind: kind.plural)


_VERSION: Final = re.compile(r'v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?')


def _versions(kinds: Iterable[resources.Kind]) -> list[str]:
    """The best first: stable before beta before alpha, then by number; names of another form come last, by letter."""
    return sorted({kind.version for kind in kinds}, key=_rank)


def _rank(version: str) -> tuple[int, int, int, str]:
    match = _VERSION.fullmatch(version)
    if match is None:
        return 3, 0, 0, version
    stage = {None: 0, 'beta': 1, 'alpha': 2}[match[2]]
    return stage, -int(match[1]), -int(match[3] or 0), version


def _resource(kind: resources.Kind) -> Object:
    found: Object = {
        'name': kind.plural,
        'singularName': kind.singular,
        'namespaced': kind.namespaced,
        'kind': kind.kind,
        'verbs': list(kind.verbs),
    }
    return found | _names(kind)


def _names(kind: resources.Kind) -> Object:
    found: Object = {}
    if kind.short_names:
        found['shortNames'] = list(kind.short_names)
    if kind.categories:
        found['categories'] = list(kind.categories)
    return found


def _subresource(kind: resources.Kind, name: str) -> Object:
    part = _PARTS.get(name, _USUAL)
    found: Object = {'name': f'{kind.plural}/{name}', 'singularName': '', 'namespaced': kind.namespaced}
    if part.group:
        found |= {'group': part.group, 'version': part.version}
    return found | {'kind': part.kind or kind.kind, 'verbs': list(part.verbs)}


def _aggregated_resource(kind: resources.Kind) -> Object:
    # Kubernetes leaves group and version of its own kinds to be those of the place where they stand.
    group_name, version = ('', '') if kind.group in _ORDER else (kind.group, kind.version)
    found: Object = {
        'resource': kind.plural,
        'responseKind': {'group': group_name, 'version': version, 'kind': kind.kind},
        'scope': 'Namespaced' if kind.namespaced else 'Cluster',
        'singularResource': kind.singular,
        'verbs': list(kind.verbs),
    } | _names(kind)
    if kind.subresources:
        found['subresources'] = [
            {
                'subresource': name,
                'responseKind': {
                    'group': part.group or group_name,
                    'version': part.version or version,
                    'kind': part.kind or kind.kind,
                },
                'verbs': list(part.verbs),
            }
            for name in sorted(kind.subresources)
            for part in (_PARTS.get(name, _USUAL),)
        ]
    return found
