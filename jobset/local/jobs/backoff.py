"""How long to wait before a pod is made again: longer after each failure without a success in between.

Source: ``batch/v1`` Job, "pod backoff failure policy"; 10 s after the first failure, doubled up to 10 min.
"""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from jobset.local.jobs.types import Pod, moment

BASE_SECONDS: Final = 10
CAP_SECONDS: Final = 600


@dataclass(frozen=True, slots=True)
class Record:
    """The failures of a Job since its last success. Only kept in memory, as upstream does."""

    failures: int = 0
    last: datetime.datetime | None = None
    """When the last of them happened."""

    def after(self, *, succeeded: Sequence[Pod], failed: Sequence[Pod]) -> 'Record':
        """The record with more pods that have ended."""
        if not succeeded and not failed:
            return self
        ends = sorted(finished_at(pod) for pod in failed)
        if not succeeded:
            return Record(self.failures + len(ends), ends[-1])
        success = max(finished_at(pod) for pod in succeeded)
        later = [end for end in ends if end > success]
        return Record(len(later), later[-1] if later else None)

    def remaining(self, now: datetime.datetime) -> float:
        """Seconds for which no pod is to be made."""
        return remaining(self.failures, self.last, now)


NONE: Final = Record()


def remaining(failures: int, last: datetime.datetime | None, now: datetime.datetime) -> float:
    """Seconds that are left of the pause after so many failures, the last of which was then."""
    if not failures or last is None:
        return 0.0
    # The exponent is bounded so that a long row of failures costs nothing.
    pause = min(CAP_SECONDS, BASE_SECONDS << min(failures - 1, 16))
    return max(0.0, pause - (now - last).total_seconds())


def finished_at(pod: Pod) -> datetime.datetime:
    """When a pod ended: as its containers say, else as its readiness, else when it was deleted."""
    ends = [status.terminated for status in pod.status.container_statuses or ()]
    times = [end.finished_at for end in ends if end is not None and end.finished_at]
    if times and len(times) == len(ends):
        # All in one format, so that their order is that of the text.
        return moment(max(times)) or _EPOCH
    ready = pod.ready
    if ready is not None and ready.status == 'False' and ready.last_transition_time:
        return moment(ready.last_transition_time) or _EPOCH
    deleted = moment(pod.metadata.deletion_timestamp)
    if deleted is not None:
        return deleted - datetime.timedelta(seconds=pod.metadata.deletion_grace_period_seconds or 0)
    return moment(pod.metadata.creation_timestamp) or _EPOCH


_EPOCH: Final = datetime.datetime.fromtimestamp(0, datetime.UTC)
