"""Durations as Go writes them: ``15s``, ``1m30s``, ``100ms``."""

import datetime
import re
from fractions import Fraction
from typing import Final

_UNITS: Final = {
    'ns': Fraction(1, 10**9),
    'us': Fraction(1, 10**6),
    'µs': Fraction(1, 10**6),
    'μs': Fraction(1, 10**6),
    'ms': Fraction(1, 1000),
    's': Fraction(1),
    'm': Fraction(60),
    'h': Fraction(3600),
}
_PART: Final = r'(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?P<unit>ns|us|µs|μs|ms|s|m|h)'
_WHOLE: Final = re.compile(rf'[+-]?(?:{_PART.replace("?P<number>", "?:").replace("?P<unit>", "?:")})+')


class DurationError(ValueError):
    """The text is no duration."""


def parse(text: str) -> datetime.timedelta:
    """The duration, to the microsecond; raises :class:`DurationError`."""
    if text.removeprefix('-').removeprefix('+') == '0':
        return datetime.timedelta()
    if not _WHOLE.fullmatch(text):
        raise DurationError(f'{text!r} is no duration; write numbers with units, as in 15s or 1m30s')
    seconds = sum(
        (Fraction(part['number'].removesuffix('.')) * _UNITS[part['unit']] for part in re.finditer(_PART, text)),
        start=Fraction(0),
    )
    try:
        length = datetime.timedelta(microseconds=round(seconds * 10**6))
    except OverflowError as error:
        raise DurationError(f'{text!r} is no duration; it is too long') from error
    return -length if text.startswith('-') else length
