"""More or fewer pods of a request that runs: those that run stay where they are."""

from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec

from jobset.scheduler.topology import requests, single
from jobset.scheduler.topology.domains import Values
from jobset.scheduler.topology.fitting import Fitting
from jobset.scheduler.topology.requests import Mode
from jobset.scheduler.topology.results import Assignment, Invalid, NoRoom
from jobset.scheduler.topology.single import Settings
from jobset.scheduler.topology.tree import Tree


def resize(
    fitting: Fitting, request: requests.Request, current: Assignment, settings: Settings = single.DEFAULT
) -> Assignment | NoRoom | Invalid:
    """Where the pods go when ``request``, whose pods of ``current`` the tree holds, now wants another count of them."""
    problems = requests.problems(request, fitting.tree.levels)
    if problems:
        return Invalid(problems)
    if request.leader is not None and (current.leader is None or fitting.tree.position(current.leader) is None):
        return afresh(fitting, request, current, settings)
    more = request.count - current.count
    if more <= 0:
        return shrunk(current, request.count)
    anchor = next(iter(current.pods), current.leader)
    delta = msgspec.structs.replace(request, count=more, leader=None)
    if anchor is None:
        answer = single.place(fitting, delta, settings)
    elif settings.parity:
        loose = Mode.SLICE_ONLY if request.slices else Mode.UNCONSTRAINED
        answer = single.place(fitting, msgspec.structs.replace(delta, mode=loose, level=None), settings)
    else:
        answer = beside(fitting, delta, anchor, settings)
    return joined(current, answer.pods) if isinstance(answer, Assignment) else answer


def shrunk(current: Assignment, count: int) -> Assignment:
    """The first ``count`` pods in the order of leaves."""
    kept: dict[Values, int] = {}
    rest = count
    for leaf, pods in current.pods.items():
        if rest > 0:
            kept[leaf] = min(pods, rest)
            rest -= kept[leaf]
    return msgspec.structs.replace(current, pods=kept)


def joined(current: Assignment, more: Mapping[Values, int]) -> Assignment:
    """``current`` with more pods."""
    pods = Counter(current.pods)
    pods.update(more)
    return msgspec.structs.replace(current, pods=dict(sorted(pods.items())))


def beside(
    fitting: Fitting, request: requests.Request, anchor: Values, settings: Settings
) -> Assignment | NoRoom | Invalid:
    """Pods that belong to others on ``anchor``: in the same domain if that is wanted, else as near as they like."""
    first: NoRoom | Invalid | None = None
    for attempt, within in _nearby(fitting.tree, request, anchor):
        answer = single.place(fitting, attempt, settings, within=within)
        if isinstance(answer, Assignment):
            return answer
        first = first or answer
    if request.mode is Mode.REQUIRED and first is not None:
        return first
    return single.place(fitting, request, settings)


def _nearby(tree: Tree, request: requests.Request, anchor: Values) -> Iterator[tuple[requests.Request, Values]]:
    """The domains around ``anchor``, from the wanted level upwards where the level is only preferred."""
    if request.level is None:
        return
    wanted = tree.levels.index(request.level)
    highest = wanted if request.mode is Mode.REQUIRED else 0
    for level in range(wanted, highest - 1, -1):
        name = tree.levels[level]
        yield msgspec.structs.replace(request, mode=Mode.REQUIRED, level=name), anchor[: level + 1]


def afresh(
    fitting: Fitting, request: requests.Request, current: Assignment, settings: Settings
) -> Assignment | NoRoom | Invalid:
    """A new place for everything, as if nothing of ``current`` ran."""
    give_back(fitting.tree, request, current)
    try:
        return single.place(fitting, request, settings)
    finally:
        take(fitting.tree, request, current)


def take(tree: Tree, request: requests.Request, assignment: Assignment) -> None:
    """Let the tree hold what an assignment says."""
    tree.take(assignment.pods, request.pod.amounts)
    if assignment.leader is not None and request.leader is not None:
        tree.take({assignment.leader: 1}, request.leader.amounts)


def give_back(tree: Tree, request: requests.Request, assignment: Assignment) -> None:
    """The opposite of :func:`take`."""
    tree.give_back(assignment.pods, request.pod.amounts)
    if assignment.leader is not None and request.leader is not None:
        tree.give_back({assignment.leader: 1}, request.leader.amounts)
