"""Sets of code points as sorted ranges that neither overlap nor touch.

All set work of patterns is done here on numbers, so that what a class matches depends on no other engine's idea of
``\\w``, of negation or of case.
"""

from collections.abc import Iterable

Range = tuple[int, int]
"""First and last code point, both included."""

Ranges = tuple[Range, ...]
"""Sorted, at least one missing code point between two neighbours."""

LAST = 0x10FFFF
NOTHING: Ranges = ()
EVERYTHING: Ranges = ((0, LAST),)
ALL_BUT_NEWLINE: Ranges = ((0, 9), (11, LAST))


def union(ranges: Iterable[Range]) -> Ranges:
    """The set of all code points in any of ``ranges``, which come in any order and may overlap."""
    result: list[Range] = []
    for low, high in sorted(ranges):
        if result and low <= result[-1][1] + 1:
            if high > result[-1][1]:
                result[-1] = (result[-1][0], high)
        else:
            result.append((low, high))
    return tuple(result)


def complement(ranges: Ranges) -> Ranges:
    """The set of all code points that are not in ``ranges``."""
    result: list[Range] = []
    following = 0
    for low, high in ranges:
        if following < low:
            result.append((following, low - 1))
        following = high + 1
    if following <= LAST:
        result.append((following, LAST))
    return tuple(result)
