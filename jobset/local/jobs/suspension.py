"""What it means for the status that a Job is suspended, or goes on: ``spec.suspend``.

A suspended Job has no start time, since 1.36: it gets a new one when it goes on, and its deadline counts from there.
"""

import datetime

import msgspec

from jobset.kube.events import EventType
from jobset.local import objects
from jobset.local.jobs import conditions
from jobset.local.jobs.plan import Event
from jobset.local.jobs.types import Status


def applied(status: Status, *, suspend: bool, now: datetime.datetime) -> tuple[Status, list[Event]]:
    """The status that says so, and the Event, if that is news."""
    word = 'suspended' if suspend else 'resumed'
    reason, message = f'Job{word.capitalize()}', f'Job {word}'
    known = status.condition(conditions.SUSPENDED)
    if known is None and not suspend:
        return status, []
    if known is not None and (known.holds, known.reason, known.message) == (suspend, reason, message):
        return status, []
    new = conditions.make(conditions.SUSPENDED, reason, message, now, holds=suspend)
    after = conditions.put(status.conditions or (), new)
    start = None if suspend else objects.stamp(now)
    changed = msgspec.structs.replace(status, conditions=after, start_time=start)
    return changed, [Event(EventType.NORMAL, word.capitalize(), message)]
