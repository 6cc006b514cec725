"""Defaults of structural schemas.

Null where it is not allowed is as if the field were not there, so that a default can take its place.
"""

import copy
from collections.abc import Collection
from typing import Any

from jobset.local.schemas.nodes import Node


def fill(value: Any, node: Node, settled: Collection[str] = (), *, keeps_null: bool = False) -> None:
    """Fill in the defaults of ``node``, and drop nulls that mean nothing, in place; not in parts that are settled.

    ``keeps_null`` leaves those where there is no default.
    """
    if isinstance(value, dict):
        _members(value, node, settled, keeps_null)
    elif isinstance(value, list) and node.items is not None:
        for item in value:
            if isinstance(item, dict | list):
                fill(item, node.items, keeps_null=keeps_null)


def _members(value: dict[str, Any], node: Node, settled: Collection[str], keeps_null: bool) -> None:
    gone = []
    properties = node.properties
    for key, part in value.items():
        child = properties.get(key) or node.additional
        if child is None:
            continue
        if part is None:
            if not child.nullable and not child.preserve_unknown and not (keeps_null and child.default is None):
                gone.append(key)
        elif isinstance(part, dict | list) and key not in settled:
            fill(part, child, keeps_null=keeps_null)
    for key in gone:
        del value[key]
    for key, default in _defaults(node):
        if key not in value:
            value[key] = copy.deepcopy(default)
            if isinstance(value[key], dict | list):
                fill(value[key], properties[key])


_known: dict[int, tuple[Node, tuple[tuple[str, Any], ...]]] = {}


def _defaults(node: Node) -> tuple[tuple[str, Any], ...]:
    """The properties with a default. The node is kept with them: its id must not come again."""
    found = _known.get(id(node))
    if found is None:
        defaults = tuple((key, child.default) for key, child in node.properties.items() if child.default is not None)
        found = _known[id(node)] = (node, defaults)
    return found[1]
