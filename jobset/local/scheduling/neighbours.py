"""Pods that seek or avoid each other: affinity, anti-affinity and even spreading, over domains of nodes.

Pods are counted by domain and by the labels that somebody asks for, so that a question about all pods of a zone is one
about a few different labels. What nobody has asked for yet is counted when it is asked for the first time.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from jobset.local.scheduling import room, shapes

Values = tuple[str | None, ...]
Asked = tuple[str, tuple[str, ...]]
"""The topology key, and the labels by which is counted."""


class Neighbours:
    """What runs where, by the labels that matter."""

    def __init__(self, nodes: room.Room) -> None:
        self._room = nodes
        self._counts: dict[Asked, dict[str, Counter[tuple[str, Values]]]] = {}
        self._guards: dict[str, dict[str, Counter[shapes.Term]]] = {}
        self._guard_keys: set[str] = set()
        self._guarding: dict[str, room.Resident] = {}
        self._layout = -1

    @property
    def are_guarded(self) -> bool:
        """Whether any pod keeps others away."""
        self._renew()
        return bool(self._guards)

    def add(self, resident: room.Resident, times: int = 1) -> None:
        """A pod is there from now on, or, with -1, no more."""
        if resident.shape.apart:
            if times > 0:
                self._guarding[resident.uid] = resident
            else:
                self._guarding.pop(resident.uid, None)
        if not self._counts and not self._guards and not resident.shape.apart:
            return
        place = self._room.by_name.get(resident.node)
        if place is None or self._layout != self._room.layout:
            self._layout = -1
            return
        self._count(place, resident, times)
        self._guard(place, resident, times)

    def remove(self, resident: room.Resident) -> None:
        """A pod is gone."""
        self.add(resident, -1)

    def matching(self, term: shapes.Term) -> Mapping[str, int]:
        """How many pods a term means, by domain."""
        found: dict[str, int] = {}
        selector = term.selector
        if selector is None:
            return found
        keys = selector.keys
        answers: dict[tuple[str, Values], bool] = {}
        for domain, counted in self._counted((term.topology_key, keys)).items():
            total = 0
            for who, count in counted.items():
                answer = answers.get(who)
                if answer is None:
                    answer = answers[who] = term.matches(who[0], dict(zip(keys, who[1], strict=True)))
                if answer:
                    total += count
            if total:
                found[domain] = total
        return found

    def keeps_away(self, namespace: str, labels: Mapping[str, str], place: room.Place) -> bool:
        """Whether a pod that is there forbids one with these labels on that node."""
        self._renew()
        for key, domains in self._guards.items():
            domain = place.labels.get(key)
            if domain is None:
                continue
            terms = domains.get(domain)
            if terms and any(term.matches(namespace, labels) for term in terms):
                return True
        return False

    def signature(self, namespace: str, labels: Mapping[str, str]) -> Values:
        """What of a pod decides whether others keep it away: pods alike in this are kept away from the same nodes."""
        self._renew()
        if not self._guards:
            return ()
        return (namespace, *[labels.get(key) for key in sorted(self._guard_keys)])

    def _counted(self, asked: Asked) -> dict[str, Counter[tuple[str, Values]]]:
        self._renew()
        counted = self._counts.get(asked)
        if counted is None:
            if len(self._counts) >= _ASKED_MOST:
                self._counts.clear()
            counted = self._counts[asked] = {}
            self._count_all((asked,))
        return counted

    def _renew(self) -> None:
        """Count anew where nodes have changed: their labels decide what belongs together."""
        if self._layout == self._room.layout:
            return
        self._layout = self._room.layout
        self._guards = {}
        for counted in self._counts.values():
            counted.clear()
        if self._counts:
            self._count_all(tuple(self._counts))
        for resident in self._guarding.values():
            place = self._room.by_name.get(resident.node)
            if place is not None:
                self._guard(place, resident, 1)

    def _count_all(self, asked: Iterable[Asked]) -> None:
        for resident in self._room.residents.values():
            place = self._room.by_name.get(resident.node)
            if place is not None:
                self._count(place, resident, 1, asked)

    def _count(
        self, place: room.Place, resident: room.Resident, times: int, asked: Iterable[Asked] | None = None
    ) -> None:
        for key, names in self._counts if asked is None else asked:
            domain = place.labels.get(key)
            if domain is None:
                continue
            counted = self._counts[(key, names)].setdefault(domain, Counter())
            who = (resident.namespace, tuple([resident.labels.get(name) for name in names]))
            counted[who] += times
            if not counted[who]:
                del counted[who]

    def _guard(self, place: room.Place, resident: room.Resident, times: int) -> None:
        for term in resident.shape.apart:
            domain = place.labels.get(term.topology_key)
            if domain is None:
                continue
            domains = self._guards.setdefault(term.topology_key, {})
            terms = domains.setdefault(domain, Counter())
            terms[term] += times
            if term.selector is not None:
                self._guard_keys.update(term.selector.keys)
            if not terms[term]:
                del terms[term]
                if not terms:
                    del domains[domain]
                    if not domains:
                        del self._guards[term.topology_key]


_ASKED_MOST: Final = 64
