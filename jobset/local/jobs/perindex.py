"""Failures counted for each index on its own: ``spec.backoffLimitPerIndex``.

How often an index has failed stands in annotations of its newest pod. Therefore the last failed pod of an index keeps
its finalizer, and is not counted, until the pod that replaces it is there: it could vanish, and the number with it.
"""

import datetime
from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple

from jobset.local.jobs import backoff, failurepolicy, keys, replacement
from jobset.local.jobs.types import Job, Pod


class Failures(NamedTuple):
    """How often an index has failed."""

    counted: int = 0
    ignored: int = 0

    @property
    def total(self) -> int:
        """All failures: the pause before the next try follows from these."""
        return self.counted + self.ignored


def before(pod: Pod) -> Failures:
    """The failures of its index before the pod."""
    annotations = pod.metadata.annotations or {}
    return Failures(
        _number(annotations.get(keys.INDEX_FAILURES)), _number(annotations.get(keys.INDEX_IGNORED_FAILURES))
    )


def with_failed(pod: Pod, job: Job) -> Failures:
    """The failures of its index with that of the pod."""
    found = before(pod)
    if failurepolicy.judge(job.spec.pod_failure_policy, pod).counts:
        return Failures(found.counted + 1, found.ignored)
    return Failures(found.counted, found.ignored + 1)


def fails_index(pod: Pod, job: Job) -> bool:
    """Whether the index of the pod has failed with it."""
    if not replacement.has_failed(pod, job):
        return False
    verdict = failurepolicy.judge(job.spec.pod_failure_policy, pod)
    if verdict.action is failurepolicy.Action.FAIL_INDEX:
        return True
    return verdict.counts and before(pod).counted >= (job.spec.backoff_limit_per_index or 0)


def kept(failed: Iterable[Pod], *, settled: Container[int], active: Container[int]) -> dict[int, Pod]:
    """The failed pods, by index, that have to stay until they are replaced.

    ``failed`` are those that still have their finalizer. Indexes that are ``settled`` (succeeded or failed for good) or
    have an ``active`` pod need none.
    """
    newest: dict[int, Pod] = {}
    for pod in failed:
        index = pod.index
        if index is None or index in settled or index in active:
            continue
        rival = newest.get(index)
        if rival is None or (
            before(pod).total >= before(rival).total and backoff.finished_at(pod) >= backoff.finished_at(rival)
        ):
            newest[index] = pod
    return newest


def due(
    indexes: Iterable[int], replaced: Mapping[int, Pod], now: datetime.datetime
) -> tuple[tuple[int, ...], float | None]:
    """Which of these indexes may get a pod now, and the seconds until the next of the others may."""
    ready, pauses = [], []
    for index in indexes:
        pod = replaced.get(index)
        pause = 0.0
        if pod is not None:
            pause = backoff.remaining(before(pod).total + 1, backoff.finished_at(pod), now)
        if pause > 0:
            pauses.append(pause)
        else:
            ready.append(index)
    return tuple(ready), min(pauses, default=None)


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdecimal() else 0
