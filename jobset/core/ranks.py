"""What is known of the pods of one JobSet that restarts in place, kept up to date change by change.

Source: JobSet API, in-place restart. An agent in each pod announces, in an annotation, which attempt the pod is in.
There may be ten thousand of them, and all announce something in each round; what a pass needs is therefore counted here
as pods come, change and go, so that it costs as much as what changed and not as much as the JobSet is large.

Pods belong to the JobSet whose uid they bear: those of an earlier one of the same name count for nothing.
"""

import datetime
import re
from collections import Counter
from collections.abc import Collection
from typing import Final, NamedTuple

from jobset.api import pods

_NUMBER: Final = re.compile(r'\+?[0-9]{1,10}', re.ASCII)
_MOST: Final = 2**31 - 1
"""Attempts end up in a status field of 32 bits."""


class Report(NamedTuple):
    """What one pod says."""

    rank: str
    """Which place in the set it has: its host name, ``<job>-<completion index>``; its own name if it has no index."""

    phase: str
    attempt: int | None
    """None as long as the agent has announced nothing, or nothing that can be read."""

    said: str | None
    """The announcement as it stands there."""

    restarts: int
    """The most that any of its containers was restarted."""

    goes_by: str | None = None
    """When its time to end is over, where it was told to go."""

    @property
    def has_failed(self) -> bool:
        """Whether the pod has ended for good, so that another one takes its place."""
        return self.phase == 'Failed'

    @property
    def is_done(self) -> bool:
        """Whether the pod has succeeded: it stays done, and never takes part in another attempt."""
        return self.phase == 'Succeeded'

    @property
    def is_malformed(self) -> bool:
        """Whether the announcement is none."""
        return self.said is not None and self.attempt is None


class Ranks:
    """The pods of one JobSet. Changed only by :meth:`put` and :meth:`drop`, in the order of observation."""

    def __init__(self) -> None:
        self.reports: dict[str, Report] = {}
        """By name of the pod."""

        self.attempts: Counter[int] = Counter()
        """How many pods announce which attempt, of those that have not ended."""

        self.done: Counter[int] = Counter()
        """The same of those that have succeeded."""

        self.restarts: Counter[int] = Counter()
        """How many pods have had how many restarts, whatever became of them."""

        self.reporting: Counter[str] = Counter()
        """How many pods announce an attempt for each rank; those that failed do not."""

        self.pods_of: Counter[str] = Counter()
        self.ranks_of: Counter[str] = Counter()
        """The same by Job: how many pods, and how many ranks."""

        self.going: dict[str, str] = {}
        """Pods that were told to go, and when their time to end is over."""

        self.malformed: dict[str, Report] = {}
        """Pods whose announcement cannot be read, by name."""

        self.risen_at: datetime.datetime | None = None
        """When a higher attempt was last announced than ever before."""

        self._highest = -1
        self.changed_at: datetime.datetime | None = None
        """When any pod last came, went, or changed in what counts here."""

    def put(self, pod: pods.Pod, now: datetime.datetime) -> bool:
        """A pod was observed, for the first time or changed; returns whether that counts here."""
        name, report = pod.metadata.name, _report(pod)
        known = self.reports.get(name)
        if known == report:
            return False
        if known is not None:
            self._count(name, known, -1)
        self.reports[name] = report
        self._count(name, report, 1)
        self.changed_at = now
        if report.attempt is not None and report.attempt > self._highest:
            self._highest, self.risen_at = report.attempt, now
        return True

    def drop(self, pod: pods.Pod, now: datetime.datetime) -> None:
        """A pod is gone."""
        known = self.reports.pop(pod.metadata.name, None)
        if known is not None:
            self._count(pod.metadata.name, known, -1)
            self.changed_at = now

    @property
    def top(self) -> int:
        """The highest attempt that is announced; 0 where there is none."""
        return max((*self.attempts, *self.done), default=0)

    def announcing(self, attempt: int) -> list[str]:
        """Names of the pods that announce it, of those that have not ended."""
        return sorted(
            name for name, report in self.reports.items() if report.attempt == attempt and not report.has_failed
        )

    @property
    def most_restarts(self) -> int:
        """The most restarts of any container."""
        return max(self.restarts, default=0)

    def agreed(self, expected: int, finished: Collection[str] = ()) -> int | None:
        """The attempt that all of so many ranks have announced; None as long as one has not.

        A rank that has succeeded cannot announce another attempt, and nobody waits for it to. Nor are those of Jobs
        expected that are ``finished``: they may be gone, or fewer than are wanted by now.
        """
        said = self.attempts.total() + self.done.total() - sum(self.pods_of.get(job, 0) for job in finished)
        ranks = len(self.reporting) - sum(self.ranks_of.get(job, 0) for job in finished)
        if self.malformed or not self.reporting or not said == ranks == expected:
            return None
        top = self.top
        agree = self.attempts or self.done
        return top if len(agree) == 1 and top in agree else None

    def _count(self, name: str, report: Report, sign: int) -> None:
        _add(self.restarts, report.restarts, sign)
        if report.goes_by is not None and sign > 0:
            self.going[name] = report.goes_by
        else:
            self.going.pop(name, None)
        if report.has_failed:
            return
        if report.is_malformed:
            if sign > 0:
                self.malformed[name] = report
            else:
                del self.malformed[name]
        elif report.attempt is not None:
            _add(self.done if report.is_done else self.attempts, report.attempt, sign)
            job, before = report.rank.rpartition('-')[0], report.rank in self.reporting
            _add(self.reporting, report.rank, sign)
            _add(self.pods_of, job, sign)
            if before is not (report.rank in self.reporting):
                _add(self.ranks_of, job, sign)


def _add(counter: 'Counter[int] | Counter[str]', key: int | str, sign: int) -> None:
    """Count in or out; what is counted out altogether leaves no trace, so that keys can be looked at."""
    counts: Counter[int | str] = counter  # type: ignore[assignment]
    counts[key] += sign
    if not counts[key]:
        del counts[key]


def _report(pod: pods.Pod) -> Report:
    name, notes = pod.metadata.name, pod.annotations
    return Report(
        rank=name if notes.index is None else name.rpartition('-')[0],
        phase=pod.status.phase,
        attempt=_attempt(notes.attempt),
        said=notes.attempt,
        restarts=max([container.restart_count for container in pod.containers], default=0),
        goes_by=pod.metadata.deletion_timestamp,
    )


def _attempt(said: str | None) -> int | None:
    if said is None or not _NUMBER.fullmatch(said):
        return None
    number = int(said)
    return number if number <= _MOST else None
