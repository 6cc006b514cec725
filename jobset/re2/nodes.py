"""What a pattern means, as frozen values. :mod:`jobset.re2.syntax` makes them, :mod:`jobset.re2.translation` uses them.

Alternatives with a common beginning are already factored, and single characters between bars already one class, just
as Go's own parser leaves them.
"""

import enum
from dataclasses import dataclass

from jobset.re2 import runes


class Place(enum.Enum):
    """What a position in the text must be like; nothing is consumed."""

    TEXT_START = 'bot'
    TEXT_END = 'eot'
    LINE_START = 'bol'
    LINE_END = 'eol'
    WORD_BOUNDARY = 'wb'
    NO_WORD_BOUNDARY = 'nwb'


@dataclass(frozen=True, slots=True)
class Empty:
    """Matches everywhere, consuming nothing."""


@dataclass(frozen=True, slots=True)
class Literal:
    """The characters of ``text`` in this order."""

    text: str
    fold: bool
    """Whether case does not count; then each character is the smallest of its orbit."""


@dataclass(frozen=True, slots=True)
class Class:
    """One character out of a set, which may be empty: then nothing matches."""

    ranges: runes.Ranges


@dataclass(frozen=True, slots=True)
class At:
    """A condition on the position."""

    place: Place


@dataclass(frozen=True, slots=True)
class Repeat:
    """``body`` from ``low`` to ``high`` times in a row."""

    body: 'Node'
    low: int
    high: int | None
    """None: without limit."""
    lazy: bool


@dataclass(frozen=True, slots=True)
class Capture:
    """A group that has a number and perhaps a name. Names may occur twice, as in Go."""

    body: 'Node'
    index: int
    name: str


@dataclass(frozen=True, slots=True)
class Concat:
    """All of ``parts``, one after the other."""

    parts: tuple['Node', ...]


@dataclass(frozen=True, slots=True)
class Alternate:
    """Any one of ``branches``."""

    branches: tuple['Node', ...]


Node = Empty | Literal | Class | At | Repeat | Capture | Concat | Alternate
