from collections.abc import Iterator
from typing import Any

import pytest

from jobset.api import embedded, equality

Json = Any


@pytest.mark.parametrize(
    ('one', 'other', 'same'),
    [
        pytest.param({}, None, True, id='nothing and an empty object'),
        pytest.param({'a': None, 'b': [], 'c': {}}, {}, True, id='empty fields and none'),
        pytest.param({'a': {'b': {'c': []}}}, {}, True, id='nothing deep down'),
        pytest.param({'a': [1, 2]}, {'a': [2, 1]}, False, id='the order of a list'),
        pytest.param({'tolerations': [{}]}, {'tolerations': []}, False, id='an empty entry is an entry'),
        pytest.param({'args': ['']}, {'args': []}, False, id='an empty text in a list is an entry'),
        pytest.param({'args': [None]}, {'args': ['']}, False, id='null and an empty text in a list'),
        pytest.param({'limits': {'m': '1Gi'}}, {'limits': {'m': '1024Mi'}}, True, id='quantities by value'),
        pytest.param({'limits': {'cpu': 1}}, {'limits': {'cpu': '1000m'}}, True, id='a number and a text'),
        pytest.param({'limits': {'cpu': '1'}}, {'limits': {'cpu': '2'}}, False, id='other quantities'),
        pytest.param({'limits': {'cpu': '0'}}, {'limits': {}}, False, id='none of a resource and no word of it'),
        pytest.param({'limits': {'cpu': 'x'}}, {'limits': {'cpu': 'x'}}, True, id='no quantity at all'),
        pytest.param({'sizeLimit': '1Ki'}, {'sizeLimit': 1024}, True, id='a single quantity'),
        pytest.param({'image': '1Gi'}, {'image': '1024Mi'}, False, id='a text that only looks like a quantity'),
        pytest.param({'nodeSelector': {'a': ''}}, {}, False, id='a selector for an empty value'),
        pytest.param({'nodeSelector': {}}, {}, True, id='an empty selector of nodes'),
        pytest.param(
            {'labels': {'requests': '1'}}, {'labels': {'requests': '1000m'}}, False, id='a label is no quantity'
        ),
        pytest.param({'hostNetwork': False}, {}, True, id='a flag that is off by nature'),
        pytest.param({'enableServiceLinks': False}, {}, False, id='a flag that is on by nature'),
        pytest.param({'suspend': False}, {}, False, id='a flag that may be unknown'),
        pytest.param({'initialDelaySeconds': 0}, {}, True, id='a number that is zero by nature'),
        pytest.param({'backoffLimit': 0}, {}, False, id='a number that has another default'),
        pytest.param({'schedulerName': ''}, {}, True, id='an empty text'),
        pytest.param({'storageClassName': ''}, {}, False, id='a text that says something when empty'),
        pytest.param({'namespaceSelector': {}}, {}, False, id='an object that says something when empty'),
        pytest.param({'emptyDir': {}}, {'emptyDir': {'medium': ''}}, True, id='two empty volumes'),
        pytest.param({'port': '80'}, {'port': 80}, False, id='a port by name and by number'),
        pytest.param([{'name': 'a'}], ({'name': 'a', 'resources': {}},), True, id='lists of any kind'),
    ],
)
def test_semantic(one: Json, other: Json, same: bool) -> None:
    assert equality.semantic(one, other) is same
    assert equality.semantic(other, one) is same


def test_the_tables_name_every_quantity_of_the_schema_and_nothing_else() -> None:
    found: dict[str, set[str]] = {'map': set(), 'field': set(), 'free': set()}
    for name, node in _fields(embedded.load()):
        of = node.get('additionalProperties', {})
        if 'pattern' in node:
            found['field'].add(name)
        elif 'pattern' in of:
            found['map'].add(name)
        elif of:
            found['free'].add(name)

    assert found == {'map': equality.RESOURCES, 'field': equality.QUANTITIES, 'free': equality.FREE_MAPS}


@pytest.mark.parametrize(
    ('table', 'kind'),
    [
        pytest.param(equality.FALSE_IS_NOTHING, 'boolean', id='flags'),
        pytest.param(equality.ZERO_IS_NOTHING, 'integer', id='numbers'),
        pytest.param(equality.EMPTY_TEXT_COUNTS, 'string', id='texts'),
        pytest.param(equality.EMPTY_OBJECT_COUNTS, 'object', id='objects'),
    ],
)
def test_the_tables_name_only_fields_that_are_there(table: frozenset[str], kind: str) -> None:
    assert table - {name for name, node in _fields(embedded.load()) if node.get('type') == kind} == set()


def _fields(schemas: Json) -> Iterator[tuple[str, Json]]:
    for node in schemas.values():
        yield from _below(node)


def _below(node: Json) -> Iterator[tuple[str, Json]]:
    for name, child in node.get('properties', {}).items():
        yield name, child
        yield from _below(child)
    for key in ('items', 'additionalProperties'):
        if key in node:
            yield from _below(node[key])
