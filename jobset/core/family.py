"""What is known of the child Jobs of one JobSet, kept up to date change by change.

A JobSet may have thousands of Jobs, and each of them changes several times. What a pass needs of them - counters, and
the few that call for action - is therefore kept here as Jobs come, change and go, so that a pass costs as much as what
changed and not as much as the JobSet is large.

Source of the classification: JobSet reconcile, buckets of child Jobs. A Job belongs to the attempt that its
``restart-attempt`` label names, unless single Jobs are restarted and it is of an earlier attempt of its own; within an
attempt the first true one of its ``Complete`` and ``Failed`` conditions decides. ``deletionTimestamp``,
``FailureTarget``, ``SuccessCriteriaMet`` and ``Suspended`` do not.
"""

import dataclasses
import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Final

from jobset.api import jobs, types
from jobset.core import children
from jobset.core.groups import members

MOST_AT_ONCE: Final = 10_000
"""Jobs of a replicated job that one pass makes at most; the changes that it makes bring the next pass.

A number of replicas that nobody could ever run must not take the controller's memory, which serves everybody.
"""

_ATTEMPT = re.compile(r'[+-]?[0-9]+', re.ASCII)


@dataclasses.dataclass(slots=True)
class Tally:
    """How many Jobs of one replicated job are in which state; see ``status.replicatedJobsStatus``."""

    ready: int = 0
    succeeded: int = 0
    failed: int = 0
    active: int = 0
    suspended: int = 0

    def add(self, other: 'Tally', sign: int = 1) -> None:
        """Count ``other`` in, or with ``sign=-1`` out."""
        self.ready += sign * other.ready
        self.succeeded += sign * other.succeeded
        self.failed += sign * other.failed
        self.active += sign * other.active
        self.suspended += sign * other.suspended


@dataclasses.dataclass(slots=True)
class Cohort:
    """The Jobs of one attempt. Each is in ``members``, and in exactly one of active, failed and succeeded."""

    members: dict[str, jobs.Job] = dataclasses.field(default_factory=dict)
    staying: dict[str, jobs.Job] = dataclasses.field(default_factory=dict)
    """Those that are not being deleted."""

    active: dict[str, jobs.Job] = dataclasses.field(default_factory=dict)
    suspended: dict[str, jobs.Job] = dataclasses.field(default_factory=dict)
    """Those of the active ones whose spec says so."""

    failed: dict[str, jobs.Job] = dataclasses.field(default_factory=dict)
    tallies: dict[str, Tally] = dataclasses.field(default_factory=dict)
    """By name of the replicated job."""

    sizes: dict[tuple[str, int | None, int | None], int] = dataclasses.field(default_factory=dict, compare=False)
    """How many active Jobs there are of each replicated job, parallelism and completions."""

    @property
    def succeeded(self) -> int:
        """How many Jobs completed."""
        return len(self.members) - len(self.active) - len(self.failed)

    def tally(self, replicated_job: str) -> Tally:
        """The counters of a replicated job; zeros where it has no Jobs."""
        return self.tallies.get(replicated_job) or Tally()

    def put(self, job: jobs.Job) -> None:
        """Take in a Job that is not here yet."""
        name = job.metadata.name
        self.members[name] = job
        if job.metadata.deletion_timestamp is None:
            self.staying[name] = job
        ending = job.ending
        if ending is None:
            self.active[name] = job
            size = _size(job)
            self.sizes[size] = self.sizes.get(size, 0) + 1
            if job.spec.suspend:
                self.suspended[name] = job
        elif ending.type == jobs.JobCondition.FAILED:
            self.failed[name] = job
        self.tallies.setdefault(job.metadata.labels.replicated_job, Tally()).add(_counted(job))

    def drop(self, job: jobs.Job) -> None:
        """Take out a Job that is here."""
        name = job.metadata.name
        if name in self.active:
            size = _size(job)
            self.sizes[size] -= 1
            if not self.sizes[size]:
                del self.sizes[size]
        for group in (self.members, self.staying, self.active, self.suspended, self.failed):
            group.pop(name, None)
        self.tallies[job.metadata.labels.replicated_job].add(_counted(job), sign=-1)


class Family:
    """The child Jobs of one JobSet. Changed only by :meth:`put` and :meth:`drop`, in the order of observation."""

    def __init__(self) -> None:
        self.jobs: dict[str, jobs.Job] = {}
        self.cohorts: dict[int, Cohort] = {}
        self.malformed: dict[str, jobs.Job] = {}
        """Jobs whose attempt cannot be told: while there is one, nothing is decided."""

        self.mislabelled: dict[str, jobs.Job] = {}
        """Jobs whose labels do not say which Job of the set they are, or of which attempt of its own."""

        self.outdated = Cohort()
        """Jobs of earlier attempts of their own: see :meth:`expect`."""

        self._expected: dict[str, int] = {}
        self.departed: dict[int, dict[str, set[int]]] = {}
        """Jobs that succeeded and are gone, of the latest attempt: indexes by replicated job."""

        self.members = members.Members()
        self._membership = 0
        self._missing_at: tuple[int, int] | None = None
        self._missing: dict[int, tuple[children.Child, ...]] = {}

    def put(self, job: jobs.Job) -> None:
        """A Job was observed, for the first time or changed."""
        known = self.jobs.get(job.metadata.name)
        if known is None:
            self._membership += 1
        else:
            self._leave(known)
        self.jobs[job.metadata.name] = job
        if not _names_itself(job):
            self.mislabelled[job.metadata.name] = job
        self.members.put(job)
        self._join(job)
        attempt = attempt_of(job)
        if attempt is not None and self.departed and attempt > max(self.departed):
            self.departed = {}

    def drop(self, job: jobs.Job) -> None:
        """A Job is gone. Ignored when another one has its name by now."""
        known = self.jobs.get(job.metadata.name)
        if known is None or known.metadata.uid != job.metadata.uid:
            return
        self._membership += 1
        del self.jobs[job.metadata.name]
        if not self._is_outdated(known):
            # What has succeeded in an attempt of its own that was over is not done.
            self._remember(known)
        self._leave(known)

    def _remember(self, known: jobs.Job) -> None:
        """Its success may not have been looked at by any pass: both changes may have come before one."""
        attempt, ending, labels = attempt_of(known), known.ending, known.metadata.labels
        succeeded = ending is not None and ending.type == jobs.JobCondition.COMPLETE
        if attempt is not None and succeeded and labels.job_index.isdecimal():
            departed = self.departed.setdefault(attempt, {})
            departed.setdefault(labels.replicated_job, set()).add(int(labels.job_index))

    def expect(self, attempts: Mapping[str, int]) -> None:
        """Have the Jobs of these names be of such attempts of their own; those of others may be of any."""
        if attempts == self._expected:
            return
        changed = [name for name, _ in attempts.items() ^ self._expected.items() if name in self.jobs]
        concerned = [self.jobs[name] for name in dict.fromkeys(changed)]
        for job in concerned:
            self._part(job)
        self._expected = dict(attempts)
        for job in concerned:
            self._join(job)

    @property
    def expected(self) -> Mapping[str, int]:
        """The attempts of their own that Jobs must be of, as :meth:`expect` was told."""
        return self._expected

    def _join(self, job: jobs.Job) -> None:
        attempt = attempt_of(job)
        if attempt is None:
            self.malformed[job.metadata.name] = job
        elif self._is_outdated(job):
            self.outdated.put(job)
        else:
            self.cohorts.setdefault(attempt, Cohort()).put(job)

    def _is_outdated(self, job: jobs.Job) -> bool:
        """A Job that was made before such attempts were counted is one of the first."""
        expected = self._expected.get(job.metadata.name)
        return expected is not None and (own_attempt_of(job) or 0) < expected

    def _leave(self, known: jobs.Job) -> None:
        self.mislabelled.pop(known.metadata.name, None)
        self.members.drop(known)
        self._part(known)

    def _part(self, known: jobs.Job) -> None:
        attempt = attempt_of(known)
        if attempt is None:
            del self.malformed[known.metadata.name]
            return
        if self._is_outdated(known):
            self.outdated.drop(known)
            return
        cohort = self.cohorts[attempt]
        cohort.drop(known)
        if not cohort.members:
            del self.cohorts[attempt]

    def current(self, restarts: int) -> Cohort:
        """The Jobs of the running attempt. An attempt that the status does not know of yet counts as current."""
        newer = [cohort for attempt, cohort in self.cohorts.items() if attempt >= restarts]
        if len(newer) == 1:
            return newer[0]
        merged = Cohort()
        for cohort in newer:
            for job in cohort.members.values():
                merged.put(job)
        return merged

    def previous(self, restarts: int) -> Iterator[Cohort]:
        """The attempts before the running one of which Jobs are left, and what is left of single Jobs' own."""
        earlier = (cohort for attempt, cohort in self.cohorts.items() if attempt < restarts)
        return itertools.chain(earlier, (self.outdated,) if self.outdated.members else ())

    def missing(self, jobset: types.JobSet, position: int) -> tuple[children.Child, ...]:
        """The wanted Jobs of a replicated job under whose names we have none: the first :data:`MOST_AT_ONCE` of them.

        Only membership and the spec decide this, so the answer is kept until one of them changes.
        """
        moment = (jobset.metadata.generation, self._membership)
        if self._missing_at != moment:
            self._missing_at, self._missing = moment, {}
        if position not in self._missing:
            absent = (child for child in children.wanted(jobset, position) if child.name not in self.jobs)
            self._missing[position] = tuple(itertools.islice(absent, MOST_AT_ONCE))
        return self._missing[position]


def attempt_of(job: jobs.Job) -> int | None:
    """The restart attempt that a Job was made for; None when its label is not a number."""
    label = job.metadata.labels.restart_attempt
    return int(label) if _ATTEMPT.fullmatch(label) else None


def own_attempt_of(job: jobs.Job) -> int | None:
    """The attempt of its own that a Job was made for: 0 without the label, None when that is not a number."""
    label = job.metadata.labels.job_restart_attempt
    if label is None:
        return 0
    return int(label) if _ATTEMPT.fullmatch(label) else None


def _names_itself(job: jobs.Job) -> bool:
    labels = job.metadata.labels
    return job.metadata.name.endswith(f'-{labels.replicated_job}-{labels.job_index}') and (
        labels.job_restart_attempt is None or own_attempt_of(job) is not None
    )


def _size(job: jobs.Job) -> tuple[str, int | None, int | None]:
    return (job.metadata.labels.replicated_job, job.spec.parallelism, job.spec.completions)


def _counted(job: jobs.Job) -> Tally:
    """What one Job adds to the counters. They overlap: a ready Job is active, too."""
    ending = job.ending
    if ending is not None:
        failed = ending.type == jobs.JobCondition.FAILED
        return Tally(failed=int(failed), succeeded=int(not failed))
    return Tally(
        ready=int(is_ready(job)),
        active=int((job.status.active or 0) > 0),
        suspended=int(bool(job.spec.suspend)),
    )


def is_ready(job: jobs.Job) -> bool:
    """Whether as many pods are ready or done as run at a time. A Job without parallelism is ready at once."""
    wanted = 1 if job.spec.parallelism is None else job.spec.parallelism
    if job.spec.completions is not None:
        wanted = min(wanted, job.spec.completions)
    return (job.status.succeeded or 0) + (job.status.ready or 0) >= wanted
