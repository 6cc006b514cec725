"""Where one pod fits: the best node, or why there is none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from jobset.local.scheduling import neighbours, orders, room, selectors, shapes, verdicts


class Wish(NamedTuple):
    """A pod that needs a node."""

    namespace: str
    labels: dict[str, str]
    shape: shapes.Shape
    volumes: tuple[tuple[selectors.NodeTerm, ...], ...] = ()
    """From where each of its volumes can be reached, for those that are not everywhere."""


@dataclass(frozen=True, slots=True)
class _Level:
    """How many pods of a spread there are in each domain, and in the emptiest."""

    spread: shapes.Spread
    counts: Mapping[str, int]
    least: int
    is_own: bool


class _Surroundings:
    """What a pod's rules about other pods say of nodes: looked up once, asked for each node."""

    def __init__(self, fitting: 'Fitting', wish: Wish) -> None:
        self._wish = wish
        self._neighbours = fitting.neighbours
        shape = wish.shape
        self._apart = [(term.topology_key, fitting.neighbours.matching(term)) for term in shape.apart]
        self._near = [(term.topology_key, fitting.neighbours.matching(term)) for term in shape.near]
        # The first of pods that seek each other has nobody to go to, and may go anywhere.
        self._is_first = (
            bool(shape.near)
            and not any(counts for _, counts in self._near)
            and all(term.matches(wish.namespace, wish.labels) for term in shape.near)
        )
        self._levels = [fitting.level(wish, spread) for spread in shape.spreads]
        self._guarded = fitting.neighbours.are_guarded

    def refuse(self, place: room.Place) -> str | None:
        """Why not this node."""
        labels = place.labels
        for terms in self._wish.volumes:
            if not selectors.any_matches(terms, place.name, labels):
                return verdicts.VOLUME_ELSEWHERE
        return self._is_uneven(labels) or self._is_wrong_company(place)

    def _is_uneven(self, labels: Mapping[str, str]) -> str | None:
        if any(one.spread.term.topology_key not in labels for one in self._levels):
            return verdicts.UNEVEN_UNLABELLED
        for one in self._levels:
            there = one.counts.get(labels[one.spread.term.topology_key], 0) + one.is_own
            if there - one.least > one.spread.max_skew:
                return verdicts.UNEVEN
        return None

    def _is_wrong_company(self, place: room.Place) -> str | None:
        labels = place.labels
        for key, counts in self._near:
            domain = labels.get(key)
            if domain is None or (domain not in counts and not self._is_first):
                return verdicts.NOT_NEAR
        for key, counts in self._apart:
            if labels.get(key) in counts:
                return verdicts.NOT_APART
        if self._guarded and self._neighbours.keeps_away(self._wish.namespace, self._wish.labels, place):
            return verdicts.KEPT_AWAY
        return None


class Fitting:
    """Finds nodes for pods in a room."""

    def __init__(self, nodes: room.Room) -> None:
        self.room = nodes
        self.neighbours = neighbours.Neighbours(nodes)
        self._orders = orders.Orders(nodes)

    def is_plain(self, wish: Wish) -> bool:
        """Whether only the load of a node decides about it, once it is right for the shape."""
        return wish.shape.is_plain and not self.neighbours.are_guarded

    def find(self, wish: Wish, within: orders.Within | None = None) -> room.Place | None:
        """The best node that fits."""
        shape = wish.shape
        order = self._orders.of(shape, within)
        ranks, places, first = order.renew(), self.room.places, order.first
        needs = self.room.needs(shape)
        least = 0 if order.has_wishes else next((amount for number, amount in needs if number == first), 0)
        around = None if self.is_plain(wish) else _Surroundings(self, wish)
        for _, left, index in ranks:
            if -left < least:
                # All further ones have even less of what it needs most.
                return None
            place = places[index]
            if place is None:
                continue
            free = place.free
            for number, amount in needs:
                if free[number] < amount:
                    break
            else:
                if shape.ports and verdicts.clash(shape, place):
                    continue
                if around is None or around.refuse(place) is None:
                    return place
        return None

    def explain(self, wish: Wish, within: orders.Within | None = None) -> verdicts.Verdict:
        """Why no node fits."""
        if self.is_plain(wish):
            diagnosis = verdicts.Diagnosis(self.room, wish.shape, within)
            diagnosis.renew()
            return diagnosis.verdict()
        around = _Surroundings(self, wish)
        counts: dict[verdicts.Reasons, int] = {}
        total = 0
        for place in self.room:
            if within is not None and place.labels.get(within.key) != within.value:
                continue
            total += 1
            wrong = orders.may_live(wish.shape.homes, place)
            reasons = (wrong,) if wrong is not None else verdicts.of_load(self.room, wish.shape, place)
            if not reasons:
                refused = around.refuse(place)
                reasons = (refused,) if refused is not None else ()
            counts[reasons] = counts.get(reasons, 0) + 1
        return verdicts.Verdict(total, tuple(counts.items()))

    def level(self, wish: Wish, spread: shapes.Spread) -> _Level:
        """How even things are for a spread."""
        term = _narrowed(spread, wish.labels)
        counts = self.neighbours.matching(term)
        domains = self._domains(wish.shape, spread)
        least = min((counts.get(domain, 0) for domain in domains), default=0)
        if len(domains) < spread.min_domains:
            least = 0
        return _Level(spread, counts, least, term.matches(wish.namespace, wish.labels))

    def _domains(self, shape: shapes.Shape, spread: shapes.Spread) -> Sequence[str]:
        """The domains among which pods are to be spread."""
        keys = [one.term.topology_key for one in shape.spreads]
        return list(
            {
                place.labels[spread.term.topology_key]
                for place in self.room
                if all(key in place.labels for key in keys)
                and (not spread.honours_homes or orders.is_selected(shape.homes, place))
            }
        )


def _narrowed(spread: shapes.Spread, labels: Mapping[str, str]) -> shapes.Term:
    """The pods to count: those which also have the pod's own values of some labels."""
    term = spread.term
    own = [selectors.Requirement(key, 'In', frozenset((labels[key],))) for key in spread.label_keys if key in labels]
    if not own or term.selector is None:
        return term
    return term._replace(selector=selectors.Selector((*term.selector.requirements, *own)))
