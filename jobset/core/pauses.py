"""How long to wait before the next attempt begins.

Asked for by :data:`jobset.api.extras.RESTART_PAUSE`. The pause begins with the decision to restart: the old attempt is
cleared away meanwhile, and only the making of new Jobs waits; in place, the opening of the barrier. Which pause it is,
and when it is over, stands in a condition, so that neither a restart of the controller nor another replica begins it
anew.

Single Jobs that are made anew pause each by itself, and the rest of the set runs on.
"""

import datetime
import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from jobset.api import extras, jobs, types
from jobset.api.extravalues import Pause
from jobset.core import conditions, memory, plan, status, waiting

_STORED: Final = re.compile(r'pause ([0-9]{1,9}): (jobs are made|attempt [0-9]{1,10} in place begins) at (\S+)')
_MADE: Final = 'jobs are made'
_SINGLE: Final = re.compile(r'(\S+) ([0-9]{1,9}) (\S+)')


class Single(NamedTuple):
    """The pause of a single Job."""

    number: int
    """How many there were in a row, this one included."""

    ends_at: str


def begin(draft: status.Draft, jobset: types.JobSet, failed: Iterable[jobs.Job]) -> None:
    """Pause before the attempt that the draft has just begun."""
    wanted = extras.RESTART_PAUSE.of(jobset.metadata.annotations)
    if wanted is None:
        return
    number = 1 if _was_healthy(draft, wanted, failed) else _number(draft.stored) + 1
    seconds = length(wanted, number, jitter_by=f'{jobset.metadata.uid}/{draft.current.restarts}')
    _remember(draft, number, _MADE, seconds)
    draft.tell(
        plan.EventType.NORMAL,
        'RestartPause',
        f'attempt {draft.current.restarts} begins after a pause of {seconds:g} s (pause {number} in a row)',
    )


def wait(current: types.Status) -> waiting.Wait | None:
    """What is told of the pause before the running attempt, or the next one in place; None where there is none."""
    found = _STORED.fullmatch(memory.recall(current, memory.PAUSE))
    if found is None:
        return None
    what = f'attempt {current.restarts} begins' if found[2] == _MADE else found[2]
    at = conditions.timestamp(conditions.parsed(found[3]))
    return waiting.Wait(waiting.PAUSED, f'{what} at {at} (pause {found[1]} in a row)')


def begin_in_place(draft: status.Draft, jobset: types.JobSet, attempt: int, *, runs_since: str) -> None:
    """Pause before an attempt in place; ``runs_since`` tells when the barrier of the one before opened, if it did."""
    wanted = extras.RESTART_PAUSE.of(jobset.metadata.annotations)
    if wanted is None:
        return
    ran = (draft.now - conditions.parsed(runs_since)).total_seconds() if runs_since else 0
    number = 1 if ran >= wanted.reset else _number(draft.stored) + 1
    seconds = length(wanted, number, jitter_by=f'{jobset.metadata.uid}/in-place/{attempt}')
    _remember(draft, number, _in_place(attempt), seconds)
    text = f'attempt {attempt} in place begins after a pause of {seconds:g} s (pause {number} in a row)'
    draft.tell(plan.EventType.NORMAL, 'RestartPause', text)


def begin_single(draft: status.Draft, jobset: types.JobSet, job: jobs.Job) -> None:
    """Pause before the attempt of a single Job that the draft has just begun.

    A Job has run well if it has run for long: nothing tells since when its pods were ready, and whatever needs so long
    to start is no storm.
    """
    wanted = extras.RESTART_PAUSE.of(jobset.metadata.annotations)
    if wanted is None:
        return
    name, paused = job.metadata.name, dict(singles(draft.current))
    before = paused.get(name)
    number = 1 if before is None or _seconds_run(job, draft.now) >= wanted.reset else before.number + 1
    seconds = length(wanted, number, jitter_by=f'{jobset.metadata.uid}/{name}/{number}')
    paused[name] = Single(number, _later(draft.now, seconds))
    memory.remember(draft, memory.SINGLES, 'RestartPause', _written(paused))
    text = f'job {name} is made again after a pause of {seconds:g} s (pause {number} in a row)'
    draft.tell(plan.EventType.NORMAL, 'RestartPause', text)


def seconds_left(jobset: types.JobSet, now: datetime.datetime) -> float:
    """For how long no Jobs may be made; zero or less where nothing is to wait for."""
    return _left(jobset, now, _MADE)


def seconds_left_in_place(jobset: types.JobSet, attempt: int, now: datetime.datetime) -> float:
    """For how long that attempt in place may not begin; zero or less where nothing is to wait for."""
    return _left(jobset, now, _in_place(attempt))


def singles_left(jobset: types.JobSet, now: datetime.datetime) -> Mapping[str, float]:
    """The single Jobs that may not be made yet, and for how many seconds."""
    if extras.RESTART_PAUSE.key not in jobset.metadata.annotations:
        return {}
    left = {
        name: (conditions.parsed(pause.ends_at) - now).total_seconds() for name, pause in singles(jobset.status).items()
    }
    return {name: seconds for name, seconds in left.items() if seconds > 0}


def singles(stored: types.Status) -> Mapping[str, Single]:
    """The last pause of each single Job of the running attempt, by name of the Job."""
    try:
        text = memory.opened(memory.recall(stored, memory.SINGLES))
    except ValueError:
        return {}
    found = (_SINGLE.fullmatch(part) for part in text.split(', '))
    return {match[1]: Single(int(match[2]), match[3]) for match in found if match is not None}


def length(wanted: Pause, number: int, *, jitter_by: str) -> float:
    """Seconds of the ``number``-th pause in a row. The same text gives the same jitter."""
    # No power of two that matters needs more than this many doublings.
    plain = min(wanted.cap, wanted.base * 2.0 ** min(number - 1, 64))
    digest = hashlib.sha256(jitter_by.encode()).digest()
    return plain * (1 + wanted.jitter * int.from_bytes(digest[:4]) / 2**32)


def _in_place(attempt: int) -> str:
    return f'attempt {attempt} in place begins'


def _remember(draft: status.Draft, number: int, what: str, seconds: float) -> None:
    memory.remember(draft, memory.PAUSE, 'RestartPause', f'pause {number}: {what} at {_later(draft.now, seconds)}')
    foretold = wait(draft.current)
    if foretold is not None:
        waiting.foretell(draft, foretold)


def _later(now: datetime.datetime, seconds: float) -> str:
    return (now + datetime.timedelta(seconds=seconds)).astimezone(datetime.UTC).isoformat()


def left(jobset: types.JobSet, now: datetime.datetime) -> float:
    """For how long anything but single Jobs may not begin; zero or less where nothing is to wait for."""
    return _left(jobset, now, None)


def _left(jobset: types.JobSet, now: datetime.datetime, what: str | None) -> float:
    found = _STORED.fullmatch(memory.recall(jobset.status, memory.PAUSE))
    if found is None or what not in (None, found[2]) or extras.RESTART_PAUSE.key not in jobset.metadata.annotations:
        return 0
    return (conditions.parsed(found[3]) - now).total_seconds()


def _written(paused: Mapping[str, Single]) -> str:
    """As much of it as fits; of more Jobs than anybody has, those are forgotten whose pause is over first."""
    by_end = sorted(paused.items(), key=lambda entry: (entry[1].ends_at, entry[0]))
    while True:
        text = memory.packed(', '.join(f'{name} {pause.number} {pause.ends_at}' for name, pause in sorted(by_end)))
        if len(text) <= memory.TEXT_AT_MOST:
            return text
        by_end = by_end[len(by_end) // 4 :]


def _seconds_run(job: jobs.Job, now: datetime.datetime) -> float:
    started, ending = job.status.start_time, job.ending
    if started is None:
        return 0
    ended = ending.last_transition_time if ending is not None else None
    return ((conditions.parsed(ended) if ended else now) - conditions.parsed(started)).total_seconds()


def _was_healthy(draft: status.Draft, wanted: Pause, failed: Iterable[jobs.Job]) -> bool:
    """Whether all Jobs had been ready for long enough when the first of them failed."""
    restarting = conditions.find(draft.stored, conditions.RESTARTING)
    if restarting is None or restarting.is_true or restarting.reason != conditions.RESTART_READY.reason:
        return False
    ready_at = conditions.parsed(restarting.last_transition_time)
    endings = (job.ending for job in failed)
    times = [end.last_transition_time for end in endings if end is not None and end.last_transition_time is not None]
    failed_at = min(map(conditions.parsed, times), default=draft.now)
    return (failed_at - ready_at).total_seconds() >= wanted.reset


def _number(stored: types.Status) -> int:
    """How many pauses there were in a row. Of any attempt: one that is not paused does not come between."""
    condition = conditions.find(stored, memory.PAUSE)
    found = _STORED.search(condition.message) if condition is not None else None
    return int(found[1]) if found is not None else 0
