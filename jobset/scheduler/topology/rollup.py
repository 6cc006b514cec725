"""Counts of every domain, added up from the leaves: how many pods and slices fit, with and without the leader."""

import enum
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from jobset.scheduler.topology import requests
from jobset.scheduler.topology.domains import Ints
from jobset.scheduler.topology.requests import Mode, Profile
from jobset.scheduler.topology.tree import Tree

Bools = npt.NDArray[np.bool_]

_NEVER: Final = 1 << 62


class Order(enum.Enum):
    """From which end domains are taken."""

    BIGGEST = enum.auto()
    """Best fit: most slices first; the last is the smallest that suffices."""
    SMALLEST = enum.auto()
    """Least free capacity: fewest slices first."""
    FEWEST_PODS = enum.auto()
    """Within one slice, where there are no slices to count."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A request in terms of one tree: levels as numbers, pods as slices."""

    request: requests.Request
    level: int
    """Where to look first."""
    slice_level: int
    slice_size: int
    units: tuple[int, ...]
    """By level: how many pods go together to one domain of it, for levels below that of the slices; else 1."""
    is_best_fit: bool
    is_required: bool
    is_loose: bool
    """Nobody asked for one domain: no climbing."""

    @property
    def slices(self) -> int:
        """How many slices there are to place."""
        return self.request.count // self.slice_size

    @property
    def order(self) -> Order:
        """From which end domains are taken."""
        return Order.BIGGEST if self.is_best_fit else Order.SMALLEST

    @property
    def has_leader(self) -> bool:
        """Whether a leader goes with the pods."""
        return self.request.leader is not None

    @property
    def is_layered(self) -> bool:
        """Whether there are slices within slices."""
        return len(self.request.slices) > 1


def plan(request: requests.Request, levels: tuple[str, ...], profile: Profile) -> Plan:
    """What a valid request means in these levels."""
    last = len(levels) - 1
    layers = [(levels.index(layer.level), layer.size) for layer in request.slices]
    slice_level = layers[0][0] if layers else last
    is_loose = request.mode in {Mode.UNCONSTRAINED, Mode.SLICE_ONLY}
    loose_level = 0 if layers else last
    level = loose_level if is_loose else levels.index(request.level or '')
    units = [
        next((size for at, size in layers[1:] if at >= i), 1) if i > slice_level else 1 for i in range(len(levels))
    ]
    return Plan(
        request=request,
        level=level,
        slice_level=slice_level,
        slice_size=layers[0][1] if layers else 1,
        units=tuple(units),
        is_best_fit=not is_loose or profile is Profile.BESTFIT_ONLY,
        is_required=request.mode is Mode.REQUIRED,
        is_loose=is_loose,
    )


@dataclass(slots=True)
class Counts:
    """The domains of one level, by position."""

    pods: Ints
    slices: Ints
    """Whole slices; below the level of the slices, whole units of what goes together there."""
    pods_beside: Ints
    """Pods that fit when the leader is inside, too; none where it does not fit."""
    slices_beside: Ints
    takes_leader: Bools
    liking: Ints | None
    """How much the pods prefer the nodes inside; None where they have no preferences."""


@dataclass(slots=True)
class Leaves:
    """What was counted per leaf, by position."""

    pods: Ints
    pods_beside: Ints
    takes_leader: Bools
    liking: Ints | None


def roll_up(tree: Tree, wanted: Plan, leaves: Leaves) -> list[Counts]:
    """Counts by level, from those of the leaves."""
    last = tree.last
    found = [_count(wanted, last, leaves.pods, leaves.pods_beside, leaves.takes_leader, liking=leaves.liking)]
    for level in range(last - 1, -1, -1):
        found.append(add_up(wanted, level, found[-1], tree.starts[level]))
    found.reverse()
    return found


def add_up(wanted: Plan, level: int, children: Counts, starts: Ints) -> Counts:
    """Counts of the domains of ``level``, from all of the level below."""
    unit = wanted.units[level + 1]
    pods = children.pods if unit == 1 else children.slices * unit
    first = starts[:-1]
    total = np.add.reduceat(pods, first) if first.size else pods[:0]
    liking = children.liking
    if liking is not None:
        liking = np.add.reduceat(liking, first) if first.size else liking[:0]
    if not wanted.has_leader:
        slices = None if level >= wanted.slice_level or wanted.slice_size == 1 else _sums(children.slices, first)
        takes = np.ones(first.size, np.bool_)
        return _count(wanted, level, total, total, takes, liking=liking, slices=slices, slices_beside=slices)
    takes = np.logical_or.reduceat(children.takes_leader, first) if first.size else children.takes_leader[:0]
    beside = children.pods_beside if unit == 1 else children.slices_beside * unit
    pods_beside = _beside(pods, beside, total, children.takes_leader, first)
    if level >= wanted.slice_level:
        return _count(wanted, level, total, pods_beside, takes, liking=liking)
    slices = _sums(children.slices, first)
    slices_beside = _beside(children.slices, children.slices_beside, slices, children.takes_leader, first)
    return _count(wanted, level, total, pods_beside, takes, liking=liking, slices=slices, slices_beside=slices_beside)


def _sums(values: Ints, first: Ints) -> Ints:
    sums: Ints = np.add.reduceat(values, first) if first.size else values[:0]
    return sums


def _beside(alone: Ints, beside: Ints, total: Ints, takes: Bools, first: Ints) -> Ints:
    """What is left of ``total`` when the child that loses least by it takes the leader."""
    if not first.size:
        return total
    loss = np.minimum.reduceat(np.where(takes, alone - beside, _NEVER), first)
    return np.where(loss < _NEVER, total - loss, 0)


def _count(
    wanted: Plan,
    level: int,
    pods: Ints,
    pods_beside: Ints,
    takes_leader: Bools,
    *,
    liking: Ints | None,
    slices: Ints | None = None,
    slices_beside: Ints | None = None,
) -> Counts:
    """Counts of a level whose slices, where it does not say otherwise, are cut from its own pods."""
    size = wanted.slice_size if level == wanted.slice_level else wanted.units[level]
    if slices is None:
        slices = pods if size == 1 else pods // size
    if slices_beside is None:
        is_same = pods_beside is pods
        slices_beside = slices if is_same else pods_beside if size == 1 else pods_beside // size
    return Counts(pods, slices, pods_beside, slices_beside, takes_leader, liking)
