"""What a JobSet has done when: its attempts, the runs of its Jobs, and what was waited for in between.

Told from what the objects say of themselves, and from events for Jobs of earlier attempts, which are gone. Events live
for about an hour, and repetitions are told as first, last and a number: of what is older, less is known.

Objects have times of whole seconds, and events such of microseconds: where both tell of the same thing, the event says
when within that second it was.
"""

import datetime
import enum
import itertools
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from jobset.api import keys, stages, types
from jobset.client import observed, waits
from jobset.client.families import Family
from jobset.core import children, conditions

Moment = datetime.datetime

_ENDS = {
    'Completed': 'Complete',
    'BackoffLimitExceeded': 'Failed',
    'DeadlineExceeded': 'Failed',
    'PodFailurePolicy': 'Failed',
    'FailedIndexes': 'Failed',
    'MaxFailedIndexesExceeded': 'Failed',
}
"""Reasons of events that the end of a Job brings, and what it is then."""

_SHORT = datetime.timedelta(seconds=1)
"""What is not longer than this is no wait, where times have whole seconds."""

_MOMENT = datetime.timedelta(milliseconds=50)
"""The same where both times are exact: a controller needs that long."""

_LAG = datetime.timedelta(milliseconds=500)
"""How long after something an event may tell of it."""

_WITHIN = datetime.timedelta(seconds=1, microseconds=-1)


class End(enum.StrEnum):
    """How a run ended."""

    COMPLETE = 'Complete'
    FAILED = 'Failed'
    STOPPED = 'Stopped'
    """By a restart, a suspension, or the end of the whole."""

    RUNNING = 'Running'


@dataclass(frozen=True)
class Run:
    """One Job of one attempt."""

    job: str
    group: str
    attempt: int
    created: Moment
    started: Moment | None
    """When its first container started; None while none has."""

    ended: Moment | None
    end: End
    reason: str = ''
    """Of a failure."""

    pending: str = ''
    """Why it did not start at once."""


@dataclass(frozen=True)
class Span:
    """A time of waiting; without an end while it goes on."""

    start: Moment
    end: Moment | None
    text: str
    group: str = ''
    """The replicated job that waits; empty for the whole."""


@dataclass(frozen=True)
class Mark:
    """Something that happened at one moment."""

    at: Moment
    text: str


@dataclass(frozen=True, kw_only=True)
class History:
    """Everything that a timeline shows."""

    name: str
    begin: Moment
    end: Moment | None
    """None while it goes on."""

    outcome: str
    groups: Sequence[str]
    runs: Sequence[Run] = ()
    suspensions: Sequence[Span] = ()
    waits: Sequence[Span] = ()
    restarts: Sequence[Mark] = ()


def of(family: Family, now: Moment) -> History:
    """The history of a JobSet up to now."""
    jobset = family.jobset
    begin = observed.moment(jobset.metadata.creation_timestamp) or now
    begin = _exact(begin, [event.first for event in family.events], lag=datetime.timedelta())
    ending = conditions.terminal(jobset.status)
    end = observed.moment(ending.last_transition_time) if ending else None
    if ending is not None and end is not None:
        end = _exact(end, _times(family, jobset.metadata.uid, {ending.reason}))
    restarts = _restarts(family)
    runs = _runs(family, restarts, end)
    return History(
        name=family.name,
        begin=begin,
        end=end,
        outcome=ending.type if ending else '',
        groups=[group.name for group in jobset.spec.replicated_jobs],
        runs=runs,
        suspensions=list(_suspensions(jobset, begin)),
        waits=list(_stage_waits(family, runs, restarts, begin=begin, end=end)),
        restarts=restarts,
    )


def _exact(coarse: Moment, told: Iterable[Moment | None], *, lag: datetime.timedelta = _LAG) -> Moment:
    """When in its second something was, by the first of the events that tell of it; told within ``lag`` after that."""
    first = min((at for at in told if at is not None and at >= coarse), default=coarse)
    if not first.microsecond or first > coarse + _WITHIN + lag:
        return coarse
    return min(first, coarse + _WITHIN)


def _times(family: Family, uid: str, reasons: Container[str]) -> list[Moment | None]:
    """When events of these reasons were told of an object."""
    return [event.first for event in family.events if event.regarding.uid == uid and event.reason in reasons]


def _restarts(family: Family) -> list[Mark]:
    """The restarts of the whole, from the events that tell of them, else from the last one's condition."""
    found: dict[Moment, Mark] = {}
    for event in family.events:
        told = event.regarding.kind == keys.KIND and event.reason.endswith('FailurePolicyAction')
        if told and event.reason.startswith('Restart'):
            for at in filter(None, (event.first, event.last)):
                found.setdefault(at.replace(microsecond=0), Mark(at, event.note))
    condition = conditions.find(family.jobset.status, conditions.RESTARTING)
    if not found and condition is not None and condition.is_true:
        since = observed.moment(condition.last_transition_time)
        if since is not None:
            found[since] = Mark(since, condition.message)
    return [found[at] for at in sorted(found)]


def _runs(family: Family, restarts: Sequence[Mark], end: Moment | None) -> list[Run]:
    present = {job.metadata.uid: job for job in family.jobs}
    runs = [_present_run(family, job, end) for job in family.jobs]
    names = _names(family.jobset)
    told: dict[tuple[str, str], list[observed.Event]] = {}
    for event in family.events:
        about = event.regarding
        if about.kind == 'Job' and about.uid not in present and about.name in names and event.first is not None:
            told.setdefault((about.name, about.uid), []).append(event)
    runs += [_past_run(name, names[name], events, restarts, end) for (name, _), events in told.items()]
    places = {name: place for place, name in enumerate(names)}
    return sorted(runs, key=lambda run: (places.get(run.job, len(places)), run.created))


def _names(jobset: types.JobSet) -> dict[str, str]:
    """The names of all Jobs, and the replicated jobs that they are of; bounded, for none has to exist."""
    found: dict[str, str] = {}
    for place, group in enumerate(jobset.spec.replicated_jobs):
        for child in itertools.islice(children.wanted(jobset, place), _MOST):
            found[child.name] = group.name
    return found


_MOST = 10_000


def _present_run(family: Family, job: observed.Job, end: Moment | None) -> Run:
    pods = [pod for pod in family.pods if pod.job == job.metadata.name and pod.attempt == job.attempt]
    starts = [
        _exact(moment, _times(family, pod.metadata.uid, {'Started'}))
        for pod in pods
        for moment in _container_starts(pod)
    ]
    created = observed.moment(job.metadata.creation_timestamp) or datetime.datetime.min.replace(tzinfo=datetime.UTC)
    created = _exact(created, _times(family, job.metadata.uid, {'SuccessfulCreate'}))
    started = min(starts, default=None) or (observed.moment(job.status.start_time) if job.ending or not pods else None)
    ended = observed.moment(job.status.completion_time)
    kind = End.RUNNING
    if job.ending is not None:
        kind = End(job.ending.type)
        ended = ended or observed.moment(job.ending.last_transition_time)
        ended = ended and _exact(ended, _times(family, job.metadata.uid, _ENDS))
    elif end is not None:
        kind, ended = End.STOPPED, end
    reason = job.ending.reason if job.ending is not None and kind is End.FAILED else ''
    return Run(
        job.metadata.name,
        job.replicated_job,
        job.attempt,
        created,
        started,
        ended,
        kind,
        reason,
        _pending(family, {pod.metadata.name for pod in pods}),
    )


def _container_starts(pod: observed.Pod) -> Iterator[Moment]:
    for status in pod.status.container_statuses or ():
        for state in (status.state, status.last_state):
            told = state.running or state.terminated
            if told is not None and (moment := observed.moment(told.started_at)):
                yield moment


_HOLDS_UP = frozenset({'FailedScheduling', 'FailedMount', 'FailedAttachVolume', 'FailedCreatePodSandBox', 'Failed'})


def _pending(family: Family, pods: set[str]) -> str:
    """What the last event says that kept one of these pods from running."""
    for event in reversed(family.events):
        about = event.regarding
        if about.kind == 'Pod' and about.name in pods and event.reason in _HOLDS_UP:
            return ' '.join(event.note.split())
    return ''


def _past_run(
    name: str,
    group: str,
    events: Sequence[observed.Event],
    restarts: Sequence[Mark],
    end: Moment | None,
) -> Run:
    """A Job that is gone, as its events tell of it."""
    created = min(event.first for event in events if event.first is not None)
    last = next((event for event in reversed(events) if event.reason in _ENDS), None)
    attempt = sum(mark.at <= created for mark in restarts)
    if last is not None:
        kind = End(_ENDS[last.reason])
        reason = last.reason if kind is End.FAILED else ''
        return Run(name, group, attempt, created, created, last.last, kind, reason)
    stopped = next((mark.at for mark in restarts if mark.at >= created), end)
    return Run(name, group, attempt, created, created, stopped, End.STOPPED)


def _suspensions(jobset: types.JobSet, begin: Moment) -> Iterator[Span]:
    """The last time of suspension: only that is still told."""
    condition = conditions.find(jobset.status, conditions.SUSPENDED)
    at = observed.moment(condition.last_transition_time) if condition else None
    if condition is None or at is None:
        return
    if condition.is_true:
        yield Span(at, None, 'suspended')
    else:
        # When it began is no longer written anywhere; most are created suspended, by a queue.
        yield Span(begin, at, 'suspended')


def _stage_waits(
    family: Family,
    runs: Sequence[Run],
    restarts: Sequence[Mark],
    *,
    begin: Moment,
    end: Moment | None,
) -> Iterator[Span]:
    """How long each replicated job was held back in each attempt, and by what."""
    jobset = family.jobset
    resumed = [span.end for span in _suspensions(jobset, begin) if span.end]
    starts = [max([begin, *resumed]) if resumed else begin, *(mark.at for mark in restarts)]
    current = _current_waits(family)
    for place, group in enumerate(jobset.spec.replicated_jobs):
        text = _held_by(jobset, place)
        if not text:
            continue
        for attempt, start in enumerate(starts):
            these = [run.created for run in runs if run.group == group.name and run.attempt == attempt]
            first = min(these, default=None)
            if first is None:
                later = starts[attempt + 1] if attempt + 1 < len(starts) else end
                yield Span(start, later, current.get(group.name, text) if later is None else text, group.name)
            elif first - start > (_MOMENT if first.microsecond and start.microsecond else _SHORT):
                yield Span(start, first, text, group.name)


def _current_waits(family: Family) -> Mapping[str, str]:
    return {wait.who: wait.text for wait in waits.of(family) if wait.kind is waits.Kind.STARTUP}


def _held_by(jobset: types.JobSet, place: int) -> str:
    group = jobset.spec.replicated_jobs[place]
    depended = [f'{one.name} to be {one.status.lower()}' for one in group.depends_on or ()]
    if depended:
        return f'waits for {" and ".join(depended)}'
    if place and stages.in_order(jobset):
        return f'waits its turn after {jobset.spec.replicated_jobs[place - 1].name}'
    return ''
