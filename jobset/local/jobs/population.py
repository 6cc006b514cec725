"""How many pods there should be, and so which to make and which to delete. Never both in one pass."""

import itertools
from typing import Final

import msgspec

from jobset.local.jobs import backoff, keys, perindex, removal, replacement
from jobset.local.jobs.plan import NewPod, Removal
from jobset.local.jobs.types import Pod
from jobset.local.jobs.view import View


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done about the pods of a Job."""

    delete: tuple[Removal, ...] = ()
    create: tuple[NewPod, ...] = ()
    pause: float | None = None
    """Seconds after which pods may be made that may not be made yet."""


NONE: Final = Change()


def clear(view: View, *, is_counted: bool) -> Change:
    """Nothing is to be left."""
    return _deletions(view.active, is_counted=is_counted)


def adjust(view: View, record: backoff.Record) -> Change:
    """As many as the Job asks for at the moment."""
    active = len(view.active)
    wanted = _wanted(view)
    surplus = removal.choose(view.job, view.active, max(0, active - wanted))
    if surplus:
        return _deletions(surplus[: keys.BATCH_PODS], is_counted=False)
    # Where the ends of pods are awaited, those that are ending still have their place.
    leaving = len(view.terminating) if replacement.waits_for_ends(view.job) else 0
    missing = min(wanted - leaving - active, keys.BATCH_PODS)
    if missing <= 0:
        return NONE
    if view.job.has_limit_per_index:
        return _replacements(view, missing)
    pause = record.remaining(view.facts.now)
    if pause > 0:
        return Change(pause=pause)
    if view.job.is_indexed:
        return Change(create=tuple(NewPod(index) for index in _pending(view, missing)))
    return Change(create=(NewPod(),) * missing)


def _deletions(pods: tuple[Pod, ...], *, is_counted: bool) -> Change:
    return Change(delete=tuple(Removal(pod, is_counted) for pod in pods))


def _wanted(view: View) -> int:
    parallelism = view.job.parallelism
    if view.job.spec.completions is None:
        # A work queue: once a worker has found it empty, the others finish what they have, and that is all.
        return len(view.active) if view.succeeded > 0 else parallelism
    left = view.completions - view.succeeded - len(view.failed_indexes)
    return max(0, min(left, parallelism))


def _pending(view: View, count: int) -> tuple[int, ...]:
    """The first indexes that nothing is done about."""
    busy = [*view.active, *(view.terminating if replacement.waits_for_ends(view.job) else ())]
    taken = view.succeeded_indexes.plus(index for pod in busy if (index := pod.index) is not None)
    return tuple(itertools.islice(taken.union(view.failed_indexes).gaps(view.completions), count))


def _replacements(view: View, count: int) -> Change:
    """Pods for indexes that each have a pause of their own after a failure."""
    ready, pause = perindex.due(_pending(view, count), view.kept, view.facts.now)
    create = []
    for index in ready:
        replaced = view.kept.get(index)
        failures = perindex.with_failed(replaced, view.job) if replaced is not None else perindex.Failures()
        create.append(NewPod(index, failures.counted, failures.ignored))
    return Change(create=tuple(create), pause=pause)
