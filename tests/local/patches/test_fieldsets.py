"""Sets of fields are sets: what holds for sets of paths holds for them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from jobset.local.patches import fieldsets
from jobset.local.patches.fieldsets import LEAF, SELF

_STEPS = some.sampled_from(['f:a', 'f:b', 'k:{"n":"x"}', 'v:1'])
_PATHS = some.frozensets(some.lists(_STEPS, min_size=1, max_size=3).map(tuple), max_size=6)


def _fields(paths: frozenset[tuple[str, ...]]) -> dict[str, Any]:
    """The set with these paths, by the definition of the form."""
    made: dict[str, Any] = {}
    for path in paths:
        place = made
        for step in path:
            place = place.setdefault(step, {})
        place[SELF] = LEAF
    return _collapsed(made)


def _collapsed(fields: dict[str, Any]) -> dict[str, Any]:
    made = {step: part if step == SELF else _collapsed(part) for step, part in fields.items()}
    return {} if made == {SELF: LEAF} else made


@given(_PATHS, _PATHS)
def test_union(first: frozenset[tuple[str, ...]], second: frozenset[tuple[str, ...]]) -> None:
    assert fieldsets.union(_fields(first), _fields(second)) == _fields(first | second)


@given(_PATHS, _PATHS)
def test_difference(first: frozenset[tuple[str, ...]], second: frozenset[tuple[str, ...]]) -> None:
    assert fieldsets.difference(_fields(first), _fields(second)) == _fields(first - second)


@given(_PATHS, _PATHS)
def test_intersection(first: frozenset[tuple[str, ...]], second: frozenset[tuple[str, ...]]) -> None:
    assert fieldsets.intersection(_fields(first), _fields(second)) == _fields(first & second)


@given(_PATHS)
def test_each_path_is_named_once(paths: frozenset[tuple[str, ...]]) -> None:
    assert len(list(fieldsets.paths(_fields(paths)))) == len(paths)


@pytest.mark.parametrize(
    ('fields', 'paths'),
    [
        ({'f:spec': {'f:replicas': {}}}, ['.spec.replicas']),
        ({'f:spec': {SELF: {}, 'f:a': {}}}, ['.spec', '.spec.a']),
        ({'f:l': {'k:{"b":0,"a":"n"}': {'f:v': {}}}}, ['.l[a="n",b=0].v']),
        ({'f:l': {'v:"x"': {}, 'v:1': {}, 'i:0': {}}}, ['.l[0]', '.l[="x"]', '.l[=1]']),
        ({'f:labels': {'f:k': {}}, 'f:replicas': {}}, ['.replicas', '.labels.k']),
    ],
)
def test_paths(fields: dict[str, Any], paths: list[str]) -> None:
    assert list(fieldsets.paths(fields)) == paths
