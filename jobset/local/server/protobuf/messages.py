"""Messages of the Kubernetes API as the JSON objects that they stand for, by a table of their fields.

The table comes from :mod:`jobset.local.server.protobuf.vendoring`. Messages without a field at its zero value and
messages with it mean the same in JSON, unless the field is a pointer in the Go type: so says the table, too.
"""

import base64
import datetime
import functools
import gzip
import pathlib
import struct
from collections.abc import Callable
from typing import Any, Final

import msgspec

from jobset.local.server.protobuf import wire
from jobset.local.server.protobuf.wire import MalformedError, Value, Wire

TABLE: Final = pathlib.Path(__file__).with_name('messages.json.gz')


class Field(msgspec.Struct, frozen=True, array_like=True):
    """One field of a message."""

    name: str
    """In JSON; empty when the fields of its message stand beside the others."""

    type: str
    """A scalar type of Protocol Buffers, or the full name of a message."""

    is_repeated: bool = False
    is_map: bool = False
    """From strings to ``type``."""

    drops_zero: bool = False
    """Whether the JSON object is without it at its zero value."""


class Table(msgspec.Struct, frozen=True):
    """All that has to be known."""

    kinds: dict[str, str]
    """Full name of the message by ``API version/kind``."""

    messages: dict[str, dict[int, Field]]
    lists: list[str]
    """Messages that are only there to hold a list; in JSON it stands in their place."""


@functools.cache
def table() -> Table:
    """The vendored table."""
    return msgspec.json.decode(gzip.decompress(TABLE.read_bytes()), type=Table)


def of_kind(api_version: str, kind: str) -> str | None:
    """The message of a kind."""
    return _OF_ANY_VERSION.get(kind) or table().kinds.get(f'{api_version}/{kind}')


_META: Final = 'k8s.io.apimachinery.pkg.apis.meta.v1'
_OF_ANY_VERSION: Final = {'DeleteOptions': f'{_META}.DeleteOptions'}
"""What is the same in all groups and versions."""


def read(name: str, data: memoryview | bytes) -> dict[str, Any]:
    """A message as a JSON object. Raises :class:`MalformedError`."""
    known = table().messages[name]
    found: dict[str, Any] = {}
    for number, layout, value in wire.fields(memoryview(data)):
        field = known.get(number)
        if field is None:
            # Of a later version; or of one that had it once.
            continue
        if field.is_map:
            key, entry = _entry(field.type, value)
            found.setdefault(field.name, {})[key] = entry
        elif field.is_repeated:
            found.setdefault(field.name, []).extend(_several(field.type, layout, value))
        else:
            single = _value(field.type, value)
            if not field.name:
                found |= single
            elif single or not field.drops_zero:
                found[field.name] = single
            else:
                found.pop(field.name, None)
    return found


def _several(kind: str, layout: Wire, value: Value) -> list[Any]:
    """Values of a repeated field: mostly one, but numbers may come packed."""
    if layout is not Wire.BYTES or kind not in _NUMBERS or isinstance(value, int):
        return [_value(kind, value)]
    numbers, place = [], 0
    while place < len(value):
        number, place = wire.varint(value, place)
        numbers.append(_value(kind, number))
    return numbers


def _entry(kind: str, value: Value) -> tuple[str, Any]:
    key, found = '', _value(kind, _ZERO.get(kind, wire.NOTHING))
    for number, _, part in wire.fields(_bytes(value)):
        if number == 1:
            key = _text(part)
        elif number == 2:
            found = _value(kind, part)
    return key, found


def _value(kind: str, value: Value) -> Any:
    reader = _READERS.get(kind)
    if reader is not None:
        return reader(value)
    found = read(kind, _bytes(value))
    if kind in table().lists:
        return found.get('items', [])
    if kind in _ALTERNATIVES:
        return next((found[name] for name in _ALTERNATIVES[kind] if name in found), None)
    return found


def _bytes(value: Value) -> memoryview:
    if isinstance(value, int):
        raise MalformedError('proto: wrong wireType = 0')
    return value


def _number(value: Value) -> int:
    if not isinstance(value, int):
        raise MalformedError('proto: wrong wireType = 2')
    return value


def _text(value: Value) -> str:
    # As in Go, what is not UTF-8 is found out about by nobody.
    return str(_bytes(value), 'utf-8', 'replace')


def _double(value: Value) -> float:
    data = _bytes(value)
    if len(data) != struct.calcsize('<d'):
        raise MalformedError('unexpected EOF')
    found: float = struct.unpack('<d', data)[0]
    return found


def _json(value: Value) -> Any:
    """JSON inside of a message, as raw extensions and the fields of managers have it."""
    raw = wire.parts(_bytes(value)).get(1)
    if not raw:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise MalformedError('an object inside of the object is no JSON') from None


def _quantity(value: Value) -> str:
    return _text(wire.parts(_bytes(value)).get(1, wire.NOTHING)) or '0'


def _int_or_string(value: Value) -> int | str:
    numbers: dict[int, Value] = {number: part for number, _, part in wire.fields(_bytes(value))}
    if _number(numbers.get(1, 0)):
        return _text(numbers.get(3, wire.NOTHING))
    return wire.signed(_number(numbers.get(2, 0)), 32)


_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def _time(value: Value, *, micro: bool = False) -> str | None:
    numbers = {number: _number(part) for number, _, part in wire.fields(_bytes(value))}
    if not numbers:
        return None
    seconds = wire.signed(numbers.get(1, 0), 64)
    try:
        moment = _EPOCH + datetime.timedelta(seconds=seconds)
    except OverflowError:
        raise MalformedError(f'{seconds} s since 1970 is no time') from None
    fraction = f'.{numbers.get(2, 0) // 1000:06}' if micro else ''
    return f'{moment.replace(tzinfo=None).isoformat(timespec="seconds")}{fraction}Z'


_EXTENSIONS: Final = 'k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1'
_ALTERNATIVES: Final = {
    f'{_EXTENSIONS}.JSONSchemaPropsOrArray': ('jSONSchemas', 'schema'),
    f'{_EXTENSIONS}.JSONSchemaPropsOrBool': ('schema', 'allows'),
    f'{_EXTENSIONS}.JSONSchemaPropsOrStringArray': ('property', 'schema'),
}
"""Messages in whose place one of their fields stands in JSON, the first that is there."""

_NUMBERS: Final = frozenset({'bool', 'int32', 'int64'})
_ZERO: Final[dict[str, Value]] = dict.fromkeys(_NUMBERS, 0)

_READERS: Final[dict[str, Callable[[Value], Any]]] = {
    'bool': lambda value: bool(_number(value)),
    'int32': lambda value: wire.signed(_number(value), 32),
    'int64': lambda value: wire.signed(_number(value), 64),
    'double': _double,
    'string': _text,
    'bytes': lambda value: base64.b64encode(_bytes(value)).decode(),
    'k8s.io.apimachinery.pkg.api.resource.Quantity': lambda value: (
        _text(wire.parts(_bytes(value)).get(1, wire.NOTHING)) or '0'
    ),
    'k8s.io.apimachinery.pkg.util.intstr.IntOrString': _int_or_string,
    'k8s.io.apimachinery.pkg.runtime.RawExtension': _json,
    f'{_EXTENSIONS}.JSON': _json,
    f'{_META}.FieldsV1': _json,
    f'{_META}.Time': _time,
    f'{_META}.MicroTime': functools.partial(_time, micro=True),
}
"""How values are read: of scalar types, and of messages that JSON has something else for."""

SPECIAL: Final = frozenset(_READERS)
"""Messages of which the table need not tell."""
