"""New places for the share of lost nodes; whoever runs on healthy ones stays.

How far the new place may be: a slice that has lost pods gets them back in its own domain, of several nested ones in the
innermost that is no longer whole; pods that are required to be together stay in the domain of those that are left;
others go anywhere. Nobody is preempted for this.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

import msgspec

from jobset.scheduler.topology import elastic, requests, single
from jobset.scheduler.topology.domains import Values
from jobset.scheduler.topology.fitting import Fitting
from jobset.scheduler.topology.requests import Layer, Mode
from jobset.scheduler.topology.results import Assignment, Invalid, NoRoom
from jobset.scheduler.topology.single import Settings
from jobset.scheduler.topology.tree import Tree


@dataclass(frozen=True, slots=True)
class _Share:
    """Lost pods that go to one domain; None: wherever the request allows."""

    pods: int
    domain: Values | None
    with_leader: bool = False


def replace(
    fitting: Fitting,
    request: requests.Request,
    current: Assignment,
    lost: Collection[Values],
    settings: Settings = single.DEFAULT,
    *,
    is_movable: bool = True,
) -> Assignment | NoRoom | Invalid:
    """``current``, which the tree holds, without the ``lost`` leaves. Leaves that are no longer there are lost, too.

    ``is_movable``: not so a pod on its own, which nobody would make anew elsewhere: it keeps its place.
    """
    problems = requests.problems(request, fitting.tree.levels)
    if problems:
        return Invalid(problems)
    tree = fitting.tree
    used = {*current.pods, *([current.leader] if current.leader is not None else [])}
    gone = {leaf for leaf in used if tree.position(leaf) is None}
    missing = used & (gone | set(lost))
    if not missing or not is_movable:
        return current
    if settings.parity and (gone - set(lost) or len(missing) > 1):
        many = len(missing)
        return NoRoom(name=request.name, text=f'lost {many} domains of the assignment; only 1 can be replaced')
    settings = _without(tree, settings, lost)
    kept = {leaf: pods for leaf, pods in current.pods.items() if leaf not in missing}
    leader = None if current.leader in missing else current.leader
    if not kept and leader is None:
        return elastic.afresh(fitting, request, current, settings)
    stays = msgspec.structs.replace(current, pods=kept, leader=leader)
    lost_pods = {leaf: current.pods[leaf] for leaf in missing if leaf in current.pods}
    return _replaced(fitting, request, stays, _shares(tree, request, stays, lost_pods, current), settings)


def _without(tree: Tree, settings: Settings, lost: Collection[Values]) -> Settings:
    """Settings by which nothing goes to the lost leaves, should they still be in the tree."""
    names = {name for leaf in lost for name in tree.nodes_of(leaf)}
    return msgspec.structs.replace(settings, exclude=settings.exclude | names)


def _shares(
    tree: Tree, request: requests.Request, stays: Assignment, lost: dict[Values, int], before: Assignment
) -> list[_Share]:
    """The lost pods by where they must go, those with the least choice first."""
    shares = []
    whole = Counter(stays.pods)
    for layer in reversed(request.slices):
        depth = tree.levels.index(layer.level) + 1
        for domain in sorted({leaf[:depth] for leaf in lost}):
            left = sum(pods for leaf, pods in whole.items() if leaf[:depth] == domain)
            if left % layer.size == 0:
                continue
            here = {leaf: pods for leaf, pods in lost.items() if leaf[:depth] == domain}
            # They come back into this domain: for the layers above they have never been away.
            whole.update(here)
            lost = {leaf: pods for leaf, pods in lost.items() if leaf not in here}
            shares.append(_Share(sum(here.values()), domain))
    has_lost_leader = before.leader is not None and stays.leader is None
    if lost or has_lost_leader:
        shares.append(_Share(sum(lost.values()), None, has_lost_leader))
    return shares


def _replaced(
    fitting: Fitting, request: requests.Request, stays: Assignment, shares: list[_Share], settings: Settings
) -> Assignment | NoRoom | Invalid:
    """Place share after share; the tree sees each of them until the answer is there."""
    tree = fitting.tree
    anchor = next(iter(stays.pods), stays.leader)
    taken: list[Assignment] = []
    try:
        for share in shares:
            wanted = _request(tree, request, share, parity=settings.parity)
            answer = _place(fitting, wanted, share, anchor, settings)
            if not isinstance(answer, Assignment):
                return answer
            elastic.take(tree, request, answer)
            taken.append(answer)
    finally:
        for answer in taken:
            elastic.give_back(tree, request, answer)
    result = stays
    for answer in taken:
        result = elastic.joined(result, answer.pods)
        if answer.leader is not None:
            result = msgspec.structs.replace(result, leader=answer.leader)
    return result


def _place(
    fitting: Fitting, wanted: requests.Request, share: _Share, anchor: Values | None, settings: Settings
) -> Assignment | NoRoom | Invalid:
    if share.domain is not None:
        return single.place(fitting, wanted, settings, within=share.domain)
    if anchor is None or (settings.parity and wanted.mode is not Mode.REQUIRED):
        return single.place(fitting, wanted, settings)
    return elastic.beside(fitting, wanted, anchor, settings)


def _request(tree: Tree, request: requests.Request, share: _Share, *, parity: bool) -> requests.Request:
    """A request for a share, in slices as whole as its pods allow."""
    above = -1 if share.domain is None else len(share.domain) - 1
    layers: list[Layer] = [
        layer for layer in request.slices if tree.levels.index(layer.level) > above and share.pods % layer.size == 0
    ]
    if parity:
        layers = layers[-1:]
    mode, level = request.mode, request.level
    if share.domain is not None:
        mode, level = Mode.REQUIRED, tree.levels[above]
    elif mode is Mode.SLICE_ONLY and not layers:
        mode = Mode.UNCONSTRAINED
    return msgspec.structs.replace(
        request,
        count=share.pods,
        mode=mode,
        level=level,
        slices=tuple(layers),
        leader=request.leader if share.with_leader else None,
    )
