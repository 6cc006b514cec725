"""Places the pods of one request on what is free now, without taking anything."""

from collections.abc import Mapping

import msgspec
import numpy as np

from jobset.scheduler.topology import balanced, failures, levels, requests, rollup, walking
from jobset.scheduler.topology.choosing import Choice
from jobset.scheduler.topology.domains import Ints, Values
from jobset.scheduler.topology.fitting import ALLOWED, EXCLUDED, OUTSIDE, Fitting
from jobset.scheduler.topology.requests import Mode, Profile
from jobset.scheduler.topology.results import Assignment, Invalid, NoRoom
from jobset.scheduler.topology.rollup import Leaves, Plan
from jobset.scheduler.topology.tree import Tree

_MAX_AVOIDANCE = 1 << 20
"""No preference of pods outweighs that a node is to be avoided."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How to place, beside what is asked for."""

    profile: Profile = Profile.MIXED
    parity: bool = False
    """Do as Kueue does, also where that is known to be worse: see ``docs/scheduling-topology.md``."""
    avoid: Mapping[str, int] = {}
    """Nodes that are to be used only where nothing else fits, with weights: the heaviest are used last."""
    exclude: frozenset[str] = frozenset()
    """Nodes that must not be used."""


DEFAULT = Settings()


def place(
    fitting: Fitting, request: requests.Request, settings: Settings = DEFAULT, *, within: Values | None = None
) -> Assignment | NoRoom | Invalid:
    """Where the pods go. ``within`` is a domain outside which they must not go."""
    tree = fitting.tree
    problems = requests.problems(request, tree.levels)
    if problems:
        return Invalid(problems)
    if not tree.order.size:
        level = request.level or (request.slices[0].level if request.slices else tree.levels[-1])
        return NoRoom(name=request.name, text=f'has no domains at level {level}', level=level)
    wanted = rollup.plan(request, tree.levels, settings.profile)
    weights = _weights(tree, settings)
    *limits, last = sorted({0, *weights.values()})
    for heaviest in limits:
        answer = _avoiding(fitting, wanted, settings, within, weights=weights, heaviest=heaviest)
        if isinstance(answer, Assignment):
            return answer
    return _avoiding(fitting, wanted, settings, within, weights=weights, heaviest=last)


def _avoiding(
    fitting: Fitting,
    wanted: Plan,
    settings: Settings,
    within: Values | None,
    *,
    weights: Mapping[int, int],
    heaviest: int,
) -> Assignment | NoRoom:
    """An attempt without the nodes that weigh more, and with the lighter ones as a last resort."""
    banned = [slot for slot, weight in weights.items() if weight > heaviest]
    tolerated = {slot: weight for slot, weight in weights.items() if weight <= heaviest}
    return _attempt(fitting, wanted, settings, _bans(fitting.tree, settings, within, banned), tolerated)


def _weights(tree: Tree, settings: Settings) -> dict[int, int]:
    """Slots to avoid, as far as there are such nodes."""
    found = ((tree.slot_of_node(name), weight) for name, weight in settings.avoid.items())
    return {slot: weight for slot, weight in found if slot is not None and weight > 0}


def _bans(tree: Tree, settings: Settings, within: Values | None, banned: list[int]) -> Ints:
    """By slot, whether its leaf may be used."""
    bans: Ints = np.full(tree.width, ALLOWED if within is None else OUTSIDE, np.int64)
    if within is not None:
        first, end = tree.leaves_of(within) or (0, 0)
        bans[tree.order[first:end]] = ALLOWED
    bans[banned] = EXCLUDED
    bans[[slot for slot in map(tree.slot_of_node, settings.exclude) if slot is not None]] = EXCLUDED
    return bans


def _attempt(
    fitting: Fitting, wanted: Plan, settings: Settings, bans: Ints, tolerated: Mapping[int, int]
) -> Assignment | NoRoom:
    tree = fitting.tree
    counts = rollup.roll_up(tree, wanted, _leaves(fitting, wanted, bans, tolerated))
    if settings.profile is Profile.BALANCED and wanted.request.mode is Mode.PREFERRED and not wanted.is_layered:
        even = balanced.choose(tree, wanted, counts)
        leaves = even and walking.walk_down(tree, wanted, counts, *even, keeps_shares=True)
        if leaves:
            return _assignment(tree, wanted, leaves)
    found: levels.Found | levels.Short | None = None
    if settings.profile is Profile.HIERARCHICAL and wanted.is_loose:
        found = levels.find_tight(wanted, counts)
    found = found or levels.find(wanted, counts)
    if isinstance(found, levels.Short):
        return failures.explain(fitting, wanted, counts, found, bans, names_leader=not settings.parity)
    leaves = walking.walk_down(tree, wanted, counts, found.level, found.choice)
    if leaves is None:
        # Sums of whole slices promise a place on the way down: a promise that fails must never pass for success.
        short = levels.Short(found.level, found.choice.total, int(found.choice.domains[0]), False)
        return failures.explain(fitting, wanted, counts, short, bans, names_leader=False)
    return _assignment(tree, wanted, leaves)


def _leaves(fitting: Fitting, wanted: Plan, bans: Ints, tolerated: Mapping[int, int]) -> Leaves:
    request, order = wanted.request, fitting.tree.order
    is_allowed = bans[order] == ALLOWED
    pods = np.where(is_allowed, fitting.pods(request.pod)[order], 0)
    if request.leader is None:
        beside, takes_leader = pods, np.ones(order.size, np.bool_)
    else:
        by_slot, has_room = fitting.pods_beside(request.pod, request.leader)
        takes_leader = is_allowed & has_room[order]
        beside = np.where(takes_leader, by_slot[order], 0)
    liking = None
    if request.pod.node_preferences or tolerated:
        by_slot = fitting.preferences(request.pod)
        slots = list(tolerated)
        by_slot[slots] -= np.array([tolerated[slot] * _MAX_AVOIDANCE for slot in slots], np.int64)
        liking = by_slot[order]
    return Leaves(pods, beside, takes_leader, liking)


def _assignment(tree: Tree, wanted: Plan, leaves: Choice) -> Assignment:
    names = tree.names[-1]
    pods = sorted((i, many) for i, many in zip(leaves.domains.tolist(), leaves.takes.tolist(), strict=True) if many)
    return Assignment(
        name=wanted.request.name,
        pods={names[i]: many for i, many in pods},
        leader=None if leaves.leader is None else names[leaves.leader],
    )
