"""Resource quantities as the API server writes them back: ``1000m`` is ``1``, ``0.5Gi`` is ``512Mi``.

Exact numbers are those of :mod:`jobset.api.quantities`.
"""

import functools
from fractions import Fraction
from typing import Final

from jobset.api import quantities

_DECIMAL: Final = ('n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E')
_BINARY: Final = ('', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei')
_ONE: Final = _DECIMAL.index('')


@functools.lru_cache(maxsize=4096)
def exact(value: str | int | float) -> Fraction:
    """The number. Raises :class:`jobset.api.quantities.QuantityError`."""
    return quantities.parse(value)


@functools.lru_cache(maxsize=4096)
def canonical(value: str | int | float) -> str:
    """The quantity with the largest suffix that needs no fraction, in the family of suffixes that it was given in."""
    text = str(value).strip()
    # Nothing below a billionth is kept; rounding goes away from zero.
    number = _rounded(quantities.parse(text), Fraction(1, 10**9))
    if text.endswith('i') and (number == 0 or abs(number) >= 1024):
        return _binary(number)
    if 'e' in text or ('E' in text and not text.endswith('E')):
        return _exponent(number)
    return _decimal(number)


@functools.lru_cache(maxsize=4096)
def thousandths(value: str | int | float) -> str:
    """As :func:`canonical`, rounded up to thousandths: what lists of resources hold."""
    text = canonical(value)
    return _decimal(_rounded(exact(text), Fraction(1, 1000))) if text[-1] in 'nu' else text


def _rounded(number: Fraction, unit: Fraction) -> Fraction:
    amount = number / unit
    if amount.denominator == 1:
        return number
    whole = amount.numerator // amount.denominator + (1 if amount > 0 else 0)
    return whole * unit


def _binary(number: Fraction) -> str:
    if number.denominator != 1:
        return _decimal(number)
    amount, place = number.numerator, 0
    while amount and amount % 1024 == 0 and place < len(_BINARY) - 1:
        amount, place = amount // 1024, place + 1
    return f'{amount}{_BINARY[place]}'


def _decimal(number: Fraction) -> str:
    amount, place = _thousands(number)
    return f'{amount}{_DECIMAL[place]}'


def _exponent(number: Fraction) -> str:
    amount, place = _thousands(number)
    power = 3 * (place - _ONE)
    return f'{amount}e{power}' if power else str(amount)


def _thousands(number: Fraction) -> tuple[int, int]:
    """A whole number and the place of its suffix."""
    place = _ONE
    while number.denominator != 1:
        number, place = number * 1000, place - 1
    amount = number.numerator
    while amount and amount % 1000 == 0 and place < len(_DECIMAL) - 1:
        amount, place = amount // 1000, place + 1
    return amount, place
