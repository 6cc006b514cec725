"""What a Go server says when it cannot decode an object: the wrong type, and for which field of which struct.

Source: texts of kube-apiserver 1.37. The type is named by the Go struct that holds the field, the field by the path of
JSON names, without indexes.
"""

import re
from typing import Any, Final

from jobset.api import quantities
from jobset.local.problems import Problem
from jobset.local.schemas.nodes import Node

_TIME: Final = re.compile(
    r'[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?'
    r'(Z|[+-][0-9]{2}:[0-9]{2})'
)
_MICRO: Final = re.compile(r'[^.]*\.[0-9]{6}[^0-9].*')
_LIMITS: Final = {'int32': 2**31, 'int64': 2**63}
_GO_SCALARS: Final = {'string': 'string', 'boolean': 'bool', 'number': 'float64', 'integer': 'int64'}
_NAMED: Final = {'uid': 'types.UID', 'requests': 'v1.ResourceList', 'limits': 'v1.ResourceList'}
"""Go types that OpenAPI does not tell, by the name of the field."""


_EMBEDDED: Final = {
    'Probe': ('ProbeHandler', frozenset({'exec', 'grpc', 'httpGet', 'tcpSocket'})),
}
"""Structs with another one embedded in Go, and its fields: the decoder names it in paths, JSON does not."""


class UndecodableError(ValueError):
    """The text says what is wrong, as Go's decoder does."""


def check(obj: Any, node: Node) -> None:
    """Raise :class:`UndecodableError` for the first value of ``obj`` that its Go type could not hold."""
    _check(obj, node, node.name.rsplit('.', 1)[-1], '')


def refuse(kind: str, version: str, error: UndecodableError) -> Problem:
    """The answer for an object that cannot be decoded."""
    return Problem.bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {error}')


def _check(value: Any, node: Node, owner: str, path: str) -> None:
    if value is None:
        return
    if node.int_or_string or node.format == 'quantity' or node.format in ('date-time', 'micro-time'):
        _special(value, node, owner, path)
    elif node.type == 'object':
        if not isinstance(value, dict):
            raise _wrong(value, node, owner, path)
        _members(value, node, owner, path)
    elif node.type == 'array':
        if not isinstance(value, list):
            raise _wrong(value, node, owner, path)
        if node.items is not None:
            for item in value:
                _check(item, node.items, owner, path)
    elif node.type and not _is_scalar(value, node):
        raise _wrong(value, node, owner, path)


def _members(value: dict[str, Any], node: Node, owner: str, path: str) -> None:
    if node.properties:
        owner = node.name.rsplit('.', 1)[-1] or owner
    embedded, within = _EMBEDDED.get(owner, ('', frozenset()))
    for key, part in value.items():
        child = node.properties.get(key)
        if child is not None:
            _check(part, child, owner, f'{path}.{embedded}.{key}' if key in within else f'{path}.{key}')
        elif node.additional is not None:
            _check(part, node.additional, owner, path)


def _is_scalar(value: Any, node: Node) -> bool:
    match node.type:
        case 'string':
            return isinstance(value, str)
        case 'boolean':
            return isinstance(value, bool)
        case 'number':
            return isinstance(value, int | float) and not isinstance(value, bool)
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    limit = _LIMITS.get(node.format, 2**63)
    return -limit <= value < limit


def _special(value: Any, node: Node, owner: str, path: str) -> None:
    if node.format == 'quantity':
        try:
            quantities.parse(value)
        except (quantities.QuantityError, TypeError):
            text = r"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            raise UndecodableError(text) from None
    elif node.int_or_string:
        if isinstance(value, str):
            return
        if isinstance(value, bool) or not isinstance(value, int) or not -(2**31) <= value < 2**31:
            raise UndecodableError(
                f'json: cannot unmarshal {_found(value, numeric=True)} {_where(owner, path)} of type int32'
            )
    elif not isinstance(value, str):
        raise _wrong(value, node, owner, path)
    elif not _TIME.fullmatch(value):
        raise UndecodableError(f'parsing time "{value}" as "{_layout(node)}": cannot parse "{value}" as "2006"')
    elif node.format == 'micro-time' and not _MICRO.fullmatch(value):
        rest = value[len('2006-01-02T15:04:05') :]
        raise UndecodableError(f'parsing time "{value}" as "{_layout(node)}": cannot parse "{rest}" as ".000000"')


def _layout(node: Node) -> str:
    return '2006-01-02T15:04:05.000000Z07:00' if node.format == 'micro-time' else '2006-01-02T15:04:05Z07:00'


def _wrong(value: Any, node: Node, owner: str, path: str) -> UndecodableError:
    found = _found(value, numeric=node.type == 'integer')
    if not path:
        return UndecodableError(f'json: cannot unmarshal {found} into Go value of type {node.name}')
    return UndecodableError(f'json: cannot unmarshal {found} {_where(owner, path)} of type {_go_type(node, path)}')


def _where(owner: str, path: str) -> str:
    return f'into Go struct field {owner}{path}'


def _found(value: Any, *, numeric: bool) -> str:
    match value:
        case bool():
            return 'bool'
        case str():
            return 'string'
        case list():
            return 'array'
        case dict():
            return 'object'
    return f'number {value}' if numeric else 'number'


def _go_type(node: Node, path: str) -> str:
    named = _NAMED.get(path.rsplit('.', 1)[-1])
    if named and not (named == 'types.UID' and node.type != 'string'):
        return named
    if node.type == 'array':
        return f'[]{_go_type(node.items, "")}' if node.items is not None else '[]interface {}'
    if node.additional is not None:
        return f'map[string]{_go_type(node.additional, "")}'
    if node.format in ('date-time', 'micro-time'):
        return 'string'
    return node.name or (node.format if node.format in _LIMITS else _GO_SCALARS.get(node.type, 'interface {}'))
