"""The nodes that are right for a pod, best first, whatever is left on them at the moment.

Best is where most is left of what the pod asks for first of all (its first extended resource, else CPU, memory, or room
for pods), so that load spreads; wishes of the pod and of the node (preferred affinity, PreferNoSchedule) come before
that. Such an order serves all shapes with the same homes, and is mended, not sorted, when pods come and go.
"""

from bisect import bisect_left, insort
from collections import OrderedDict
from typing import Final, NamedTuple

from jobset.local.scheduling import model, room, selectors, shapes

Rank = tuple[int, int, int]
"""Wishes against it, what is not left of it, its index."""

_CPU_LAST: Final = 4
"""Resources from this number on are extended ones: the scarce ones, of which a pod asks for few kinds."""

UNSCHEDULABLE: Final = 'node.kubernetes.io/unschedulable'
_HARD: Final = ('NoSchedule', 'NoExecute')


class Within(NamedTuple):
    """The one domain of nodes to which a search is limited."""

    key: str
    value: str


class Order:
    """Nodes for pods with the same homes and the same first resource."""

    def __init__(self, nodes: room.Room, homes: shapes.Homes, first: int, within: Within | None) -> None:
        self.first = first
        self.ranks: list[Rank] = []
        self.has_wishes = False
        self._room = nodes
        self._homes = homes
        self._within = within
        self._ranked: dict[int, Rank] = {}
        self._layout = -1
        self._moment = 0

    def renew(self) -> list[Rank]:
        """The order as of now."""
        nodes = self._room
        if self._layout != nodes.layout:
            self._build()
        elif self._moment != nodes.moment:
            changed = nodes.changed_since(self._moment)
            if changed is None or len(changed) > len(self.ranks):
                self._sort()
            else:
                for index in changed:
                    rank = self._ranked.get(index)
                    if rank is not None:
                        self._mend(index, rank)
        self._moment = nodes.moment
        return self.ranks

    def _mend(self, index: int, rank: Rank) -> None:
        place = self._room.places[index]
        if place is None:
            return
        left = -place.free[self.first]
        if left == rank[1]:
            return
        ranks = self.ranks
        del ranks[bisect_left(ranks, rank)]
        rank = self._ranked[index] = (rank[0], left, index)
        insort(ranks, rank)

    def _sort(self) -> None:
        places, first = self._room.places, self.first
        for index, rank in self._ranked.items():
            place = places[index]
            if place is not None:
                self._ranked[index] = (rank[0], -place.free[first], index)
        self.ranks = sorted(self._ranked.values())

    def _build(self) -> None:
        nodes, homes = self._room, self._homes
        self._layout = nodes.layout
        self._ranked = {}
        for index in _candidates(nodes, homes, self._within):
            place = nodes.places[index]
            if place is not None and may_live(homes, place) is None:
                self._ranked[index] = (_against(homes, place), -place.free[self.first], index)
        self.ranks = sorted(self._ranked.values())
        self.has_wishes = len({rank[0] for rank in self.ranks}) > 1


class Orders:
    """The orders that are in use."""

    def __init__(self, nodes: room.Room, most: int = 512) -> None:
        self._room = nodes
        self._most = most
        self._orders: OrderedDict[tuple[shapes.Homes, int, Within | None], Order] = OrderedDict()
        self._of_shape: dict[tuple[shapes.Shape, Within | None], Order] = {}

    def of(self, shape: shapes.Shape, within: Within | None = None) -> Order:
        """The order for a shape, perhaps limited to one domain."""
        order = self._of_shape.get((shape, within))
        if order is not None:
            return order
        key = (shape.homes, _first(self._room.needs(shape)), within)
        order = self._orders.get(key)
        if order is None:
            if len(self._orders) >= self._most:
                self._orders.popitem(last=False)
                self._of_shape.clear()
            order = self._orders[key] = Order(self._room, *key)
        if len(self._of_shape) >= 8 * self._most:
            self._of_shape.clear()
        self._of_shape[(shape, within)] = order
        return order


def may_live(homes: shapes.Homes, place: room.Place) -> str | None:
    """Why a node is wrong for pods with these homes, whatever runs there; None when it is right."""
    if place.unschedulable and not _tolerates_unschedulable(homes):
        return NODE_UNSCHEDULABLE
    for taint in place.taints:
        if taint.effect in _HARD and not any(one.tolerates(taint) for one in homes.tolerations):
            return UNTOLERATED
    for key, value in homes.selector:
        if place.labels.get(key) != value:
            return NOT_SELECTED
    if homes.terms is not None and not selectors.any_matches(homes.terms, place.name, place.labels):
        return NOT_SELECTED
    return None


NODE_UNSCHEDULABLE: Final = 'node(s) were unschedulable'
UNTOLERATED: Final = 'node(s) had untolerated taint(s)'
NOT_SELECTED: Final = "node(s) didn't match Pod's node affinity/selector"


def is_selected(homes: shapes.Homes, place: room.Place) -> bool:
    """Whether a pod wants a node, taints aside."""
    if any(place.labels.get(key) != value for key, value in homes.selector):
        return False
    return homes.terms is None or selectors.any_matches(homes.terms, place.name, place.labels)


def _tolerates_unschedulable(homes: shapes.Homes) -> bool:
    return any(one.tolerates(_UNSCHEDULABLE) for one in homes.tolerations)


def _against(homes: shapes.Homes, place: room.Place) -> int:
    """How much speaks against a node beside its load: less is better."""
    points = 0
    for taint in place.taints:
        if taint.effect == 'PreferNoSchedule' and not any(one.tolerates(taint) for one in homes.tolerations):
            points += 100
    for preference in homes.preferences:
        if preference.term.matches(place.name, place.labels):
            points -= preference.weight
    return points


def _candidates(nodes: room.Room, homes: shapes.Homes, within: Within | None) -> list[int]:
    """The nodes that can be right at all: those with the rarest of the labels that are asked for."""
    wanted = list(homes.selector)
    if within is not None:
        wanted.append((within.key, within.value))
    if not wanted:
        return [place.index for place in nodes]
    nothing: set[int] = set()
    found = sorted((nodes.by_label.get(label, nothing) for label in wanted), key=len)
    return list(found[0].intersection(*found[1:]))


def _first(needs: room.Needs) -> int:
    """The resource by which nodes are ordered for somebody with these needs."""
    numbers = [number for number, _ in needs]
    extended = [number for number in numbers if number >= _CPU_LAST]
    if extended:
        return extended[0]
    return next((number for number in numbers if number != room.PODS), room.PODS)


_UNSCHEDULABLE: Final = model.Taint(key=UNSCHEDULABLE, effect='NoSchedule')
