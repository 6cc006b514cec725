"""Which Jobs of the running attempt are done, though they may be gone.

Asked for by an annotation (:data:`jobset.api.extras.DONE_STAYS_DONE`); upstream runs a Job again that succeeded and was
deleted. What has succeeded is noted in the very write that counts it. The everyday reason why such a Job goes is
``ttlSecondsAfterFinished`` of its template: it is kept from the Job and carried out here, once the success is noted, so
that no outage of the controller can come between.
"""

import dataclasses
import datetime
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from jobset.api import extras, jobs, types
from jobset.core import children, conditions, family, memory, plan, status

Done = Mapping[str, frozenset[int]]
"""Indexes of Jobs by the name of their replicated job."""
_INDEXES_AT_MOST: Final = 1_000_000
"""More than anybody has noted: whoever may write a status must not take the controller's memory with a few digits."""


def is_wanted(jobset: types.JobSet) -> bool:
    """Whether the set asked for it."""
    return bool(extras.DONE_STAYS_DONE.of(jobset.metadata.annotations))


def take(draft: status.Draft, jobset: types.JobSet, kin: family.Family) -> family.Cohort:
    """The running attempt with what is done counted in, and what is done by now noted in the draft."""
    cohort = kin.current(jobset.status.restarts)
    if not is_wanted(jobset):
        return cohort
    note(draft, cohort, known(jobset), kin.departed.get(jobset.status.restarts, {}))
    return remembered(cohort, _read(memory.recall(draft.current, memory.DONE)))


def known(jobset: types.JobSet) -> Done:
    """What is noted of the running attempt."""
    return _read(memory.recall(jobset.status, memory.DONE))


def remembered(cohort: family.Cohort, noted: Done) -> family.Cohort:
    """The cohort with those counted as succeeded that are noted and gone."""
    present: dict[str, set[int]] = {}
    for job in cohort.members.values():
        present.setdefault(job.metadata.labels.replicated_job, set()).add(_index(job))
    tallies = dict(cohort.tallies)
    for name, indexes in noted.items():
        gone = len(indexes - present.get(name, set()))
        if gone:
            tally = dataclasses.replace(tallies.get(name, family.Tally()))
            tally.succeeded += gone
            tallies[name] = tally
    return dataclasses.replace(cohort, tallies=tallies)


def note(draft: status.Draft, cohort: family.Cohort, noted: Done, departed: Mapping[str, Collection[int]]) -> None:
    """Note what has succeeded by now, gone or not."""
    grown: dict[str, set[int]] = {name: set(indexes) for name, indexes in noted.items()}
    for name, indexes in departed.items():
        grown.setdefault(name, set()).update(indexes)
    for job in _succeeded(cohort):
        if _index(job) >= 0:
            grown.setdefault(job.metadata.labels.replicated_job, set()).add(_index(job))
    if grown == noted:
        return
    text = _written(grown)
    if len(text) > memory.TEXT_AT_MOST:
        draft.tell(
            plan.EventType.WARNING,
            'TooManyJobsDone',
            'the successes of these many Jobs cannot be noted: those that are deleted from now on are run again',
        )
        return
    memory.remember(draft, memory.DONE, 'JobsSucceeded', text)


def missing(jobset: types.JobSet, position: int, kin: family.Family) -> tuple[children.Child, ...]:
    """As :meth:`family.Family.missing`, without the Jobs that are done."""
    noted = known(jobset) if is_wanted(jobset) else {}
    name = jobset.spec.replicated_jobs[position].name
    departed = kin.departed.get(jobset.status.restarts, {})
    indexes = noted.get(name, frozenset()) | departed.get(name, set())
    if not is_wanted(jobset) or not indexes:
        return kin.missing(jobset, position)
    absent = (
        child
        for child in children.wanted(jobset, position)
        if child.job_index not in indexes and child.name not in kin.jobs
    )
    return tuple(itertools.islice(absent, family.MOST_AT_ONCE))


def expired(
    jobset: types.JobSet, cohort: family.Cohort, now: datetime.datetime
) -> tuple[tuple[plan.JobRef, ...], float | None]:
    """The Jobs whose own time to live is over, and in how many seconds that of the next one will be.

    While the set runs only successes that are noted may go; after its end every Job that has ended.
    """
    if not is_wanted(jobset):
        return (), None
    noted = known(jobset)
    ends = {job.name: job.job.spec.ttl_seconds_after_finished for job in jobset.spec.replicated_jobs}
    has_ended = conditions.terminal(jobset.status) is not None
    ended = itertools.chain(_succeeded(cohort), cohort.failed.values() if has_ended else ())
    over: list[plan.JobRef] = []
    soonest: float | None = None
    for job in ended:
        labels, ending = job.metadata.labels, job.ending
        seconds = ends.get(labels.replicated_job)
        is_noted = has_ended or _index(job) in noted.get(labels.replicated_job, frozenset())
        if seconds is None or not is_noted or job.metadata.deletion_timestamp is not None:
            continue
        at = ending.last_transition_time if ending is not None else None
        left = 0.0 if at is None else (conditions.parsed(at) - now).total_seconds() + seconds
        if left <= 0:
            over.append(plan.JobRef(job.metadata.name, job.metadata.uid))
        elif soonest is None or left < soonest:
            soonest = left
    return tuple(over), soonest


def without_ttl(jobset: types.JobSet, job_spec: dict[str, object]) -> dict[str, object]:
    """The spec of a Job as it is made: its time to live stays with us where the set asked for memory."""
    if not is_wanted(jobset) or 'ttlSecondsAfterFinished' not in job_spec:
        return job_spec
    return {key: value for key, value in job_spec.items() if key != 'ttlSecondsAfterFinished'}


def _succeeded(cohort: family.Cohort) -> Iterator[jobs.Job]:
    return (job for name, job in cohort.members.items() if name not in cohort.active and name not in cohort.failed)


def _index(job: jobs.Job) -> int:
    """Which Job of its replicated job; -1 where the label does not tell."""
    text = job.metadata.labels.job_index
    return int(text) if text.isdecimal() else -1


def _written(done: Mapping[str, Iterable[int]]) -> str:
    text = '; '.join(f'{name} {_ranges(sorted(indexes))}' for name, indexes in sorted(done.items()))
    return memory.packed(text)


def _ranges(indexes: list[int]) -> str:
    # Neighbours have the same distance from their place in the list.
    groups = itertools.groupby(enumerate(indexes), key=lambda pair: pair[1] - pair[0])
    runs = [[index for _, index in group] for _, group in groups]
    return ','.join(str(run[0]) if len(run) == 1 else f'{run[0]}-{run[-1]}' for run in runs)


def _read(text: str) -> Done:
    """What :func:`_written` wrote. What cannot be read is not known: its Jobs would be run again, as upstream does."""
    if not text:
        return {}
    try:
        noted: dict[str, list[range]] = {}
        for part in memory.opened(text).split('; '):
            name, _, runs = part.partition(' ')
            noted[name] = [_run(run) for run in runs.split(',')]
        if sum(len(run) for runs in noted.values() for run in runs) > _INDEXES_AT_MOST:
            return {}
        done = {name: frozenset(itertools.chain.from_iterable(runs)) for name, runs in noted.items()}
    except ValueError:
        return {}
    return done


def _run(text: str) -> range:
    first, _, last = text.partition('-')
    return range(int(first), int(last or first) + 1)
