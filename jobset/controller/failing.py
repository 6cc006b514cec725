"""What is made of writes that fail: errors that bring the pass again, and words for the user."""

from collections.abc import Iterable
from typing import Protocol

from jobset.api import types
from jobset.core import plan
from jobset.kube import errors


class PassFailedError(errors.RetryLater):
    """Part of a plan could not be carried out; the whole is to be decided again after a pause.

    ``retry_after`` is the longest wait that the server asked for, if it did.
    """

    def __init__(self, failures: Iterable[errors.ApiError]) -> None:
        failures = tuple(failures)
        waits = [failure.retry_after for failure in failures if failure.retry_after is not None]
        text = '; '.join(dict.fromkeys(str(failure) for failure in failures))
        super().__init__(0, 'PassFailed', text, retry_after=max(waits, default=None))
        self.is_outage = all(isinstance(failure, errors.RetryLater) and failure.is_outage for failure in failures)


class CreationFailedError(PassFailedError):
    """The server did not take a Job: its name is taken, its template is refused, a quota is used up, and so on."""


class Teller(Protocol):
    """Sends an Event about a JobSet; never blocks."""

    def __call__(self, jobset: types.JobSet, event: plan.Event) -> None: ...


def warn(tell: Teller, jobset: types.JobSet, reason: str, note: str) -> None:
    """Send the Event of a failure."""
    tell(jobset, plan.Event(plan.EventType.WARNING, reason, note))


def message(error: errors.ApiError) -> str:
    """The server's own words: what a user can act on."""
    return error.message or str(error)
