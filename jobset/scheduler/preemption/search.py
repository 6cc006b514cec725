"""The fewest that have to go so that something fits, and of as many the best by :mod:`preferences`.

Up to :data:`EXACT_LIMIT` useful candidates the answer is the best there is. Of more, two first answers are made: the
lowest priorities go until it fits, which keeps the highest of them as low as can be; and, unless sums say that these
are the fewest, those go who clear most of what stands in the way. In both, whoever holds nothing where the pods would
go stays, and so does whoever turns out not to be needed. The better one is then improved by putting one in the place of
several, or of a dearer one, for as long as the budget lasts.

All of this relies on that the more are gone, the more fits. What is returned has been tried: it fits, and it does not
without any one of them.
"""

import enum
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from jobset.scheduler.model import Run
from jobset.scheduler.preemption.preferences import Preference, Rank, by_priority, preference
from jobset.scheduler.preemption.trials import Trial
from jobset.scheduler.preemption.worlds import World

EXACT_LIMIT: Final = 12
"""Candidates of which all sets are looked at: at most 4096."""

BUDGET: Final = 48
"""Questions asked to improve an answer that is known to do."""

Victims = Sequence[int]
"""Positions of candidates, the cheapest first."""

Order = Callable[[Victims], Preference]


class Strategy(enum.StrEnum):
    """What victims are to be."""

    FEWEST = 'Fewest'
    LOWEST_PRIORITY_FIRST = 'LowestPriorityFirst'
    """As in Kubernetes: however many it takes, nobody goes in whose place lower ones could."""


def fewest(
    candidates: Iterable[Run],
    trial: Trial,
    *,
    now: float,
    strategy: Strategy = Strategy.FEWEST,
    rank: Rank = by_priority,
    budget: int = BUDGET,
) -> tuple[Run, ...] | None:
    """Who goes, in the order of names. None only where it does not fit without all; empty where it fits already.

    ``rank`` is the priority of a run as a victim. ``trial`` is in the end as it was before.
    """
    ordered = sorted(
        filter(trial.is_useful, candidates),
        key=lambda run: (rank(run), run.lost_work(now), -run.admitted, run.workload.key),
    )
    world = World(trial, ordered)

    def order(victims: Victims) -> Preference:
        return preference([ordered[i] for i in victims], now, rank=rank, surplus=world.surplus(victims))

    everybody = range(len(ordered))
    try:
        if len(ordered) > EXACT_LIMIT:
            found = _near(world, everybody, order, strategy, budget)
        elif strategy is Strategy.FEWEST:
            found = _best(world, everybody, order)
        else:
            enough = _shortest(world, everybody)
            found = enough and _needed(world, enough)
    finally:
        world.close()
    return None if found is None else tuple(sorted((ordered[i] for i in found), key=lambda run: run.workload.key))


def _best(world: World, everybody: Victims, order: Order) -> Victims | None:
    """The best of all sets."""
    if world.fits(()):
        return ()
    if not world.fits(everybody):
        return None
    # Without whom all the others are not enough is in every set that is.
    core = [i for i in everybody if not world.fits(_without(everybody, i))]
    rest = [i for i in everybody if i not in core]
    for many in range(len(rest) + 1):
        sets = ((*core, *more) for more in itertools.combinations(rest, many))
        for victims in sorted(filter(world.is_enough, sets), key=order):
            if world.fits(victims):
                return victims
    return everybody


def _near(world: World, everybody: Victims, order: Order, strategy: Strategy, budget: int) -> Victims | None:
    """A good set, where there are too many to look at all."""
    first = _answer(world, everybody)
    if not first or strategy is Strategy.LOWEST_PRIORITY_FIRST:
        return first
    clearing = world.clearing()
    best = first
    if not world.is_fewest(len(first)):
        best = min(first, _answer(world, clearing) or first, key=order)
    return _exchanged(world, best, clearing, order, budget)


def _answer(world: World, ordered: Victims) -> Victims | None:
    """The first few of ``ordered`` that are enough, without those that are not needed."""
    enough = _shortest(world, ordered)
    if not enough:
        return enough
    # On the nodes that would be used now, or else with as few others as possible: of those, quota may be wanted.
    used = world.place(enough) or frozenset()
    away = [i for i in enough if used.isdisjoint(world.runs[i].admission.holds)]
    if away:
        gone = set(away)
        there = [i for i in enough if i not in gone]
        enough = _shortest(world, [*there, *away], least=len(there)) or enough
    return _needed(world, sorted(enough))


def _shortest(world: World, ordered: Victims, *, least: int = 0) -> Victims | None:
    """The fewest of the first in order that are enough, but not fewer than ``least``; None where all are not."""
    short, enough, step = least - 1, least, 1
    while not world.fits(ordered[:enough]):
        if enough == len(ordered):
            return None
        # Few are enough most of the time: from there up, in growing steps, is the shortest way.
        short, enough, step = enough, min(len(ordered), enough + step), step * 2
    while short + 1 < enough:
        middle = (short + enough) // 2
        if world.fits(ordered[:middle]):
            enough = middle
        else:
            short = middle
    return ordered[:enough]


def _needed(world: World, victims: Victims, *, goes: int | None = None) -> Victims:
    """Those that have to go. The dearest are the first that may stay; who ``goes`` is the last."""
    kept: Victims = victims
    for i in [*(i for i in reversed(victims) if i != goes), *(i for i in victims if i == goes)]:
        fewer = _without(kept, i)
        if world.fits(fewer):
            kept = fewer
    return kept


def _without(victims: Victims, one: int) -> Victims:
    return [i for i in victims if i != one]


def _exchanged(world: World, victims: Victims, clearing: Victims, order: Order, budget: int) -> Victims:
    """One other goes in place of several, or of a dearer one, where that is better."""
    last = world.questions + budget
    dearest = max(victims)
    # Those that could replace several come first, then those that are cheaper, then those that may free less in vain.
    several = () if world.is_fewest(len(victims)) else clearing[: budget // 2]
    after = range(dearest + 1, min(len(clearing), dearest + budget))
    as_dear = itertools.takewhile(lambda i: order([i])[:4] == order([dearest])[:4], after)
    for other in [*several, *range(dearest), *as_dear][:budget]:
        if world.questions + len(victims) > last:
            break
        if other not in victims:
            victims = min(victims, _needed(world, sorted([*victims, other]), goes=other), key=order)
    return victims
