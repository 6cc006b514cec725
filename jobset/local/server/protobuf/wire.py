"""The wire format of Protocol Buffers: fields of a message by number, with their bare values.

Source: Protocol Buffers, "Encoding".
"""

import enum
from collections.abc import Iterator
from typing import Final

Value = int | memoryview
"""A number as it stands, or bytes."""


NOTHING: Final = memoryview(b'')


class Wire(enum.IntEnum):
    """How a value is laid out."""

    VARINT = 0
    EIGHT_BYTES = 1
    BYTES = 2
    FOUR_BYTES = 5


class MalformedError(ValueError):
    """Bytes that are no message; the text says why."""


def fields(data: memoryview) -> Iterator[tuple[int, Wire, Value]]:
    """Number, layout and value of each field, as they come. Raises :class:`MalformedError`."""
    place, end = 0, len(data)
    while place < end:
        key, place = varint(data, place)
        try:
            layout = Wire(key & 7)
        except ValueError:
            raise MalformedError(f'proto: illegal wireType {key & 7}') from None
        value: Value
        match layout:
            case Wire.VARINT:
                value, place = varint(data, place)
            case Wire.BYTES:
                length, place = varint(data, place)
                value, place = _some(data, place, length)
            case Wire.EIGHT_BYTES:
                value, place = _some(data, place, 8)
            case Wire.FOUR_BYTES:
                value, place = _some(data, place, 4)
        yield key >> 3, layout, value


def parts(data: memoryview) -> dict[int, memoryview]:
    """The fields of a message that hold bytes, by number. Raises :class:`MalformedError`."""
    return {number: value for number, _, value in fields(data) if isinstance(value, memoryview)}


def varint(data: memoryview, place: int) -> tuple[int, int]:
    """The number that begins at ``place``, and where it ends. Raises :class:`MalformedError`."""
    number = shift = 0
    while True:
        if place >= len(data):
            raise MalformedError('unexpected EOF')
        byte = data[place]
        place += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, place
        shift += 7
        if shift > 63:
            raise MalformedError('proto: integer overflow')


def signed(number: int, bits: int) -> int:
    """The number in two's complement of that width."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def _some(data: memoryview, place: int, length: int) -> tuple[memoryview, int]:
    if place + length > len(data):
        raise MalformedError('unexpected EOF')
    return data[place : place + length], place + length
