"""A yes or no at native speed: whether an object has the shape of its nodes, with nothing unknown in it.

Nearly all objects are right. Only for the others the slow walks are made that say what is wrong and where.
"""

from collections.abc import Callable
from typing import Any, Final

import jsonschema_rs

from jobset.local.schemas.nodes import Node

QUANTITY: Final = r'^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,2}|[numkMGTPE]|[KMGTPE]i)?$'
_MOMENT: Final = '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]'
_TIMES: Final = {'date-time': r'(\.[0-9]{1,9})?', 'micro-time': r'\.[0-9]{6}'}
_LIMITS: Final = {'int32': 2**31, 'int64': 2**63}

Test = Callable[[Any], bool]


def test(node: Node) -> Test:
    """The test for objects of ``node``. Compiled when first used."""
    compiled: list[jsonschema_rs.Draft4Validator] = []

    def fits(obj: Any) -> bool:
        if not compiled:
            # In draft 4 ``1.0`` is no integer, as in Go.
            compiled.append(jsonschema_rs.Draft4Validator(shapes(node), validate_formats=False))
        try:
            return compiled[0].is_valid(obj)
        except ValueError:  # what Rust cannot hold, as an integer of 30 digits
            return False

    return fits


def shapes(node: Node) -> dict[str, Any]:
    """The JSON Schema of a node. Everything may be null, as everywhere in Kubernetes."""
    definitions: dict[str, Any] = {}
    names: dict[int, str] = {}
    root = _reference(node, definitions, names)
    return {'definitions': definitions, **root}


def _reference(node: Node, definitions: dict[str, Any], names: dict[int, str]) -> dict[str, Any]:
    """Structs are said once and referred to: they may contain themselves."""
    if not node.properties:
        return _plain(node, definitions, names)
    name = names.get(id(node.properties))
    if name is None:
        name = names[id(node.properties)] = str(len(names))
        definitions[name] = {}
        definitions[name] = {
            'type': ['object', 'null'],
            'properties': {key: _reference(child, definitions, names) for key, child in node.properties.items()},
            'additionalProperties': node.preserve_unknown,
        }
    return {'$ref': f'#/definitions/{name}'}


def _plain(node: Node, definitions: dict[str, Any], names: dict[int, str]) -> dict[str, Any]:
    if node.int_or_string:
        return {'type': ['integer', 'string', 'null'], 'minimum': -(2**31), 'maximum': 2**31 - 1}
    if node.format == 'quantity':
        return {'type': ['string', 'number', 'null'], 'pattern': QUANTITY}
    if not node.type:
        return {}
    shape: dict[str, Any] = {'type': [node.type, 'null']}
    if node.format in _LIMITS:
        limit = _LIMITS[node.format]
        shape |= {'minimum': -limit, 'maximum': limit - 1}
    elif node.format in _TIMES:
        shape['pattern'] = f'{_MOMENT}{_TIMES[node.format]}(Z|[+-][0-9]{{2}}:[0-9]{{2}})$'
    if node.items is not None:
        shape['items'] = _reference(node.items, definitions, names)
    if node.additional is not None:
        shape['additionalProperties'] = _reference(node.additional, definitions, names)
    elif node.type == 'object' and not node.preserve_unknown:
        shape['additionalProperties'] = False
    return shape
