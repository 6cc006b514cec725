"""Whether the schema of a CRD is structural: whether it tells the server all that it must know.

Source: Kubernetes documentation, "Specifying a structural schema"; texts of kube-apiserver 1.37. Not looked at is what
rules may cost: the plane serves few and trusted users.
"""

import functools
from collections.abc import Iterator, Mapping
from typing import Any, Final

from jobset import re2
from jobset.local.problems import Cause
from jobset.local.schemas import custom, defaulting, expressions, rules, structure, unknown

_TYPES: Final = ('array', 'boolean', 'integer', 'number', 'object', 'string')
_REASONS: Final = ('FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired')
_FORBIDDEN: Final = ('definitions', 'dependencies', 'patternProperties', 'additionalItems', 'id', '$ref')
_NOT_NESTED: Final = (
    'type',
    'description',
    'title',
    'default',
    'nullable',
    'additionalProperties',
    'x-kubernetes-preserve-unknown-fields',
    'x-kubernetes-embedded-resource',
    'x-kubernetes-int-or-string',
    'x-kubernetes-list-type',
    'x-kubernetes-list-map-keys',
    'x-kubernetes-map-type',
    'x-kubernetes-validations',
)
"""What the parts of allOf, anyOf, oneOf and not may not say: they only judge."""

Json = Mapping[str, Any]


def mistakes(schema: Json, path: str) -> list[Cause]:
    """All that is wrong with the schema of one version, at ``path`` of the definition."""
    return [*_root_mistakes(schema, path), *_mistakes(schema, path, 'object fields', is_root=True, correlates=True)]


def _root_mistakes(schema: Json, path: str) -> Iterator[Cause]:
    kind = schema.get('type')
    if not kind:
        yield _required(f'{path}.type', 'must not be empty at the root')
    elif kind != 'object':
        yield _invalid(f'{path}.type', kind, 'must be object at the root')
    metadata = (schema.get('properties') or {}).get('metadata')
    if metadata is None:
        return
    where = f'{path}.properties[metadata]'
    if metadata.get('type', 'object') != 'object':
        yield _invalid(f'{where}.type', metadata['type'], 'must be object')
    elif set(metadata.get('properties') or {}) - {'name', 'generateName'}:
        text = 'must not specify anything other than name and generateName, but metadata is implicitly specified'
        yield _forbidden(where, text)


def _mistakes(schema: Json, path: str, what: str, *, is_root: bool = False, correlates: bool) -> Iterator[Cause]:
    yield from _type_mistakes(schema, path, '' if is_root else what)
    yield from _keyword_mistakes(schema, path)
    yield from _extension_mistakes(schema, path)
    yield from _list_mistakes(schema, path)
    for key in ('allOf', 'anyOf', 'oneOf'):
        parts = schema.get(key) or ()
        if schema.get('x-kubernetes-int-or-string') and _says_int_or_string(key, parts):
            continue
        for index, part in enumerate(parts):
            yield from _nested_mistakes(part, f'{path}.{key}[{index}]')
    if schema.get('not'):
        yield from _nested_mistakes(schema['not'], f'{path}.not')
    for name, part in (schema.get('properties') or {}).items():
        if is_root and name == 'metadata':
            continue
        yield from _mistakes(part, f'{path}.properties[{name}]', 'object fields', correlates=correlates)
    if isinstance(schema.get('additionalProperties'), Mapping):
        part = schema['additionalProperties']
        yield from _mistakes(part, f'{path}.additionalProperties', 'object fields', correlates=correlates)
    if isinstance(schema.get('items'), Mapping):
        keeps = correlates and schema.get('x-kubernetes-list-type') == 'map'
        yield from _mistakes(schema['items'], f'{path}.items', 'array items', correlates=keeps)
    yield from _default_mistakes(schema, path)
    yield from _rule_mistakes(schema, path, is_root=is_root, correlates=correlates)


_INT_OR_STRING: Final = [{'type': 'integer'}, {'type': 'string'}]


def _says_int_or_string(key: str, parts: Any) -> bool:
    """The one place where a part may have a type."""
    return (key == 'anyOf' and parts == _INT_OR_STRING) or (
        key == 'allOf' and bool(parts) and parts[0].get('anyOf') == _INT_OR_STRING
    )


def _type_mistakes(schema: Json, path: str, what: str) -> Iterator[Cause]:
    kind = schema.get('type')
    free = schema.get('x-kubernetes-int-or-string') or schema.get('x-kubernetes-preserve-unknown-fields')
    if not kind:
        if what and not free and not schema.get('$ref'):
            yield _required(f'{path}.type', f'must not be empty for specified {what}')
    elif kind not in _TYPES:
        yield _unsupported(f'{path}.type', kind, _TYPES)
    if kind == 'array' and schema.get('items') is None:
        yield _required(f'{path}.items', 'must be specified')


def _keyword_mistakes(schema: Json, path: str) -> Iterator[Cause]:
    if schema.get('properties') and schema.get('additionalProperties') not in (None, False):
        text = 'additionalProperties and properties are mutual exclusive'
        yield _forbidden(f'{path}.additionalProperties', text)
    if schema.get('uniqueItems'):
        text = 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic'
        yield _forbidden(f'{path}.uniqueItems', text)
    for key in _FORBIDDEN:
        if schema.get(key):
            yield _forbidden(f'{path}.{key}', f'{key} is not supported')
    if isinstance(schema.get('items'), list):
        yield _forbidden(f'{path}.items', 'items must be a schema object and not an array')
    pattern = schema.get('pattern')
    if pattern and (error := _pattern_error(pattern)):
        yield _invalid(f'{path}.pattern', pattern, f"must be a valid regular expression, but isn't: {error}")


@functools.lru_cache(maxsize=200)
def _pattern_error(pattern: str) -> str:
    try:
        re2.parse(pattern)
    except re2.PatternError as error:
        return str(error).split(' at position ', 1)[0]
    return ''


def _extension_mistakes(schema: Json, path: str) -> Iterator[Cause]:
    if schema.get('x-kubernetes-preserve-unknown-fields') is False:
        yield _invalid(f'{path}.x-kubernetes-preserve-unknown-fields', False, 'must be true or undefined')
    if (
        schema.get('x-kubernetes-embedded-resource')
        and not schema.get('properties')
        and not schema.get('x-kubernetes-preserve-unknown-fields')
    ):
        text = (
            'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields'
        )
        yield _required(f'{path}.properties', text)
    style = schema.get('x-kubernetes-map-type')
    if style is not None:
        if schema.get('type') != 'object':
            text = 'must be object if x-kubernetes-map-type is specified'
            yield _invalid(f'{path}.type', schema.get('type', ''), text)
        if style not in ('atomic', 'granular'):
            yield _unsupported(f'{path}.x-kubernetes-map-type', style, ('atomic', 'granular'))


def _list_mistakes(schema: Json, path: str) -> Iterator[Cause]:
    style, keys = schema.get('x-kubernetes-list-type'), schema.get('x-kubernetes-list-map-keys')
    if style is None:
        if keys:
            yield _required(f'{path}.x-kubernetes-list-type', 'must be map if x-kubernetes-list-map-keys is non-empty')
        return
    if style not in ('atomic', 'set', 'map'):
        yield _unsupported(f'{path}.x-kubernetes-list-type', style, ('atomic', 'set', 'map'))
        return
    if schema.get('type') != 'array':
        text = 'must be array if x-kubernetes-list-type is specified'
        yield _invalid(f'{path}.type', schema.get('type', ''), text)
        return
    items = schema.get('items') or {}
    if style == 'set':
        yield from _set_mistakes(items, path)
    if style == 'map':
        yield from _map_mistakes(items, keys or [], path)


def _set_mistakes(items: Json, path: str) -> Iterator[Cause]:
    if items.get('type') == 'object' and items.get('x-kubernetes-map-type') != 'atomic':
        text = 'must be atomic as item of a list with x-kubernetes-list-type=set'
        yield _invalid(f'{path}.items.x-kubernetes-map-type', items.get('x-kubernetes-map-type'), text)
    if items.get('type') == 'array' and items.get('x-kubernetes-list-type', 'atomic') != 'atomic':
        text = 'must be atomic as item of a list with x-kubernetes-list-type=set'
        yield _invalid(f'{path}.items.x-kubernetes-list-type', items['x-kubernetes-list-type'], text)
    if items.get('nullable'):
        text = 'cannot be nullable when x-kubernetes-list-type is set'
        yield _forbidden(f'{path}.items.nullable', text)


def _map_mistakes(items: Json, keys: list[str], path: str) -> Iterator[Cause]:
    where = f'{path}.x-kubernetes-list-map-keys'
    if not keys:
        yield _required(where, 'must not be empty if x-kubernetes-list-type is map')
    if items.get('type') != 'object':
        text = "must be object if parent array's x-kubernetes-list-type is map"
        yield _invalid(f'{path}.items.type', items.get('type', ''), text)
        return
    properties = items.get('properties') or {}
    if any(key not in properties for key in keys):
        yield _invalid(where, keys, 'entries must all be names of item properties')
        return
    for key in keys:
        if key not in (items.get('required') or ()) and 'default' not in properties[key]:
            text = 'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property'
            yield _required(f'{path}.items.properties[{key}].default', text)


def _nested_mistakes(schema: Json, path: str) -> Iterator[Cause]:
    for key in _NOT_NESTED:
        if schema.get(key):
            yield _forbidden(f'{path}.{key}', 'must be empty to be structural')
    for name, part in (schema.get('properties') or {}).items():
        yield from _nested_mistakes(part, f'{path}.properties[{name}]')
    if isinstance(schema.get('items'), Mapping):
        yield from _nested_mistakes(schema['items'], f'{path}.items')


def _default_mistakes(schema: Json, path: str) -> Iterator[Cause]:
    default = schema.get('default')
    if default is None:
        return
    node = custom.part(schema)
    if isinstance(default, dict | list):
        if unknown.fields(default, node):
            yield _invalid(f'{path}.default', default, 'must not have unknown fields')
            return
        defaulting.fill(default, node)
    for cause in structure.default_mistakes(default, node):
        where = f'{path}.default' if cause.field == '<nil>' else f'{path}.default.{cause.field}'
        yield Cause(where, cause.message, cause.reason)


def _rule_mistakes(schema: Json, path: str, *, is_root: bool, correlates: bool) -> Iterator[Cause]:
    given = schema.get('x-kubernetes-validations') or ()
    if not given:
        return
    node = custom.root(schema) if is_root else custom.part(schema)
    for index, rule in enumerate(given):
        where = f'{path}.x-kubernetes-validations[{index}]'
        if not (rule.get('rule') or '').strip():
            yield _required(f'{where}.rule', 'rule is not specified')
            continue
        if '\n' in (rule.get('message') or '').strip():
            yield _invalid(f'{where}.message', rule['message'], 'must not contain line breaks')
        if rule.get('reason') and rule['reason'] not in _REASONS:
            yield _unsupported(f'{where}.reason', rule['reason'], _REASONS)
        if rule.get('fieldPath') and not _leads_somewhere(rule['fieldPath'], schema):
            yield _invalid(f'{where}.fieldPath', rule['fieldPath'], 'must be a valid path')
        yield from _compilation_mistakes(rule, node, where, path, correlates=correlates)


def _compilation_mistakes(rule: Json, node: Any, where: str, path: str, *, correlates: bool) -> Iterator[Cause]:
    for key in ('rule', 'messageExpression'):
        if not rule.get(key):
            continue
        try:
            expression = expressions.compiled(rule[key], node, is_optional=bool(rule.get('optionalOldSelf')))
        except expressions.RefusedError as error:
            yield Cause(f'{where}.{key}', f'Invalid value: {_internal(rule)}: {error}')
            continue
        if key == 'rule' and expression.uses_old and not correlates:
            text = f'oldSelf cannot be used on the uncorrelatable portion of the schema within {_list_of(path)}'
            yield _invalid(f'{where}.rule', rule['rule'], text)


def _list_of(path: str) -> str:
    """The list whose elements cannot be told from one another."""
    return path.rsplit('.items', 1)[0]


def _internal(rule: Json) -> str:
    """A rule as the server's own struct shows it."""
    fields = (
        ('Rule', rule['rule']),
        ('Message', rule.get('message', '')),
        ('MessageExpression', rule.get('messageExpression', '')),
        ('Reason', rule.get('reason')),
        ('FieldPath', rule.get('fieldPath', '')),
        ('OptionalOldSelf', rule.get('optionalOldSelf')),
    )
    return f'{{{",".join(structure.shown({name: value})[1:-1] for name, value in fields)}}}'


def _leads_somewhere(path: str, schema: Json) -> bool:
    for name in rules.field_path(path).removeprefix('.').split('.'):
        properties = schema.get('properties') or {}
        if name in properties:
            schema = properties[name]
        elif isinstance(schema.get('additionalProperties'), Mapping):
            schema = schema['additionalProperties']
        elif "['" not in path:
            return False
    return True


def _required(path: str, text: str) -> Cause:
    return Cause(path, f'Required value: {text}', 'FieldValueRequired')


def _forbidden(path: str, text: str) -> Cause:
    return Cause(path, f'Forbidden: {text}', 'FieldValueForbidden')


def _invalid(path: str, value: Any, text: str) -> Cause:
    return Cause(path, f'Invalid value: {structure.shown(value)}: {text}')


def _unsupported(path: str, value: str, allowed: tuple[str, ...]) -> Cause:
    options = ', '.join(f'"{each}"' for each in allowed)
    return Cause(path, f'Unsupported value: "{value}": supported values: {options}', 'FieldValueNotSupported')
