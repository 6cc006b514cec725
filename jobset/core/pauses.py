"""How long to wait before the next attempt begins.

Asked for by :data:`jobset.api.extras.RESTART_PAUSE`. The pause begins with the decision to restart: the old attempt is
cleared away meanwhile, and only the making of new Jobs waits. Which pause it is, and when it is over, stands in a
condition, so that neither a restart of the controller nor another replica begins it anew.
"""

import datetime
import hashlib
import re
from collections.abc import Iterable
from typing import Final

from jobset.api import extras, jobs, types
from jobset.api.extravalues import Pause
from jobset.core import conditions, memory, plan, status, waiting

_STORED: Final = re.compile(r'pause ([0-9]{1,9}): jobs are made at (\S+)')


def begin(draft: status.Draft, jobset: types.JobSet, failed: Iterable[jobs.Job]) -> None:
    """Pause before the attempt that the draft has just begun."""
    wanted = extras.RESTART_PAUSE.of(jobset.metadata.annotations)
    if wanted is None:
        return
    number = 1 if _was_healthy(draft, wanted, failed) else _number(draft.stored) + 1
    seconds = length(wanted, number, jitter_by=f'{jobset.metadata.uid}/{draft.current.restarts}')
    at = (draft.now + datetime.timedelta(seconds=seconds)).astimezone(datetime.UTC)
    memory.remember(draft, memory.PAUSE, 'RestartPause', f'pause {number}: jobs are made at {at.isoformat()}')
    foretold = wait(draft.current)
    if foretold is not None:
        waiting.foretell(draft, foretold)
    draft.tell(
        plan.EventType.NORMAL,
        'RestartPause',
        f'attempt {draft.current.restarts} begins after a pause of {seconds:g} s (pause {number} in a row)',
    )


def wait(current: types.Status) -> waiting.Wait | None:
    """What is told of the pause before the running attempt; None where there is none."""
    found = _STORED.fullmatch(memory.recall(current, memory.PAUSE))
    if found is None:
        return None
    at = conditions.timestamp(conditions.parsed(found[2]))
    return waiting.Wait(waiting.PAUSED, f'attempt {current.restarts} begins at {at} (pause {found[1]} in a row)')


def seconds_left(jobset: types.JobSet, now: datetime.datetime) -> float:
    """For how long no Jobs may be made; zero or less where nothing is to wait for."""
    found = _STORED.fullmatch(memory.recall(jobset.status, memory.PAUSE))
    if found is None or extras.RESTART_PAUSE.key not in jobset.metadata.annotations:
        return 0
    return (conditions.parsed(found[2]) - now).total_seconds()


def length(wanted: Pause, number: int, *, jitter_by: str) -> float:
    """Seconds of the ``number``-th pause in a row. The same text gives the same jitter."""
    # No power of two that matters needs more than this many doublings.
    plain = min(wanted.cap, wanted.base * 2.0 ** min(number - 1, 64))
    digest = hashlib.sha256(jitter_by.encode()).digest()
    return plain * (1 + wanted.jitter * int.from_bytes(digest[:4]) / 2**32)


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
