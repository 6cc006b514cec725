"""What has to be remembered of an attempt beyond the Jobs that are there: conditions of our own.

A condition is stored by the same write as the counters that it belongs to, is valid for every version of the API, and
shows where people look. Its message begins with the attempt that it is about; what was remembered of an earlier attempt
counts for nothing.
"""

import base64
import binascii
import zlib
from typing import Final

from jobset.api import types
from jobset.core import conditions, status

DONE: Final = 'JobsDone'
STARTED: Final = 'PodsStarted'
BUDGETS: Final = 'RestartsCharged'
PAUSE: Final = 'RestartPaused'
BLOCKED: Final = 'EndingBlocked'
LOST: Final = 'PodsLostWhileSuspended'
SINGLES: Final = 'JobRestartsPaused'
ROUNDS: Final = 'InPlaceRestartsCounted'

TEXT_AT_MOST: Final = 32_000
"""Characters: a little less than what fits into a condition."""

_PLAIN_AT_MOST: Final = 8_000
"""Characters up to which a text is shown to people as it is."""

_OPENED_AT_MOST: Final = 8_000_000
"""More than anybody has packed: whoever may write a status must not take the controller's memory with a few bytes."""


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


def packed(text: str) -> str:
    """The text in a form that is short enough more often; see :data:`TEXT_AT_MOST`."""
    if len(text) <= _PLAIN_AT_MOST:
        return text
    return f'zlib {base64.b64encode(zlib.compress(text.encode(), 9)).decode()}'


def opened(text: str) -> str:
    """What was packed.

    Raises:
        ValueError: nobody has packed this.
    """
    if not text.startswith('zlib '):
        return text
    try:
        opener = zlib.decompressobj()
        found = opener.decompress(base64.b64decode(text.removeprefix('zlib '), validate=True), _OPENED_AT_MOST)
    except (binascii.Error, zlib.error) as error:
        raise ValueError(str(error)) from error
    if not opener.eof:
        raise ValueError('longer than anything that was noted')
    return found.decode()
