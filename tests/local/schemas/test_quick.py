"""What is judged quickly is judged as the slow way would."""

import copy
import json
from typing import Any

import pytest

from jobset.local import schemas
from jobset.local.schemas import custom, decoding, quick, structure, unknown
from tests.local.schemas import cases, record

_JOBS = schemas.builtin('batch', 'v1', 'Job').root
_THINGS = custom.root(cases.THING)
_is_job = quick.test(_JOBS)
_is_thing = quick.test(_THINGS)
_structure = structure.Structure(_THINGS)


def _slowly(obj: dict[str, Any], node: schemas.Node) -> bool:
    try:
        decoding.check(obj, node)
    except decoding.UndecodableError:
        return False
    return not unknown.fields(obj, node)


@pytest.mark.parametrize('change', cases.CHANGES, ids=json.dumps)
def test_built_in(change: tuple[Any, Any]) -> None:
    job = cases.changed(*change)

    assert _is_job(job) == _slowly(job, _JOBS)


@pytest.mark.parametrize('spec', cases.SPECS, ids=json.dumps)
def test_unknown_fields(spec: Any) -> None:
    obj = record.thing(copy.deepcopy(spec))

    assert not (_is_thing(obj) and unknown.fields(obj, _THINGS))


@pytest.mark.parametrize('spec', cases.SPECS, ids=json.dumps)
def test_structure(spec: Any) -> None:
    obj = record.thing(copy.deepcopy(spec))

    # The slow way may find right what the quick one is not sure of, never the other way round.
    assert not (_structure.fits(obj) and structure.default_mistakes(obj, _THINGS))


def test_most_objects_are_judged_quickly() -> None:
    assert _is_job(cases.JOB | {'metadata': {}, 'spec': {}})
    assert _structure.fits(record.thing(cases.ROW))
    assert _is_thing(record.thing(cases.ROW))
