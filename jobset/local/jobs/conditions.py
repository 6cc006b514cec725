"""Conditions of Jobs: which there are, and how one is put among the others.

A Job that ends gets two: first the interim one, which says that it is going to (``FailureTarget`` or
``SuccessCriteriaMet``), and once all its pods are counted and have ended, the final one with the same reason.
"""

import datetime
from typing import Final

import msgspec

from jobset.local import objects
from jobset.local.jobs.types import Condition

SUSPENDED: Final = 'Suspended'
COMPLETE: Final = 'Complete'
FAILED: Final = 'Failed'
FAILURE_TARGET: Final = 'FailureTarget'
SUCCESS_CRITERIA_MET: Final = 'SuccessCriteriaMet'

FINAL: Final = {FAILURE_TARGET: FAILED, SUCCESS_CRITERIA_MET: COMPLETE}
"""What each interim condition leads to."""

Conditions = tuple[Condition, ...]


def make(kind: str, reason: str, message: str, now: datetime.datetime, *, holds: bool = True) -> Condition:
    """A condition that has just changed."""
    stamp = objects.stamp(now)
    status = 'True' if holds else 'False'
    return Condition(
        type=kind,
        status=status,
        last_probe_time=stamp,
        last_transition_time=stamp,
        reason=reason,
        message=message,
    )


def put(conditions: Conditions, new: Condition) -> Conditions:
    """The conditions with this one in the place of the earlier one of its type, or else at the end.

    They stay the same where nothing but times would change, and where what was never true would become false.
    """
    for place, old in enumerate(conditions):
        if old.type == new.type:
            if (old.status, old.reason, old.message) == (new.status, new.reason, new.message):
                return conditions
            return (*conditions[:place], new, *conditions[place + 1 :])
    return (*conditions, new) if new.holds else conditions


def final(interim: Condition, now: datetime.datetime) -> Condition:
    """The condition that follows an interim one."""
    stamp = objects.stamp(now)
    return msgspec.structs.replace(interim, type=FINAL[interim.type], last_probe_time=stamp, last_transition_time=stamp)
