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


class Stamps:
    """The times of the entries of one log, RFC 3339 with nanoseconds.

    No two are the same, and later entries have later ones: a reader that was cut off goes on after the last it has.
    """

    def __init__(self) -> None:
        self._next = 0
        self._second = -1
        self._prefix = b''

    def reach(self, moment: datetime.datetime) -> None:
        """It is that late now."""
        whole = int(moment.timestamp())
        self._next = max(self._next, (whole * 1_000_000 + moment.microsecond) * 1000)

    def take(self) -> bytes:
        """The time of one more entry."""
        second, nanoseconds = divmod(self._next, 1_000_000_000)
        self._next += 1
        if second != self._second:
            self._second = second
            moment = datetime.datetime.fromtimestamp(second, datetime.UTC)
            self._prefix = moment.strftime('%Y-%m-%dT%H:%M:%S.').encode()
        return b'%b%09dZ' % (self._prefix, nanoseconds)


class Splitter:
    """Makes entries of what comes from one stream, which is cut anywhere."""

    def __init__(self, stream: str, stamps: Stamps) -> None:
        self._stamps = stamps
        self._full = f' {stream} F '.encode()
        self._part = f' {stream} P '.encode()
        self._rest = b''

    def feed(self, data: bytes, moment: datetime.datetime) -> bytes:
        """The entries for all lines that are whole now, and for the parts of long ones."""
        lines = (self._rest + data).split(b'\n')
        self._rest = lines.pop()
        self._stamps.reach(moment)
        made = [self._entry(line) for line in lines]
        while len(self._rest) >= LONGEST:
            made.append(self._stamps.take() + self._part + self._rest[:LONGEST] + b'\n')
            self._rest = self._rest[LONGEST:]
        return b''.join(made)

    def finish(self, moment: datetime.datetime) -> bytes:
        """The entry for what came after the last line end, if anything did."""
        rest, self._rest = self._rest, b''
        self._stamps.reach(moment)
        return self._stamps.take() + self._part + rest + b'\n' if rest else b''

    def _entry(self, line: bytes) -> bytes:
        take = self._stamps.take
        if len(line) <= LONGEST:
            return take() + self._full + line + b'\n'
        *parts, last = (line[start : start + LONGEST] for start in range(0, len(line), LONGEST))
        return b''.join([*(take() + self._part + part + b'\n' for part in parts), take() + self._full + last + b'\n'])


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
