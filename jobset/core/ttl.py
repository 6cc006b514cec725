"""When a finished JobSet is removed.

Source: JobSet API, ``spec.ttlSecondsAfterFinished``. It counts from the transition of the terminal condition, whoever
wrote it.
"""

import datetime

from jobset.api import types
from jobset.core import conditions


def seconds_left(jobset: types.JobSet, now: datetime.datetime) -> float | None:
    """How long the set may stay; zero or less when its time is over, None when it stays or has not finished."""
    ttl = jobset.spec.ttl_seconds_after_finished
    ending = conditions.terminal(jobset.status)
    if ttl is None or ending is None:
        return None
    # In this order nothing can overflow, however far away the time is.
    return (conditions.parsed(ending.last_transition_time) - now).total_seconds() + ttl
