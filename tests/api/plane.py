"""What an API server does with a JobSet by its CRD, as far as the recorded cases need it: prune, default, judge.

The rules in CEL are few, and written here a second time in Python, found by their text: a rule that is not known here
fails the test. The real server's answers are compared in the golden run; here the same cases run without one.
"""

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jobset.api import schema

Json = Any
Schema = dict[str, Any]

NOT_CHECKED = '<nil>'
"""The field of the causes that tell of a number out of range, and that the rules in CEL have been left out."""

_BLOCKING = frozenset({'required', 'type', 'enum', 'maxItems'})

_RULES: dict[str, Callable[[Json], bool]] = {
    "!(has(self.startupPolicy) && self.startupPolicy.startupPolicyOrder == 'InOrder' "
    '&& self.replicatedJobs.exists(x, has(x.dependsOn)))': lambda spec: (
        spec.get('startupPolicy', {}).get('startupPolicyOrder') != 'InOrder'
        or not any('dependsOn' in job for job in spec['replicatedJobs'])
    ),
    'self.templates.all(t, !has(t.metadata.namespace) || size(t.metadata.namespace) == 0)': lambda policy: all(
        not template['metadata'].get('namespace') for template in policy['templates']
    ),
}


def admitted(obj: Json) -> Json:
    """The object as it comes out of pruning and defaulting."""
    return {**obj, 'spec': _completed(obj.get('spec', {}), _spec())}


def judge(obj: Json, old: Json | None = None) -> list[str]:
    """The fields that the schema, and then its rules in CEL, complain of."""
    found = list(_structure(obj['spec'], _spec(), 'spec'))
    paths = {path for _, path in found}
    if any(kind in _BLOCKING for kind, _ in found):
        return sorted(paths | {NOT_CHECKED})
    return sorted(paths | set(_rules(obj['spec'], None if old is None else old['spec'], _spec(), 'spec')))


def _spec() -> Schema:
    properties: Any = schema.jobset()['properties']
    spec: Schema = properties['spec']
    return spec


def _completed(value: Json, node: Schema) -> Json:
    if isinstance(value, list) and 'items' in node:
        return [_completed(item, node['items']) for item in value]
    if not isinstance(value, dict) or 'properties' not in node:
        return copy.deepcopy(value)
    properties = node['properties']
    kept = {key: _completed(item, properties[key]) for key, item in value.items() if key in properties}
    for key, child in properties.items():
        if 'default' in child and kept.get(key) is None:
            kept[key] = copy.deepcopy(child['default'])
    return kept


def _structure(value: Json, node: Schema, path: str) -> Iterator[tuple[str, str]]:
    """What is wrong with the value, each as the schema's word and a path."""
    if node.get('x-kubernetes-int-or-string'):
        if not isinstance(value, int | str):
            yield 'type', path
        return
    types: dict[str, Any] = {
        'object': dict,
        'array': list,
        'string': str,
        'boolean': bool,
        'integer': int,
        'number': (int, float),
    }
    if not isinstance(value, types[node['type']]):
        yield 'type', path
        return
    if 'enum' in node and value not in node['enum']:
        yield 'enum', path
    if 'minimum' in node and value < node['minimum']:
        yield 'minimum', path
    if node.get('format') == 'int32' and not -(2**31) <= value < 2**31:
        # The server tells this without a path.
        yield 'format', NOT_CHECKED
    if isinstance(value, list):
        yield from _list(value, node, path)
    if isinstance(value, dict):
        yield from (('required', f'{path}.{name}') for name in node.get('required', ()) if name not in value)
        for key, item in value.items():
            child = node.get('properties', {}).get(key) or node.get('additionalProperties')
            if child:
                yield from _structure(item, child, f'{path}.{key}')


def _list(value: list[Json], node: Schema, path: str) -> Iterator[tuple[str, str]]:
    if len(value) > node.get('maxItems', len(value)):
        yield 'maxItems', path
    seen = []
    for i, item in enumerate(value):
        yield from _structure(item, node['items'], f'{path}[{i}]')
        if keys := node.get('x-kubernetes-list-map-keys'):
            if (identity := [item.get(key) for key in keys]) in seen:
                yield 'duplicate', f'{path}[{i}]'
            seen.append(identity)


def _rules(value: Json, old: Json | None, node: Schema, path: str) -> Iterator[str]:
    for rule in node.get('x-kubernetes-validations', ()):
        if rule['rule'] == 'self == oldSelf':
            if old is not None and value != old:
                yield path
            continue
        try:
            holds = _RULES[rule['rule']](value)
        except KeyError as error:
            # As in CEL: to look into a field that is not there is an error, and refuses the object.
            if rule['rule'] not in _RULES:
                raise AssertionError(f'a rule that this plane does not know: {rule["rule"]}') from error
            holds = False
        if not holds:
            yield path
    if isinstance(value, Mapping):
        for key, item in value.items():
            if child := node.get('properties', {}).get(key):
                yield from _rules(item, old.get(key) if isinstance(old, Mapping) else None, child, f'{path}.{key}')
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from _rules(item, _counterpart(item, old, node), node['items'], f'{path}[{i}]')


def _counterpart(item: Json, old: Json | None, node: Schema) -> Json | None:
    """The old item with the same key; items of other lists have none."""
    keys = node.get('x-kubernetes-list-map-keys')
    if not keys or not isinstance(old, list):
        return None
    return next((other for other in old if all(other.get(key) == item.get(key) for key in keys)), None)
