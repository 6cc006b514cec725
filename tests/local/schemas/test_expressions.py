"""CEL expressions: what is refused before it is ever evaluated, and what the functions of Kubernetes come to."""

from typing import Any

import pytest

from jobset.local.schemas import custom, expressions

_NODE = custom.part(
    {
        'type': 'object',
        'properties': {
            'text': {'type': 'string'},
            'number': {'type': 'integer'},
            'inner': {'type': 'object', 'properties': {'x': {'type': 'integer'}, 'y': {'type': 'string'}}},
            'list': {
                'type': 'array',
                'items': {'type': 'object', 'properties': {'a': {'type': 'integer'}, 'b': {'type': 'string'}}},
            },
            'labels': {'type': 'object', 'additionalProperties': {'type': 'string'}},
            'free': {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True},
        },
    }
)
_VALUE = {
    'text': 'b,a',
    'number': 3,
    'inner': {'x': 1, 'y': 'z'},
    'list': [{'a': 1, 'b': 'p'}, {'a': 2, 'b': 'q'}],
    'labels': {'k': 'v'},
    'free': {'deep': {'er': 1}},
}


@pytest.mark.parametrize(
    'source',
    [
        'self.',
        'self.nothing == 1',
        'self.inner.nothing == 1',
        'self.text.length == 1',
        'other == 1',
        'self.text.shout() == "A"',
        'self.list.all(x, y > 1)',
        'self.?text.hasValue()',
    ],
)
def test_refused(source: str) -> None:
    with pytest.raises(expressions.RefusedError, match=r'^compilation failed: '):
        expressions.compiled(source, _NODE)


@pytest.mark.parametrize(
    'source',
    [
        'self.free.anything.at.all == 1',
        'self.labels.any == "v"',
        'self.list.all(x, x.whatever > 1)',
        '"self.nothing" == self.text',
        "has(self.inner) && self.text.startsWith('other(')",
    ],
)
def test_accepted(source: str) -> None:
    expressions.compiled(source, _NODE)


@pytest.mark.parametrize(
    ('source', 'value'),
    [
        ('self.text.split(",")', ['b', 'a']),
        ('self.text.upperAscii()', 'B,A'),
        ('self.text.replace("b", "c")', 'c,a'),
        ('self.text.substring(2)', 'a'),
        ('self.text.find("[a-z]$")', 'a'),
        ('self.text.findAll("[a-z]")', ['b', 'a']),
        ('["b", "a"].join("-")', 'b-a'),
        ('"é".size()', 1),
        ('size("é")', 1),
        ('[3, 1].isSorted()', False),
        ('[1, 3].isSorted() && [3, 1].sum() == 4 && [3, 1].min() == 1', True),
        ('[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2', True),
        ('quantity("1Gi").compareTo(quantity("1024Mi"))', 0),
        ('quantity("1").add(quantity("500m")).isGreaterThan(quantity("1"))', True),
        ('quantity("2k").asInteger()', 2000),
        ('isQuantity("x") || isQuantity("1Mi")', True),
        ('url("https://h:1/p?q=1").getPort()', '1'),
        ('url("https://h:1/p?q=1").getQuery()["q"]', ['1']),
        ('isURL("x")', False),
        ('ip("127.0.0.1").isLoopback() && ip("::1").family() == 6', True),
        ('isIP("1.2.3") || isCIDR("10.0.0.0/8")', True),
        ('"%s is %d".format(["a", 3])', 'a is 3'),
        ('self.list.map(x, x.a)', [1, 2]),
        ('self.list == [{"a": 1, "b": "p"}, {"a": 2, "b": "q"}]', True),
        ('self.inner.x == 1 && self.inner == {"x": 1, "y": "z"}', True),
        ('self.list.exists(x, x.b == "q")', True),
        ('{"x": 1, "y": "z"} in [self.inner]', True),
        ('self.free.deep.er', 1),
        ('self.list[1].b', 'q'),
        ('self.labels["k"]', 'v'),
    ],
)
def test_value(source: str, value: Any) -> None:
    assert expressions.compiled(source, _NODE).value(_VALUE, None) == value


@pytest.mark.parametrize(
    ('source', 'text'),
    [
        ('self.labels["none"] == ""', 'no such key: none'),
        ('self.number / 0 == 1', 'division by zero'),
    ],
)
def test_failed(source: str, text: str) -> None:
    with pytest.raises(expressions.FailedError, match=text):
        expressions.compiled(source, _NODE).value(_VALUE, None)
