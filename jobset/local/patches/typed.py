"""Whether an applied configuration has the types of its schema: an apply takes nothing else, whatever it is told.

Source: answers of kube-apiserver 1.37, whose texts show values as Go prints them.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from jobset.local.patches import fieldsets
from jobset.local.schemas.nodes import Node

_GO_TYPES: Final[Mapping[type, str]] = {
    bool: 'bool',
    dict: 'map[string]interface {}',
    list: '[]interface {}',
    str: 'string',
}


def mistakes(applied: Any, node: Node) -> list[str]:
    """What is wrong, in the order of the configuration, as ``.spec.colour: field not declared in schema``."""
    return list(_walk(applied, node, ''))


def told(found: list[str]) -> str:
    """Mistakes, at least one, as one text."""
    return found[0] if len(found) == 1 else '\n  '.join(('errors:', *found))


def plain(value: Any) -> str:
    """A value as Go's ``%v`` shows it."""
    match value:
        case dict():
            return f'map[{" ".join(f"{key}:{plain(value[key])}" for key in sorted(value))}]'
        case list():
            return f'[{" ".join(plain(part) for part in value)}]'
        case None:
            return '<nil>'
        case bool():
            return str(value).lower()
        case _:
            return str(value)


def _source(value: Any) -> str:
    """A value as Go's ``%#v`` shows it."""
    match value:
        case dict():
            entries = ', '.join(f'{fieldsets.encoded(key)}:{_source(value[key])}' for key in sorted(value))
            return f'map[string]interface {{}}{{{entries}}}'
        case list():
            return f'[]interface {{}}{{{", ".join(_source(part) for part in value)}}}'
        case None:
            return 'interface {}(nil)'
        case _:
            return fieldsets.encoded(value)


def _walk(value: Any, node: Node, path: str) -> Iterator[str]:
    if value is None:
        return
    if node.int_or_string or node.format == 'quantity':
        # A port may be anything here: decoding finds that out.
        if isinstance(value, dict | list) and not node.name.endswith('IntOrString'):
            yield f'{path}: expected any scalar, got &{{{plain(value)}}}'
        return
    match node.type:
        case 'object' if not isinstance(value, dict):
            yield f'{path}: expected map, got &{{{plain(value)}}}'
        case 'object':
            yield from _members(value, node, path)
        case 'array' if not isinstance(value, list):
            yield f'{path}: expected list, got &{{{plain(value)}}}'
        case 'array':
            yield from _items(value, node, path)
        case 'string' if not isinstance(value, str):
            yield f'{path}: expected string, got &value.valueUnstructured{{Value:{_source(value)}}}'
        case 'boolean' if not isinstance(value, bool):
            yield f'{path}: expected boolean, got &{{{plain(value)}}}'
        case 'integer' | 'number' if isinstance(value, bool) or not isinstance(value, int | float):
            yield f'{path}: expected numeric (int or float), got {_GO_TYPES[type(value)]}'


def _members(value: dict[str, Any], node: Node, path: str) -> Iterator[str]:
    for key, part in value.items():
        child = node.properties.get(key, node.additional)
        if child is not None:
            yield from _walk(part, child, f'{path}.{key}')
        elif not node.preserve_unknown:
            yield f'{path}.{key}: field not declared in schema'
            # The real server looks no further into this part.
            return


def _items(value: list[Any], node: Node, path: str) -> Iterator[str]:
    if node.items is None:
        return
    if node.list_type not in ('map', 'set'):
        for index, item in enumerate(value):
            yield from _walk(item, node.items, f'{path}[{index}]')
        return
    seen: set[str] = set()
    for index, item in enumerate(value):
        wrong = _unidentified(item, node)
        if wrong:
            yield f'{path}: element {index}: {wrong}'
            continue
        identity = _identity(item, node)
        if identity in seen:
            yield f'{path}: duplicate entries for key {identity}'
        seen.add(identity)
        yield from _walk(item, node.items, f'{path}{identity}')


def _unidentified(item: Any, node: Node) -> str:
    """Why an item has no identity; empty when it has one."""
    if node.list_type == 'set':
        return "associative list without keys has an element that's an explicit null" if item is None else ''
    if item is None:
        return 'associative list with keys may not have a null element'
    if not isinstance(item, dict):
        return 'associative list with keys may not have non-map elements'
    if not any(item.get(key) is not None or _default(node, key) is not None for key in node.map_keys):
        keys = ' '.join(fieldsets.encoded(key) for key in node.map_keys)
        return (
            f'associative list with keys has an element that omits all key fields [{keys}] '
            "(and doesn't have default values for any key fields)"
        )
    return ''


def _identity(item: Any, node: Node) -> str:
    if node.list_type == 'set':
        return f'[={fieldsets.encoded(item)}]'
    values = {key: item.get(key, _default(node, key)) for key in sorted(node.map_keys)}
    return f'[{",".join(f"{key}={fieldsets.encoded(part)}" for key, part in values.items() if part is not None)}]'


def _default(node: Node, key: str) -> Any:
    child = node.items.properties.get(key) if node.items is not None else None
    return child.default if child is not None else None
