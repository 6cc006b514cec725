"""Time spans as people write them on a command line: ``90s``, ``5m``, ``1h30m``, ``500ms``."""

import datetime

from jobset.api import durations
from jobset.cli import failures


def seconds(option: str, text: str) -> float:
    """How long that is; a plain number is of seconds. ``option`` is named in the message when it is no time span."""
    if text.isdecimal():
        return float(text)
    try:
        span = durations.parse(text)
    except durations.DurationError:
        span = datetime.timedelta(seconds=-1)
    if span < datetime.timedelta(0):
        raise failures.Failure(f'{option} {text}: write a time as 90s, 5m or 1h30m', code=failures.USAGE)
    return span.total_seconds()
