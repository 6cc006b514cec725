"""Makes the vendored table of messages: ``python -m jobset.local.server.protobuf.vendoring MODULES``.

The folder holds the Go modules ``api``, ``apimachinery`` and ``apiextensions-apiserver`` of one version of Kubernetes,
as ``go env GOMODCACHE`` has them below ``k8s.io``: ``api@v0.37.2`` and so on. Numbers and types of fields come from
their ``generated.proto`` files; what fields are called in JSON, and which are left out at their zero values, from the
tags of the Go structs beside them. Kept are the messages of the kinds that the plane reads, and what they refer to.
"""

import argparse
import gzip
import pathlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from jobset.local.server.protobuf import messages
from jobset.local.server.protobuf.messages import Field, Table

VERSION: Final = 'v0.37.2'

_API: Final = 'k8s.io.api'
_META: Final = 'k8s.io.apimachinery.pkg.apis.meta.v1'
_FOLDERS: Final = {
    'k8s.io.api': 'api',
    'k8s.io.apimachinery': 'apimachinery',
    'k8s.io.apiextensions_apiserver': 'apiextensions-apiserver',
}
"""The module of a Protocol Buffers package, by its first words."""

_READ: Final = {
    'v1': (
        f'{_API}.core.v1',
        (
            'Binding ConfigMap Endpoints Event Namespace Node PersistentVolume PersistentVolumeClaim Pod Secret '
            'Service ServiceAccount'
        ),
    ),
    'admissionregistration.k8s.io/v1': (
        f'{_API}.admissionregistration.v1',
        'MutatingWebhookConfiguration ValidatingWebhookConfiguration',
    ),
    'apiextensions.k8s.io/v1': ('k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1', 'CustomResourceDefinition'),
    'authentication.k8s.io/v1': (f'{_API}.authentication.v1', 'SelfSubjectReview'),
    'authorization.k8s.io/v1': (
        f'{_API}.authorization.v1',
        'LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview',
    ),
    'batch/v1': (f'{_API}.batch.v1', 'Job'),
    'coordination.k8s.io/v1': (f'{_API}.coordination.v1', 'Lease'),
    'discovery.k8s.io/v1': (f'{_API}.discovery.v1', 'EndpointSlice'),
    'events.k8s.io/v1': (f'{_API}.events.v1', 'Event'),
    'policy/v1': (f'{_API}.policy.v1', 'Eviction PodDisruptionBudget'),
    'rbac.authorization.k8s.io/v1': (f'{_API}.rbac.v1', 'ClusterRole ClusterRoleBinding Role RoleBinding'),
    'scheduling.k8s.io/v1': (f'{_API}.scheduling.v1', 'PriorityClass'),
    'scheduling.k8s.io/v1beta1': (f'{_API}.scheduling.v1beta1', 'PodGroup Workload'),
    'storage.k8s.io/v1': (f'{_API}.storage.v1', 'StorageClass'),
}
"""API version → package, and kinds."""

_ALSO: Final = (f'{_META}.DeleteOptions',)

_MESSAGE: Final = re.compile(r'^message (\w+) \{\n(.*?)^\}', re.MULTILINE | re.DOTALL)
_FIELD: Final = re.compile(r'^  (?:(optional|repeated) ([\w.]+)|map<string, ([\w.]+)>) (\w+) = (\d+);', re.MULTILINE)
_STRUCT: Final = re.compile(r'^type (\w+) struct \{\n(.*?)^\}', re.MULTILINE | re.DOTALL)
_MEMBER: Final = re.compile(r'^\t(?:\w+\s+)?(\S+)\s+`(.*)`', re.MULTILINE)
_TAG: Final = re.compile(r'(\w+):"([^"]*)"')
_LIST: Final = re.compile(r'^type (\w+) \[\]', re.MULTILINE)

_SCALARS: Final = frozenset({'bool', 'bytes', 'double', 'int32', 'int64', 'string'})


@dataclass(frozen=True)
class _Tagged:
    """What the Go struct says about a field."""

    name: str
    omits_empty: bool = False
    """Which the zero value of a struct is not, to Go."""

    omits_zero: bool = False


class Modules:
    """The Go modules, read package by package."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self._packages: dict[str, dict[str, dict[int, Field]]] = {}
        self.lists: set[str] = set()

    def message(self, name: str) -> dict[int, Field]:
        """The fields of a message by number. Raises KeyError."""
        package, _, short = name.rpartition('.')
        if package not in self._packages:
            self._packages[package] = dict(self._read(package))
        return self._packages[package][short]

    def _read(self, package: str) -> Iterator[tuple[str, dict[int, Field]]]:
        first = next(first for first in _FOLDERS if package.startswith(f'{first}.'))
        folder = self._folder / f'{_FOLDERS[first]}@{VERSION}' / package.removeprefix(first)[1:].replace('.', '/')
        go = '\n'.join(one.read_text() for one in sorted(folder.glob('*.go')) if one.name != 'generated.pb.go')
        tags = {struct: dict(_tagged(body)) for struct, body in _STRUCT.findall(go)}
        lists = set(_LIST.findall(go))
        for message, body in _MESSAGE.findall((folder / 'generated.proto').read_text()):
            if message in lists:
                self.lists.add(f'{package}.{message}')
            yield message, dict(_fields(body, package, tags.get(message, {})))


def _tagged(body: str) -> Iterator[tuple[int, _Tagged]]:
    for kind, tag in _MEMBER.findall(body):
        tags = dict(_TAG.findall(tag))
        if 'json' not in tags or tags.get('protobuf', '-') == '-':
            continue
        name, *options = tags['json'].split(',')
        empty = 'omitempty' in options and not kind.startswith('*')
        yield int(tags['protobuf'].split(',')[1]), _Tagged(name, empty, 'omitzero' in options)


def _fields(body: str, package: str, tags: dict[int, _Tagged]) -> Iterator[tuple[int, Field]]:
    for label, kind, entry, name, number in _FIELD.findall(body):
        said = tags.get(int(number), _Tagged(name))
        is_scalar = kind in _SCALARS
        yield (
            int(number),
            Field(
                said.name,
                _full(kind or entry, package),
                is_repeated=label == 'repeated',
                is_map=bool(entry),
                drops_zero=said.omits_zero or (said.omits_empty and is_scalar),
            ),
        )


def _full(kind: str, package: str) -> str:
    if kind in _SCALARS:
        return kind
    return kind[1:] if kind.startswith('.') else f'{package}.{kind}'


def collect(folder: pathlib.Path) -> Table:
    """The table of the messages to keep."""
    modules = Modules(folder)
    kinds = {
        f'{api_version}/{kind}': f'{package}.{kind}'
        for api_version, (package, names) in _READ.items()
        for kind in names.split()
    }
    kept: dict[str, dict[int, Field]] = {}
    wanted = [*_ALSO, *kinds.values()]
    while wanted:
        name = wanted.pop()
        if name not in kept and name not in messages.SPECIAL:
            kept[name] = modules.message(name)
            wanted += _references(kept[name].values())
    return Table(kinds, dict(sorted(kept.items())), sorted(modules.lists & kept.keys()))


def _references(fields: Iterable[Field]) -> Iterator[str]:
    return (field.type for field in fields if field.type not in _SCALARS)


def main() -> None:
    """Make the vendored table of messages from Go modules of Kubernetes."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument('folder', type=pathlib.Path)
    table = collect(parser.parse_args().folder)
    # No time in the header: the same input makes the same file.
    messages.TABLE.write_bytes(gzip.compress(msgspec.json.encode(table), 9, mtime=0))


if __name__ == '__main__':
    main()
