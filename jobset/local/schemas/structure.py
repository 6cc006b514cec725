"""Whether custom objects have the structure that their schema demands, and what is wrong where.

Source: answers of kube-apiserver 1.37. Most objects are right: they are judged at native speed, and only the others are
walked through for their mistakes. In an update, what was wrong before and has not changed is left alone.
"""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import jsonschema_rs
import msgspec

from jobset import re2
from jobset.local.objects import Object
from jobset.local.problems import Cause
from jobset.local.schemas import formats, uniqueness
from jobset.local.schemas.nodes import Node

_LIMITS: Final = {'int32': 2**31, 'int64': 2**63}
_COMPILED: Final = (
    'enum',
    'exclusiveMaximum',
    'exclusiveMinimum',
    'format',
    'maxItems',
    'maxLength',
    'maxProperties',
    'maximum',
    'minItems',
    'minLength',
    'minProperties',
    'minimum',
    'multipleOf',
    'pattern',
    'required',
)
"""Keywords that mean the same in JSON Schema draft 4."""

_OF_ALL_PARTS: Final = frozenset({'allOf', 'anyOf', 'enum', 'maxProperties', 'minProperties', 'not', 'oneOf'})
"""Keywords for which a whole object has to be looked at."""

_MISSING: Final = object()


def shown(value: Any) -> str:
    """A value as it stands in messages."""
    text = msgspec.json.encode(value, order='sorted').decode()
    if not isinstance(value, dict | list):
        return text
    # Go's encoder thinks of browsers.
    return text.replace('<', '\\u003c').replace('>', '\\u003e').replace('&', '\\u0026')


class Structure:
    """The structure of the objects of one schema."""

    def __init__(self, root: Node) -> None:
        self._root = root
        self._lists = uniqueness.Lists(root)
        self._in_parts = not _OF_ALL_PARTS & root.schema.keys()

    @functools.cached_property
    def _quick(self) -> jsonschema_rs.Draft4Validator | None:
        try:
            schema = _compiled(self._root)
            if self._in_parts:
                schema.pop('required', None)
            return jsonschema_rs.Draft4Validator(schema, validate_formats=True, formats=dict(formats.FORMATS))
        except ValueError:  # a pattern that Go knows and Rust does not
            return None

    def mistakes(self, obj: Object, old: Object | None, *, part: str = '') -> list[Cause]:
        """What is wrong, in the order of the fields of the object; of one part of it, where that alone was written."""
        found: list[Cause] = []
        changed = obj
        if old is not None and self._in_parts:
            # Most writes change the status alone, and what has not changed is not judged.
            changed = {key: value for key, value in obj.items() if key not in old or value != old[key]}
        if not (self._root.required <= obj.keys() and self._are_right(changed)):
            if part:
                found = self._mistakes_of_part(obj, old or {}, part)
            else:
                _walk(obj, _MISSING if old is None else old, self._root, '', found)
        found.extend(self._lists.mistakes(changed, old))
        return found

    def _mistakes_of_part(self, obj: Object, old: Object, part: str) -> list[Cause]:
        """As the real server gives them: the messages begin at the part, the fields at the object."""
        found: list[Cause] = []
        if part in obj and part in self._root.properties:
            _walk(obj[part], old.get(part, _MISSING), self._root.properties[part], '', found)
        return [
            cause if cause.field == '<nil>' else replace(cause, field=f'{part}.{cause.field}'.rstrip('.'))
            for cause in found
        ]

    def fits(self, obj: Object) -> bool:
        """Whether it is certainly right, but for double elements."""
        return self._root.required <= obj.keys() and self._are_right(obj)

    def _are_right(self, parts: Object) -> bool:
        try:
            return self._quick is not None and self._quick.is_valid(parts)
        except ValueError:  # what Rust cannot hold
            return False


def default_mistakes(value: Any, node: Node) -> list[Cause]:
    """What is wrong with the default of a node."""
    found: list[Cause] = []
    _walk(value, _MISSING, node, '', found)
    return found


def _compiled(node: Node) -> dict[str, Any]:
    """The schema in JSON Schema draft 4. What it lets pass is right; what it does not may be right too."""
    schema = _conditions(node.schema)
    kinds = ['integer', 'string'] if node.int_or_string else [node.type] if node.type else []
    if kinds:
        schema['type'] = [*kinds, 'null'] if node.nullable else kinds
    if node.required:
        schema['required'] = sorted(node.required)
    if node.properties:
        schema['properties'] = {
            key: _conditions(child.schema)
            if key == 'metadata' and 'creationTimestamp' in child.properties
            else _compiled(child)
            for key, child in node.properties.items()
        }
    if node.items is not None:
        schema['items'] = _compiled(node.items)
    if node.additional is not None:
        schema['additionalProperties'] = _compiled(node.additional)
    return schema


def _conditions(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a schema beside its structure."""
    made = {key: schema[key] for key in _COMPILED if key in schema}
    limit = _LIMITS.get(schema.get('format', ''))
    parts: list[dict[str, Any]] = []
    if limit is not None:
        del made['format']
        parts.append({'minimum': -limit, 'maximum': limit - 1})
    if schema.get('nullable') and 'enum' in made:
        made['enum'] = [*made['enum'], None]
    for key in ('anyOf', 'oneOf'):
        if schema.get(key):
            made[key] = [_nested(part) for part in schema[key]]
    if schema.get('not'):
        made['not'] = _nested(schema['not'])
    parts.extend(_nested(part) for part in schema.get('allOf') or ())
    if parts:
        made['allOf'] = parts
    return made


def _nested(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema within allOf, anyOf, oneOf or not."""
    made = _conditions(schema)
    if schema.get('type'):
        made['type'] = schema['type']
    if schema.get('properties'):
        made['properties'] = {key: _nested(part) for key, part in schema['properties'].items()}
    for key in ('items', 'additionalProperties'):
        if isinstance(schema.get(key), Mapping):
            made[key] = _nested(schema[key])
    return made


def _walk(value: Any, old: Any, node: Node, path: str, found: list[Cause]) -> None:
    if value is old or (old is not _MISSING and value == old):
        return
    if value is None and (node.nullable or not (node.type or node.int_or_string)):
        return
    if node.type or node.int_or_string:
        wrong = list(_type_mistakes(value, node, path))
        found.extend(wrong)
        if any(cause.reason == 'FieldValueTypeInvalid' for cause in wrong) and not node.schema.get('enum'):
            return
    found.extend(_condition_mistakes(value, node.schema, path))
    if isinstance(value, dict):
        _members(value, old if isinstance(old, dict) else {}, node, path, found)
    elif isinstance(value, list) and node.items is not None:
        before = uniqueness.partners(value, old, node)
        for index, item in enumerate(value):
            _walk(item, before.get(index, _MISSING), node.items, f'{path}[{index}]', found)


def _members(value: Object, old: Object, node: Node, path: str, found: list[Cause]) -> None:
    missing = sorted(node.required - value.keys())
    found.extend(Cause(f'{path}.{key}' if path else key, 'Required value', 'FieldValueRequired') for key in missing)
    for key, part in value.items():
        child = node.properties.get(key) or node.additional
        if child is None:
            continue
        where = f'{path}.{key}' if path else key
        if key == 'metadata' and 'creationTimestamp' in child.properties:
            continue  # judged as metadata
        _walk(part, old.get(key, _MISSING), child, where, found)


def _type_mistakes(value: Any, node: Node, path: str) -> Iterator[Cause]:
    wanted = 'integer,string' if node.int_or_string else node.type
    given = _JSON_TYPES[type(value)]
    if given in wanted.split(',') or (wanted == 'number' and given == 'integer'):
        limit = _LIMITS.get(node.format)
        if limit is not None and given == 'integer' and not -limit <= value < limit:
            yield Cause('<nil>', f'Invalid value: "": {_unheld(node, path)}')
        return
    if wanted == 'integer' and isinstance(value, float) and value.is_integer():
        return
    if node.format in _LIMITS and not isinstance(value, str | dict | list | None):
        # Go says here how it would hold the value, not what JSON calls it.
        given = 'float64' if isinstance(value, float) else ''
        yield _type_cause(path, node.format, given)
        if given:
            yield Cause('<nil>', f'Invalid value: "": {_unheld(node, path)}')
        return
    yield _type_cause(path, wanted, given)


def _unheld(node: Node, path: str) -> str:
    return f'Checked value must be of type {node.type} with format {node.format} in {path}'


def _type_cause(path: str, wanted: str, given: str) -> Cause:
    text = f'Invalid value: "{given}": {path} in body must be of type {wanted}: "{given}"'
    return Cause(path or '<nil>', text, 'FieldValueTypeInvalid')


_JSON_TYPES: Final = {
    bool: 'boolean',
    dict: 'object',
    float: 'number',
    int: 'integer',
    list: 'array',
    str: 'string',
    type(None): 'null',
}


def _condition_mistakes(value: Any, schema: Mapping[str, Any], path: str) -> Iterator[Cause]:
    match value:
        case bool() | None:
            pass
        case str():
            yield from _string_mistakes(value, schema, path)
        case int() | float():
            yield from _number_mistakes(value, schema, path)
        case list():
            yield from _size_mistakes(len(value), schema, path, 'Items', 'items')
        case dict():
            yield from _size_mistakes(len(value), schema, path, 'Properties', 'properties')
    allowed = schema.get('enum')
    if allowed and value not in allowed and not (value is None and schema.get('nullable')):
        options = ', '.join(shown(each) for each in allowed)
        yield Cause(path, f'Unsupported value: {shown(value)}: supported values: {options}', 'FieldValueNotSupported')
    yield from _combined_mistakes(value, schema, path)


def _string_mistakes(value: str, schema: Mapping[str, Any], path: str) -> Iterator[Cause]:
    form = schema.get('format')
    if form and not formats.fits(value, form):
        text = f'Invalid value: {shown(value)}: {path} in body must be of type {form}: {shown(value)}'
        yield Cause(path, text, 'FieldValueTypeInvalid')
    most, least = schema.get('maxLength'), schema.get('minLength')
    pattern = schema.get('pattern')
    if most is not None and len(value) > most:
        yield Cause(path, f'Too long: may not be more than {most} bytes', 'FieldValueTooLong')
    elif least is not None and len(value) < least:
        yield _invalid(path, value, f'should be at least {least} chars long')
    elif pattern and not _matches(pattern, value):
        yield _invalid(path, value, f"should match '{pattern}'")


def _matches(pattern: str, value: str) -> bool:
    try:
        return re2.compile(pattern).search(value)
    except (re2.PatternError, re2.MatchTimeout):
        return False


def _number_mistakes(value: float, schema: Mapping[str, Any], path: str) -> Iterator[Cause]:
    step, most, least = schema.get('multipleOf'), schema.get('maximum'), schema.get('minimum')
    if step and value % step:
        yield _invalid(path, value, f'should be a multiple of {step:g}')
    if most is not None:
        if schema.get('exclusiveMaximum') and value >= most:
            yield _invalid(path, value, f'should be less than {most:g}')
        elif value > most:
            yield _invalid(path, value, f'should be less than or equal to {most:g}')
    if least is not None:
        if schema.get('exclusiveMinimum') and value <= least:
            yield _invalid(path, value, f'should be greater than {least:g}')
        elif value < least:
            yield _invalid(path, value, f'should be greater than or equal to {least:g}')


def _size_mistakes(size: int, schema: Mapping[str, Any], path: str, suffix: str, noun: str) -> Iterator[Cause]:
    most, least = schema.get(f'max{suffix}'), schema.get(f'min{suffix}')
    if most is not None and size > most:
        # The server says "items" of properties too.
        yield Cause(path, f'Too many: {size}: must have at most {most} items', 'FieldValueTooMany')
    if least is not None and size < least:
        yield _invalid(path, size, f'should have at least {least} {noun}')


def _invalid(path: str, value: Any, text: str) -> Cause:
    return Cause(path, f'Invalid value: {shown(value)}: {path} in body {text}')


def _combined_mistakes(value: Any, schema: Mapping[str, Any], path: str) -> Iterator[Cause]:
    if options := schema.get('anyOf'):
        results = [_nested_mistakes(value, option, path) for option in options]
        if all(results):
            yield _combined(path, 'must validate at least one schema (anyOf)')
            yield from results[0]
    if options := schema.get('oneOf'):
        results = [_nested_mistakes(value, option, path) for option in options]
        valid = results.count([])
        if not valid:
            yield _combined(path, 'must validate one and only one schema (oneOf). Found none valid')
            yield from results[0]
        elif valid > 1:
            yield _combined(path, f'must validate one and only one schema (oneOf). Found {valid} valid alternatives')
    if options := schema.get('allOf'):
        results = [_nested_mistakes(value, option, path) for option in options]
        for result in results:
            yield from result
        if any(results):
            yield _combined(path, f'must validate all the schemas (allOf){". None validated" if all(results) else ""}')
    if schema.get('not') and not _nested_mistakes(value, schema['not'], path):
        yield _combined(path, 'must not validate the schema (not)')


def _combined(path: str, text: str) -> Cause:
    return Cause('<nil>', f'Invalid value: "": "{path}" {text}')


def _nested_mistakes(value: Any, schema: Mapping[str, Any], path: str) -> list[Cause]:
    found: list[Cause] = []
    _walk(value, _MISSING, _nested_node(schema), path, found)
    return found


def _nested_node(schema: Mapping[str, Any]) -> Node:
    """A node for a schema within allOf and the like; made anew each time: it is looked at only for mistakes."""
    items, additional = schema.get('items'), schema.get('additionalProperties')
    return Node(
        type=schema.get('type', ''),
        format=schema.get('format', ''),
        properties={key: _nested_node(part) for key, part in (schema.get('properties') or {}).items()},
        items=_nested_node(items) if isinstance(items, Mapping) else None,
        additional=_nested_node(additional) if isinstance(additional, Mapping) else None,
        required=frozenset(schema.get('required') or ()),
        schema=schema,
    )
