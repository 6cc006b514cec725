"""The fewest that have to go so that something fits, and of as many the best by :mod:`preferences`.

Up to :data:`EXACT_LIMIT` useful candidates the answer is the best there is. Of more, two first answers are made: the
lowest priorities go until it fits, and those go who clear most of what stands in the way; in both, whoever holds
nothing where the pods would go stays, and so does whoever turns out not to be needed. The better one is then improved
by putting one in the place of several, or of a dearer one, for as long as the budget lasts.

All of this relies on that the more are gone, the more fits. What is returned has been tried: it fits, and it does not
without any one of them.
"""

import enum
import itertools
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

from jobset.scheduler.amounts import Amounts
from jobset.scheduler.model import Run
from jobset.scheduler.preemption.preferences import Preference, Rank, by_priority, preference
from jobset.scheduler.preemption.trials import Names, Trial

EXACT_LIMIT: Final = 12
"""Candidates of which all sets are looked at: at most 4096."""

BUDGET: Final = 64
"""Questions asked to improve an answer that is known to do."""

Order = Callable[[Sequence[Run]], Preference]


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
    world = _World(trial)
    ordered = sorted(
        filter(trial.is_useful, candidates),
        key=lambda run: (rank(run), run.lost_work(now), -run.admitted, run.workload.key),
    )
    surplus = _Surplus(world, ordered)

    def order(victims: Sequence[Run]) -> Preference:
        return preference(victims, now, rank=rank, surplus=surplus)

    try:
        if len(ordered) > EXACT_LIMIT:
            found = _near(world, ordered, order, strategy, budget)
        elif strategy is Strategy.FEWEST:
            found = _best(world, ordered, order)
        else:
            enough = _shortest(world, ordered)
            found = enough and _needed(world, enough)
    finally:
        world.go(())
    return None if found is None else tuple(sorted(found, key=lambda run: run.workload.key))


class _World:
    """A trial that remembers who is gone. From one question to the next only the difference is changed."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._gone: dict[str, Run] = {}
        self._freed: dict[str, Amounts] = {}
        self.missing: Final = trial.missing()
        self.questions = 0

    def frees(self, run: Run) -> Amounts:
        """What the end of a run frees of anything."""
        key = run.workload.key
        if key not in self._freed:
            self._freed[key] = self._trial.frees(run)
        return self._freed[key]

    def is_enough(self, victims: Collection[Run]) -> bool:
        """Whether they hold what is missing in sum, wherever it is."""
        return all(
            sum(self.frees(run).get(name, 0) for run in victims) >= amount for name, amount in self.missing.items()
        )

    def place(self, victims: Collection[Run]) -> Names | None:
        """The nodes that would be used without these; None where it does not fit."""
        if not self.is_enough(victims):
            return None
        self.questions += 1
        self.go(victims)
        return self._trial.place() if self._trial.may_fit() else None

    def fits(self, victims: Collection[Run]) -> bool:
        """Whether it fits without these."""
        return self.place(victims) is not None

    def clears(self, run: Run) -> float:
        """See :meth:`Trial.clears`."""
        return self._trial.clears(run)

    def go(self, victims: Collection[Run]) -> None:
        """Just these are gone."""
        gone = {run.workload.key: run for run in victims}
        back = [run for key, run in self._gone.items() if key not in gone]
        new = [run for key, run in gone.items() if key not in self._gone]
        self._gone = gone
        if back:
            self._trial.restore(*back)
        if new:
            self._trial.remove(*new)


class _Surplus:
    """What a set of victims frees beyond what is missing, in parts of what all candidates hold, over resources."""

    def __init__(self, world: _World, candidates: Sequence[Run]) -> None:
        self._world, self._candidates = world, candidates
        self._totals: Amounts = {}

    def __call__(self, victims: Sequence[Run]) -> float:
        if not self._totals:
            self._totals = self._sums(self._candidates)
        freed, missing = self._sums(victims), self._world.missing
        beyond = {name: max(0, amount - missing.get(name, 0)) for name, amount in sorted(freed.items())}
        return sum(amount / self._totals[name] for name, amount in beyond.items() if amount)

    def _sums(self, runs: Sequence[Run]) -> Amounts:
        found: Amounts = {}
        for run in runs:
            for name, amount in self._world.frees(run).items():
                found[name] = found.get(name, 0) + amount
        return found


def _best(world: _World, ordered: Sequence[Run], order: Order) -> Sequence[Run] | None:
    """The best of all sets."""
    if world.fits(()):
        return ()
    if not world.fits(ordered):
        return None
    # Without whom all the others are not enough is in every set that is.
    core = [run for run in ordered if not world.fits([other for other in ordered if other is not run])]
    known = {run.workload.key for run in core}
    rest = [run for run in ordered if run.workload.key not in known]
    for many in range(len(rest) + 1):
        sets = ((*core, *more) for more in itertools.combinations(rest, many))
        for victims in sorted(filter(world.is_enough, sets), key=order):
            if world.fits(victims):
                return victims
    return ordered


def _near(world: _World, ordered: Sequence[Run], order: Order, strategy: Strategy, budget: int) -> Sequence[Run] | None:
    """A good set, where there are too many to look at all."""
    first = _answer(world, ordered)
    if not first or strategy is Strategy.LOWEST_PRIORITY_FIRST:
        return first
    clearing = sorted(ordered, key=world.clears, reverse=True)
    answers = [first]
    if clearing != ordered:
        answers.append(_answer(world, clearing) or first)
    return _exchanged(world, min(answers, key=order), ordered, order, budget)


def _answer(world: _World, ordered: Sequence[Run]) -> Sequence[Run] | None:
    """The first few of ``ordered`` that are enough, without those that are not needed."""
    enough = _shortest(world, ordered)
    if not enough:
        return enough
    # On the nodes that would be used now, or else with as few others as possible: of those, quota may be wanted.
    used = world.place(enough) or frozenset()
    away = [run for run in enough if used.isdisjoint(run.admission.holds)]
    if away:
        there = [run for run in enough if not used.isdisjoint(run.admission.holds)]
        enough = _shortest(world, [*there, *away], least=len(there)) or enough
    return _needed(world, enough)


def _shortest(world: _World, ordered: Sequence[Run], *, least: int = 0) -> Sequence[Run] | None:
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


def _needed(world: _World, victims: Sequence[Run], *, goes: Run | None = None) -> Sequence[Run]:
    """Those that have to go; the last in order are the first that may stay, and who ``goes`` the last."""
    kept = list(victims)
    for run in reversed([run for run in victims if run is not goes]):
        fewer = [each for each in kept if each is not run]
        if world.fits(fewer):
            kept = fewer
    if goes is not None and world.fits([each for each in kept if each is not goes]):
        kept.remove(goes)
    return kept


def _exchanged(
    world: _World, victims: Sequence[Run], candidates: Sequence[Run], order: Order, budget: int
) -> Sequence[Run]:
    """One other goes in place of several, or of a dearer one, where that is better."""
    last = world.questions + budget
    positions = {run.workload.key: i for i, run in enumerate(candidates)}
    dearest = max(positions[run.workload.key] for run in victims)
    # Those that could replace several come first, then those that are cheaper.
    others = [] if _is_fewest(world, victims, candidates) else sorted(candidates, key=world.clears, reverse=True)
    for other in [*others[: budget // 2], *candidates[:dearest]][:budget]:
        if world.questions >= last:
            break
        if all(other is not run for run in victims):
            together = sorted([*victims, other], key=lambda run: positions[run.workload.key])
            victims = min(victims, _needed(world, together, goes=other), key=order)
    return victims


def _is_fewest(world: _World, victims: Sequence[Run], candidates: Sequence[Run]) -> bool:
    """Whether fewer cannot be enough, even of those that hold the most."""
    fewer = len(victims) - 1
    return fewer == 0 or any(
        sum(sorted((world.frees(run).get(name, 0) for run in candidates), reverse=True)[:fewer]) < amount
        for name, amount in world.missing.items()
    )
