"""What the fields of a JobSet mean, told as ``kubectl explain`` does, without a cluster."""

import difflib
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from jobset.api import keys, schema

Schema = Mapping[str, Any]

_WIDTH: Final = 80
_PREFIXES: Final = frozenset({'jobset', 'jobsets', keys.CRD_NAME})


class UnknownField(LookupError):  # noqa: N818 - says what is wrong
    """There is no field of that path. The text says what there is."""


@dataclass(frozen=True)
class Found:
    """A field."""

    path: Sequence[str]
    schema: Schema


def find(path: str) -> Found:
    """The field that is called so, from the root of a JobSet. Raises :class:`UnknownField`."""
    names = [name for name in path.replace('[]', '').split('.') if name]
    if names and names[0].lower() in _PREFIXES:
        names = names[1:]
    node: Schema = schema.jobset()
    for place, name in enumerate(names):
        fields = _fields(node)
        if name not in fields:
            raise UnknownField(_unknown('.'.join(names[:place]) or 'jobset', name, fields))
        node = fields[name]
    return Found(names, node)


def fields(path: str) -> list[str]:
    """The names of the fields below a path, none where there is no such field: for completion."""
    try:
        return sorted(_fields(find(path).schema))
    except UnknownField:
        return []


def text(found: Found, *, recursive: bool = False) -> str:
    """What a person reads about a field, and the fields that it has."""
    node = found.schema
    lines = [f'GROUP:      {keys.GROUP}', f'KIND:       {keys.KIND}', f'VERSION:    {keys.VERSION}', '']
    if found.path:
        lines.append(f'FIELD: {found.path[-1]} <{_type(node)}>')
        if options := _enum(node):
            lines += ['ENUM:', *(f'    {option}' for option in options)]
        if 'default' in node:
            lines.append(f'DEFAULT: {_value(node["default"])}')
        lines.append('')
    lines += ['DESCRIPTION:', *_wrapped(node.get('description') or '<empty>', '    ')]
    for rule in node.get('x-kubernetes-validations') or ():
        lines += _wrapped(f'Rule: {rule.get("message") or rule["rule"]}.', '    ')
    children = _fields(node)
    if children:
        lines += ['', 'FIELDS:', *(_tree(node, '  ') if recursive else _list(node))]
    return '\n'.join(lines).rstrip('\n')


def _list(node: Schema) -> Iterator[str]:
    for name, child in sorted(_fields(node).items()):
        yield _headline(node, name, child, '  ')
        yield from _facts(child, '  ')
        yield from _wrapped(child.get('description') or '<no description>', '    ')
        yield ''


def _tree(node: Schema, indent: str) -> Iterator[str]:
    for name, child in sorted(_fields(node).items()):
        yield _headline(node, name, child, indent)
        yield from _facts(child, indent)
        yield from _tree(child, f'{indent}  ')


def _headline(parent: Schema, name: str, child: Schema, indent: str) -> str:
    required = ' -required-' if name in (_object(parent).get('required') or ()) else ''
    return f'{indent}{name}\t<{_type(child)}>{required}'


def _facts(child: Schema, indent: str) -> Iterator[str]:
    if options := _enum(child):
        yield f'{indent}enum: {", ".join(options)}'
    if 'default' in child:
        yield f'{indent}default: {_value(child["default"])}'


def _fields(node: Schema) -> Mapping[str, Schema]:
    """The fields of an object, or of the objects of a list or a map."""
    return _object(node).get('properties') or {}


def _object(node: Schema) -> Schema:
    while True:
        inner = node.get('items') or node.get('additionalProperties')
        if not isinstance(inner, Mapping):
            return node
        node = inner


def _enum(node: Schema) -> list[str]:
    return [str(option) for option in node.get('enum') or (node.get('items') or {}).get('enum') or ()]


def _type(node: Schema) -> str:
    if node.get('x-kubernetes-int-or-string'):
        return 'integer or string'
    if 'items' in node:
        return f'[]{_type(node["items"])}'
    if isinstance(node.get('additionalProperties'), Mapping):
        return f'map[string]{_type(node["additionalProperties"])}'
    kind = node.get('type', '')
    return 'Object' if kind == 'object' or not kind else str(kind)


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _wrapped(text: str, indent: str) -> list[str]:
    """Paragraphs in lines of a terminal."""
    lines: list[str] = []
    for paragraph in text.split('\n'):
        lines += textwrap.wrap(paragraph, _WIDTH, initial_indent=indent, subsequent_indent=indent) or [indent.rstrip()]
    return lines


def _unknown(parent: str, name: str, fields: Mapping[str, Schema]) -> str:
    lower = {known.lower(): known for known in fields}
    near = [lower[match] for match in difflib.get_close_matches(name.lower(), lower, n=3)]
    text = f'field "{name}" does not exist in {parent}'
    if near:
        return f'{text}; did you mean {" or ".join(near)}?'
    return f'{text}; it has: {", ".join(sorted(fields))}' if fields else f'{text}, which has no fields'
