"""Resource quantities of Kubernetes (``500m``, ``1Gi``, ``2e3``) as exact numbers."""

import functools
import re
from fractions import Fraction
from typing import Final

_SUFFIXES: Final = {
    'n': Fraction(1, 10**9),
    'u': Fraction(1, 10**6),
    'm': Fraction(1, 10**3),
    '': Fraction(1),
    'k': Fraction(10**3),
    'M': Fraction(10**6),
    'G': Fraction(10**9),
    'T': Fraction(10**12),
    'P': Fraction(10**15),
    'E': Fraction(10**18),
    'Ki': Fraction(2**10),
    'Mi': Fraction(2**20),
    'Gi': Fraction(2**30),
    'Ti': Fraction(2**40),
    'Pi': Fraction(2**50),
    'Ei': Fraction(2**60),
}
_SHAPE: Final = re.compile(
    r'(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))'
    r'(?:[eE](?P<exponent>[+-]?[0-9]+)|(?P<suffix>[numkMGTPE]|[KMGTPE]i)?)'
)
_EXPONENT_MOST: Final = 1000
"""Beyond this an exponent is refused: the number would fill the memory before anyone could compare it."""


class QuantityError(ValueError):
    """The text is no quantity."""


def parse(value: str | int | float) -> Fraction:
    """The exact value of a quantity, as text or as a JSON number; raises :class:`QuantityError`."""
    return _exact(str(value))


@functools.lru_cache(maxsize=1024)
def _exact(text: str) -> Fraction:
    # Kept: a few amounts come in nearly all pods. What JSON calls true is no quantity as text, either.
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise QuantityError(f'{text!r} is no quantity; write a number with one of the suffixes {" ".join(_SUFFIXES)}')
    number = Fraction(_whole(shape['number']))
    if shape['exponent'] is None:
        return number * _SUFFIXES[shape['suffix'] or '']
    exponent = int(shape['exponent'])
    if abs(exponent) > _EXPONENT_MOST:
        raise QuantityError(f'{text!r} is no quantity; its exponent lies beyond ±{_EXPONENT_MOST}')
    return number * Fraction(10) ** exponent


def text(value: float) -> str:
    """A number as the shortest quantity without an exponent: ``500m`` for 0.5."""
    exact = Fraction(repr(value))
    for suffix in ('', 'm', 'u', 'n'):
        amount = exact / _SUFFIXES[suffix]
        if amount.denominator == 1:
            return f'{amount.numerator}{suffix}'
    # Kubernetes keeps nothing below a billionth, and rounds up.
    return f'{-(-exact // _SUFFIXES["n"])}n'


def _whole(number: str) -> str:
    """The number without the lone dot at its end, which Kubernetes allows and Python does not."""
    return number.removesuffix('.')
