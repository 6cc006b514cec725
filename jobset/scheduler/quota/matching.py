"""Which flavours suit the pods of a pod set at all, whatever is left of them."""

from collections.abc import Iterable, Mapping

from jobset.scheduler.model import Flavour, Topology
from jobset.scheduler.topology import nodes
from jobset.scheduler.topology.requests import PodShape, Request


class Kinds:
    """The flavours and topologies that there are."""

    def __init__(self, flavours: Iterable[Flavour], topologies: Iterable[Topology] = ()) -> None:
        self._flavours = {each.name: each for each in flavours}
        self._topologies = {each.name: each for each in topologies}

    def misfit(self, request: Request, flavour: str, among: Iterable[str]) -> str | None:
        """Why the pods of ``request`` cannot have ``flavour``, one of ``among``; None: they can.

        Their node selector and required affinity count as far as they name labels that tell these flavours apart: the
        rest is for nodes to satisfy.
        """
        kind = self._flavours.get(flavour)
        if kind is None:
            return f'there is no flavour "{flavour}"'
        keys = {key for name in among if name in self._flavours for key in self._flavours[name].node_labels}
        for shape in (request.pod, request.leader):
            reason = shape and (_of_taints(shape, kind) or _of_labels(shape, kind.node_labels, keys))
            if reason:
                return reason
        return self._of_levels(request, kind.topology)

    def _of_levels(self, request: Request, topology: str | None) -> str | None:
        known = () if topology is None else self._levels(topology)
        if known is None:
            return f'there is no topology "{topology}"'
        for level in (request.level, *(layer.level for layer in request.slices)):
            if level is not None and level not in (*known, nodes.HOSTNAME):
                return f'it has no topology level "{level}"'
        return None

    def _levels(self, topology: str) -> tuple[str, ...] | None:
        known = self._topologies.get(topology)
        return None if known is None else known.levels


def _of_taints(shape: PodShape, flavour: Flavour) -> str | None:
    tolerations = (*shape.tolerations, *flavour.tolerations)
    for taint in flavour.taints:
        if taint.effect in nodes.BLOCKING and not any(each.covers(taint) for each in tolerations):
            return f'taint "{taint}" is not tolerated'
    return None


def _of_labels(shape: PodShape, labels: Mapping[str, str], keys: set[str]) -> str | None:
    for key, value in shape.node_selector.items():
        if key in keys and labels.get(key) != value:
            return f'the node selector wants {key}={value}'
    if shape.node_affinity and not any(_may_hold(term, labels, keys) for term in shape.node_affinity):
        return 'the node affinity wants other nodes'
    return None


def _may_hold(term: tuple[nodes.Requirement, ...], labels: Mapping[str, str], keys: set[str]) -> bool:
    """Whether some node with ``labels`` could satisfy the term. One without requirements holds nowhere."""
    return bool(term) and all(each.accepts(labels.get(each.key)) for each in term if each.key in keys)
