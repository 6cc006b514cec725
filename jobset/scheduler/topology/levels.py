"""At which level, and in which of its domains, the pods of a request go."""

from dataclasses import dataclass

import numpy as np

from jobset.scheduler.topology import choosing
from jobset.scheduler.topology.choosing import Choice
from jobset.scheduler.topology.domains import Ints
from jobset.scheduler.topology.rollup import Counts, Order, Plan


@dataclass(frozen=True, slots=True)
class Found:
    """Domains of ``level`` that take everything."""

    level: int
    choice: Choice


@dataclass(frozen=True, slots=True)
class Short:
    """They do not: what would have fit in the best of it."""

    level: int
    fitting: int
    """Slices."""
    best: int
    """The domain of ``level`` that would take the most."""
    only_leader: bool
    """All would fit if there were no leader."""


def find(wanted: Plan, counts: list[Counts]) -> Found | Short:
    """Look at the level of the request first, then, for those who only prefer it, at the levels above."""
    level = wanted.level
    while True:
        here = counts[level]
        domains = np.arange(here.slices.size)
        one = _one(wanted, here, domains)
        if one is not None:
            return Found(level, Choice(np.array([one]), np.array([wanted.slices]), one if wanted.has_leader else None))
        if wanted.is_required:
            return _short_of_one(wanted, level, here, domains)
        if level == 0 or wanted.is_loose:
            return _together(wanted, level, here, domains)
        level -= 1


def find_tight(wanted: Plan, counts: list[Counts]) -> Found | None:
    """The tightest domain of the lowest level that takes everything, for those who did not ask for one."""
    for level in range(wanted.slice_level, -1, -1):
        here = counts[level]
        one = choosing.one_for_all(
            here, np.arange(here.slices.size), wanted.slices, with_leader=wanted.has_leader, only_best_liked=False
        )
        if one is not None:
            return Found(level, Choice(np.array([one]), np.array([wanted.slices]), one if wanted.has_leader else None))
    return None


def _one(wanted: Plan, here: Counts, domains: Ints) -> int | None:
    # Who may spread rather does so over liked nodes than leaves them; who may not looks at the others, too.
    only_best_liked = wanted.is_best_fit and not wanted.is_required and bool(wanted.request.pod.node_preferences)
    return choosing.one_for_all(
        here, domains, wanted.slices, with_leader=wanted.has_leader, only_best_liked=only_best_liked
    )


def _together(wanted: Plan, level: int, here: Counts, domains: Ints) -> Found | Short:
    choice = choosing.several(
        here, domains, wanted.slices, wanted.order, with_leader=wanted.has_leader, leader_first=True
    )
    has_leader = choice.leader is not None or not wanted.has_leader
    if choice.total >= wanted.slices and has_leader:
        return Found(level, choice)
    only_leader = wanted.has_leader and int(here.slices[domains].sum()) >= wanted.slices
    return Short(level, choice.total, _best(here), only_leader)


def _short_of_one(wanted: Plan, level: int, here: Counts, domains: Ints) -> Short:
    able = domains[here.takes_leader[domains]] if wanted.has_leader else domains
    beside = bool(able.size) and wanted.has_leader
    top = choosing.in_order(here, able if able.size else domains, Order.BIGGEST, beside_leader=beside)
    only_leader = wanted.has_leader and bool((here.slices[domains] >= wanted.slices).any())
    return Short(level, min(int(here.slices[top[0]]), wanted.slices), _best(here), only_leader)


def _best(here: Counts) -> int:
    """The first of those with the most slices: the one to tell of."""
    return int(here.slices.argmax())
