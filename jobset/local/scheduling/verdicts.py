"""Why a pod fits no node, in the words of kube-scheduler: a count of nodes for each reason.

Source: kube-scheduler 1.37, whose filters these are, in its order: the first that refuses a node is the one named, and
that for resources names all that are short.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from jobset.api import podrequests
from jobset.local.scheduling import orders, room, shapes

Reasons = tuple[str, ...]
"""What speaks against a node; nothing, when the pod fits there."""

NO_NODES: Final = 'no nodes available to schedule pods'
NO_PORTS: Final = "node(s) didn't have free ports for the requested pod ports"
TOO_MANY_PODS: Final = 'Too many pods'
VOLUME_ELSEWHERE: Final = "node(s) didn't match PersistentVolume's node affinity"
UNEVEN: Final = "node(s) didn't match pod topology spread constraints"
UNEVEN_UNLABELLED: Final = UNEVEN + ' (missing required label)'
NOT_NEAR: Final = "node(s) didn't match pod affinity rules"
NOT_APART: Final = "node(s) didn't match pod anti-affinity rules"
KEPT_AWAY: Final = "node(s) didn't satisfy existing pods anti-affinity rules"

UNBOUND_CLAIMS: Final = 'pod has unbound immediate PersistentVolumeClaims'

_NO_VICTIMS: Final = 'No preemption victims found for incoming pod'
_NOT_HELPFUL: Final = 'Preemption is not helpful for scheduling'
_LASTING: Final = frozenset(
    {
        orders.NODE_UNSCHEDULABLE,
        orders.UNTOLERATED,
        orders.NOT_SELECTED,
        VOLUME_ELSEWHERE,
        UNEVEN_UNLABELLED,
        NOT_NEAR,
    }
)
"""Reasons that do not go away when pods do."""

_ASKED_TOO_MUCH: Final = '\0too much'
"""Marks, beside its reason, that a node could not even hold the pod when it is empty."""


def of_load(nodes: room.Room, shape: shapes.Shape, place: room.Place) -> Reasons:
    """What is short on a node that is right otherwise."""
    if shape.ports and clash(shape, place):
        return (NO_PORTS,)
    free = place.free
    short = [(number, amount) for number, amount in nodes.needs(shape) if free[number] < amount]
    if not short:
        return ()
    names = list(nodes.resources)
    reasons = [
        TOO_MANY_PODS if names[number] == podrequests.PODS else f'Insufficient {names[number]}' for number, _ in short
    ]
    if any(place.capacity[number] < amount for number, amount in short):
        reasons.append(_ASKED_TOO_MUCH)
    return tuple(reasons)


def clash(shape: shapes.Shape, place: room.Place) -> bool:
    """Whether a port that a shape wants is taken."""
    return any(wanted.clashes(taken) for wanted in shape.ports for taken in place.ports)


class Diagnosis:
    """Why a shape fits nowhere: kept from one attempt to the next, and mended where nodes have changed.

    For plain shapes only, and pods that nobody keeps away: else a change of one node is felt on others.
    """

    def __init__(self, nodes: room.Room, shape: shapes.Shape, within: orders.Within | None = None) -> None:
        self._room = nodes
        self._shape = shape
        self._within = within
        self._reasons: dict[int, Reasons] = {}
        self._counts: Counter[Reasons] = Counter()
        self._layout = -1
        self._moment = 0

    def renew(self) -> bool:
        """Look at what has changed; whether there is a node now that fits."""
        nodes = self._room
        changed: Iterable[int] | None = None
        if self._layout == nodes.layout:
            changed = nodes.changed_since(self._moment)
        if changed is None:
            self._layout = nodes.layout
            self._reasons.clear()
            self._counts.clear()
            changed = [place.index for place in nodes if _is_within(place, self._within)]
            known = False
        else:
            known = True
        for index in dict.fromkeys(changed):
            place = nodes.places[index]
            old = self._reasons.get(index)
            if place is None or (known and old is None):
                continue
            wrong = orders.may_live(self._shape.homes, place) if old is None or old[:1] in _HOMELESS else None
            new: Reasons = (wrong,) if wrong is not None else of_load(nodes, self._shape, place)
            if old is not None:
                self._counts[old] -= 1
            self._reasons[index] = new
            self._counts[new] += 1
        self._moment = nodes.moment
        return self._counts[()] > 0

    def verdict(self) -> 'Verdict':
        """The reasons, counted."""
        return Verdict(len(self._reasons), tuple((reasons, count) for reasons, count in self._counts.items() if count))


_HOMELESS: Final = ((orders.NODE_UNSCHEDULABLE,), (orders.UNTOLERATED,), (orders.NOT_SELECTED,))


@dataclass(frozen=True, slots=True)
class Verdict:
    """Reasons, and on how many nodes they were found."""

    nodes: int
    counts: Sequence[tuple[Reasons, int]]

    def message(self, *, may_preempt: bool, alone: bool = True) -> str:
        """As kube-scheduler says it; of a pod that is not scheduled ``alone``, it does not look for victims."""
        if not self.nodes:
            return NO_NODES
        counted: Counter[str] = Counter()
        helpful = 0
        for reasons, count in self.counts:
            lasts = _ASKED_TOO_MUCH in reasons or not _LASTING.isdisjoint(reasons)
            helpful += 0 if lasts else count
            for reason in reasons:
                if reason != _ASKED_TOO_MUCH:
                    counted[reason] += count
        text = f'0/{self.nodes} nodes are available: {_listed(counted)}.'
        if not alone:
            return text
        if not may_preempt:
            return f'{text} preemption: not eligible due to preemptionPolicy=Never.'
        hopes = Counter({_NO_VICTIMS: helpful, _NOT_HELPFUL: self.nodes - helpful})
        return f'{text} preemption: 0/{self.nodes} nodes are available: {_listed(+hopes)}.'


def refused_by_claims(nodes: int, why: str) -> str:
    """What is said of a pod whose claims are not ready, whatever the nodes."""
    return f'0/{nodes} nodes are available: {why}. not found'


def _is_within(place: room.Place, within: orders.Within | None) -> bool:
    return within is None or place.labels.get(within.key) == within.value


def _listed(counted: Counter[str]) -> str:
    return ', '.join(sorted(f'{count} {reason}' for reason, count in counted.items()))
