"""What schemas say of the cases, compared with what a real server said."""

import copy
import datetime
import gzip
import json
from typing import Any

import pytest

from jobset.local import objects, patches, schemas
from jobset.local.problems import Problem
from jobset.local.schemas import custom, definitions
from tests.local.schemas import cases, record

_ANSWERS = json.loads(gzip.decompress(record.FILE.read_bytes()))
_JOBS = schemas.builtin('batch', 'v1', 'Job')
_THINGS = custom.Custom('Judged', 'v1', cases.THING)
_NOW = datetime.datetime(2026, 12, 1, tzinfo=datetime.UTC)


def _ids(values: list[Any]) -> list[str]:
    return [json.dumps(value) for value in values]


def _sorted(causes: Any) -> list[tuple[str, str, str]]:
    """Real servers give them in the order of Go's maps, which is none."""
    return sorted((cause['field'], cause['reason'], cause['message']) for cause in causes)


def _judged(schema: schemas.Schema, obj: dict[str, Any], old: dict[str, Any] | None = None) -> dict[str, Any]:
    """As a server does, unknown fields being an error: the answer in the form in which it is recorded."""
    try:
        schema.check(obj)
    except Problem as problem:
        return {'code': problem.code, 'message': problem.message, 'causes': []}
    unknown = schema.unknown_fields(obj)
    if unknown:
        fields = ', '.join(f'unknown field "{path}"' for path in unknown)
        prefix = f'{obj["kind"]} in version "v1" cannot be handled as a {obj["kind"]}'
        return {'code': 400, 'message': f'{prefix}: strict decoding error: {fields}', 'causes': []}
    schema.default(obj)
    causes = [cause.as_object() for cause in schema.validate(obj, old)]
    return {'code': 422, 'causes': _sorted(causes)} if causes else {'code': 201, 'spec': obj['spec']}


def _comparable(answer: dict[str, Any]) -> dict[str, Any]:
    """A recorded answer without the sentence that is made of its causes."""
    if answer['code'] == 422:
        return {'code': 422, 'causes': _sorted(answer['causes'])}
    return {**answer, 'code': 201} if answer['code'] == 200 else answer


@pytest.mark.parametrize(
    ('change', 'answer'), list(zip(cases.CHANGES, _ANSWERS['jobs'], strict=True)), ids=_ids(cases.CHANGES)
)
def test_wrong_types_of_a_built_in_kind(change: tuple[Any, Any], answer: dict[str, Any]) -> None:
    found = _judged(_JOBS, cases.changed(*change))

    assert (found['code'], found.get('message')) == (answer['code'], answer.get('message'))


@pytest.mark.parametrize(
    ('spec', 'answer'), list(zip(cases.SPECS, _ANSWERS['unknown'], strict=True)), ids=_ids(cases.SPECS)
)
def test_custom_object(spec: Any, answer: dict[str, Any]) -> None:
    assert _judged(_THINGS, record.thing(copy.deepcopy(spec))) == _comparable(answer)


@pytest.mark.parametrize(
    ('spec', 'answer'), list(zip(cases.SPECS, _ANSWERS['specs'], strict=True)), ids=_ids(cases.SPECS)
)
def test_custom_object_with_unknown_fields_dropped(spec: Any, answer: dict[str, Any]) -> None:
    obj = record.thing(copy.deepcopy(spec))
    if answer['code'] != 400:
        _THINGS.prune(obj)

    assert _judged(_THINGS, obj) == _comparable(answer)


@pytest.mark.parametrize(
    ('metadata', 'answer'), list(zip(cases.METADATA, _ANSWERS['metadata'], strict=True)), ids=_ids(cases.METADATA)
)
def test_metadata_of_a_custom_object(metadata: dict[str, Any], answer: dict[str, Any]) -> None:
    assert _judged(_THINGS, record.thing({}, **copy.deepcopy(metadata))) == _comparable(answer)


@pytest.mark.parametrize(
    ('patch', 'answer'), list(zip(cases.UPDATES, _ANSWERS['updates'], strict=True)), ids=_ids(cases.UPDATES)
)
def test_what_was_wrong_before_may_stay(patch: dict[str, Any], answer: dict[str, Any]) -> None:
    old = record.thing(cases.BEFORE)
    new = copy.deepcopy(patches.merge(old, {'spec': patch}))

    found = _judged(_THINGS, new, old)

    assert (found['code'], found.get('causes')) == (_comparable(answer)['code'], _comparable(answer).get('causes'))


@pytest.mark.parametrize('name', list(cases.DEFINITIONS))
def test_definition(name: str) -> None:
    definition = copy.deepcopy(cases.DEFINITIONS[name])
    definitions.default(definition)

    found = [cause.as_object() for cause in definitions.validate_crd(definition)]

    assert _sorted(found) == _sorted(_ANSWERS['definitions'][name].get('causes', ()))


def test_table() -> None:
    (kind,) = definitions.kinds(_established(record.definition()))
    recorded = _ANSWERS['table']

    columns = [
        {key: getattr(column, key) for key in ('name', 'type', 'format', 'description', 'priority')}
        for column in kind.columns
    ]
    # Tables tell ages: this one was made in the second after the definition was.
    now = objects.moment(_ANSWERS['established']['conditions'][0]['lastTransitionTime'])
    cells = [column.cell(record.thing(cases.ROW, name='row'), now) for column in kind.columns]

    assert columns == recorded['columnDefinitions']
    assert cells == recorded['rows'][0]['cells']


def test_established() -> None:
    status = _established(record.definition())['status']
    for condition in (*status['conditions'], *_ANSWERS['established']['conditions']):
        del condition['lastTransitionTime']

    assert status == _ANSWERS['established']


def _established(definition: dict[str, Any]) -> dict[str, Any]:
    definitions.default(definition)
    return definitions.establish(definition, _NOW)
