"""Which characters are the same when case does not count: Unicode simple folding, as RE2's ``(?i)`` does it.

An orbit is a set of characters that fold to one another: k, K and the Kelvin sign are one. Full folding, where the
sharp s equals two letters, plays no part, nor does any locale.
"""

import bisect
import functools
from collections.abc import Mapping

from jobset.re2 import runes, unicode15


def orbit(code: int) -> tuple[int, ...]:
    """All code points equal to ``code`` but for case, itself included, in ascending order."""
    return _orbits().get(code) or (code,)


def smallest(code: int) -> int:
    """The first code point of the orbit: the one that stands for all in a folded literal."""
    return orbit(code)[0]


def closure(ranges: runes.Ranges) -> runes.Ranges:
    """``ranges`` with every code point that is equal but for case to one of them."""
    orbits = _orbits()
    folding = _folding()
    added: list[runes.Range] = []
    for low, high in ranges:
        for code in folding[bisect.bisect_left(folding, low) : bisect.bisect_right(folding, high)]:
            added.extend((member, member) for member in orbits[code])
    return runes.union([*ranges, *added]) if added else ranges


@functools.cache
def _folding() -> tuple[int, ...]:
    return tuple(sorted(_orbits()))


@functools.cache
def _orbits() -> Mapping[int, tuple[int, ...]]:
    result: dict[int, tuple[int, ...]] = {}
    for word in unicode15.ORBITS.split():
        if '=' in word:
            members = tuple(int(member, 16) for member in word.split('='))
            result.update(dict.fromkeys(members, members))
        else:
            first, count, step, distance = (int(number, 16) for number in word.split(','))
            for code in range(first, first + count * step, step):
                pair = (code, code + distance)
                result.update(dict.fromkeys(pair, pair))
    return result
