"""Lines of a container's log as container runtimes write them: ``<time> <stream> <P|F> <text>``.

``P`` marks a part of a line that goes on in the next entry, ``F`` its last part.
"""

import datetime
import re
from typing import Final, NamedTuple

LONGEST: Final = 16 << 10
"""Bytes of text in one entry; longer lines are parted."""

_ENTRY: Final = re.compile(rb'(?P<time>\S+) (?P<stream>stdout|stderr) (?P<tag>[PF])(?::\S*)? (?P<text>.*)', re.DOTALL)


class Entry(NamedTuple):
    """One entry as read back."""

    time: bytes
    stream: bytes
    is_part: bool
    text: bytes


def stamp(moment: datetime.datetime) -> bytes:
    """The time of an entry: RFC 3339 with nanoseconds."""
    return moment.astimezone(datetime.UTC).strftime('%Y-%m-%dT%H:%M:%S.%f000Z').encode()


class Splitter:
    """Makes entries of what comes from one stream, which is cut anywhere."""

    def __init__(self, stream: str) -> None:
        self._full = f' {stream} F '.encode()
        self._part = f' {stream} P '.encode()
        self._rest = b''

    def feed(self, data: bytes, moment: datetime.datetime) -> bytes:
        """The entries for all lines that are whole now, and for the parts of long ones."""
        lines = (self._rest + data).split(b'\n')
        self._rest = lines.pop()
        at = stamp(moment)
        made = [self._entry(line, at) for line in lines]
        while len(self._rest) >= LONGEST:
            made.append(at + self._part + self._rest[:LONGEST] + b'\n')
            self._rest = self._rest[LONGEST:]
        return b''.join(made)

    def finish(self, moment: datetime.datetime) -> bytes:
        """The entry for what came after the last line end, if anything did."""
        rest, self._rest = self._rest, b''
        return stamp(moment) + self._part + rest + b'\n' if rest else b''

    def _entry(self, line: bytes, at: bytes) -> bytes:
        if len(line) <= LONGEST:
            return at + self._full + line + b'\n'
        parts = [line[start : start + LONGEST] for start in range(0, len(line), LONGEST)]
        return b''.join([*(at + self._part + part + b'\n' for part in parts[:-1]), at + self._full + parts[-1] + b'\n'])


def parse(line: bytes) -> Entry | None:
    """An entry without its line end; None when it is none."""
    found = _ENTRY.fullmatch(line)
    if found is None:
        return None
    return Entry(found['time'], found['stream'], found['tag'] == b'P', found['text'])


def moment(entry: Entry) -> datetime.datetime:
    """The time of an entry. Raises ValueError."""
    text = entry.time.decode()
    # Python reads at most six digits of a second.
    return datetime.datetime.fromisoformat(text[:26].rstrip('Z')).replace(tzinfo=datetime.UTC)
