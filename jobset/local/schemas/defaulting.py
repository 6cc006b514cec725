"""Defaults of structural schemas.

Null where it is not allowed is as if the field were not there, so that a default can take its place.
"""

import copy
from collections.abc import Collection
from typing import Any, NamedTuple

from jobset.local.schemas.nodes import Node
from jobset.local.store import records


def fill(value: Any, node: Node, settled: Collection[str] = (), *, keeps_null: bool = False) -> None:
    """Fill in the defaults of ``node``, and drop nulls that mean nothing, in place; not in parts that are settled.

    ``keeps_null`` leaves those where there is no default.
    """
    if b'null' in records.encode(value):
        _drop_nulls(value, node, settled, keeps_null)
    _complete(value, node, settled)


def _drop_nulls(value: Any, node: Node, settled: Collection[str], keeps_null: bool) -> None:
    if isinstance(value, list):
        if node.items is not None:
            for item in value:
                _drop_nulls(item, node.items, (), keeps_null)
        return
    if not isinstance(value, dict):
        return
    gone = []
    for key, part in value.items():
        child = node.properties.get(key) or node.additional
        if child is None:
            continue
        if part is None:
            if not child.nullable and not child.preserve_unknown and not (keeps_null and child.default is None):
                gone.append(key)
        elif key not in settled:
            _drop_nulls(part, child, (), keeps_null)
    for key in gone:
        del value[key]


def _complete(value: Any, node: Node, settled: Collection[str]) -> None:
    """Along the parts of the schema in which there are defaults: most of it has none."""
    facts = _facts(node)
    if isinstance(value, list):
        if facts.items is not None:
            for item in value:
                _complete(item, facts.items, ())
        return
    if not isinstance(value, dict):
        return
    for key, child in facts.deep:
        if key in value and key not in settled:
            _complete(value[key], child, ())
    if facts.additional is not None:
        for key, part in value.items():
            if key not in node.properties and key not in settled:
                _complete(part, facts.additional, ())
    for key, default in facts.defaults:
        if key not in value:
            value[key] = copy.deepcopy(default)
            fill(value[key], node.properties[key])


class _Facts(NamedTuple):
    """Where there are defaults below a node."""

    node: Node
    """Kept with them: its id must not come again."""

    defaults: tuple[tuple[str, Any], ...]
    """The properties with a default."""

    deep: tuple[tuple[str, Node], ...]
    """The properties with defaults anywhere in them."""

    items: Node | None
    additional: Node | None
    """Those of the elements, and of the values, when there are defaults in them."""


_known: dict[int, _Facts] = {}


def _facts(node: Node) -> _Facts:
    found = _known.get(id(node))
    if found is None:
        found = _known[id(node)] = _Facts(
            node,
            defaults=tuple((key, child.default) for key, child in node.properties.items() if child.default is not None),
            deep=tuple((key, child) for key, child in node.properties.items() if _has_defaults(child)),
            items=node.items if node.items is not None and _has_defaults(node.items) else None,
            additional=node.additional if node.additional is not None and _has_defaults(node.additional) else None,
        )
    return found


def _has_defaults(node: Node) -> bool:
    """Whether a default stands anywhere below. A tree may contain itself."""
    seen: set[int] = set()
    left = [node]
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if any(child.default is not None for child in one.properties.values()):
            return True
        left += [each for each in (*one.properties.values(), one.items, one.additional) if each is not None]
    return False
