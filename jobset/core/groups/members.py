"""How many pods the Jobs of each group may have, kept up to date as Jobs come, change and go.

A gang that waits for more pods than may exist waits for ever: kube-scheduler tries a group only while as many pods as
``minCount`` have not ended. So what is counted is what each Job may still have at the same time.
"""

import dataclasses
import re
from collections.abc import Mapping

from jobset.api import jobs


@dataclasses.dataclass(slots=True)
class Tally:
    """The Jobs of one replicated job in one group that have not ended."""

    jobs: int = 0
    pods: int = 0
    running: int = 0
    """Those of the Jobs that are not suspended."""

    attempt: int = 0
    """The attempt that they were made for."""


class Members:
    """Jobs by the group that their pods name. Changed only by :meth:`put` and :meth:`drop`, as Jobs are observed."""

    def __init__(self) -> None:
        self.groups: dict[str, dict[str, Tally]] = {}
        """By name of the group, then by that of the replicated job."""

        self._made: dict[str, dict[str, int]] = {}
        self._succeeded: dict[str, dict[str, int]] = {}

    def put(self, job: jobs.Job) -> None:
        """Take in a Job that is not here yet."""
        self._count(job, 1)

    def drop(self, job: jobs.Job) -> None:
        """Take out a Job that is here."""
        self._count(job, -1)

    def made(self, replicated_job: str, restarts: int) -> int:
        """How many Jobs there are of the running attempt, ended ones among them."""
        found = self._made.get(replicated_job, {})
        return sum(count for attempt, count in found.items() if _number(attempt) >= restarts)

    def succeeded(self, replicated_job: str, restarts: int) -> int:
        """How many Jobs of the running attempt have succeeded and are still there."""
        found = self._succeeded.get(replicated_job, {})
        return sum(count for attempt, count in found.items() if _number(attempt) >= restarts)

    def of(self, group: str) -> Mapping[str, Tally]:
        """What there is of a group, by replicated job."""
        return self.groups.get(group, {})

    def _count(self, job: jobs.Job, sign: int) -> None:
        labels = job.metadata.labels
        _add(self._made, labels, sign)
        if job.ending is not None and job.ending.type == jobs.JobCondition.COMPLETE:
            _add(self._succeeded, labels, sign)
        if labels.pod_group is None or job.ending is not None or job.metadata.deletion_timestamp is not None:
            return
        tallies = self.groups.setdefault(labels.pod_group, {})
        tally = tallies.setdefault(labels.replicated_job, Tally(attempt=_number(labels.restart_attempt)))
        tally.jobs += sign
        tally.pods += sign * pods_left(job)
        tally.running += sign * int(not job.spec.suspend)
        if not tally.jobs:
            del tallies[labels.replicated_job]
        if not tallies:
            del self.groups[labels.pod_group]


def _add(counts: dict[str, dict[str, int]], labels: jobs.Labels, sign: int) -> None:
    by_attempt = counts.setdefault(labels.replicated_job, {})
    by_attempt[labels.restart_attempt] = by_attempt.get(labels.restart_attempt, 0) + sign
    if not by_attempt[labels.restart_attempt]:
        del by_attempt[labels.restart_attempt]


def pods_left(job: jobs.Job) -> int:
    """How many pods a Job may have at the same time from now on."""
    parallelism = 1 if job.spec.parallelism is None else job.spec.parallelism
    if job.spec.completions is None:
        return parallelism
    left = job.spec.completions - (job.status.succeeded or 0) - _indexes(job.status.failed_indexes)
    return max(0, min(parallelism, left))


_RANGE = re.compile(r'([0-9]+)(?:-([0-9]+))?', re.ASCII)


def _indexes(text: str | None) -> int:
    """How many indexes a list such as ``1,3-5`` names."""
    return sum(int(last or first) - int(first) + 1 for first, last in _RANGE.findall(text or ''))


def _number(attempt: str) -> int:
    try:
        return int(attempt)
    except ValueError:
        return 0
