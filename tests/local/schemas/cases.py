"""Objects and definitions, right and wrong. What a real server says of them is in ``data``."""

import copy
from typing import Any, Final

Json = dict[str, Any]

JOB: Final[Json] = {
    'apiVersion': 'batch/v1',
    'kind': 'Job',
    'metadata': {'name': 'o', 'labels': {'a': 'b'}},
    'spec': {
        'template': {
            'metadata': {'annotations': {'x': 'y'}},
            'spec': {
                'restartPolicy': 'Never',
                'containers': [
                    {
                        'name': 'c',
                        'image': 'i',
                        'env': [{'name': 'A', 'value': 'b'}],
                        'resources': {'requests': {'cpu': 0.5, 'memory': '1024Mi'}},
                        'ports': [{'containerPort': 80}],
                    }
                ],
            },
        }
    },
}

_C: Final = ('spec', 'template', 'spec', 'containers', 0)

CHANGES: Final[list[tuple[tuple[Any, ...], Any]]] = [
    (('spec', 'parallelism'), 'x'),
    (('spec', 'parallelism'), 1.5),
    (('spec', 'parallelism'), 1.0),
    (('spec', 'parallelism'), 2**31),
    (('spec', 'parallelism'), True),
    (('spec', 'parallelism'), None),
    (('spec', 'parallelism'), {}),
    (('spec', 'suspend'), 'x'),
    (('spec', 'suspend'), 1),
    (('spec',), 'x'),
    (('spec',), []),
    (('spec', 'template'), 3),
    ((*_C, 'name'), 3),
    ((*_C, 'name'), {}),
    ((*_C, 'name'), []),
    ((*_C, 'name'), True),
    ((*_C, 'env'), 'x'),
    ((*_C, 'env'), {}),
    ((*_C, 'env'), [3]),
    ((*_C, 'env', 0, 'value'), 3),
    ((*_C, 'args'), [3]),
    ((*_C, 'args'), 'x'),
    ((*_C, 'resources', 'requests', 'cpu'), 'x'),
    ((*_C, 'resources', 'requests', 'cpu'), True),
    ((*_C, 'resources', 'requests', 'cpu'), {}),
    ((*_C, 'resources', 'requests', 'cpu'), None),
    ((*_C, 'resources', 'requests'), 'x'),
    ((*_C, 'resources', 'requests'), []),
    (('metadata', 'labels'), 'x'),
    (('metadata', 'labels'), {'a': 1}),
    (('metadata', 'labels'), {'a': None}),
    (('metadata', 'labels'), ['a']),
    (('metadata', 'creationTimestamp'), 'x'),
    (('metadata', 'creationTimestamp'), 3),
    (('metadata', 'generation'), 'x'),
    (('metadata', 'ownerReferences'), [{'uid': 3}]),
    (('metadata', 'finalizers'), [3]),
    (('metadata',), 3),
    ((*_C, 'livenessProbe'), {'exec': {'command': 3}}),
    ((*_C, 'imagee'), 1),
    (('spec', 'foo'), 1),
    (('metadata', 'foo'), 1),
    (('status',), {'foo': 1}),
    ((*_C, 'env', 0, 'valuee'), 1),
    ((*_C, 'Image'), 'x'),
    (('foo',), {'bar': 1}),
]
"""Places in the Job and what is put there."""


def changed(path: tuple[Any, ...], value: Any) -> Json:
    """The Job with another value in one place."""
    made = copy.deepcopy(JOB)
    place: Any = made
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return made


def _rules(*given: Any) -> list[Json]:
    return [rule if isinstance(rule, dict) else {'rule': rule} for rule in given]


THING: Final[Json] = {
    'type': 'object',
    'required': ['spec'],
    'properties': {
        'apiVersion': {'type': 'string'},
        'kind': {'type': 'string'},
        'metadata': {'type': 'object'},
        'spec': {
            'type': 'object',
            'required': ['name'],
            'properties': {
                'name': {'type': 'string', 'maxLength': 5, 'minLength': 2, 'pattern': '^[a-z]+$'},
                'e': {'type': 'string', 'enum': ['A', 'B']},
                'i': {'type': 'integer', 'format': 'int32', 'minimum': 1, 'maximum': 10},
                'xi': {'type': 'integer', 'minimum': 1, 'exclusiveMinimum': True, 'multipleOf': 2},
                'n': {'type': 'number'},
                'b': {'type': 'boolean'},
                'l': {'type': 'array', 'items': {'type': 'string'}, 'minItems': 1, 'maxItems': 2},
                's': {'type': 'array', 'items': {'type': 'string'}, 'x-kubernetes-list-type': 'set'},
                'm': {
                    'type': 'array',
                    'items': {
                        'type': 'object',
                        'required': ['k'],
                        'properties': {'k': {'type': 'string'}, 'v': {'type': 'integer'}},
                    },
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['k'],
                },
                'o': {
                    'type': 'object',
                    'additionalProperties': {'type': 'string'},
                    'maxProperties': 2,
                    'minProperties': 1,
                },
                'nul': {'type': 'string', 'nullable': True},
                'nulobj': {'type': 'object', 'nullable': True, 'properties': {'a': {'type': 'string'}}},
                'd': {
                    'type': 'object',
                    'properties': {'x': {'type': 'string', 'default': 'dx'}, 'y': {'type': 'integer', 'default': 3}},
                    'default': {},
                },
                'ios': {'x-kubernetes-int-or-string': True},
                'iosp': {
                    'anyOf': [{'type': 'integer'}, {'type': 'string'}],
                    'x-kubernetes-int-or-string': True,
                    'pattern': '^[0-9]+%$',
                },
                'dt': {'type': 'string', 'format': 'date-time'},
                'dur': {'type': 'string', 'format': 'duration'},
                'ip': {'type': 'string', 'format': 'ipv4'},
                'uuid': {'type': 'string', 'format': 'uuid'},
                'byte': {'type': 'string', 'format': 'byte'},
                'date': {'type': 'string', 'format': 'date'},
                'pres': {
                    'type': 'object',
                    'x-kubernetes-preserve-unknown-fields': True,
                    'properties': {'q': {'type': 'object', 'properties': {'z': {'type': 'string'}}}},
                },
                'emb': {
                    'type': 'object',
                    'x-kubernetes-embedded-resource': True,
                    'x-kubernetes-preserve-unknown-fields': True,
                },
                'one': {
                    'type': 'object',
                    'properties': {'a': {'type': 'string'}, 'b': {'type': 'string'}},
                    'oneOf': [{'required': ['a']}, {'required': ['b']}],
                },
                'nt': {'type': 'string', 'not': {'enum': ['bad']}},
                'any': {
                    'type': 'object',
                    'properties': {'a': {'type': 'integer'}},
                    'anyOf': [{'properties': {'a': {'minimum': 5}}}, {'properties': {'a': {'maximum': 2}}}],
                },
                'al': {'type': 'string', 'allOf': [{'pattern': '^a'}, {'pattern': 'b$'}]},
                'c': {
                    'type': 'object',
                    'properties': {
                        'min': {'type': 'integer'},
                        'max': {'type': 'integer'},
                        'im': {
                            'type': 'string',
                            'x-kubernetes-validations': _rules(
                                {'rule': 'self == oldSelf', 'message': 'im is immutable'}
                            ),
                        },
                    },
                    'x-kubernetes-validations': _rules(
                        {
                            'rule': '!has(self.min) || !has(self.max) || self.min <= self.max',
                            'message': 'min must not exceed max',
                        },
                        '!has(self.min) || self.min < 100',
                        {
                            'rule': '!has(self.max) || self.max < 1000',
                            'messageExpression': 'self.max > 5000 ? "far too big" : "too big"',
                            'reason': 'FieldValueForbidden',
                            'fieldPath': '.max',
                        },
                    ),
                },
                'cl': {
                    'type': 'array',
                    'maxItems': 10,
                    'items': {
                        'type': 'object',
                        'properties': {'x': {'type': 'integer', 'x-kubernetes-validations': _rules('self > 0')}},
                    },
                },
                'cm': {
                    'type': 'object',
                    'maxProperties': 5,
                    'additionalProperties': {'type': 'integer', 'x-kubernetes-validations': _rules('self > 0')},
                },
                'ev': {
                    'type': 'object',
                    'properties': {'a': {'type': 'integer'}, 'b': {'type': 'integer'}},
                    'x-kubernetes-validations': _rules('self.b > 0'),
                },
                'li': {
                    'type': 'array',
                    'maxItems': 5,
                    'items': {'type': 'string', 'maxLength': 10},
                    'x-kubernetes-validations': _rules('self.size() < 2'),
                },
                'dup': {
                    'type': 'string',
                    'maxLength': 10,
                    'x-kubernetes-validations': _rules({'rule': 'self != "x"', 'reason': 'FieldValueDuplicate'}),
                },
                'req': {
                    'type': 'string',
                    'maxLength': 10,
                    'x-kubernetes-validations': _rules(
                        {'rule': 'self != "x"', 'reason': 'FieldValueRequired', 'message': 'req msg'}
                    ),
                },
                'req2': {
                    'type': 'object',
                    'properties': {'a': {'type': 'string'}, 'b.c': {'type': 'string'}},
                    'x-kubernetes-validations': _rules(
                        {'rule': 'has(self.a)', 'reason': 'FieldValueRequired', 'fieldPath': '.a'},
                        {'rule': 'has(self.b__dot__c)', 'reason': 'FieldValueRequired', 'fieldPath': "['b.c']"},
                    ),
                },
                'div': {'type': 'integer', 'x-kubernetes-validations': _rules('10 / self > 1')},
                'oos': {
                    'type': 'string',
                    'x-kubernetes-validations': _rules(
                        {
                            'rule': '!oldSelf.hasValue() || self == oldSelf.value()',
                            'optionalOldSelf': True,
                            'message': 'oos',
                        }
                    ),
                },
                'num': {'type': 'number', 'x-kubernetes-validations': _rules('self < 1.5')},
                'cios': {
                    'x-kubernetes-int-or-string': True,
                    'x-kubernetes-validations': _rules('type(self) == int || self == "x"'),
                },
                'cdt': {
                    'type': 'string',
                    'format': 'date-time',
                    'x-kubernetes-validations': _rules('self > timestamp("2026-01-01T00:00:00Z")'),
                },
                'cdur': {
                    'type': 'string',
                    'format': 'duration',
                    'x-kubernetes-validations': _rules('self > duration("1h")'),
                },
                'lm': {
                    'type': 'array',
                    'maxItems': 4,
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['k'],
                    'items': {
                        'type': 'object',
                        'required': ['k'],
                        'properties': {
                            'k': {'type': 'string', 'maxLength': 4},
                            'v': {'type': 'integer', 'x-kubernetes-validations': _rules('self >= oldSelf')},
                        },
                    },
                },
                'li2': {
                    'type': 'array',
                    'maxItems': 5,
                    'items': {'type': 'string', 'maxLength': 10},
                    'x-kubernetes-validations': _rules('self.isSorted()', 'self.all(x, x.find("[0-9]+") != "")'),
                },
                'q': {
                    'type': 'string',
                    'maxLength': 10,
                    'x-kubernetes-validations': _rules(
                        'isQuantity(self) && quantity(self).isGreaterThan(quantity("1"))'
                    ),
                },
                'rat': {'type': 'string', 'maxLength': 9, 'x-kubernetes-validations': _rules('self != "bad"')},
                'rat2': {
                    'type': 'object',
                    'properties': {
                        'x': {'type': 'string', 'maxLength': 4, 'x-kubernetes-validations': _rules('self != "bad"')},
                        'y': {'type': 'string'},
                    },
                },
                'ce': {
                    'type': 'object',
                    'properties': {
                        'namespace': {'type': 'string', 'maxLength': 10},
                        'a-b': {'type': 'integer'},
                        'x__y': {'type': 'integer'},
                        'text': {'type': 'string', 'maxLength': 20},
                        'sum': {'type': 'array', 'maxItems': 3, 'items': {'type': 'integer'}},
                        'url': {'type': 'string', 'maxLength': 30},
                    },
                    'x-kubernetes-validations': _rules(
                        '!has(self.__namespace__) || self.__namespace__ != "bad"',
                        '!has(self.a__dash__b) || self.a__dash__b > 1',
                        '!has(self.x__underscores__y) || self.x__underscores__y > 1',
                        '!has(self.text) || self.text.size() < 4',
                        '!has(self.text) || !self.text.matches("^[A-Z]")',
                        '!has(self.text) || self.text.indexOf("z") == -1',
                        '!has(self.text) || self.text.lowerAscii().split(",").size() < 3',
                        '!has(self.sum) || self.sum.sum() < 10 && self.sum.max() < 9',
                        '!has(self.url) || (isURL(self.url) && url(self.url).getHost() == "h:1")',
                    ),
                },
            },
        },
        'status': {'type': 'object', 'properties': {'x': {'type': 'integer'}}},
    },
}
"""A schema with one property for each question."""

COLUMNS: Final[list[Json]] = [
    {'name': 'E', 'type': 'string', 'jsonPath': '.spec.e'},
    {'name': 'L', 'type': 'string', 'jsonPath': '.spec.l'},
    {'name': 'L0', 'type': 'string', 'jsonPath': '.spec.l[0]'},
    {'name': 'Lall', 'type': 'string', 'jsonPath': '.spec.l[*]'},
    {'name': 'F', 'type': 'string', 'jsonPath': '.spec.m[?(@.k=="a")].v'},
    {'name': 'G', 'type': 'string', 'jsonPath': '.spec.m[?(@.v>3)].k'},
    {'name': 'I', 'type': 'integer', 'jsonPath': '.spec.i'},
    {'name': 'SI', 'type': 'string', 'jsonPath': '.spec.i'},
    {'name': 'IS', 'type': 'integer', 'jsonPath': '.spec.name'},
    {'name': 'B', 'type': 'boolean', 'jsonPath': '.spec.b'},
    {'name': 'SB', 'type': 'string', 'jsonPath': '.spec.b'},
    {'name': 'D', 'type': 'date', 'jsonPath': '.spec.dt'},
    {'name': 'O', 'type': 'string', 'jsonPath': '.spec.o'},
    {'name': 'P', 'type': 'string', 'jsonPath': '.spec.o.a\\.b'},
    {'name': 'None', 'type': 'string', 'jsonPath': '.spec.nothing'},
    {'name': 'N', 'type': 'number', 'jsonPath': '.spec.n', 'priority': 1, 'description': 'hi'},
]

ROW: Final[Json] = {
    'name': 'abc',
    'e': 'A',
    'l': ['x', 'y'],
    'm': [{'k': 'a', 'v': 3}, {'k': 'b', 'v': 4}],
    'i': 3,
    'b': True,
    'dt': '2020-11-01T00:00:00Z',
    'o': {'a.b': 'q'},
    'n': 1.5,
    'c': {'im': 'x'},
    'lm': [{'k': 'a', 'v': 3}, {'k': 'b', 'v': 3}],
    'oos': 'a',
}
"""The spec of an object that stays, for tables and updates."""

SPECS: Final[list[Any]] = [
    {},
    {'name': 'a'},
    {'name': 'abcdefg'},
    {'name': 'ABC'},
    {'name': 3},
    {'name': None},
    {'e': 'C'},
    {'e': 3},
    {'i': 0},
    {'i': 11},
    {'i': 'x'},
    {'i': 1.5},
    {'i': 1.0},
    {'i': 2**40},
    {'i': True},
    {'xi': 1},
    {'xi': 3},
    {'n': 1},
    {'n': 1.5},
    {'n': 'x'},
    {'b': 'x'},
    {'b': None},
    {'l': []},
    {'l': ['a', 'b', 'c']},
    {'l': 'x'},
    {'l': [3]},
    {'l': [None]},
    {'l': {}},
    {'s': ['a', 'a']},
    {'m': [{'k': 'a'}, {'k': 'a'}]},
    {'m': [{'v': 1}]},
    {'m': [{'k': 'a', 'q': 1}]},
    {'m': ['x']},
    {'o': {}},
    {'o': {'a': '1', 'b': '2', 'c': '3'}},
    {'o': {'a': 1}},
    {'o': {'a': None}},
    {'nul': None},
    {'nulobj': None},
    {'d': {}},
    {'d': {'x': None}},
    {'d': None},
    {'ios': 1},
    {'ios': 'x'},
    {'ios': 1.5},
    {'ios': True},
    {'iosp': '3'},
    {'iosp': '3%'},
    {'dt': 'x'},
    {'dt': '2026-01-01T00:00:00Z'},
    {'dt': '2026-01-01'},
    {'dur': 'x'},
    {'dur': '1h'},
    {'ip': 'x'},
    {'uuid': 'x'},
    {'byte': '###'},
    {'date': 'x'},
    {'pres': {'a': {'b': [1]}, 'q': {'z': '1', 'y': 2}}},
    {'emb': {}},
    {'emb': {'apiVersion': 'v1', 'kind': 'Foo', 'metadata': {'name': 'x', 'foo': 1, 'labels': {'a': 1}}}},
    {'emb': {'apiVersion': 'v1', 'kind': 'Foo', 'metadata': {'name': 'x', 'foo': 1}}},
    {'emb': {'apiVersion': 'v1', 'kind': 'Foo', 'metadata': 3}},
    {'one': {}},
    {'one': {'a': '1', 'b': '2'}},
    {'nt': 'bad'},
    {'any': {'a': 3}},
    {'al': 'cc'},
    {'c': {'min': 3, 'max': 2}},
    {'c': {'min': 200, 'max': 2000}},
    {'cl': [{'x': 0}]},
    {'cm': {'a b': 0, 'a': 0}},
    {'foo': 1},
    {'name': 3, 'i': 'x', 'e': 'C'},
    {'i': 'x', 'c': {'min': 3, 'max': 2}},
    'x',
    [],
    {'ev': {'a': 1}},
    {'ev': {'b': 0}},
    {'li': ['a', 'b']},
    {'dup': 'x'},
    {'req': 'x'},
    {'req2': {}},
    {'div': 0},
    {'div': 8},
    {'oos': 'a'},
    {'num': 1},
    {'num': 2},
    {'cios': 1},
    {'cios': 'x'},
    {'cios': 'y'},
    {'cdt': '2025-01-01T00:00:00Z'},
    {'cdt': '2027-01-01T00:00:00+02:00'},
    {'cdur': '1m'},
    {'cdur': '2h'},
    {'li2': ['b1', 'a2']},
    {'li2': ['a']},
    {'q': 'x'},
    {'q': '1'},
    {'q': '2Gi'},
    {'ce': {'namespace': 'bad'}},
    {'ce': {'a-b': 1}},
    {'ce': {'x__y': 1}},
    {'ce': {'text': 'éééé'}},
    {'ce': {'text': 'ééé'}},
    {'ce': {'text': 'Abc'}},
    {'ce': {'text': 'az'}},
    {'ce': {'text': ',,'}},
    {'ce': {'sum': [4, 5]}},
    {'ce': {'sum': [4, 6]}},
    {'ce': {'sum': [9]}},
    {'ce': {'url': 'x'}},
    {'ce': {'url': 'https://h:1/x'}},
    {'ce': {'url': 'https://h/x'}},
]
"""Specs of Things; what is not said has the name ``abc``."""

METADATA: Final[list[Json]] = [
    {'labels': {'a': 1}},
    {'labels': 'x'},
    {'foo': 1},
    {'generation': 'x'},
    {'annotations': None},
]

BEFORE: Final[Json] = {
    'name': 'abc',
    'rat': 'bad',
    'rat2': {'x': 'toolong'},
    **{key: ROW[key] for key in ('c', 'lm', 'oos')},
}
"""A spec that is wrong in parts, and was there before its schema."""

UPDATES: Final[list[Json]] = [
    {'num': 1},
    {'rat': 'toolong2too'},
    {'rat2': {'y': '1'}},
    {'rat2': {'x': 'bad'}},
    {'rat2': {'x': 'fine'}},
    {'oos': 'b'},
    {'lm': [{'k': 'b', 'v': 2}, {'k': 'a', 'v': 3}]},
    {'lm': [{'k': 'c', 'v': 1}]},
    {'rat': 3},
    {'c': {'im': 'y'}},
    {'c': {'im': None}},
]
"""Merge patches of a spec."""


def definition(schema: Json | None, **version: Any) -> Json:
    """A CRD of kind Test."""
    made = {'name': 'v1', 'served': True, 'storage': True, **version}
    if schema is not None:
        made['schema'] = {'openAPIV3Schema': schema}
    return {
        'apiVersion': 'apiextensions.k8s.io/v1',
        'kind': 'CustomResourceDefinition',
        'metadata': {'name': 'tests.a.example.com'},
        'spec': {
            'group': 'a.example.com',
            'names': {'plural': 'tests', 'kind': 'Test'},
            'scope': 'Namespaced',
            'versions': [made],
        },
    }


def _with(schema: Any) -> Json:
    return definition({'type': 'object', 'properties': {'spec': {'type': 'object', 'properties': {'a': schema}}}})


def _set(path: tuple[Any, ...], value: Any) -> Json:
    made = _with({'type': 'string'})
    place: Any = made
    for step in path[:-1]:
        place = place[step]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return made


def _ruled(rule: Json, **schema: Any) -> Json:
    return _with({**(schema or {'type': 'integer'}), 'x-kubernetes-validations': [rule]})


def _mapped(*, required: bool, keys: list[str] | None) -> Json:
    items: Json = {'type': 'object', 'properties': {'n': {'type': 'string'}}}
    schema: Json = {'type': 'array', 'items': items, 'x-kubernetes-list-type': 'map'}
    if required:
        items['required'] = ['n']
    if keys:
        schema['x-kubernetes-list-map-keys'] = keys
    return _with(schema)


_V1: Final = {'name': 'v1', 'served': True, 'storage': True, 'schema': {'openAPIV3Schema': {'type': 'object'}}}

DEFINITIONS: Final[dict[str, Json]] = {
    'right': _with({'type': 'string'}),
    'no type': _with({}),
    'no type at the root': definition({'properties': {'spec': {'type': 'object'}}}),
    'root is a string': definition({'type': 'string'}),
    'no items': _with({'type': 'array'}),
    'items without type': _with({'type': 'array', 'items': {}}),
    'properties and additionalProperties': _with(
        {'type': 'object', 'properties': {'x': {'type': 'string'}}, 'additionalProperties': {'type': 'string'}}
    ),
    'additionalProperties false': _with({'type': 'object', 'additionalProperties': False}),
    'unknown type': _with({'type': 'foo'}),
    'unique items': _with({'type': 'array', 'items': {'type': 'string'}, 'uniqueItems': True}),
    'reference': _with({'$ref': '#/x'}),
    'default of another type': _with({'type': 'string', 'default': 3}),
    'default with unknown fields': _with(
        {'type': 'object', 'properties': {'x': {'type': 'string'}}, 'default': {'y': 1}}
    ),
    'map without keys': _mapped(required=True, keys=None),
    'map with optional key': _mapped(required=False, keys=['n']),
    'map with key that is no property': _mapped(required=True, keys=['m']),
    'set of objects': _with(
        {
            'type': 'array',
            'items': {'type': 'object', 'properties': {'n': {'type': 'string'}}},
            'x-kubernetes-list-type': 'set',
        }
    ),
    'unknown list type': _with({'type': 'array', 'items': {'type': 'string'}, 'x-kubernetes-list-type': 'foo'}),
    'list type of a string': _with({'type': 'string', 'x-kubernetes-list-type': 'set'}),
    'unknown map type': _with({'type': 'object', 'x-kubernetes-map-type': 'foo'}),
    'pattern': _with({'type': 'string', 'pattern': '('}),
    'preserve unknown fields false': _with({'type': 'object', 'x-kubernetes-preserve-unknown-fields': False}),
    'embedded without properties': _with({'type': 'object', 'x-kubernetes-embedded-resource': True}),
    'type in anyOf': _with({'type': 'string', 'anyOf': [{'type': 'string'}]}),
    'description in anyOf': _with({'type': 'string', 'anyOf': [{'description': 'x'}]}),
    'properties in anyOf': _with(
        {
            'type': 'object',
            'properties': {'q': {'type': 'string'}},
            'anyOf': [{'properties': {'q': {'minLength': 3}}}],
        }
    ),
    'metadata with properties': definition(
        {
            'type': 'object',
            'properties': {'metadata': {'type': 'object', 'properties': {'foo': {'type': 'string'}}}},
        }
    ),
    'metadata with name': definition(
        {
            'type': 'object',
            'properties': {'metadata': {'type': 'object', 'properties': {'name': {'type': 'string', 'maxLength': 5}}}},
        }
    ),
    'metadata of another type': definition({'type': 'object', 'properties': {'metadata': {'type': 'string'}}}),
    'rule about no field': _ruled({'rule': 'self.foo > 3'}, type='string'),
    'rule about an unknown field': _ruled(
        {'rule': 'self.b.foo > 3'},
        type='object',
        properties={'b': {'type': 'object', 'properties': {'c': {'type': 'integer'}}}},
    ),
    'rule about an unknown name': _ruled({'rule': 'foo > 3'}),
    'rule with an unknown function': _ruled({'rule': 'foo(self) > 3'}),
    'empty rule': _ruled({'rule': ''}),
    'message with line break': _ruled({'rule': 'self > 3', 'message': 'a\nb'}),
    'unknown reason': _ruled({'rule': 'self > 3', 'reason': 'Foo'}),
    'path of a rule leads nowhere': _ruled(
        {'rule': 'true', 'fieldPath': '.q'}, type='object', properties={'z': {'type': 'string'}}
    ),
    'old value in a list': _with(
        {
            'type': 'array',
            'maxItems': 3,
            'items': {'type': 'integer', 'x-kubernetes-validations': [{'rule': 'self == oldSelf'}]},
        }
    ),
    'no schema': definition(None),
    'name': _set(('metadata', 'name'), 'foo'),
    'scope': _set(('spec', 'scope'), 'Foo'),
    'no scope': _set(('spec', 'scope'), None),
    'no versions': _set(('spec', 'versions'), []),
    'nothing stored': _set(('spec', 'versions', 0, 'storage'), False),
    'two stored': _set(('spec', 'versions'), [_V1, {**_V1, 'name': 'v2'}]),
    'one version twice': _set(('spec', 'versions'), [_V1, {**_V1, 'storage': False}]),
    'name of a version': _set(('spec', 'versions', 0, 'name'), 'V_1'),
    'group without a dot': _set(('spec', 'group'), 'foo'),
    'no group': _set(('spec', 'group'), ''),
    'no names': _set(('spec', 'names'), {}),
    'bad names': _set(
        ('spec', 'names'),
        {
            'plural': 'Tests',
            'kind': 't est',
            'listKind': 't est',
            'singular': 'T',
            'shortNames': ['A'],
            'categories': ['B'],
        },
    ),
    'preserve unknown fields': _set(('spec', 'preserveUnknownFields'), True),
    'columns': definition(
        {'type': 'object'},
        additionalPrinterColumns=[
            {'name': '', 'type': 'foo', 'jsonPath': 'spec'},
            {'name': 'x', 'type': 'string', 'jsonPath': '.spec.x'},
        ],
    ),
    'selectable fields': definition({'type': 'object'}, selectableFields=[{'jsonPath': '.spec.q'}]),
    'conversion by nobody': _set(('spec', 'conversion'), {'strategy': 'Webhook'}),
    'two schemas, both wrong': _set(
        ('spec', 'versions'),
        [
            {**_V1, 'schema': {'openAPIV3Schema': {'type': 'object', 'properties': {'a': {}}}}},
            {**_V1, 'name': 'v2', 'storage': False, 'schema': {'openAPIV3Schema': {'type': 'string'}}},
        ],
    ),
}
