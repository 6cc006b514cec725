"""One change in the forms that an API server takes: operations, a merge, a strategic merge; and odd ones of each."""

import json
import random
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from jobset.local.objects import Object

Json: TypeAlias = Any
"""Whatever JSON can hold."""

_NAMED: Final = ('name', 'type', 'uid', 'key')
"""Keys by which entries of lists are told apart, as most lists of pods and Jobs have them."""


def operations(before: Json, after: Json) -> list[Object]:
    """RFC 6902."""
    return list(_operations(before, after, ''))


def _operations(before: Json, after: Json, path: str) -> Iterator[Object]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() - after.keys()):
            yield {'op': 'remove', 'path': f'{path}/{_escaped(key)}'}
        for key, value in after.items():
            where = f'{path}/{_escaped(key)}'
            if key not in before:
                yield {'op': 'add', 'path': where, 'value': value}
            else:
                yield from _operations(before[key], value, where)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _operations(one, other, f'{path}/{place}')
    elif before != after or type(before) is not type(after):
        yield {'op': 'replace', 'path': path, 'value': after}


def _escaped(key: str) -> str:
    return key.replace('~', '~0').replace('/', '~1')


def merge(before: Json, after: Json) -> Json:
    """RFC 7386."""
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return after
    patch: Object = {key: None for key in before if key not in after}
    for key, value in after.items():
        if key not in before:
            patch[key] = value
        elif before[key] != value:
            patch[key] = merge(before[key], value)
    return patch


def strategic(before: Json, after: Json) -> Json:
    """The same, with lists by the names of their entries."""
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return after
    patch: Object = {key: None for key in before if key not in after}
    for key, value in after.items():
        if key not in before:
            patch[key] = value
        elif before[key] != value:
            patch[key] = (
                _strategic_list(before[key], value) if isinstance(value, list) else strategic(before[key], value)
            )
    return patch


def _strategic_list(before: Json, after: list[Any]) -> list[Any]:
    name = next((key for key in _NAMED if after and all(isinstance(one, dict) and key in one for one in after)), None)
    if name is None or not isinstance(before, list):
        return after
    known = {one[name]: one for one in before if isinstance(one, dict) and isinstance(one.get(name), str | int)}
    patch: list[Any] = []
    for one in after:
        old = known.pop(one[name], None) if isinstance(one[name], str | int) else None
        if old is None:
            patch.append(one)
        elif old != one:
            patch.append({name: one[name], **strategic(old, one)})
    return patch + [{'$patch': 'delete', name: gone} for gone in known]


ODD_OPERATIONS: Final[tuple[Any, ...]] = (
    [],
    {},
    [{'op': 'remove', 'path': '/spec/nothing'}],
    [{'op': 'replace', 'path': '/metadata/labels/nothing', 'value': 'x'}],
    [{'op': 'add', 'path': '/metadata/labels/x', 'value': 'y'}],
    [{'op': 'add', 'path': '/metadata/finalizers/-', 'value': 'example.com/x'}],
    [{'op': 'add', 'path': '/metadata/finalizers', 'value': ['example.com/y']}],
    [{'op': 'test', 'path': '/kind', 'value': 'Other'}],
    [{'op': 'test', 'path': '/metadata/namespace', 'value': 'differential'}],
    [{'op': 'test', 'path': '/metadata/labels', 'value': None}],
    [{'op': 'copy', 'from': '/metadata/name', 'path': '/metadata/annotations'}],
    [
        {'op': 'add', 'path': '/metadata/labels', 'value': {}},
        {'op': 'copy', 'from': '/kind', 'path': '/metadata/labels/k'},
    ],
    [{'op': 'move', 'from': '/spec/suspend', 'path': '/metadata/suspend'}],
    [{'op': 'explode', 'path': '/spec'}],
    [{'path': '/spec', 'value': {}}],
    [{'op': 'add', 'path': '', 'value': {}}],
    [{'op': 'add', 'path': 'spec', 'value': {}}],
    [{'op': 'remove', 'path': '/metadata'}],
    [{'op': 'remove', 'path': '/metadata/managedFields'}],
    [{'op': 'replace', 'path': '/metadata/managedFields', 'value': [{}]}],
    [{'op': 'remove', 'path': '/spec/containers/0'}],
    [{'op': 'remove', 'path': '/spec/containers/5'}],
    [{'op': 'add', 'path': '/spec/template/metadata/labels/a~1b', 'value': 'c'}],
    [{'op': 'add', 'path': '/spec/suspend', 'value': True}],
    [{'op': 'replace', 'path': '/spec/suspend', 'value': 'yes'}],
)


def odd_operations(chance: random.Random) -> Json:
    """Operations that somebody has written by hand."""
    return chance.choice(ODD_OPERATIONS)


ODD_STRATEGIC: Final[tuple[Any, ...]] = (
    {},
    {'$patch': 'replace', 'metadata': {'name': 'x'}},
    {'$patch': 'delete'},
    {'metadata': {'$patch': 'sideways'}},
    {'metadata': {'labels': {'$patch': 'replace', 'only': 'this'}}},
    {'metadata': {'labels': {'$patch': 'delete'}}},
    {'metadata': {'labels': {'$retainKeys': ['team'], 'team': 'red'}}},
    {'metadata': {'finalizers': ['example.com/more']}},
    {'metadata': {'$deleteFromPrimitiveList/finalizers': ['example.com/wait']}},
    {'metadata': {'$setElementOrder/finalizers': ['b.c/d', 'a.b/c'], 'finalizers': ['a.b/c', 'b.c/d']}},
    {'metadata': {'ownerReferences': [{'uid': 'b', 'apiVersion': 'v1', 'kind': 'ConfigMap', 'name': 'b'}]}},
    {'metadata': {'ownerReferences': [{'$patch': 'delete', 'uid': 'b'}]}},
    {'metadata': {'ownerReferences': [{'kind': 'ConfigMap'}]}},
    {'metadata': {'managedFields': [{}]}},
    {'spec': {'$patch': 'replace'}},
    {'spec': {'tolerations': [{'key': 'a', 'operator': 'Exists'}]}},
    {'spec': {'containers': [{'name': 'main', '$patch': 'delete'}]}},
    {'spec': {'containers': [{'name': 'main', '$patch': 'replace', 'image': 'x'}]}},
    {'spec': {'containers': [{'$patch': 'replace'}]}},
    {'spec': {'containers': [{'image': 'without a name'}]}},
    {'spec': {'containers': [{'name': 'main', 'env': [{'name': 'A', 'value': 'b'}]}]}},
    {'spec': {'containers': [{'name': 'main', 'image': 'other'}], '$setElementOrder/containers': [{'name': 'main'}]}},
    {'spec': {'containers': 'x'}},
    {'spec': {'colour': 'red'}},
    {'spec': {'activeDeadlineSeconds': 100}},
    {'spec': {'suspend': True}},
    {'status': {'conditions': [{'type': 'Ready', 'status': 'True'}]}},
    {'status': {'conditions': [{'type': 'Ready', '$patch': 'delete'}]}},
)


def odd_strategic(chance: random.Random, within: str) -> Json:
    """A strategic merge that somebody has written by hand; what is of a pod, where the pod template is."""
    patch = chance.choice(ODD_STRATEGIC)
    if within and 'containers' in (patch.get('spec') or {}):
        for step in reversed(within.split('.')):
            patch = {step: patch}
    return patch


def twice(chance: random.Random, body: Object) -> bytes:
    """JSON in which one field comes twice."""
    text = json.dumps(body)
    key = chance.choice(('"spec": {', '"metadata": {', '"template": {', '"apiVersion": '))
    first = '"colour": "red", "colour": "blue", ' if key.endswith('{') else '"kind": "Other", '
    head, found, tail = text.partition(key)
    if not found:
        return text.encode()
    return (head + (found + first if key.endswith('{') else first + found) + tail).encode()
