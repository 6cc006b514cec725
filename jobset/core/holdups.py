"""All that may hold up a JobSet, the most important first: what :mod:`jobset.core.waiting` tells.

A queue manager that has not let it in; pods of earlier attempts; a pause; its gangs; domains for exclusive placement;
replicated jobs that come before others. What takes only a moment is not told.
"""

import datetime
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from jobset.api import extras, keys, stages, types
from jobset.core import conditions, domains, family, fencing, memory, pauses, plan, startup, status, waiting

_ENDING_SECONDS: Final = 60
"""How long Jobs and pods of earlier attempts may take to go: pods have 30 s, where they name no other time."""

_STARTING_SECONDS: Final = 30
"""How long replicated jobs may wait for others."""

_ENDING: Final = 'new Jobs wait for the end of earlier ones'


class Seen(NamedTuple):
    """What a pass over a set that goes on has found out."""

    kin: family.Family
    cohort: family.Cohort
    old: Sequence[family.Cohort]
    """What is left of earlier attempts."""

    ruling: fencing.Ruling
    gangs: waiting.Waits
    unplaced: Sequence[domains.Unplaced]


def review(draft: status.Draft, jobset: types.JobSet, seen: Seen, *, may_retell: bool) -> float | None:
    """Record what holds up the set; returns when to look again although nothing changes."""
    if jobset.suspended:
        queued = _queued(jobset)
        if not (queued.told or seen.gangs.told):
            waiting.rest(draft)
            return None
        return waiting.tell(draft, [queued, seen.gangs], may_retell=may_retell)
    parts = [
        _ending(draft, jobset, seen),
        _pause(draft, jobset),
        seen.gangs,
        domains.waits(jobset, seen.unplaced),
        _starting(draft, jobset, seen),
    ]
    return waiting.tell(draft, parts, may_retell=may_retell)


def _queued(jobset: types.JobSet) -> waiting.Waits:
    queue = jobset.metadata.labels.get(keys.KUEUE_QUEUE)
    if not queue:
        return waiting.NOTHING
    text = f'suspended until Kueue admits it from the queue {queue}; its Workload says what is missing'
    return waiting.Waits((waiting.Wait(waiting.QUEUED, text),))


def _ending(draft: status.Draft, jobset: types.JobSet, seen: Seen) -> waiting.Waits:
    """What is left of earlier attempts and has had its time."""
    left = _left(seen)
    if left is None:
        return waiting.NOTHING
    problem = conditions.find(draft.current, memory.BLOCKED)
    if problem is not None and problem.is_true:
        return waiting.Waits((waiting.Wait(problem.reason, f'{_ENDING}: {problem.message}'),))
    if left.since is None:
        return waiting.Waits(quiet=(waiting.Quiet((waiting.OLD_PODS,)),))
    wait = _ENDING_SECONDS - (draft.now - conditions.parsed(left.since)).total_seconds()
    if wait > 0:
        return waiting.Waits(quiet=(waiting.Quiet((waiting.OLD_PODS,), wait),))
    advice = '' if fencing.is_wanted(jobset) else f'; {extras.FENCE_AFTER.key} would have pods judged that do not go'
    others = f' (and {left.others} more)' if left.others else ''
    text = f'{_ENDING}: {left.what} {left.since}{others}{advice}'
    return waiting.Waits((waiting.Wait(waiting.OLD_PODS, text, plan.EventType.WARNING),))


class _Left(NamedTuple):
    what: str
    others: int
    since: str | None
    """When it had to be gone, or was told to go; None where nobody has told it yet."""


def _left(seen: Seen) -> _Left | None:
    """What is left of earlier attempts: the Jobs, and when they are gone, pods that still run."""
    # The first member is the one that has not changed for longest.
    firsts = [next(iter(earlier.members.values())) for earlier in seen.old if earlier.members]
    if firsts:
        count = sum(len(earlier.members) for earlier in seen.old)
        first = min(firsts, key=lambda job: (job.metadata.deletion_timestamp or '~', job.metadata.name))
        return _Left(
            f'Job {first.metadata.name} is there though it was told to go at',
            count - 1,
            first.metadata.deletion_timestamp,
        )
    if not seen.ruling.blocking:
        return None
    pod = min(seen.ruling.blocking, key=lambda pod: (pod.metadata.deletion_timestamp or '~', pod.metadata.name))
    where = f' on node {pod.spec.node_name}' if pod.spec.node_name else ''
    what = f'pod {pod.metadata.name}{where} is there though it had to be gone by'
    return _Left(what, len(seen.ruling.blocking) - 1, pod.metadata.deletion_timestamp)


def _pause(draft: status.Draft, jobset: types.JobSet) -> waiting.Waits:
    wait = pauses.wait(draft.current)
    if wait is None or pauses.left(jobset, draft.now) <= 0:
        return waiting.NOTHING
    return waiting.Waits((wait,))


def _starting(draft: status.Draft, jobset: types.JobSet, seen: Seen) -> waiting.Waits:
    """Replicated jobs whose turn has not come."""
    if not any(job.depends_on for job in jobset.spec.replicated_jobs) and not stages.in_order(jobset):
        return waiting.NOTHING
    begun = {job.name for job in jobset.spec.replicated_jobs if _has_begun(job.name, seen, jobset.status.restarts)}
    found = list(startup.waits(jobset, seen.cohort, begun))
    if not found:
        return waiting.NOTHING
    reason = waiting.IN_ORDER if stages.in_order(jobset) else waiting.DEPENDS_ON
    times = [*_turns(draft.current), _since_start(jobset)]
    since = max((time for time in times if time is not None), default=draft.now)
    wait = _STARTING_SECONDS - (draft.now - since).total_seconds()
    if wait > 0:
        return waiting.Waits(quiet=(waiting.Quiet((reason,), wait),))
    return waiting.Waits([waiting.Wait(reason, f'replicated job {name} {text}') for name, text in found])


def _has_begun(name: str, seen: Seen, restarts: int) -> bool:
    tally = seen.cohort.tally(name)
    return bool(tally.succeeded) or seen.kin.members.made(name, restarts) > tally.suspended


def _turns(stored: types.Status) -> Iterator[datetime.datetime]:
    """When the attempt began, and when the replicated jobs began to take turns."""
    for kind in (conditions.RESTARTING, conditions.STARTUP_IN_PROGRESS):
        found = conditions.find(stored, kind)
        if found is not None and found.is_true:
            yield conditions.parsed(found.last_transition_time)


def _since_start(jobset: types.JobSet) -> datetime.datetime | None:
    """Since when it may run: its last resume, or its creation."""
    suspended = conditions.find(jobset.status, conditions.SUSPENDED)
    since = jobset.metadata.creation_timestamp if suspended is None else suspended.last_transition_time
    return conditions.parsed(since) if since is not None else None
