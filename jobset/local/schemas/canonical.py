"""Built-in objects as the server writes them: without what Go leaves out, with what Go always writes.

A Go server holds structs, not JSON: null and empty lists vanish, quantities get their shortest form, structs that are
no pointers are always there. Clients compare what they read with what they wrote, so the plane does the same.
"""

import copy
import datetime
from fractions import Fraction
from typing import Any, Final

from jobset.api import quantities
from jobset.local.schemas.nodes import Node

_ZEROS: Final[dict[str, Any]] = {'string': '', 'boolean': False, 'integer': 0, 'number': 0}
_DECIMAL: Final = (
    ('n', -9),
    ('u', -6),
    ('m', -3),
    ('', 0),
    ('k', 3),
    ('M', 6),
    ('G', 9),
    ('T', 12),
    ('P', 15),
    ('E', 18),
)
_BINARY: Final = (('Ki', 10), ('Mi', 20), ('Gi', 30), ('Ti', 40), ('Pi', 50), ('Ei', 60))


def write(obj: dict[str, Any], node: Node) -> None:
    """Bring an object into canonical form, in place. It must have passed :func:`decoding.check`."""
    _members(obj, node)


def _members(obj: dict[str, Any], node: Node) -> None:
    gone = []
    properties = node.properties
    for key, value in obj.items():
        child = properties.get(key)
        if child is None or key == 'managedFields':  # those are kept as they are: an empty list means something
            continue
        if value is None:
            gone.append(key)
        elif isinstance(value, str):
            if child.format:
                obj[key] = _text(value, child)
        elif isinstance(value, list | dict):
            if not value and key not in node.required and (child.items is not None or child.additional is not None):
                gone.append(key)
            else:
                _value(value, child)
        elif child.format == 'quantity':
            obj[key] = quantity(value)
    for key in gone:
        del obj[key]
    for key, default in always(node):
        if key not in obj:
            obj[key] = copy.copy(default) if not default else copy.deepcopy(default)


def _value(value: Any, node: Node) -> None:
    if isinstance(value, dict):
        if node.properties:
            _members(value, node)
        elif node.additional is not None:
            _map(value, node.additional)
    elif node.items is not None and (node.items.properties or node.items.format or None in value):
        value[:] = [zero(node.items) if item is None else item for item in value]
        for index, item in enumerate(value):
            if isinstance(item, dict | list):
                _value(item, node.items)
            elif node.items.format:
                value[index] = _text(item, node.items)


def _map(values: dict[str, Any], node: Node) -> None:
    for key, value in values.items():
        if value is None:
            values[key] = zero(node)
        elif isinstance(value, dict | list):
            _value(value, node)
        elif node.format:
            values[key] = _text(value, node)


_always: dict[int, tuple[tuple[str, Any], ...]] = {}


def always(node: Node) -> tuple[tuple[str, Any], ...]:
    """The fields of a struct that Go writes even when nobody set them, with what it writes."""
    found = _always.get(id(node.properties))
    if found is None:
        required = node.required
        found = tuple(
            (key, zero(child) if child.properties else child.default)
            for key, child in node.properties.items()
            if _is_always(key, child, required)
        )
        _always[id(node.properties)] = found
    return found


def _is_always(key: str, child: Node, required: frozenset[str]) -> bool:
    default = child.default
    if default is None or child.format in ('date-time', 'micro-time'):
        return False
    # A zero that the schema calls a default is written only where Go is told to.
    return key in required or bool(default) or bool(child.properties) or key in _WRITTEN_ZEROS


_WRITTEN_ZEROS: Final = frozenset(
    {
        'currentHealthy',
        'desiredHealthy',
        'disruptionsAllowed',
        'expectedPods',
        'reportingComponent',
        'reportingInstance',
    }
)
"""Optional fields that are written even when they are zero."""


def zero(node: Node) -> Any:
    """What Go writes for a value that nobody set."""
    if node.properties:
        return dict(always(node))
    if node.format == 'quantity':
        return '0'
    if node.int_or_string:
        return 0
    return _ZEROS.get(node.type)


def _text(value: Any, node: Node) -> Any:
    if node.format == 'quantity':
        return quantity(value)
    if node.format == 'date-time' and not (value.endswith('Z') and len(value) == 20):
        moment = datetime.datetime.fromisoformat(value.upper()).astimezone(datetime.UTC)
        return moment.strftime('%Y-%m-%dT%H:%M:%SZ')
    if node.format == 'micro-time' and not value.endswith('Z'):
        moment = datetime.datetime.fromisoformat(value).astimezone(datetime.UTC)
        return moment.strftime('%Y-%m-%dT%H:%M:%S.%fZ')
    return value


_known: dict[Any, str] = {}
"""Quantities already brought into form: a cluster sees the same few over and over."""


def quantity(value: Any) -> str:
    """The canonical form: the largest suffix of the same family that leaves a whole number."""
    found = _known.get(value) if type(value) is str else None
    if found is None:
        found = _quantity(value)
        if len(_known) < 10_000 and type(value) is str:
            _known[value] = found
    return found


def _quantity(value: Any) -> str:
    text = str(value)
    exact = quantities.parse(value)
    exponent = 'e' in text or 'E' in text[:-1]
    if not exact:
        return '0'
    if text.endswith('i') and exact.denominator == 1 and abs(exact) >= 1024:
        return _largest(exact, [(suffix, Fraction(2**power)) for suffix, power in (('', 0), *_BINARY)])
    # Nothing below a billionth is kept; what is left over is rounded up, away from zero.
    nano = exact * 10**9
    whole = -(-nano.numerator // nano.denominator) if nano > 0 else nano.numerator // nano.denominator
    exact = Fraction(whole, 10**9)
    if exponent:
        return _largest(exact, [(f'e{power}' if power else '', Fraction(10) ** power) for _, power in _DECIMAL])
    return _largest(exact, [(suffix, Fraction(10) ** power) for suffix, power in _DECIMAL])


def _largest(exact: Fraction, units: list[tuple[str, Fraction]]) -> str:
    for suffix, unit in reversed(units):
        amount = exact / unit
        if amount.denominator == 1:
            return f'{amount.numerator}{suffix}'
    raise AssertionError(exact)
