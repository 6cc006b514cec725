"""The fewest that have to go, and of as many the cheapest.

Of two sets of victims the better one has fewer of them; then the lower highest priority; the lower sum of priorities;
the less work lost; the less freed beyond what is needed; the later starts; the first names. Up to
:data:`EXACT_LIMIT` candidates are searched in full. Of more, the lowest are taken until it fits, whoever turns out not
to be needed stays, and one alone goes in place of several where that does: none of the result could stay, but fewer
others might do.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from jobset.scheduler import amounts, model

EXACT_LIMIT: Final = 12
MAX_TRIES: Final = 96
"""Placements tried to make a set of victims smaller."""

Fits = Callable[[Sequence[model.Run]], frozenset[str] | None]
"""Says of a set of victims which nodes would be used without them; None where it still does not fit."""

Rank = Callable[[model.Run], int]
"""The priority by which somebody is judged who may have to go."""


def fewest(
    candidates: Iterable[model.Run],
    fits: Fits,
    *,
    now: float,
    lowest_first: bool = False,
    rank: Rank = lambda run: run.workload.priority,
    could_fit: Callable[[Sequence[model.Run]], bool] = lambda victims: True,
) -> tuple[model.Run, ...] | None:
    """The best set of victims, in the order of their names; None where it does not fit without all of them.

    ``could_fit`` rules out sets cheaply: it may be wrong only in saying yes. ``lowest_first``: the lowest priorities
    go, however many that takes, as in Kubernetes.
    """
    ordered = sorted(candidates, key=lambda run: (rank(run), run.lost_work(now), -run.admitted, run.workload.key))
    used = fits(ordered)
    if used is None:
        return None
    if lowest_first:
        chosen = _without_needless(_prefix(ordered, fits), fits)
    elif len(ordered) <= EXACT_LIMIT:
        chosen = _exact(ordered, fits, could_fit, lambda victims: preference(victims, now, rank))
    else:
        chosen = _near(ordered, fits, could_fit)
    return tuple(sorted(chosen, key=lambda run: run.workload.key))


def preference(victims: Sequence[model.Run], now: float, rank: Rank) -> tuple[object, ...]:
    """By which sets of victims are compared; the smallest is the best."""
    priorities = [rank(run) for run in victims]
    freed = amounts.total(each for run in victims for each in run.admission.holds.values())
    return (
        len(victims),
        max(priorities),
        sum(priorities),
        sum(run.lost_work(now) for run in victims),
        tuple(amount for _, amount in sorted(freed.items())),
        sorted(-run.admitted for run in victims),
        sorted(run.workload.key for run in victims),
    )


def _exact(
    ordered: Sequence[model.Run],
    fits: Fits,
    could_fit: Callable[[Sequence[model.Run]], bool],
    order: Callable[[Sequence[model.Run]], tuple[object, ...]],
) -> Sequence[model.Run]:
    for many in range(1, len(ordered)):
        sets = (each for each in itertools.combinations(ordered, many) if could_fit(each))
        for victims in sorted(sets, key=order):
            if fits(victims) is not None:
                return victims
    return ordered


def _near(
    ordered: Sequence[model.Run], fits: Fits, could_fit: Callable[[Sequence[model.Run]], bool]
) -> Sequence[model.Run]:
    chosen = _without_needless(_on_used_nodes(_prefix(ordered, fits), fits), fits)
    tries = MAX_TRIES
    for single in ordered:
        if len(chosen) < 2 or not tries:
            break
        if could_fit([single]):
            tries -= 1
            if fits([single]) is not None:
                return [single]
    return chosen


def _prefix(ordered: Sequence[model.Run], fits: Fits) -> Sequence[model.Run]:
    """The shortest run of the lowest ones without whom it fits: the more go, the more fits."""
    short, enough = 0, len(ordered)
    while short + 1 < enough:
        middle = (short + enough) // 2
        if fits(ordered[:middle]) is None:
            short = middle
        else:
            enough = middle
    return ordered[:enough]


def _on_used_nodes(victims: Sequence[model.Run], fits: Fits) -> Sequence[model.Run]:
    """Those that hold something where the pods would go, if that is enough."""
    used = fits(victims) or frozenset()
    touched = [run for run in victims if not used.isdisjoint(run.admission.holds)]
    return touched if len(touched) < len(victims) and fits(touched) is not None else victims


def _without_needless(victims: Sequence[model.Run], fits: Fits) -> Sequence[model.Run]:
    """Lets those stay who need not go, the dearest first."""
    kept = list(victims)
    for run in list(reversed(victims))[:MAX_TRIES]:
        fewer = [each for each in kept if each is not run]
        if fewer and fits(fewer) is not None:
            kept = fewer
    return kept
