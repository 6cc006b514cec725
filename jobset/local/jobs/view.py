"""What is observed of one Job and its pods, counted in the ways in which the policies look at it."""

import datetime
from dataclasses import dataclass, field

import msgspec

from jobset.local import lazily
from jobset.local.jobs import backoff, failurepolicy, indexes, perindex, replacement
from jobset.local.jobs.types import Job, Pod


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a pass starts from."""

    job: Job
    pods: tuple[Pod, ...] = ()
    """The pods that the Job controls."""

    strangers: tuple[Pod, ...] = ()
    """Pods of the namespace that nobody controls."""

    record: backoff.Record = backoff.NONE
    now: datetime.datetime


@dataclass(frozen=True)
class View:
    """The facts, sorted."""

    facts: Facts
    job: Job = field(init=False)
    pods: tuple[Pod, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, 'job', self.facts.job)
        object.__setattr__(self, 'pods', self.facts.pods)

    @lazily.lazy
    def active(self) -> tuple[Pod, ...]:
        """Pods that work on something, or are going to."""
        return tuple(pod for pod in self.pods if pod.is_active)

    @lazily.lazy
    def terminating(self) -> tuple[Pod, ...]:
        """Pods that were told to end, and have not ended yet."""
        return tuple(pod for pod in self.pods if pod.is_terminating)

    @lazily.lazy
    def uncounted(self) -> frozenset[str]:
        """Pods that the status names as ended, but not in its counters yet."""
        found = self.job.status.uncounted
        return frozenset((*found.succeeded, *found.failed))

    @lazily.lazy
    def new_succeeded(self) -> tuple[Pod, ...]:
        """Pods that have succeeded, and of which the status does not know yet."""
        noted = self.job.status.uncounted.succeeded
        return tuple(pod for pod in self.pods if pod.has_succeeded and pod.uid not in noted and self.is_valid(pod))

    @lazily.lazy
    def new_failed(self) -> tuple[Pod, ...]:
        """Pods that have failed, and of which the status does not know yet."""
        noted = self.job.status.uncounted.failed
        return tuple(
            pod
            for pod in self.pods
            if replacement.has_failed(pod, self.job) and pod.uid not in noted and self.is_valid(pod)
        )

    def is_valid(self, pod: Pod) -> bool:
        """Whether a pod is still to be counted, and has an index that is wanted, if indexes matter."""
        return pod.is_tracked and (not self.job.is_indexed or self.is_wanted(pod.index))

    def is_wanted(self, index: int | None) -> bool:
        """Whether there is such an index."""
        return index is not None and index < self.completions

    @property
    def completions(self) -> int:
        """How many pods have to succeed; 0 where that is not said."""
        return self.job.spec.completions or 0

    @lazily.lazy
    def previous(self) -> indexes.Indexes:
        """Indexes that the status names as completed."""
        return indexes.parse(self.job.status.completed_indexes, self.completions)

    @lazily.lazy
    def succeeded_indexes(self) -> indexes.Indexes:
        """Indexes of which a pod has succeeded."""
        return self.previous.plus(
            index for pod in self.pods if pod.has_succeeded and self.is_valid(pod) and (index := pod.index) is not None
        )

    @lazily.lazy
    def failed_indexes(self) -> indexes.Indexes:
        """Indexes that are not tried again."""
        if not self.job.has_limit_per_index:
            return indexes.NONE
        known = indexes.parse(self.job.status.failed_indexes or '', self.completions)
        return known.plus(
            index
            for pod in self.pods
            if self.is_valid(pod)
            and (index := pod.index) is not None
            and index not in self.succeeded_indexes
            and perindex.fails_index(pod, self.job)
        )

    @lazily.lazy
    def kept(self) -> dict[int, Pod]:
        """Failed pods that stay until they are replaced, by index; see :mod:`perindex`."""
        if not self.job.has_limit_per_index:
            return {}
        failed = [pod for pod in self.pods if self.is_valid(pod) and replacement.has_failed(pod, self.job)]
        settled = _Either(self.succeeded_indexes, self.failed_indexes)
        return perindex.kept(
            failed, settled=settled, active={pod.index for pod in self.active if pod.index is not None}
        )

    @lazily.lazy
    def succeeded(self) -> int:
        """How many pods, or indexes, have succeeded."""
        if self.job.is_indexed:
            return len(self.succeeded_indexes)
        status = self.job.status
        return status.succeeded + len(status.uncounted.succeeded) + len(self.new_succeeded)

    @lazily.lazy
    def failed(self) -> int:
        """How many failures there were that count."""
        status = self.job.status
        policy = self.job.spec.pod_failure_policy
        new = sum(failurepolicy.judge(policy, pod).counts for pod in self.new_failed)
        return status.failed + len(status.uncounted.failed) + new


@dataclass(frozen=True, slots=True)
class _Either:
    """Indexes that are in one set or the other."""

    one: indexes.Indexes
    other: indexes.Indexes

    def __contains__(self, index: object) -> bool:
        return index in self.one or index in self.other
