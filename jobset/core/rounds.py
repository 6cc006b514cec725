"""How restarts in place are counted, where a set asks for budgets, pauses or an archive.

The protocol itself counts by the number of the attempt: whatever begins one costs a restart. Where some are to be free,
each is judged once, when it begins: by whoever announces an attempt that nobody has announced before. Up to which
attempt that is done, how many of them count, and since when all ranks run stands in a condition, written together with
the numbers that the agents obey. So nothing is counted twice, whoever takes over in the middle.

Not every attempt is a failure. New Jobs announce the next attempt, too; their making was counted where it was decided.
What begins while the set is suspended is free, and so is what begins because the set was scaled.
"""

import re
from typing import Final, NamedTuple

from jobset.api import extras, types
from jobset.core import conditions, memory, status

_STORED: Final = re.compile(
    r'attempts up to ([0-9]{1,10}) are answered: ([0-9]{1,10}) restarts count, ([0-9]{1,10}) do not'
    r'(?:; ([0-9]{1,10}) ranks)?(?: run since (\S+))?'
)


class Account(NamedTuple):
    """What is known of the attempts in place so far."""

    through: int
    """The last attempt that was judged."""

    counted: int
    """How many restarts count towards ``maxRestarts``."""

    free: int
    """How many do not, of those that the pods of the running attempt of the set have been through."""

    ranks: int
    """How many ranks there were when the barrier last opened; 0 before."""

    runs_since: str
    """When that was; empty before."""


def is_kept(jobset: types.JobSet) -> bool:
    """Whether the set asks for anything that needs an account."""
    asking = (extras.RESTART_BUDGETS, extras.RESTART_PAUSE, extras.ARCHIVE_ATTEMPTS)
    return any(extra.key in jobset.metadata.annotations for extra in asking)


def of(current: types.Status) -> Account:
    """The account as it stands; one that begins now takes what the protocol has counted for failures that count."""
    condition = conditions.find(current, memory.ROUNDS)
    found = _STORED.fullmatch(condition.message) if condition is not None else None
    if found is None:
        through = current.current_in_place_restart_attempt or 0
        return Account(through, max(0, through - current.restarts), 0, 0, '')
    through, counted, free, ranks = (int(number or 0) for number in found.groups()[:4])
    return Account(through, counted, free, ranks, found[5] or '')


def counted(current: types.Status) -> int:
    """How many restarts in place count towards ``maxRestarts``, beside those of the set and of single Jobs."""
    return of(current).counted if conditions.find(current, memory.ROUNDS) is not None else 0


def store(draft: status.Draft, account: Account) -> None:
    """Note how things stand."""
    text = f'attempts up to {account.through} are answered: {account.counted} restarts count, {account.free} do not'
    if account.ranks:
        text += f'; {account.ranks} ranks'
    if account.runs_since:
        text += f' run since {account.runs_since}'
    draft.set_silently(conditions.Notice(memory.ROUNDS, True, 'RestartsCounted', text))


def cover(draft: status.Draft, *, is_whole: bool) -> None:
    """Jobs are made anew: the attempt that their pods are going to announce is judged already."""
    attempt = draft.current.current_in_place_restart_attempt
    account = of(draft.current)
    due = 0 if attempt is None else attempt + 1
    is_new = due > account.through
    free = 0 if is_whole else account.free + int(is_new)
    store(draft, account._replace(through=max(due, account.through), free=free, runs_since=''))
