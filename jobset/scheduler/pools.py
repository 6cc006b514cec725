"""The nodes of a cluster under all its topologies, and what is kept free on them for whom.

A node may be in several topologies. What is held on it is held in all of them, so that nothing is given away twice.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
import numpy as np

from jobset.scheduler import model
from jobset.scheduler.amounts import Amounts
from jobset.scheduler.topology import nodes
from jobset.scheduler.topology.domains import Values
from jobset.scheduler.topology.placing import Placer
from jobset.scheduler.topology.tree import PODS, Tree

FLAT: Final = model.Topology(name='', levels=())
"""Nodes without structure: for flavours that name no topology, and where nothing is counted by flavour."""


class _Share(msgspec.Struct, frozen=True):
    """Equal amounts on some leaves of one topology."""

    topology: str
    leaves: dict[Values, int]
    amounts: Amounts


class Pools:
    """Nodes, one tree a topology."""

    def __init__(self, topologies: Iterable[model.Topology], known: Iterable[nodes.Node] = ()) -> None:
        self._levels = {each.name: _levels(each) for each in (FLAT, *topologies)}
        self._nodes = {node.name: _named(node) for node in known}
        self._holds: dict[str, Mapping[str, Amounts]] = {}
        self._shares: dict[str, list[_Share]] = {}
        self._owners: dict[str, set[str]] = defaultdict(set)
        self._resources: frozenset[str] = frozenset()
        self._placers: dict[str, Placer] = {}
        self._plant()

    @property
    def known(self) -> Mapping[str, nodes.Node]:
        """All nodes by name."""
        return self._nodes

    @property
    def owners(self) -> Mapping[str, Mapping[str, Amounts]]:
        """What is held, by owner and node."""
        return self._holds

    def placer(self, topology: str | None) -> Placer | None:
        """Who places in a topology; None where there is none of that name."""
        return self._placers.get(topology or FLAT.name)

    def set_node(self, node: nodes.Node) -> bool:
        """Add a node, or replace what is known of it; False where that was known."""
        node = _named(node)
        before = self._nodes.get(node.name)
        if node == before:
            return False
        self._nodes[node.name] = node
        if not set(node.allocatable) <= self._resources:
            self._plant()
            return True
        owners = self._owners[node.name] if before is None or before.labels != node.labels else ()
        holds = {owner: self._holds[owner] for owner in sorted(owners)}
        for owner in holds:
            self.release(owner)
        for placer in self._placers.values():
            placer.tree.set_node(node)
        for owner, held in holds.items():
            self.hold(owner, held)
        return True

    def remove_node(self, name: str) -> None:
        """Forget a node. What is held there stays held, should it come back."""
        if self._nodes.pop(name, None) is not None:
            for placer in self._placers.values():
                placer.tree.remove_node(name)

    def hold(self, owner: str, holds: Mapping[str, Amounts]) -> None:
        """Keep amounts for an owner, who holds nothing yet, whether they are free or not."""
        self._holds[owner] = holds
        shares = self._shares[owner] = list(self._divided(holds))
        for name in holds:
            self._owners[name].add(owner)
        for share in shares:
            self._placers[share.topology].tree.take(share.leaves, share.amounts)

    def release(self, owner: str) -> None:
        """Give back all that an owner holds, if anything."""
        for share in self._shares.pop(owner, ()):
            self._placers[share.topology].tree.give_back(share.leaves, share.amounts)
        for name in self._holds.pop(owner, {}):
            self._owners[name].discard(owner)

    def has_room(self, holds: Mapping[str, Amounts]) -> bool:
        """Whether all of this is free on nodes that pods may go to."""
        tree = self._placers[FLAT.name].tree
        for name, wanted in holds.items():
            slot = tree.slot_of_node(name)
            if slot is None or not wanted.keys() <= self._resources:
                return False
            if (tree.free[:, slot] < tree.vector({PODS: 0} | wanted)).any():
                return False
        return True

    def total_free(self) -> Amounts:
        """What is free in sum on all nodes that pods may go to, however it is scattered."""
        tree = self._placers[FLAT.name].tree
        free = np.maximum(tree.free[:, tree.order], 0).sum(axis=1)
        return dict(zip(tree.resources, free.tolist(), strict=True))

    def _divided(self, holds: Mapping[str, Amounts]) -> Iterable[_Share]:
        """Holds by topology, nodes of equal amounts together: those are taken in one step."""
        for topology, levels in self._levels.items():
            equal: dict[tuple[tuple[str, int], ...], dict[Values, int]] = defaultdict(dict)
            for name, amounts in holds.items():
                node = self._nodes.get(name)
                leaf = node and _leaf(node, levels)
                if leaf:
                    equal[tuple(sorted(amounts.items()))][leaf] = 1
            for each, leaves in equal.items():
                yield _Share(topology, leaves, {PODS: 0} | dict(each))

    def _plant(self) -> None:
        """Make all trees anew: resources are known when a tree is made."""
        found: set[str] = {PODS}
        self._resources = frozenset(found.union(*(node.allocatable for node in self._nodes.values())))
        self._placers = {
            name: Placer(Tree.of(self._nodes.values(), levels, sorted(self._resources)))
            for name, levels in self._levels.items()
        }
        holds, self._holds, self._shares = self._holds, {}, {}
        self._owners.clear()
        for owner, held in holds.items():
            self.hold(owner, held)


def _levels(topology: model.Topology) -> tuple[str, ...]:
    return (*(level for level in topology.levels if level != nodes.HOSTNAME), nodes.HOSTNAME)


def _named(node: nodes.Node) -> nodes.Node:
    """With its name as its hostname, whatever its kubelet calls it: leaves are told apart by it."""
    return msgspec.structs.replace(node, labels=node.labels | {nodes.HOSTNAME: node.name})


def _leaf(node: nodes.Node, levels: tuple[str, ...]) -> Values | None:
    values = tuple(node.labels[level] for level in levels if level in node.labels)
    return values if len(values) == len(levels) else None
