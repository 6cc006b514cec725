"""What can go wrong for a user of the SDK: one class for each thing that the user can do about it.

The server's refusals are those of :mod:`jobset.kube.errors`, under the same names here.
"""

# The names say what has happened; a suffix would only repeat "except".
# ruff: noqa: N818

from jobset.client.homes import UnknownCluster
from jobset.client.summaries import Summary
from jobset.kube.auth import Misconfigured
from jobset.kube.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    RetryLater,
    Unauthorized,
    Unreachable,
)

__all__ = [
    'AlreadyExists',
    'ApiError',
    'Conflict',
    'Forbidden',
    'Gone',
    'Invalid',
    'JobSetFailed',
    'Misconfigured',
    'NotFound',
    'RetryLater',
    'TookTooLong',
    'Unauthorized',
    'UnknownCluster',
    'Unreachable',
    'WaitError',
]


class WaitError(Exception):
    """What was waited for has not come. ``summary`` is the last that was seen of the JobSet."""

    def __init__(self, text: str, summary: Summary | None = None) -> None:
        super().__init__(text)
        self.summary = summary


class JobSetFailed(WaitError):
    """The JobSet has failed for good, and will never be what was waited for."""


class Gone(WaitError):
    """The JobSet was deleted meanwhile."""


class TookTooLong(WaitError, TimeoutError):
    """The time is over; the text says what the JobSet waits for."""
