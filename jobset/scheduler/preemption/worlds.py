"""A trial over a fixed list of candidates, who go by their positions in it; sums are settled without trying."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from jobset.scheduler.model import Run
from jobset.scheduler.preemption.trials import Names, Trial
from jobset.scheduler.topology.domains import Ints


class World:
    """Remembers who is gone: from one question to the next only the difference is changed."""

    def __init__(self, trial: Trial, runs: Sequence[Run]) -> None:
        self.runs: Final = runs
        self.questions = 0
        """How often somebody had to go to find out."""
        self._trial = trial
        self._gone = np.zeros(len(runs), np.bool_)
        missing, freed = trial.missing(), trial.frees(runs)
        # By name, so that what is added up as fractions is always added up in one order.
        names, nothing = sorted(missing.keys() | freed.keys()), [0] * len(runs)
        columns = [freed.get(name, nothing) for name in names]
        self._freed: Ints = np.array(columns, np.int64).reshape(len(names), len(runs)).T.copy()
        self._missing: Ints = np.array([missing.get(name, 0) for name in names], np.int64)
        self._totals = np.maximum(self._freed.sum(axis=0), 1)

    def is_enough(self, victims: Sequence[int]) -> bool:
        """Whether they hold what is missing in sum, wherever it is."""
        return bool((self._sums(victims) >= self._missing).all())

    def surplus(self, victims: Sequence[int]) -> float:
        """What they free beyond what is missing: as parts of what all candidates hold, added up over resources."""
        beyond = np.maximum(self._sums(victims) - self._missing, 0)
        return float((beyond / self._totals).sum())

    def is_fewest(self, many: int) -> bool:
        """Whether fewer than so many cannot be enough, even of those that hold the most."""
        biggest = -np.sort(-self._freed, axis=0)[: many - 1]
        return many <= 1 or bool((biggest.sum(axis=0) < self._missing).any())

    def place(self, victims: Sequence[int]) -> Names | None:
        """The nodes that would be used without these; None where it does not fit."""
        if not self.is_enough(victims):
            return None
        self.questions += 1
        self._go(victims)
        return self._trial.place() if self._trial.may_fit() else None

    def fits(self, victims: Sequence[int]) -> bool:
        """Whether it fits without these."""
        return self.place(victims) is not None

    def clearing(self) -> list[int]:
        """All candidates; those that clear most come first, see :meth:`Trial.clears`."""
        clears = self._trial.clears(self.runs)
        return sorted(range(len(self.runs)), key=lambda i: -clears[i])

    def close(self) -> None:
        """Everybody is back."""
        self._go(())

    def _sums(self, victims: Sequence[int]) -> Ints:
        found: Ints = self._freed[np.array(victims, np.int64)].sum(axis=0)
        return found

    def _go(self, victims: Sequence[int]) -> None:
        gone = np.zeros_like(self._gone)
        gone[np.array(victims, np.int64)] = True
        back, new = np.flatnonzero(self._gone & ~gone).tolist(), np.flatnonzero(gone & ~self._gone).tolist()
        self._gone = gone
        if back:
            self._trial.restore(*(self.runs[i] for i in back))
        if new:
            self._trial.remove(*(self.runs[i] for i in new))
