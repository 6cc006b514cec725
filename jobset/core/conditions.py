"""The conditions that a JobSet may have, and how one is set.

Source: JobSet API, ``status.conditions``: types, reasons, messages and the writing rule. A condition is only ever born
true; of the two startup conditions at most one is true.
"""

import datetime
from typing import Final, NamedTuple

from jobset.api import types
from jobset.core import plan

COMPLETED: Final = 'Completed'
FAILED: Final = 'Failed'
SUSPENDED: Final = 'Suspended'
STARTUP_IN_PROGRESS: Final = 'StartupPolicyInProgress'
STARTUP_COMPLETED: Final = 'StartupPolicyCompleted'
RESTARTING: Final = 'RestartingJobSet'
NAME_CONFLICT: Final = 'NameConflict'

_EXCLUDES: Final = {STARTUP_IN_PROGRESS: STARTUP_COMPLETED, STARTUP_COMPLETED: STARTUP_IN_PROGRESS}


class Notice(NamedTuple):
    """A condition to be set, and the type of the event that tells of it."""

    type: str
    holds: bool
    reason: str
    message: str
    event_type: plan.EventType = plan.EventType.NORMAL


ALL_COMPLETED: Final = Notice(COMPLETED, True, 'AllJobsCompleted', 'jobset completed successfully')
NOW_SUSPENDED: Final = Notice(SUSPENDED, True, 'SuspendedJobs', 'jobset is suspended')
RESUMED: Final = Notice(SUSPENDED, False, 'ResumeJobs', 'jobset is resumed')
IN_ORDER_IN_PROGRESS: Final = Notice(
    STARTUP_IN_PROGRESS, True, 'InOrderStartupPolicyInProgress', 'in order startup policy is in progress'
)
IN_ORDER_COMPLETED: Final = Notice(
    STARTUP_COMPLETED, True, 'InOrderStartupPolicyCompleted', 'in order startup policy has completed'
)
RESTART_READY: Final = Notice(RESTARTING, False, 'JobsReady', 'all jobs are ready')
RESTART_COMPLETED: Final = Notice(RESTARTING, False, 'JobSetCompleted', 'jobset completed successfully')
RESTART_FAILED: Final = Notice(RESTARTING, False, 'JobSetFailed', 'jobset failed')
RESTART_SUSPENDED: Final = Notice(RESTARTING, False, 'JobSetSuspended', 'jobset is suspended')


def failed(reason: str, message: str) -> Notice:
    """The condition of a JobSet that failed for good."""
    return Notice(FAILED, True, reason, message, plan.EventType.WARNING)


def restarting(reason: str, message: str) -> Notice:
    """The condition of a JobSet whose Jobs are all being made anew."""
    return Notice(RESTARTING, True, reason, message, plan.EventType.WARNING)


def timestamp(now: datetime.datetime) -> str:
    """An aware time in the form of ``metav1.Time``: UTC, whole seconds."""
    return now.astimezone(datetime.UTC).strftime('%Y-%m-%dT%H:%M:%SZ')


def parsed(time: str) -> datetime.datetime:
    """The aware time that a ``metav1.Time`` says.

    Raises:
        plan.PassStoppedError: it says none, though the schema let it in.
    """
    try:
        moment = datetime.datetime.fromisoformat(time)
    except ValueError as error:
        raise plan.PassStoppedError(f'{time!r} is not a time ({error}); correct the condition that has it') from error
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)


def find(status: types.Status, kind: str) -> types.Condition | None:
    """The condition of that type, if the status has it."""
    return next((condition for condition in status.conditions if condition.type == kind), None)


def is_true(status: types.Status, kind: str) -> bool:
    """Whether the status has that condition and it holds."""
    condition = find(status, kind)
    return condition is not None and condition.is_true


def terminal(status: types.Status) -> types.Condition | None:
    """The condition that ended the JobSet: the first true one of Completed and Failed."""
    return next((c for c in status.conditions if c.type in (COMPLETED, FAILED) and c.is_true), None)


def updated(
    conditions: tuple[types.Condition, ...],
    notice: Notice,
    now: datetime.datetime,
) -> tuple[types.Condition, ...] | None:
    """The conditions with ``notice`` set; None when nothing changes.

    ``lastTransitionTime`` moves only when the condition changes sides.
    """
    status = 'True' if notice.holds else 'False'
    old = next((c for c in conditions if c.type == notice.type), None)
    if old is None and not notice.holds:
        return None
    if old is not None and (old.status, old.reason, old.message) == (status, notice.reason, notice.message):
        return None
    new = types.Condition(
        type=notice.type,
        status=status,
        reason=notice.reason,
        message=notice.message,
        last_transition_time=old.last_transition_time if old and old.status == status else timestamp(now),
    )
    others = (*conditions, new) if old is None else conditions
    merged = tuple(new if c.type == notice.type else c for c in others)
    return tuple(_set_false(c) if notice.holds and c.type == _EXCLUDES.get(notice.type) else c for c in merged)


def _set_false(condition: types.Condition) -> types.Condition:
    """The condition with its sign flipped and nothing else: so the Go controller does with the excluded one."""
    return types.Condition(
        type=condition.type,
        status='False',
        reason=condition.reason,
        message=condition.message,
        last_transition_time=condition.last_transition_time,
    )
