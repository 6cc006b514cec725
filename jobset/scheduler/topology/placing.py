"""Places whole gangs on one tree: all of it or nothing.

The requests of a gang are placed in their order, each seeing what those before it take. Where that fails, the biggest
goes first: small ones leave room for it less often than it leaves room for them. Asking changes nothing; what is to be
held is said with :meth:`Placer.take`.
"""

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np

from jobset.scheduler.topology import bounds, elastic, replacing, requests, single
from jobset.scheduler.topology.domains import Values
from jobset.scheduler.topology.fitting import Fitting
from jobset.scheduler.topology.requests import Request
from jobset.scheduler.topology.results import Assignment, Invalid, NoRoom, Placement
from jobset.scheduler.topology.single import DEFAULT, Settings
from jobset.scheduler.topology.tree import Tree


class Placer:
    """Answers where pods could go in a tree, which may change between questions, and remembers what it has counted."""

    def __init__(self, tree: Tree) -> None:
        self.tree: Final = tree
        self._fitting = Fitting(tree)

    def place(
        self, gang: Sequence[Request], settings: Settings = DEFAULT, *, within: Values | None = None
    ) -> Placement | NoRoom | Invalid:
        """Where all of ``gang`` could go now; ``within`` is a domain outside which nothing may go."""
        problems = tuple(problem for request in gang for problem in requests.problems(request, self.tree.levels))
        if problems:
            return Invalid(problems)
        found = self._in_order(gang, range(len(gang)), settings, within)
        if isinstance(found, Placement) or settings.parity or len(gang) < 2:
            return found
        biggest_first = self._by_size(gang)
        if biggest_first == list(range(len(gang))):
            return found
        again = self._in_order(gang, biggest_first, settings, within)
        return again if isinstance(again, Placement) else found

    def may_fit(self, gang: Sequence[Request]) -> bool:
        """False only where :meth:`place` has no place for sure; see :mod:`bounds`."""
        return all(
            not requests.problems(request, self.tree.levels) and bounds.may_fit(self._fitting, request)
            for request in gang
        )

    def take(self, gang: Sequence[Request], placement: Placement) -> None:
        """Let the tree hold a placement of ``gang``."""
        for request, assignment in zip(gang, placement.assignments, strict=True):
            elastic.take(self.tree, request, assignment)

    def give_back(self, gang: Sequence[Request], placement: Placement) -> None:
        """The opposite of :meth:`take`."""
        for request, assignment in zip(gang, placement.assignments, strict=True):
            elastic.give_back(self.tree, request, assignment)

    def resize(
        self, request: Request, current: Assignment, settings: Settings = DEFAULT
    ) -> Assignment | NoRoom | Invalid:
        """Where the pods of ``request`` go now that it wants another count of them; see :mod:`elastic`."""
        return elastic.resize(self._fitting, request, current, settings)

    def replace(
        self,
        request: Request,
        current: Assignment,
        lost: Collection[Values],
        settings: Settings = DEFAULT,
        *,
        is_movable: bool = True,
    ) -> Assignment | NoRoom | Invalid:
        """``current`` without the leaves ``lost``; see :mod:`replacing`."""
        return replacing.replace(self._fitting, request, current, lost, settings, is_movable=is_movable)

    def _in_order(
        self, gang: Sequence[Request], order: Sequence[int], settings: Settings, within: Values | None
    ) -> Placement | NoRoom | Invalid:
        """One request after the other on the evolving tree, which is as before in the end."""
        taken: dict[int, Assignment] = {}
        try:
            for i in order:
                answer = single.place(self._fitting, gang[i], settings, within=within)
                if not isinstance(answer, Assignment):
                    return answer
                taken[i] = answer
                if len(taken) < len(gang):
                    elastic.take(self.tree, gang[i], answer)
        finally:
            held = list(taken) if len(taken) < len(gang) else list(taken)[:-1]
            for i in held:
                elastic.give_back(self.tree, gang[i], taken[i])
        return Placement(tuple(taken[i] for i in range(len(gang))))

    def _by_size(self, gang: Sequence[Request]) -> list[int]:
        """Positions in ``gang``, the request with the largest share of any resource first."""
        free = np.maximum(self.tree.free[:, self.tree.order].sum(axis=1), 1)

        def share(i: int) -> float:
            needs = self.tree.vector(gang[i].pod.amounts) * gang[i].count
            leader = gang[i].leader
            if leader is not None:
                needs = needs + self.tree.vector(leader.amounts)
            return float((needs / free).max(initial=0))

        return sorted(range(len(gang)), key=lambda i: (-share(i), i))
