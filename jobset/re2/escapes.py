"""What stands for one character: ``\\n``, ``\\x{10FFFF}``, ``\\052``, ``\\.``."""

from jobset.re2 import errors, runes
from jobset.re2.errors import Reason

_CONTROLS = {'a': 7, 'f': 12, 'n': 10, 'r': 13, 't': 9, 'v': 11}
_OCTAL = frozenset('01234567')
_HEX = frozenset('0123456789abcdefABCDEF')


def character(pattern: str, at: int) -> tuple[int, int]:
    """The code point that the escape at ``at`` stands for, and where the text goes on behind it.

    Raises :class:`errors.PatternError`; quotes what Go has read before it gives up.
    """
    if at + 1 == len(pattern):
        raise errors.PatternError(Reason.TRAILING_BACKSLASH, '', at)
    letter = pattern[at + 1]
    following = at + 2
    if letter.isascii() and not letter.isalnum():
        return ord(letter), following
    if letter in _CONTROLS:
        return _CONTROLS[letter], following
    if letter == '0' or (letter in _OCTAL and pattern[following : following + 1] in _OCTAL):
        return _octal(pattern, at + 1)
    if letter == 'x' and following < len(pattern):
        return _braced_hexadecimal(pattern, at) if pattern[following] == '{' else _hexadecimal(pattern, at)
    # Among these are back-references, which RE2 has not: a single digit that is not 0.
    raise errors.PatternError(Reason.BAD_ESCAPE, pattern[at:following], at)


def _octal(pattern: str, at: int) -> tuple[int, int]:
    following = at + 1
    while following < at + 3 and pattern[following : following + 1] in _OCTAL:
        following += 1
    return int(pattern[at:following], 8), following


def _hexadecimal(pattern: str, at: int) -> tuple[int, int]:
    digits = pattern[at + 2 : at + 4]
    if len(digits) < 2 or not _HEX.issuperset(digits):
        raise errors.PatternError(Reason.BAD_ESCAPE, pattern[at : at + 4], at)
    return int(digits, 16), at + 4


def _braced_hexadecimal(pattern: str, at: int) -> tuple[int, int]:
    code = 0
    following = at + 3
    while following < len(pattern) and pattern[following] in _HEX and code <= runes.LAST:
        code = code * 16 + int(pattern[following], 16)
        following += 1
    if code > runes.LAST:
        raise errors.PatternError(Reason.BAD_ESCAPE, pattern[at:following], at)
    if following == at + 3 or pattern[following : following + 1] != '}':
        raise errors.PatternError(Reason.BAD_ESCAPE, pattern[at : following + 1], at)
    return code, following + 1
