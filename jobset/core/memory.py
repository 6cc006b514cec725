"""What has to be remembered of an attempt beyond the Jobs that are there: conditions of our own.

A condition is stored by the same write as the counters that it belongs to, is valid for every version of the API, and
shows where people look. Its message begins with the attempt that it is about; what was remembered of an earlier attempt
counts for nothing.
"""

from typing import Final

from jobset.api import types
from jobset.core import conditions, status

DONE: Final = 'JobsDone'
STARTED: Final = 'PodsStarted'
BUDGETS: Final = 'RestartsCharged'
PAUSE: Final = 'RestartPaused'
BLOCKED: Final = 'EndingBlocked'
LOST: Final = 'PodsLostWhileSuspended'


def recall(stored: types.Status, kind: str) -> str:
    """What is remembered of the running attempt; empty where nothing is."""
    condition = conditions.find(stored, kind)
    if condition is None or not condition.is_true:
        return ''
    prefix = f'attempt {stored.restarts}: '
    return condition.message.removeprefix(prefix) if condition.message.startswith(prefix) else ''


def remember(draft: status.Draft, kind: str, reason: str, text: str) -> None:
    """Remember this of the running attempt, in place of what was remembered before. No event tells of it."""
    message = f'attempt {draft.current.restarts}: {text}'
    draft.set_silently(conditions.Notice(kind, True, reason, message))


def forget(draft: status.Draft, kind: str, reason: str, message: str) -> None:
    """Remember nothing of that kind any more."""
    draft.set_silently(conditions.Notice(kind, False, reason, message))
