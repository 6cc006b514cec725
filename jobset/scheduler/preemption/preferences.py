"""Which of two sets of victims is the better one."""

import math
from collections.abc import Callable, Sequence

from jobset.scheduler.model import Run

Rank = Callable[[Run], int]
"""The priority by which a run is judged as a victim."""

Preference = tuple[int, int, int, float, float, tuple[float, ...], tuple[str, ...]]
"""Comparable: the smaller, the better."""


def by_priority(run: Run) -> int:
    """The rank of those that get no bonus."""
    return run.workload.priority


def preference(
    victims: Sequence[Run],
    now: float,
    *,
    rank: Rank = by_priority,
    surplus: float = 0,
) -> Preference:
    """By how many there are; then the highest rank, the sum of ranks, the seconds of work lost, what is freed in vain
    (``surplus``), late starts before early ones, and names. The order of ``victims`` does not matter."""
    ranks = [rank(run) for run in victims]
    return (
        len(victims),
        max(ranks, default=0),
        sum(ranks),
        math.fsum(run.lost_work(now) for run in victims),
        surplus,
        tuple(sorted(-run.admitted for run in victims)),
        tuple(sorted(run.workload.key for run in victims)),
    )
