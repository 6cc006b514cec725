"""The Go types behind the built-in kinds: which fields there are, in which order, and which of them are pointers.

A Go server decodes an object into structs and writes it out again, and that shows: empty lists vanish, a ``false``
stays where the field is a pointer and vanishes where it is not, some fields are written although nobody gave them,
and the values in its refusals are those structs as JSON. None of it can be read from the OpenAPI documents. So it is
data, made from the declarations of the types::

    python -m jobset.local.kinds.shapes <k8s.io/api> <k8s.io/apimachinery> <k8s.io/kubernetes>

The arguments are the folders of those Go modules. See :mod:`jobset.local.kinds.normal` and
:mod:`jobset.local.kinds.shown` for its use.
"""

import argparse
import functools
import importlib.resources
import json
import pathlib
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

KUBERNETES: Final = '1.37.2'
"""The version whose types these are."""

_FILE: Final = 'shapes.json.z'

ROOTS: Final = (
    'batch.Job',
    'coordination.Lease',
    'core.ConfigMap',
    'core.Endpoints',
    'core.Event',
    'core.Namespace',
    'core.Node',
    'core.PersistentVolume',
    'core.PersistentVolumeClaim',
    'core.Pod',
    'core.Secret',
    'core.Service',
    'core.ServiceAccount',
    'admissionregistration.MutatingWebhookConfiguration',
    'admissionregistration.ValidatingWebhookConfiguration',
    'discovery.EndpointSlice',
    'events.Event',
    'scheduling.PriorityClass',
    'schedulingbeta.PodGroup',
    'schedulingbeta.Workload',
    'storage.StorageClass',
)
_PUBLIC: Final = {
    'admissionregistration': 'admissionregistration/v1',
    'batch': 'batch/v1',
    'coordination': 'coordination/v1',
    'core': 'core/v1',
    'discovery': 'discovery/v1',
    'events': 'events/v1',
    'scheduling': 'scheduling/v1',
    'schedulingbeta': 'scheduling/v1beta1',
    'schedulingv1alpha3': 'scheduling/v1alpha3',
    'storage': 'storage/v1',
}
SHOWN: Final = (
    'batch.PodFailurePolicy',
    'batch.SuccessPolicy',
    'batch.UncountedTerminatedPods',
    'core.PodTemplateSpec',
    'meta.LabelSelector',
)
"""What refusals show as a whole."""

_RENAMED: Final = {'deprecatedserviceaccount': 'serviceAccount'}
_INTERNAL: Final = ('batch', 'core')

_IMPORTS: Final = {'v1': 'core', 'corev1': 'core', 'apiv1': 'core', 'api': 'core', 'metav1': 'meta'}
_SCALARS: Final = {
    'string': 'string',
    'bool': 'bool',
    'byte': 'int',
    'int': 'int',
    'int32': 'int',
    'int64': 'int',
    'uint32': 'int',
    'float64': 'float',
    'types.UID': 'string',
    'types.NodeName': 'string',
    'resource.Quantity': 'quantity',
    'intstr.IntOrString': 'intstr',
    'runtime.RawExtension': 'raw',
    'meta.Time': 'time',
    'meta.MicroTime': 'microtime',
    'meta.FieldsV1': 'raw',
    'meta.Duration': 'string',
}
_STRUCTS: Final = ('time', 'microtime', 'quantity', 'intstr', 'raw')
_STRUCT: Final = re.compile(r'^type (\w+) struct \{\n(.*?)^\}', re.MULTILINE | re.DOTALL)
_ALIAS: Final = re.compile(r'^type (\w+) ((?:\[\]|map\[[\w.]+\])?[\w.]+)$', re.MULTILINE)
_FIELD: Final = re.compile(r'^\s*(?:(\w+)\s+)?([*\[\]\w.]+)(?:\s+`json:"([^"]*)".*`)?\s*(?://.*)?$')


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct as the API has it."""

    name: str
    """In JSON."""

    type: str
    """A scalar or ``package.Type``, after any of ``*`` (pointer), ``[]`` (list) and ``{}`` (map)."""

    omitted: bool
    """Whether it is left out when empty; for a pointer, when there is none. Otherwise it is always written."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One struct."""

    fields: tuple[Field, ...]
    inner: tuple[tuple[str, str, str], ...]
    """The fields as refusals show them, in order: the name shown, the name in JSON, the type. Often none."""


@functools.cache
def load() -> Mapping[str, Shape]:
    """All the structs, by ``package.Type``."""
    packed = importlib.resources.files('jobset.local.kinds').joinpath('data', _FILE).read_bytes()
    data: dict[str, Any] = json.loads(zlib.decompress(packed))['types']
    return {
        name: Shape(
            fields=tuple(Field(*entry) for entry in shape['fields']),
            inner=tuple((shown, json_name, type_) for shown, json_name, type_ in shape.get('inner', ())),
        )
        for name, shape in data.items()
    }


class _Declarations:
    """The type declarations of one set of packages."""

    def __init__(self, folders: Mapping[str, pathlib.Path]) -> None:
        self.structs: dict[str, str] = {}
        self.aliases: dict[str, str] = {}
        for package, folder in folders.items():
            for path in sorted(folder.glob('*types*.go')):
                text = re.sub(r'/\*.*?\*/', '', path.read_text(), flags=re.DOTALL)
                self.structs |= {f'{package}.{name}': body for name, body in _STRUCT.findall(text)}
                self.aliases |= {f'{package}.{name}': target for name, target in _ALIAS.findall(text)}

    def resolve(self, type_: str, package: str) -> str:
        """A Go type as :class:`Field` writes it."""
        if type_ == '[]byte':
            return 'bytes'
        for prefix, written in (('*', '*'), ('[]', '[]'), ('map[', '{}')):
            if type_.startswith(prefix):
                rest = type_[type_.index(']') + 1 :] if prefix == 'map[' else type_[len(prefix) :]
                return written + self.resolve(rest, package)
        full = self._full(type_, package)
        if full in self.aliases and full not in _SCALARS:
            return self.resolve(self.aliases[full], full.partition('.')[0])
        return _SCALARS.get(full, full)

    @staticmethod
    def _full(type_: str, package: str) -> str:
        if type_ in _SCALARS:
            return type_
        prefix, dot, name = type_.rpartition('.')
        return f'{_IMPORTS.get(prefix, prefix)}.{name}' if dot else f'{package}.{name}'

    def fields(self, name: str) -> Iterator[tuple[str, str, str]]:
        """Name in Go (empty when embedded), type and JSON tag of each field."""
        package = name.partition('.')[0]
        for line in self.structs[name].splitlines():
            if line.strip().startswith('//') or not (found := _FIELD.match(line)):
                continue
            go, type_, tag = found.groups()
            yield go or '', self.resolve(type_, package), tag or ''


def _public(declared: _Declarations, name: str) -> list[tuple[str, str, bool]]:
    found = []
    for _, type_, tag in declared.fields(name):
        json_name, *options = tag.split(',')
        if 'inline' in options or not json_name:
            if type_ != 'meta.TypeMeta':
                found += _public(declared, type_.lstrip('*'))
            continue
        # Nothing that Go declares as a struct is empty for ``omitempty``.
        struct = type_[0] not in '*[{' and ('.' in type_ or type_ in _STRUCTS)
        found.append((json_name, type_, ('omitzero' in options) or ('omitempty' in options and not struct)))
    return found


def _inner(declared: _Declarations, name: str) -> list[tuple[str, str, str]]:
    found = []
    for go, type_, tag in declared.fields(name):
        json_name, *options = tag.split(',')
        if go:
            found.append((json_name or go, json_name or _lowered(go), type_ + ',omitempty' * ('omitempty' in options)))
        elif type_ == 'meta.ObjectMeta':
            found += [(shown, f'metadata.{name}', inner) for shown, name, inner in _inner(declared, type_)]
        elif type_ != 'meta.TypeMeta':
            found += _inner(declared, type_.lstrip('*'))
    return found


def _lowered(go: str) -> str:
    """The name in JSON of a field of an internal struct, as far as a rule says it."""
    head = re.match(r'[A-Z]+(?![a-z])|[A-Z]', go)
    return go if head is None else head[0].lower() + go[head.end() :]


def _reached(declared: _Declarations, listed: Callable[[str], list[Any]], roots: Sequence[str]) -> dict[str, list[Any]]:
    """The fields of ``roots`` and of all structs within them."""
    found: dict[str, list[Any]] = {}
    waiting = list(roots)
    while waiting:
        if (name := waiting.pop()) in found or name not in declared.structs:
            continue
        found[name] = listed(name)
        for entry in found[name]:
            waiting += [word for word in re.findall(r'[\w.]+', ','.join(map(str, entry))) if word in declared.structs]
    return found


def collect(api: pathlib.Path, machinery: pathlib.Path, kubernetes: pathlib.Path) -> dict[str, Any]:
    """The data of :func:`load`, from the folders of the Go modules."""
    meta = {'meta': machinery / 'pkg/apis/meta/v1'}
    public = _Declarations({package: api / path for package, path in _PUBLIC.items()} | meta)
    internal = _Declarations({package: kubernetes / 'pkg/apis' / package for package in _INTERNAL} | meta)
    types = {
        name: {'fields': fields} for name, fields in _reached(public, lambda name: _public(public, name), ROOTS).items()
    }
    for name, fields in _reached(internal, lambda name: _inner(internal, name), SHOWN).items():
        known = {field[0].lower(): field[0] for field in types.get(name, {'fields': []})['fields']} | _RENAMED
        types.setdefault(name, {'fields': []})['inner'] = [
            (shown, known.get(json_name.lower(), json_name), type_) for shown, json_name, type_ in fields
        ]
    return {'kubernetes': KUBERNETES, 'types': dict(sorted(types.items()))}


def main() -> None:
    """Make the data of this package anew."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    for name in ('api', 'machinery', 'kubernetes'):
        parser.add_argument(name, type=pathlib.Path)
    arguments = parser.parse_args()
    data = collect(arguments.api, arguments.machinery, arguments.kubernetes)
    target = pathlib.Path(__file__).parent / 'data' / _FILE
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(zlib.compress(json.dumps(data, separators=(',', ':')).encode(), 9))


if __name__ == '__main__':
    main()
