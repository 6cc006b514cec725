"""What a plain scalar of a YAML manifest means: as kubectl reads it, which is not quite as PyYAML does.

kubectl follows YAML 1.1 but for times and sexagesimal numbers: ``12:30`` and ``2001-12-14`` are texts, ``1e3`` is a
number, and ``y`` is true. The same file must mean the same here and there.
"""

import re
from typing import Final

TRUE: Final = frozenset({'y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'})
FALSE: Final = frozenset({'n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'})
NULL: Final = frozenset({'', '~', 'null', 'Null', 'NULL'})

_INFINITE: Final = re.compile(r'[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)')
_OCTAL: Final = re.compile(r'([-+]?)0([0-7]+)')
_INTEGER: Final = re.compile(r'[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|0|[1-9][0-9]*)')
_FLOAT: Final = re.compile(r'[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?')

_LONG: Final = 1000
"""Characters beyond which nothing is a number: reading one takes time that grows with the square of its length."""

_LARGEST: Final = 1 << 63
_WHOLE: Final = 1e21
"""Below this, a float without a fraction is written as a whole number in JSON."""


def plain(text: str) -> object:
    """The value of a scalar without quotes. Raises ValueError for what JSON has no value for."""
    if text in NULL:
        return None
    if text in TRUE:
        return True
    if text in FALSE:
        return False
    if text[0] not in '+-.0123456789' or len(text) > _LONG:
        return text
    if _INFINITE.fullmatch(text):
        raise ValueError(f'{text} cannot be sent to a server; write another number, or quote it')
    number = _number(text.replace('_', ''))
    return text if number is None else number


def _number(digits: str) -> int | float | None:
    if octal := _OCTAL.fullmatch(digits):
        return int(octal[1] + octal[2], 8)
    if _INTEGER.fullmatch(digits):
        whole = int(digits, 0)
        return whole if -_LARGEST <= whole < _LARGEST else _float(digits)
    return _float(digits) if _FLOAT.fullmatch(digits) else None


def _float(digits: str) -> int | float:
    number = float(int(digits, 0)) if _INTEGER.fullmatch(digits) else float(digits)
    if number in (float('inf'), float('-inf')):
        raise ValueError(f'{digits} is too large for a number; quote it')
    return int(number) if number.is_integer() and abs(number) < _WHOLE else number
