"""JSONPath as CRDs use it."""

from typing import Any

import pytest

from jobset.local.schemas import jsonpaths

_OBJECT = {
    'status': {
        'conditions': [
            {'type': 'Ready', 'status': 'True', 'count': 3},
            {'type': 'Completed', 'status': 'False', 'count': 5, 'reason': 'x'},
        ],
        'numbers': [1, 2, 3],
    },
    'metadata': {'annotations': {'a.b/c': 'd', 'plain': 'e'}},
}


@pytest.mark.parametrize(
    ('path', 'values'),
    [
        ('.status.conditions[?(@.type=="Completed")].status', ['False']),
        (".status.conditions[?(@.type=='Ready')].status", ['True']),
        ('.status.conditions[?(@.type != "Ready")].count', [5]),
        ('.status.conditions[?(@.count>3)].type', ['Completed']),
        ('.status.conditions[?(@.count<=3)].type', ['Ready']),
        ('.status.conditions[?(@.reason)].type', ['Completed']),
        ('.status.conditions[*].type', ['Ready', 'Completed']),
        ('.status.numbers[0]', [1]),
        ('.status.numbers[-1]', [3]),
        ('.status.numbers[0:2]', [1, 2]),
        ('.status.numbers[7]', []),
        (r'.metadata.annotations.a\.b/c', ['d']),
        (".metadata.annotations['a.b/c']", ['d']),
        ('{.metadata.annotations.plain}', ['e']),
        ('..type', ['Ready', 'Completed']),
        ('.nothing.at.all', []),
        ('.', [_OBJECT]),
    ],
)
def test_path(path: str, values: list[Any]) -> None:
    assert jsonpaths.compile(path)(_OBJECT) == values


@pytest.mark.parametrize('path', ['.a[', '.a[?(@.x', '.a[?(@.x==y)]', '.a b'])
def test_no_path(path: str) -> None:
    with pytest.raises(jsonpaths.PathError):
        jsonpaths.compile(path)
