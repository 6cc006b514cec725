"""OpenAPI v3 documents, one for each group and version, as served under ``/openapi/v3``.

kubectl reads them to know which fields there are (``explain``), and which parameters an operation has (validation,
field managers, dry runs). Those of custom kinds have the paths of a built-in kind under other names.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from jobset.local import resources
from jobset.local.schemas import components
from jobset.local.schemas.components import GVK, PER_DOCUMENT, REFERENCE, Json

_INFO: Final = {'title': 'Kubernetes', 'version': 'v1.37.2'}
_CUSTOM_INFO: Final = {'title': 'Kubernetes CRD Swagger', 'version': 'v0.1.0'}
_DELETE_OPTIONS: Final = PER_DOCUMENT[0]
_META: Final = 'io.k8s.apimachinery.pkg.apis.meta.v1.'

_NAMESPACED: Final = ('apis/batch/v1', 'batch', 'v1', 'jobs', 'Job', 'io.k8s.api.batch.v1.')
_CLUSTER: Final = (
    'apis/scheduling.k8s.io/v1',
    'scheduling.k8s.io',
    'v1',
    'priorityclasses',
    'PriorityClass',
    'io.k8s.api.scheduling.v1.',
)
"""The built-in kinds whose paths those of custom kinds are made from."""


def builtin() -> Mapping[str, bytes]:
    """The documents of the built-in kinds as JSON, by path: ``api/v1``, ``apis/batch/v1``. Made when looked at."""
    return _BUILTIN


def of_kinds(kinds: Sequence[resources.Kind]) -> Mapping[str, bytes]:
    """The documents of custom kinds as JSON, by path: ``apis/jobset.x-k8s.io/v1alpha2``."""
    by_path: dict[str, list[resources.Kind]] = {}
    for kind in kinds:
        by_path.setdefault(f'apis/{kind.group}/{kind.version}', []).append(kind)
    return {path: msgspec.json.encode(_custom(members)) for path, members in by_path.items()}


def served(kinds: Sequence[resources.Kind]) -> Mapping[str, bytes]:
    """The documents of all kinds, built-in or custom; of a built-in group all that is known of it."""
    made = dict(
        of_kinds([kind for kind in kinds if f'apis/{kind.group}/{kind.version}' not in _BUILTIN and kind.group])
    )
    for kind in kinds:
        path = f'apis/{kind.group}/{kind.version}' if kind.group else f'api/{kind.version}'
        if path in _BUILTIN:
            made[path] = _BUILTIN[path]
    return made


class _Builtin(Mapping[str, bytes]):
    def __init__(self) -> None:
        self._made: dict[str, bytes] = {}

    def __getitem__(self, path: str) -> bytes:
        if path not in self._made:
            self._made[path] = msgspec.json.encode(_document(path))
        return self._made[path]

    def __iter__(self) -> Iterator[str]:
        return iter(components.paths())

    def __len__(self) -> int:
        return len(components.paths())


_BUILTIN: Final = _Builtin()


def _document(path: str) -> Json:
    known = components.paths()[path]
    group = path.split('/')[1] if path.startswith('apis/') else ''
    names = [*known['kinds'].values(), *components.references(known['paths'])]
    return _assembled(known['paths'], _components(names, group, path.rsplit('/', 1)[-1]))


def _components(names: Sequence[str], group: str, version: str) -> Json:
    """The vendored schemas of these names and all that they refer to."""
    vendored = components.schemas()
    made = {name: vendored[name] for name in sorted(components.closure(names, vendored))}
    if _DELETE_OPTIONS in made:
        uses = [{'group': '', 'kind': 'DeleteOptions', 'version': 'v1'}]
        if (group, version) != ('', 'v1'):
            uses.append({'group': group, 'kind': 'DeleteOptions', 'version': version})
        made[_DELETE_OPTIONS] = {**made[_DELETE_OPTIONS], GVK: uses}
    return made


def _assembled(paths: Json, schemas: Json) -> Json:
    security = {
        'BearerToken': {
            'type': 'apiKey',
            'description': 'Bearer Token authentication',
            'name': 'authorization',
            'in': 'header',
        }
    }
    parts = {'schemas': schemas, 'securitySchemes': security}
    return {'openapi': '3.0.0', 'info': _INFO, 'paths': paths, 'components': parts}


def _custom(kinds: Sequence[resources.Kind]) -> Json:
    paths: Json = {}
    schemas: Json = {}
    for kind in kinds:
        paths |= _custom_paths(kind)
        schemas |= _custom_schemas(kind)
    names = [name for name in components.references([paths, schemas]) if name not in schemas]
    made = _assembled(paths, _components(names, kinds[0].group, kinds[0].version) | schemas)
    return made | {'info': _CUSTOM_INFO}


def _prefix(kind: resources.Kind) -> str:
    """What stands before the names of schemas of a group: the domain from behind."""
    return f'{".".join(reversed(kind.group.split(".")))}.{kind.version}.'


def _custom_schemas(kind: resources.Kind) -> Json:
    uses = [{'group': kind.group, 'kind': kind.kind, 'version': kind.version}]
    items = {
        'type': 'array',
        'description': f'List of {kind.plural}.',
        'items': _reference(f'{_prefix(kind)}{kind.kind}'),
    }
    properties = kind.schema.document['properties']
    listed = {
        'description': f'{kind.kind}List is a list of {kind.kind}',
        'type': 'object',
        'required': ['items'],
        'properties': {
            'apiVersion': properties['apiVersion'],
            'items': items,
            'kind': properties['kind'],
            'metadata': {'description': 'Standard list metadata.', 'allOf': [_reference(f'{_META}ListMeta')]},
        },
        GVK: [{**uses[0], 'kind': f'{kind.kind}List'}],
    }
    return {
        f'{_prefix(kind)}{kind.kind}': {**_published(kind.schema.document), GVK: uses},
        f'{_prefix(kind)}{kind.kind}List': listed,
    }


def _published(schema: Json) -> Json:
    """A structural schema with in words what its extensions mean, for clients that do not know them."""
    made = dict(schema)
    for key in ('properties', 'items', 'additionalProperties'):
        part = made.get(key)
        if key == 'properties' and part:
            made[key] = {name: _published(each) for name, each in part.items()}
        elif key != 'properties' and isinstance(part, dict):
            made[key] = _published(part)
    if made.get('x-kubernetes-int-or-string') and not made.get('anyOf'):
        made['anyOf'] = [{'type': 'integer'}, {'type': 'string'}]
    if made.get('x-kubernetes-embedded-resource'):
        standard = components.schemas()['io.k8s.api.core.v1.Pod']['properties']
        whole = {name: standard[name] for name in ('apiVersion', 'kind', 'metadata')}
        made['properties'] = whole | made.get('properties', {})
        made['required'] = sorted({*made.get('required', ()), 'apiVersion', 'kind'})
    return made


def _reference(name: str) -> Json:
    return {'$ref': f'{REFERENCE}{name}'}


def _custom_paths(kind: resources.Kind) -> Json:
    path, group, version, plural, name, prefix = _NAMESPACED if kind.namespaced else _CLUSTER
    known = components.paths()[path]['paths']
    made = {key: item for key, item in known.items() if f'/{plural}' in key}
    if 'status' not in kind.subresources:
        made = {key: item for key, item in made.items() if not key.endswith('/status')}
    elif not kind.namespaced:
        item = made[f'/{path}/{plural}/{{name}}']
        made[f'/{path}/{plural}/{{name}}/status'] = {key: item[key] for key in ('get', 'put', 'patch', 'parameters')}
    renamed = {
        f'{REFERENCE}{prefix}{name}': f'{REFERENCE}{_prefix(kind)}{kind.kind}',
        f'{REFERENCE}{prefix}{name}List': f'{REFERENCE}{_prefix(kind)}{kind.kind}List',
        group: kind.group,
        version: kind.version,
        name: kind.kind,
    }
    base = f'/apis/{kind.group}/{kind.version}'
    return {
        f'{base}{key.removeprefix(f"/{path}").replace(f"/{plural}", f"/{kind.plural}")}': _renamed(item, renamed)
        for key, item in made.items()
    }


_SPARE: Final = frozenset(
    {'operationId', 'tags', 'application/json;stream=watch', 'application/strategic-merge-patch+json'}
)
"""What operations on custom kinds do not have. kubectl patches strategically where that is named here."""


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_renamed(part, names) for part in value]
    if not isinstance(value, dict):
        return names.get(value, value) if isinstance(value, str) else value
    made = {key: _renamed(part, names) for key, part in value.items() if key not in _SPARE}
    if '*/*' in made:
        anything = made.pop('*/*')
        made |= {'application/json': anything, 'application/yaml': anything}
    return made
