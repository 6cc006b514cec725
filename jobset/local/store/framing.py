"""Entries of a file that is only ever appended to, each with checksums, and what a bad one at the end means.

An entry is a head of twelve bytes (length of the body, CRC-32 of the body, CRC-32 of these eight bytes; little endian)
and the body. A process that is killed while it writes leaves a part of its last entry; a machine that loses power may
leave zeros where the last entries were to be. Both are a torn end: nothing of it has been acknowledged, or not longer
ago than the time between two syncs. Everything else that does not fit its checksum has been damaged afterwards.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_HEAD: Final = struct.Struct('<III')
_FIRST: Final = struct.Struct('<II')

MAX_BODY: Final = 64 << 20
"""Bytes of one body: far above what the server takes."""


@dataclass(frozen=True)
class TornEnd:
    """The last entry was not written completely; it starts at ``offset``."""

    offset: int


class DamagedError(Exception):
    """An entry that was complete once is not what was written."""

    def __init__(self, offset: int, why: str) -> None:
        super().__init__(f'byte {offset}: {why}')
        self.offset = offset
        self.why = why


def encode(body: bytes) -> bytes:
    """One entry."""
    first = _FIRST.pack(len(body), zlib.crc32(body))
    return b''.join((first, zlib.crc32(first).to_bytes(4, 'little'), body))


def decode(data: bytes | memoryview) -> Iterator[tuple[int, memoryview] | TornEnd]:
    """The offset and the body of each entry, and :class:`TornEnd` as the last where that is so.

    Raises :class:`DamagedError`.
    """
    view = memoryview(data)
    offset, end = 0, len(view)
    while offset < end:
        body_at = offset + _HEAD.size
        if body_at > end:
            yield TornEnd(offset)
            return
        length, checksum, head_checksum = _HEAD.unpack_from(view, offset)
        if zlib.crc32(view[offset : offset + _FIRST.size]) != head_checksum or length > MAX_BODY:
            if _written(view, offset) < _HEAD.size:
                yield TornEnd(offset)
                return
            raise DamagedError(offset, 'the head of an entry does not fit its checksum')
        body = view[body_at : body_at + length]
        if len(body) < length:
            yield TornEnd(offset)
            return
        if zlib.crc32(body) != checksum:
            # No body ends with a zero byte: where one does, and nothing follows, its blocks have not reached the disk.
            if _written(view, offset) < _HEAD.size + length:
                yield TornEnd(offset)
                return
            raise DamagedError(offset, 'an entry does not fit its checksum')
        yield offset, body
        offset = body_at + length


def _written(view: memoryview, offset: int) -> int:
    """How many bytes there are from ``offset`` on that are more than the zeros of blocks never written."""
    return len(view[offset:].tobytes().rstrip(b'\0'))
