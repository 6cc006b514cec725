"""From chosen domains of one level down to leaves."""

import numpy as np

from jobset.scheduler.topology import choosing
from jobset.scheduler.topology.choosing import Choice
from jobset.scheduler.topology.domains import Ints
from jobset.scheduler.topology.rollup import Counts, Order, Plan
from jobset.scheduler.topology.tree import Tree


def walk_down(
    tree: Tree,
    wanted: Plan,
    counts: list[Counts],
    level: int,
    choice: Choice,
    *,
    keeps_shares: bool = False,
) -> Choice | None:
    """The leaves that take the pods of ``choice``, a choice of slices at ``level``; None if some find no place.

    Above the level of the slices, the children of all chosen domains are one pool; ``keeps_shares``: they are not.
    """
    while level < wanted.slice_level:
        choice = (
            _separately(tree, wanted, counts, level, choice)
            if keeps_shares
            else _pooled(tree, wanted, counts, level, choice)
        )
        level += 1
    choice = Choice(choice.domains, choice.takes * wanted.slice_size, choice.leader)
    while level < tree.last:
        unit = wanted.units[level + 1]
        choice = Choice(choice.domains, choice.takes // unit, choice.leader)
        choice = _separately(tree, wanted, counts, level, choice)
        choice = Choice(choice.domains, choice.takes * unit, choice.leader)
        level += 1
    is_complete = choice.total == wanted.request.count and (choice.leader is not None) == wanted.has_leader
    return choice if is_complete else None


def _pooled(tree: Tree, wanted: Plan, counts: list[Counts], level: int, choice: Choice) -> Choice:
    below = counts[level + 1]
    starts = tree.starts[level]
    parents = np.sort(choice.domains)
    if parents.size == 1:
        children = np.arange(starts[parents[0]], starts[parents[0] + 1])
    else:
        children = np.concatenate([np.arange(starts[i], starts[i + 1]) for i in parents])
    return _distribute(below, children, choice.total, wanted.order, with_leader=wanted.has_leader)


def _separately(tree: Tree, wanted: Plan, counts: list[Counts], level: int, choice: Choice) -> Choice:
    below, starts = counts[level + 1], tree.starts[level]
    order = wanted.order if level < wanted.slice_level else Order.FEWEST_PODS
    parts = []
    for parent, share in zip(choice.domains.tolist(), choice.takes.tolist(), strict=True):
        children = np.arange(starts[parent], starts[parent + 1])
        if children.size == 1:
            leader = int(children[0]) if parent == choice.leader else None
            parts.append(Choice(children, np.array([share]), leader))
        else:
            parts.append(_distribute(below, children, share, order, with_leader=parent == choice.leader))
    if not parts:
        return choice
    return Choice(
        np.concatenate([part.domains for part in parts]),
        np.concatenate([part.takes for part in parts]),
        next((part.leader for part in parts if part.leader is not None), None),
    )


def _distribute(below: Counts, children: Ints, share: int, order: Order, *, with_leader: bool) -> Choice:
    """Give ``share`` slices to children."""
    if order is Order.BIGGEST:
        one = choosing.one_for_all(below, children, share, with_leader=with_leader, only_best_liked=True)
        if one is not None:
            return Choice(np.array([one]), np.array([share]), one if with_leader else None)
    return choosing.several(below, children, share, order, with_leader=with_leader)
