"""Values as refusals show them. Objects appear as the JSON of the server's own structs, with their names and nulls."""

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from jobset.api.validation import fields
from jobset.local.kinds import shapes


@dataclass(frozen=True, slots=True)
class Inner:
    """A part of an object that is shown as the struct ``shape``, as ``core.PodTemplateSpec``."""

    shape: str
    value: Any


@dataclass(frozen=True, slots=True)
class Raw:
    """A value whose text is known."""

    text: str


def text(value: object) -> str:
    """The value within a message."""
    match value:
        case str():
            return fields.quote(value)
        case bool():
            return 'true' if value else 'false'
        case int():
            return str(value)
        case Inner():
            return _json(inner(value.shape, value.value))
        case Raw():
            return value.text
    return _json(value)


def _json(value: object) -> str:
    written = json.dumps(value, separators=(',', ':'), ensure_ascii=False)
    for character in '<>&':
        written = written.replace(character, f'\\u{ord(character):04x}')
    return written


Show = Callable[[Any], Any]


def inner(shape: str, value: Any) -> Any:
    """A part of an object as the struct ``shape`` of the server."""
    return _shower(shape)(value)


@functools.cache
def _shower(type_: str) -> Show:
    """Turns a value of the API into what is shown for it; None stands for a value that is not there."""
    if type_[0] == '*':
        inner = _shower(type_[1:])
        return lambda value: None if value is None else inner(value)
    if type_.startswith('[]'):
        item = _shower(type_[2:])
        return lambda value: [item(entry) for entry in value] if value else value
    if type_.startswith('{}'):
        item = _shower(type_[2:])
        return lambda value: {key: item(value[key]) for key in sorted(value)} if value else value
    if '.' in type_:
        return _struct(type_)
    zero = _ZEROS.get(type_)
    return lambda value: zero if value is None else value


_ZEROS: Final = {'string': '', 'int': 0, 'bool': False, 'float': 0, 'quantity': '0', 'intstr': 0}


def _struct(type_: str) -> Show:
    def show(value: Any) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        for name, path, omitted, convert in members:
            found = value or {}
            for key in path:
                found = found.get(key) or {} if key is not path[-1] else found.get(key)
            made = convert(found)
            if not (omitted and not made):
                shown[name] = made
        return shown

    members = []
    for name, json_name, written in shapes.load()[type_].inner:
        inner, _, omitted = written.partition(',')
        members.append((name, tuple(json_name.split('.')), bool(omitted), _shower(inner)))
    return show
