"""Which bar stands where: a history laid out in rows on a scale of seconds."""

import datetime
import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from jobset.cli import output
from jobset.client.history import End, History, Run

MOST_ROWS: Final = 20
"""Jobs of one replicated job that get a row each; more are shown together."""

MOST_TICKS: Final = 7
_ROUNDING: Final = 1e-9

_LEAST: Final = datetime.timedelta(seconds=0.1)
"""Length of the scale at least."""

_FINE_SECONDS: Final = 10
"""Below this, tenths of seconds are told, too."""

_FINE: Final = (0.1, 0.2, 0.5)
_STEPS: Final = (*_FINE, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
"""Seconds between ticks that people can count in; above, whole days."""


class Look(enum.StrEnum):
    """What a bar stands for."""

    RUNNING = 'running'
    COMPLETE = 'complete'
    FAILED = 'failed'
    STOPPED = 'stopped'
    PENDING = 'pending'
    WAITING = 'waiting'
    SUSPENDED = 'suspended'


@dataclass(frozen=True)
class Bar:
    """A piece of a row, from one second to another."""

    start: float
    end: float
    look: Look
    text: str = ''
    """What it is, for those who point at it or read on."""


@dataclass(frozen=True)
class Row:
    """A line of the picture."""

    label: str
    depth: int
    bars: Sequence[Bar] = ()


@dataclass(frozen=True)
class Tick:
    """A mark on the scale."""

    at: float
    label: str


@dataclass(frozen=True)
class Chart:
    """The whole picture."""

    title: str
    seconds: float
    """The length of the scale."""

    rows: Sequence[Row]
    ticks: Sequence[Tick]
    restarts: Sequence[Tick]
    notes: Sequence[str]
    """The waits and their causes, in the order of time."""


def layout(facts: History, now: datetime.datetime, *, most_rows: int = MOST_ROWS) -> Chart:
    """The picture of a history. Pure: the same facts give the same chart."""
    end = facts.end or now
    scale = _Scale(facts.begin, max(end, facts.begin + _LEAST))
    rows = [Row(facts.name, 0, _whole(facts, scale))]
    for group in facts.groups:
        rows += _group_rows(facts, group, scale, most_rows)
    return Chart(
        title=_title(facts, now),
        seconds=scale.seconds,
        rows=rows,
        ticks=ticks(scale.seconds),
        restarts=[Tick(scale.of(mark.at), mark.text) for mark in facts.restarts],
        notes=list(_notes(facts, scale)),
    )


class _Scale:
    def __init__(self, begin: datetime.datetime, end: datetime.datetime) -> None:
        self._begin = begin
        self.seconds = (end - begin).total_seconds()

    def of(self, moment: datetime.datetime | None) -> float:
        """Seconds since the beginning, within the picture; no moment is its end."""
        if moment is None:
            return self.seconds
        return min(max((moment - self._begin).total_seconds(), 0.0), self.seconds)


def _title(facts: History, now: datetime.datetime) -> str:
    took = duration(((facts.end or now) - facts.begin).total_seconds())
    state = f'{facts.outcome} after {took}' if facts.end else f'since {took}'
    number = len(facts.restarts)
    return f'{facts.name}: {state}' + (f', {number} {"restart" if number == 1 else "restarts"}' if number else '')


def _whole(facts: History, scale: _Scale) -> list[Bar]:
    look = {'Completed': Look.COMPLETE, 'Failed': Look.FAILED}.get(facts.outcome, Look.RUNNING)
    held = [Bar(scale.of(span.start), scale.of(span.end), Look.SUSPENDED, span.text) for span in facts.suspensions]
    bars: list[Bar] = []
    at = 0.0
    for bar in sorted(held, key=lambda one: one.start):
        if bar.start > at:
            bars.append(Bar(at, bar.start, look, facts.outcome))
        bars.append(bar)
        at = bar.end
    return [*bars, Bar(at, scale.seconds, look, facts.outcome)] if at < scale.seconds else bars


def _group_rows(facts: History, group: str, scale: _Scale, most_rows: int) -> Iterator[Row]:
    spans = [span for span in facts.waits if span.group == group]
    held = [Bar(scale.of(span.start), scale.of(span.end), Look.WAITING, span.text) for span in spans]
    runs = [run for run in facts.runs if run.group == group]
    jobs = list(dict.fromkeys(run.job for run in runs))
    if len(jobs) > most_rows:
        yield Row(f'{group} ({len(jobs)} Jobs)', 1, [*held, *_together(runs, scale)])
        return
    yield Row(group, 1, held)
    for job in jobs:
        own = [run for run in runs if run.job == job]
        nexts = [*(scale.of(run.created) for run in own[1:]), scale.seconds]
        bars = [bar for run, limit in zip(own, nexts, strict=True) for bar in _bars(run, scale, limit=limit)]
        yield Row(job.removeprefix(f'{facts.name}-'), 2, bars)


def _bars(run: Run, scale: _Scale, *, limit: float) -> Iterator[Bar]:
    """The bars of one run, up to the next one: events tell of its end more exactly than objects of their beginnings."""
    created, ended = scale.of(run.created), min(scale.of(run.ended), limit)
    started = ended if run.started is None else min(max(scale.of(run.started), created), ended)
    if started > created:
        yield Bar(created, started, Look.PENDING, run.pending or 'pods are being started')
    if run.started is not None:
        text = f'attempt {run.attempt}: {run.end.value}' + (f' ({run.reason})' if run.reason else '')
        yield Bar(started, ended, Look[run.end.name], text)


def _together(runs: Sequence[Run], scale: _Scale) -> Iterator[Bar]:
    """Many Jobs as one bar for each attempt, which looks like the worst of them."""
    order = (End.FAILED, End.RUNNING, End.STOPPED, End.COMPLETE)
    for attempt in sorted({run.attempt for run in runs}):
        these = [run for run in runs if run.attempt == attempt]
        worst = min((run.end for run in these), key=order.index)
        counts = [f'{number} {end.value}' for end in order if (number := sum(run.end is end for run in these))]
        start = min(scale.of(run.created) for run in these)
        end = max(scale.of(run.ended) for run in these)
        yield Bar(start, end, Look[worst.name], f'attempt {attempt}: {", ".join(counts)}')


def _notes(facts: History, scale: _Scale) -> Iterator[str]:
    said: list[tuple[float, str]] = []
    for span in (*facts.suspensions, *facts.waits):
        start, end = scale.of(span.start), scale.of(span.end)
        who = f'{span.group} ' if span.group else ''
        goes_on = ' so far' if span.end is None and facts.end is None else ''
        said.append((start, f'{who}{span.text}: {duration(end - start)}{goes_on}'))
    for run in facts.runs:
        name = run.job.removeprefix(f'{facts.name}-')
        if run.pending and run.started != run.created:
            length = scale.of(run.started) - scale.of(run.created)
            said.append((scale.of(run.created), f'{name} pending: {run.pending}: {duration(length)}'))
        if run.end is End.FAILED:
            said.append((scale.of(run.ended), f'{name} failed in attempt {run.attempt}: {run.reason}'))
    said += [(scale.of(mark.at), f'restart: {mark.text}') for mark in facts.restarts]
    for at, text in sorted(said):
        yield f'+{duration(at)} {text}'


def ticks(seconds: float) -> list[Tick]:
    """Marks on a scale of that length: a few, at times that people count in."""
    days = 86400 * (int(seconds / 86400 / MOST_TICKS) + 1)
    step = next((step for step in _STEPS if seconds / step <= MOST_TICKS), days)
    marks = [round(place * step, 1) for place in range(int(seconds / step + _ROUNDING) + 1)]
    return [Tick(at, duration(at) if at else '0') for at in marks]


def duration(seconds: float) -> str:
    """A time span, with tenths of seconds where they matter."""
    tenths = f'{max(seconds, 0):.1f}'
    return output.duration(seconds) if seconds >= _FINE_SECONDS else f'{tenths.removesuffix(".0")}s'
