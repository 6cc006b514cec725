"""On which nodes all stages of a JobSet could run.

Stages come one after the other, so each is placed on what is free now, and what the JobSet holds of a node is the most
that any stage needs of it. A pod set that lives through several stages stays where it is.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from jobset.scheduler import amounts, model, pools
from jobset.scheduler.amounts import Amounts
from jobset.scheduler.topology import requests
from jobset.scheduler.topology.requests import Problem, Request
from jobset.scheduler.topology.results import Assignment, Invalid, NoRoom, Placement
from jobset.scheduler.topology.single import DEFAULT, Settings
from jobset.scheduler.topology.tree import PODS

_TRIAL: Final = '?'
"""Whose the nodes are while the stages are tried."""


class Seats(msgspec.Struct, frozen=True, kw_only=True):
    """Where everything goes."""

    assignments: dict[str, Assignment]
    """By pod set."""
    holds: dict[str, Amounts]
    """By node: the peak over all stages."""


def find(
    pool: pools.Pools,
    stages: Sequence[model.Stage],
    flavours: Mapping[str, Sequence[model.Flavour]],
    settings: Settings = DEFAULT,
) -> Seats | NoRoom | Invalid:
    """Places for ``stages``. ``flavours`` are those of each pod set; nothing is taken."""
    assignments: dict[str, Assignment] = {}
    by_stage: list[dict[str, Amounts]] = []
    for stage in stages:
        settled = [each for each in stage if each.request.name in assignments]
        held = _total(_on_nodes(each.request, assignments[each.request.name]) for each in settled)
        for topology, together in _by_topology(stage, assignments, flavours).items():
            pool.hold(_TRIAL, held)
            try:
                found = _place(pool, topology, together, settings)
            finally:
                pool.release(_TRIAL)
            if not isinstance(found, Placement):
                return found
            assignments |= {each.name: each for each in found.assignments}
            held = _total((held, *map(_on_nodes, together, found.assignments)))
        by_stage.append(held)
    return Seats(assignments=assignments, holds=peaks(by_stage))


def holds(stages: Sequence[model.Stage], assignments: Mapping[str, Assignment]) -> dict[str, Amounts]:
    """What a JobSet holds of each node when its pods are there: the peak over all stages."""
    return peaks(
        [_total(_on_nodes(each.request, assignments[each.request.name]) for each in stage) for stage in stages]
    )


def peaks(by_stage: Sequence[Mapping[str, Amounts]]) -> dict[str, Amounts]:
    """The most that any stage needs of each node."""
    names = sorted({name for stage in by_stage for name in stage})
    return {name: amounts.peak(stage.get(name, {}) for stage in by_stage) for name in names}


def _place(
    pool: pools.Pools, topology: str | None, together: Sequence[Request], settings: Settings
) -> Placement | NoRoom | Invalid:
    placer = pool.placer(topology)
    if placer is None:
        return Invalid((Problem(f'{together[0].name}.topology', f'there is no topology "{topology}"'),))
    return placer.place(together, settings)


def _by_topology(
    stage: model.Stage, settled: Mapping[str, Assignment], flavours: Mapping[str, Sequence[model.Flavour]]
) -> dict[str | None, list[Request]]:
    """What is still to be placed, with what its flavours ask for, by topology."""
    found: dict[str | None, list[Request]] = {}
    for each in stage:
        name = each.request.name
        if name not in settled:
            given = flavours.get(name, ())
            found.setdefault(topology_of(given), []).append(flavoured(each.request, given))
    return found


def topology_of(given: Sequence[model.Flavour]) -> str | None:
    """The topology in which pods of these flavours are placed."""
    return next((flavour.topology for flavour in given if flavour.topology), None)


def flavoured(request: Request, given: Sequence[model.Flavour]) -> Request:
    """A request that asks for nodes of these flavours."""
    if not given:
        return request

    def shaped(pod: requests.PodShape) -> requests.PodShape:
        labels = {key: value for each in given for key, value in each.node_labels.items()}
        tolerations = tuple(one for each in given for one in each.tolerations)
        return msgspec.structs.replace(
            pod, node_selector=pod.node_selector | labels, tolerations=pod.tolerations + tolerations
        )

    leader = request.leader and shaped(request.leader)
    return msgspec.structs.replace(request, pod=shaped(request.pod), leader=leader)


def _on_nodes(request: Request, assignment: Assignment) -> dict[str, Amounts]:
    """What the pods of a request take of each node."""
    each = {PODS: 1} | request.pod.amounts
    found = {leaf[-1]: amounts.times(each, pods) for leaf, pods in assignment.pods.items()}
    if assignment.leader is not None and request.leader is not None:
        name = assignment.leader[-1]
        found[name] = amounts.total((found.get(name, {}), {PODS: 1} | request.leader.amounts))
    return found


def _total(parts: Iterable[Mapping[str, Amounts]]) -> dict[str, Amounts]:
    found: dict[str, list[Amounts]] = {}
    for part in parts:
        for name, taken in part.items():
            found.setdefault(name, []).append(taken)
    return {name: amounts.total(taken) for name, taken in found.items()}
