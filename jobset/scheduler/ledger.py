"""Who holds what: nodes and quota, of everyone that runs, ends, or has been promised a place.

What is promised is held besides what those hold who have to go for it, so that nobody else is let in: on paper, more is
then held than there is. What runs and ends alone never is more.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from jobset.scheduler import model, pools
from jobset.scheduler.quota import tree


class Holding(msgspec.Struct, frozen=True):
    """What an owner has."""

    queue: str
    admission: model.Admission


class Ledger:
    """Nodes and quota together: both are taken, or none."""

    def __init__(self, pool: pools.Pools, quotas: tree.Quotas) -> None:
        self.pools = pool
        self.quotas = quotas
        self._holdings: dict[str, Holding] = {}

    @property
    def holdings(self) -> Mapping[str, Holding]:
        """By owner."""
        return self._holdings

    def take(self, owner: str, queue: str, admission: model.Admission) -> None:
        """Let an owner, who has nothing yet, have an admission, whether it is free or not."""
        self._holdings[owner] = Holding(queue, admission)
        self.pools.hold(owner, admission.holds)
        self.quotas.take(queue, admission.usage)

    def give_back(self, *owners: str) -> None:
        """These have nothing any more. One that had nothing is no mistake."""
        for owner in owners:
            holding = self._holdings.pop(owner, None)
            if holding is not None:
                self.pools.release(owner)
                self.quotas.give_back(holding.queue, holding.admission.usage)

    @contextlib.contextmanager
    def without(self, owners: Iterable[str]) -> Iterator[None]:
        """For the length of the block these owners have nothing."""
        taken = {owner: self._holdings[owner] for owner in owners if owner in self._holdings}
        self.give_back(*taken)
        try:
            yield
        finally:
            for owner, holding in taken.items():
                self.take(owner, holding.queue, holding.admission)

    @contextlib.contextmanager
    def also(self, owner: str, queue: str, admission: model.Admission) -> Iterator[None]:
        """For the length of the block an owner has this, too."""
        self.take(owner, queue, admission)
        try:
            yield
        finally:
            self.give_back(owner)

    def requota(self, quotas: tree.Quotas) -> None:
        """The queues have changed: count what is held in the new ones."""
        self.quotas = quotas
        for holding in self._holdings.values():
            quotas.take(holding.queue, holding.admission.usage)
