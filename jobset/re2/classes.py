"""What stands for one character out of a set: ``[a-z]``, ``\\d``, ``[[:alpha:]]``, ``\\p{Greek}``."""

from typing import NamedTuple

from jobset.re2 import errors, escapes, folding, properties, runes
from jobset.re2.errors import Reason

_DIGIT: runes.Ranges = ((0x30, 0x39),)
_LOWER: runes.Ranges = ((0x61, 0x7A),)
_UPPER: runes.Ranges = ((0x41, 0x5A),)
_WORD: runes.Ranges = (*_DIGIT, *_UPPER, (0x5F, 0x5F), *_LOWER)

_PERL: dict[str, runes.Ranges] = {
    'd': _DIGIT,
    # Without the vertical tab, which [[:space:]] has.
    's': ((9, 10), (12, 13), (32, 32)),
    'w': _WORD,
}

_POSIX: dict[str, runes.Ranges] = {
    'alnum': (*_DIGIT, *_UPPER, *_LOWER),
    'alpha': (*_UPPER, *_LOWER),
    'ascii': ((0, 0x7F),),
    'blank': ((9, 9), (32, 32)),
    'cntrl': ((0, 0x1F), (0x7F, 0x7F)),
    'digit': _DIGIT,
    'graph': ((0x21, 0x7E),),
    'lower': _LOWER,
    'print': ((0x20, 0x7E),),
    'punct': ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    'space': ((9, 13), (32, 32)),
    'upper': _UPPER,
    'word': _WORD,
    'xdigit': (*_DIGIT, (0x41, 0x46), (0x61, 0x66)),
}


class Found(NamedTuple):
    """A set that was read, and where the text goes on behind it."""

    ranges: runes.Ranges
    following: int


def escaped(pattern: str, at: int, *, fold: bool) -> Found | None:
    """The set that the text at ``at`` stands for if it is ``\\d`` or ``\\pN`` or one of their kin, else None."""
    if pattern[at : at + 1] != '\\':
        return None
    letter = pattern[at + 1 : at + 2]
    if letter in {'p', 'P'}:
        return _property(pattern, at, fold=fold)
    ranges = _PERL.get(letter.lower()) if letter.isascii() else None
    if ranges is None:
        return None
    return Found(_chosen(ranges, fold=fold, negated=letter.isupper()), at + 2)


def bracketed(pattern: str, at: int, *, fold: bool) -> Found:
    """The set that the bracket at ``at`` opens. Raises :class:`errors.PatternError`."""
    start = at
    at += 1
    negated = pattern[at : at + 1] == '^'
    if negated:
        at += 1
    ranges: list[runes.Range] = []
    first = at
    # A closing bracket that comes first is one of the characters.
    while at == first or pattern[at : at + 1] != ']':
        found = _posix(pattern, at, fold=fold) or escaped(pattern, at, fold=fold)
        if found is None:
            span, at = _span(pattern, at, start)
            ranges.extend(folding.closure((span,)) if fold else (span,))
        else:
            ranges.extend(found.ranges)
            at = found.following
    merged = runes.union(ranges)
    return Found(runes.complement(merged) if negated else merged, at + 1)


def _span(pattern: str, at: int, start: int) -> tuple[runes.Range, int]:
    """One character, or two with a hyphen between them."""
    low, following = _member(pattern, at, start)
    # In [a-] the hyphen is a character.
    if pattern[following : following + 1] != '-' or pattern[following + 1 : following + 2] in {'', ']'}:
        return (low, low), following
    high, following = _member(pattern, following + 1, start)
    if high < low:
        raise errors.PatternError(Reason.BAD_CLASS_RANGE, pattern[at:following], at)
    return (low, high), following


def _member(pattern: str, at: int, start: int) -> tuple[int, int]:
    if at >= len(pattern):
        raise errors.PatternError(Reason.MISSING_BRACKET, pattern[start:], start)
    if pattern[at] == '\\':
        return escapes.character(pattern, at)
    return ord(pattern[at]), at + 1


def _posix(pattern: str, at: int, *, fold: bool) -> Found | None:
    if not pattern.startswith('[:', at):
        return None
    end = pattern.find(':]', at + 2)
    if end < 0:
        return None
    name = pattern[at + 2 : end]
    ranges = _POSIX.get(name.removeprefix('^'))
    if ranges is None:
        raise errors.PatternError(Reason.BAD_CLASS_RANGE, pattern[at : end + 2], at)
    return Found(_chosen(ranges, fold=fold, negated=name.startswith('^')), end + 2)


def _property(pattern: str, at: int, *, fold: bool) -> Found:
    following = at + 3
    name = pattern[at + 2 : following]
    if name == '{':
        end = pattern.find('}', at)
        if end < 0:
            raise errors.PatternError(Reason.BAD_CLASS_RANGE, pattern[at:], at)
        name = pattern[following:end]
        following = end + 1
    negated = (pattern[at + 1] == 'P') != name.startswith('^')
    ranges = properties.named(name.removeprefix('^'), fold=fold)
    if ranges is None:
        raise errors.PatternError(Reason.BAD_CLASS_RANGE, pattern[at:following], at)
    return Found(runes.complement(ranges) if negated else ranges, following)


def _chosen(ranges: runes.Ranges, *, fold: bool, negated: bool) -> runes.Ranges:
    # What a negation leaves out is what matches whatever the case: (?i)\W excludes the Kelvin sign.
    folded = folding.closure(ranges) if fold else ranges
    return runes.complement(folded) if negated else folded
