"""The recorded admission cases, without a server: defaulting, the schema, validation, in the order of the server."""

import copy
import json
import pathlib
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import yaml

from jobset.api import defaulting, features, types, validation
from tests.api import plane

GOLDEN = pathlib.Path(__file__).parents[1] / 'golden'
CONFIGURATIONS = ('default-gates', 'all-gates', 'no-webhooks')

DIFFERENT = {
    'default-gates/depends:self': 'a self-dependency is refused (A3)',
    'default-gates/depends:name-missing': 'the schema judges missing names (A14)',
    'default-gates/names:rj-no-name': 'the schema judges missing names (A14)',
    'default-gates/policies:max-too-big': 'the schema judges numbers out of range (A14)',
    'default-gates/schema:no-template': 'the schema judges missing templates (A14)',
    'default-gates/schema:template-empty': 'the schema judges missing templates (A14)',
    'default-gates/volumes:no-metadata': 'the rule in the schema judges claims without metadata (A14)',
}
"""Where the Go controller is wrong, and we are not: each of these must differ."""


def _cases() -> Iterator[Any]:
    for configuration in CONFIGURATIONS:
        for file in sorted((GOLDEN / configuration / 'admission').glob('*.yaml')):
            document = yaml.safe_load(file.read_text())
            recorded = json.loads(file.with_suffix('.json').read_text())['cases']
            for case, how in document['cases'].items():
                name = f'{configuration}/{file.stem}:{case}'
                yield pytest.param(name, document, how, recorded[case], id=name)


@pytest.mark.parametrize(('name', 'document', 'how', 'recorded'), [*_cases()])
def test_recorded_admission(name: str, document: Any, how: Any, recorded: Any) -> None:
    sent = _changed(how.get('object') or document['base'], how)
    if not sent['metadata'].get('generateName'):
        sent['metadata'].setdefault('name', 'js')
    gates = features.parse(document['gates']) if document.get('webhooks', True) else None

    answer, stored = _create(sent, gates, how.get('given', ()))
    if 'update' in how:
        assert answer == {'code': 201}
        answer = _update(stored, how['update'], gates)

    expected = {'code': recorded['code']}
    if recorded['code'] >= 300:
        expected['fields'] = sorted({cause['field'] for cause in recorded.get('causes', [])})
    elif 'spec' in recorded:
        answer['spec'] = _plain(stored['spec'])
        expected['spec'] = recorded['spec']
    assert (answer == expected) != (name in DIFFERENT), (answer, expected)


def test_every_declared_difference_is_a_case() -> None:
    assert set(DIFFERENT) <= {case.id for case in _cases()}


def _create(sent: Any, gates: features.FeatureGates | None, given: Any) -> tuple[dict[str, Any], Any]:
    sent = copy.deepcopy(sent)
    if gates is not None:
        for operation in defaulting.patch(sent):
            _add(sent, str(operation['path']), operation['value'])
    stored = plane.admitted(sent)
    if wrong := plane.judge(stored):
        return {'code': 422, 'fields': wrong}, stored
    errors = []
    if gates is not None:
        existing = {claim['metadata']['name']: validation.ExistingClaim(claim['spec']) for claim in given}
        jobset = _typed(stored)
        wanted = {name: existing[name] for name in validation.claims_to_look_up(jobset) if name in existing}
        errors = validation.create(jobset, gates=gates, existing_claims=wanted)
    return _answer(errors, 201), stored


def _update(old: Any, change: Any, gates: features.FeatureGates | None) -> dict[str, Any]:
    old = {**old, 'status': change.get('status') or {}}
    new = plane.admitted(_changed(old, change))
    if wrong := plane.judge(new, old):
        return {'code': 422, 'fields': wrong}
    return _answer([] if gates is None else validation.update(_typed(old), _typed(new), gates=gates), 200)


def _answer(errors: list[validation.FieldError], success: int) -> dict[str, Any]:
    if not errors:
        return {'code': success}
    status: Any = validation.status_422('js', errors)
    return {'code': status['code'], 'fields': sorted({cause['field'] for cause in status['details']['causes']})}


def _typed(obj: Any) -> types.JobSet:
    return msgspec.json.decode(msgspec.json.encode(obj), type=types.JobSet)


def _changed(obj: Any, change: Any) -> Any:
    obj = copy.deepcopy(obj)
    for pointer, value in (change.get('set') or {}).items():
        _add(obj, pointer, copy.deepcopy(value))
    for pointer in change.get('unset') or ():
        at, last = _parent(obj, pointer)
        del at[int(last) if isinstance(at, list) else last]
    return obj


def _add(obj: Any, pointer: str, value: Any) -> None:
    at, last = _parent(obj, pointer)
    at[int(last) if isinstance(at, list) else last] = value


def _parent(obj: Any, pointer: str) -> tuple[Any, str]:
    *path, last = (part.replace('~1', '/').replace('~0', '~') for part in pointer.split('/')[1:])
    for part in path:
        obj = obj[int(part)] if isinstance(obj, list) else obj.setdefault(part, {})
    return obj, last


def _plain(value: Any) -> Any:
    """Without the empty objects that a recording leaves out."""
    if isinstance(value, dict):
        dropped = ('resources', 'status', 'metadata')
        return {key: _plain(item) for key, item in value.items() if not (item == {} and key in dropped)}
    return [_plain(item) for item in value] if isinstance(value, list) else value
