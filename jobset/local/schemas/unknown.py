"""Fields that a schema does not have: found, or dropped."""

from typing import Any

from jobset.local.schemas.nodes import Node


def fields(value: Any, node: Node, *, drop: bool = False) -> list[str]:
    """The paths of unknown fields of ``value``, in its order; with ``drop`` they are taken out of it."""
    found: list[str] = []
    _walk(value, node, '', found, drop)
    return found


def _walk(value: Any, node: Node, path: str, found: list[str], drop: bool) -> None:
    if isinstance(value, dict):
        _members(value, node, path, found, drop)
    elif isinstance(value, list) and node.items is not None:
        for index, item in enumerate(value):
            if isinstance(item, dict | list):
                _walk(item, node.items, f'{path}[{index}]', found, drop)


def _members(value: dict[str, Any], node: Node, path: str, found: list[str], drop: bool) -> None:
    rest = node.additional
    unknown = []
    for key, part in value.items():
        child = node.properties.get(key, rest)
        if child is None:
            if not node.preserve_unknown:
                unknown.append(key)
        elif isinstance(part, dict | list):
            _walk(part, child, f'{path}.{key}' if path else key, found, drop)
    for key in unknown:
        found.append(f'{path}.{key}' if path else key)
        if drop:
            del value[key]
