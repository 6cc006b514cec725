"""How long ago something was, in few letters, as kubectl prints it.

Source: apimachinery, package ``duration``: two units at most, the second one only while the first is small.
"""

import datetime
from typing import Final

from jobset.local import objects

UNKNOWN: Final = '<unknown>'
INVALID: Final = '<invalid>'

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY
_SECONDS: Final = {'s': 1, 'm': _MINUTE, 'h': _HOUR, 'd': _DAY, 'y': _YEAR}

_STEPS: Final = (
    (2 * _MINUTE, 's', ''),
    (10 * _MINUTE, 'm', 's'),
    (3 * _HOUR, 'm', ''),
    (8 * _HOUR, 'h', 'm'),
    (2 * _DAY, 'h', ''),
    (8 * _DAY, 'd', 'h'),
    (2 * _YEAR, 'd', ''),
    (8 * _YEAR, 'y', 'd'),
)
"""Below so many seconds, which units are written."""


def since(stamp: object, now: datetime.datetime) -> str:
    """The time from ``stamp``, as it stands in an object, to now; what is no time is ``<unknown>``."""
    if not isinstance(stamp, str) or not stamp:
        return UNKNOWN
    try:
        return human(now - objects.moment(stamp))
    except (ValueError, TypeError):
        return UNKNOWN


def human(duration: datetime.timedelta) -> str:
    """``5s``, ``2m3s``, ``10m``, ``3h20m``, ``20h``, ``2d4h``, ``400d``, ``2y3d``, ``9y``."""
    # Towards zero, as integers are made in Go: clocks that differ by less than two seconds give no nonsense.
    seconds = int(duration.total_seconds())
    if seconds < -1:
        return INVALID
    seconds = max(seconds, 0)
    for limit, large, small in _STEPS:
        if seconds < limit:
            return _write(seconds, large, small)
    return _write(seconds, 'y')


def _write(seconds: int, large: str, small: str = '') -> str:
    rest = seconds % _SECONDS[large] // _SECONDS[small] if small else 0
    return f'{seconds // _SECONDS[large]}{large}' + (f'{rest}{small}' if rest else '')
