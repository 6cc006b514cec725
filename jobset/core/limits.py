"""How long a set may wait, start and run, each with a reason of its own.

Asked for by annotations; see :data:`jobset.api.extras.START_LIMIT` and its neighbours. All clocks are times that
objects have: creation, the transitions of ``Suspended``, start times of Jobs. So they survive every restart of the
controller.

A set waits while it is suspended, and afterwards until the first of its Jobs has started. It runs from its creation or
its last resume on, restarts included. The start of each Job is watched by itself, until all Jobs of its replicated job
have been ready once in the attempt: what waits for a dependency does not start late, and a pod that is replaced later
is no late start. A single Job that is made anew is watched again until it is ready.
"""

import datetime
from collections.abc import Iterator, Set
from typing import Final, NamedTuple

from jobset.api import extras, features, jobs, types
from jobset.core import conditions, family, memory, status

_NO_SECONDS: Final = datetime.timedelta()


class Overrun(NamedTuple):
    """A limit that is over."""

    reason: str
    message: str
    job: str = ''
    """The Job that is late, where it is one."""


class Verdict(NamedTuple):
    """What the limits say now."""

    overrun: Overrun | None = None
    again_after_seconds: float | None = None
    """When the next one is over, if nothing changes before."""


class _Started(NamedTuple):
    """What has started once in the running attempt."""

    parts: Set[str]
    """Replicated jobs."""

    but: Set[str]
    """Jobs of them that were made anew, and have not been ready since."""


class _Limit(NamedTuple):
    """One limit that counts now."""

    ends_at: datetime.datetime
    overrun: Overrun


def review(
    draft: status.Draft,
    jobset: types.JobSet,
    cohort: family.Cohort,
    gates: features.FeatureGates = features.DEFAULTS,
) -> Verdict:
    """The first limit that is over, and notes in the draft which replicated jobs have started."""
    annotations = jobset.metadata.annotations
    _note_started(draft, jobset, cohort)
    counting = [
        *_wait(jobset, cohort, extras.WAIT_LIMIT.of(annotations)),
        *_run(jobset, extras.RUN_LIMIT.of(annotations)),
        *_deadline(jobset, gates),
        *_start(draft, jobset, cohort, extras.START_LIMIT.of(annotations)),
    ]
    if not counting:
        return Verdict()
    first = min(counting, key=lambda limit: limit.ends_at)
    left = first.ends_at - draft.now
    return Verdict(overrun=first.overrun) if left <= _NO_SECONDS else Verdict(None, left.total_seconds())


def late_job(jobset: types.JobSet, cohort: family.Cohort, now: datetime.datetime) -> str | None:
    """The Job whose start limit is over, so that somebody can look why."""
    if extras.START_LIMIT.key not in jobset.metadata.annotations:
        return None
    over = review(status.Draft(jobset.status, now), jobset, cohort).overrun
    return over.job or None if over is not None else None


def await_again(draft: status.Draft, jobset: types.JobSet, job: jobs.Job) -> None:
    """Watch the start of a single Job that is made anew; what was remembered of the others stays."""
    started = _started(draft)
    if extras.START_LIMIT.key in jobset.metadata.annotations and job.metadata.labels.replicated_job in started.parts:
        _remember_started(draft, started._replace(but={*started.but, job.metadata.name}))


def _wait(jobset: types.JobSet, cohort: family.Cohort, limit: datetime.timedelta | None) -> Iterator[_Limit]:
    since = _changed_sides(jobset, suspended=jobset.suspended)
    if limit is None or since is None:
        return
    if jobset.suspended:
        yield _Limit(since + limit, Overrun('WaitLimitExceeded', f'jobset was suspended for longer than {limit}'))
    elif jobset.status.restarts == 0 and not _has_begun(cohort):
        text = f'no job of the jobset has started within {limit}'
        yield _Limit(since + limit, Overrun('WaitLimitExceeded', text))


def _run(jobset: types.JobSet, limit: datetime.timedelta | None) -> Iterator[_Limit]:
    since = _changed_sides(jobset, suspended=False)
    if limit is not None and since is not None and not jobset.suspended:
        yield _Limit(since + limit, Overrun('RunLimitExceeded', f'jobset ran for longer than {limit}'))


def _deadline(jobset: types.JobSet, gates: features.FeatureGates) -> Iterator[_Limit]:
    """JobSet's own limit of the same kind, ``spec.activeDeadlineSeconds``, in its own words."""
    seconds, since = jobset.spec.active_deadline_seconds, _changed_sides(jobset, suspended=False)
    if gates.active_deadline and seconds is not None and since is not None and not jobset.suspended:
        text = 'jobset was active longer than specified deadline'
        yield _Limit(since + datetime.timedelta(seconds=seconds), Overrun('DeadlineExceeded', text))


def _start(
    draft: status.Draft, jobset: types.JobSet, cohort: family.Cohort, limit: datetime.timedelta | None
) -> Iterator[_Limit]:
    if limit is None or jobset.suspended:
        return
    started = _started(draft)
    late = [
        (job.status.start_time, name)
        for name, job in cohort.active.items()
        if job.status.start_time is not None
        and name not in cohort.suspended
        and (job.metadata.labels.replicated_job not in started.parts or name in started.but)
        and not family.is_ready(job)
    ]
    if late:
        # Times of one form sort as text does.
        since, name = min(late)
        text = f'pods were not all ready within {limit} of the start of their job (first late job: {name})'
        yield _Limit(conditions.parsed(since) + limit, Overrun('StartLimitExceeded', text, name))


def _note_started(draft: status.Draft, jobset: types.JobSet, cohort: family.Cohort) -> None:
    if extras.START_LIMIT.key not in jobset.metadata.annotations:
        return
    if jobset.suspended:
        memory.forget(draft, memory.STARTED, 'JobSetSuspended', 'jobset is suspended')
        return
    ready = {
        job.name
        for job in jobset.spec.replicated_jobs
        if job.count and (tally := cohort.tally(job.name)).ready + tally.succeeded + tally.failed >= job.count
    }
    before = _started(draft)
    late = {name for name in before.but if name not in cohort.members or not _is_up(cohort, cohort.members[name])}
    if not ready <= before.parts or late != before.but:
        _remember_started(draft, _Started(ready | before.parts, late))


def _is_up(cohort: family.Cohort, job: jobs.Job) -> bool:
    return job.metadata.name not in cohort.active or family.is_ready(job)


def _started(draft: status.Draft) -> _Started:
    try:
        text = memory.opened(memory.recall(draft.current, memory.STARTED))
    except ValueError:
        text = ''
    parts, _, but = text.partition(' but for ')
    return _Started(*(frozenset(names.split(', ')) if names else frozenset() for names in (parts, but)))


def _remember_started(draft: status.Draft, started: _Started) -> None:
    """What does not fit is not watched: the Jobs that come last by name."""
    parts, but = (', '.join(sorted(names)) for names in started)
    text = memory.packed(f'{parts} but for {but}' if but else parts)
    if len(text) > memory.TEXT_AT_MOST and but:
        _remember_started(draft, started._replace(but=frozenset(sorted(started.but)[: len(started.but) * 3 // 4])))
    elif len(text) <= memory.TEXT_AT_MOST:
        memory.remember(draft, memory.STARTED, 'PodsReady', text)


def _has_begun(cohort: family.Cohort) -> bool:
    return any(job.status.start_time is not None or name not in cohort.active for name, job in cohort.members.items())


def _changed_sides(jobset: types.JobSet, *, suspended: bool) -> datetime.datetime | None:
    """Since when the set is suspended or not; None while that is wanted and not yet recorded."""
    condition = conditions.find(jobset.status, conditions.SUSPENDED)
    if condition is not None:
        return conditions.parsed(condition.last_transition_time) if condition.is_true is suspended else None
    created = jobset.metadata.creation_timestamp
    return conditions.parsed(created) if created is not None and not suspended else None
