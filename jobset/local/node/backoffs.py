"""When a container that has ended may start again.

The second start comes at once, the third after a base delay, each further one after twice as long up to a cap. What has
run for twice the cap is taken for healthy again.
"""

import datetime

from jobset.local.node.model import Delay


def resume_at(delay: Delay, ended_at: datetime.datetime, *, cap: float) -> datetime.datetime:
    """The earliest moment of the next start after an end at ``ended_at``."""
    if delay.since is None or _is_over(delay, ended_at, cap):
        return ended_at
    return ended_at + datetime.timedelta(seconds=delay.seconds)


def after_start(delay: Delay, ended_at: datetime.datetime, *, base: float, cap: float) -> Delay:
    """The delay for the start after the one that is made now, of a container that had ended at ``ended_at``."""
    if delay.since is None or _is_over(delay, ended_at, cap):
        return Delay(seconds=min(base, cap), since=ended_at)
    return Delay(seconds=min(delay.seconds * 2, cap), since=ended_at)


def text(seconds: float) -> str:
    """A duration as Go writes it: ``1m20s``."""
    whole = round(seconds)
    if whole < 1:
        return f'{round(seconds * 1000)}ms'
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f'{hours}h{minutes}m{rest}s' if hours else f'{minutes}m{rest}s' if minutes else f'{rest}s'


def _is_over(delay: Delay, ended_at: datetime.datetime, cap: float) -> bool:
    return delay.since is not None and (ended_at - delay.since).total_seconds() > 2 * cap
