"""What would fit if some of those that run were gone: on nodes, in quota, or both."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol

import numpy as np

from jobset.scheduler import amounts
from jobset.scheduler.amounts import Amounts
from jobset.scheduler.model import Cell, Run, Usage
from jobset.scheduler.preemption import holdings
from jobset.scheduler.topology import requests, results
from jobset.scheduler.topology.domains import Ints
from jobset.scheduler.topology.placing import Placer
from jobset.scheduler.topology.single import DEFAULT, Settings
from jobset.scheduler.topology.tree import PODS, Tree

Names = frozenset[str]

Columns = Mapping[str, Sequence[int]]
"""By resource: an amount for each run."""


class Trial(Protocol):
    """A world in which runs can be gone for a while. The more are gone, the more fits."""

    def remove(self, *runs: Run) -> None:
        """These are gone."""

    def restore(self, *runs: Run) -> None:
        """They are back."""

    def place(self) -> Names | None:
        """The nodes that would be used now; None where it does not fit."""

    def may_fit(self) -> bool:
        """Whether :meth:`place` is worth its time: False only where it would be None."""

    def missing(self) -> Amounts:
        """What has to be freed at least, in sum; what is enough is left out."""

    def frees(self, runs: Sequence[Run]) -> Columns:
        """What the end of each of these adds to what is free, in the terms of :meth:`missing`."""

    def is_useful(self, run: Run) -> bool:
        """Whether it holds anything of which something is wanted."""

    def clears(self, runs: Sequence[Run]) -> Sequence[float]:
        """How much of what stands in the way goes with each of these: added up over nodes, 1 for all of a node."""


class NodeTrial:
    """Nodes of one or more trees in which everybody's holds are taken; the first one has them all."""

    def __init__(
        self,
        trees: Sequence[Tree],
        candidates: Sequence[Run],
        needs: Mapping[str, int],
        *,
        place: Callable[[], Names | None],
        may_fit: Callable[[], bool] = lambda: True,
    ) -> None:
        """``needs`` is what is wanted in sum, pods included; ``place`` and ``may_fit`` see the trees as they are."""
        self.place: Final = place
        self.may_fit: Final = may_fit
        self._needs = {name: amount for name, amount in needs.items() if amount}
        self._tree = trees[0]
        self._index = {run.workload.key: i for i, run in enumerate(candidates)}
        self._parts = [holdings.Holdings(tree, candidates) for tree in trees]
        wanted = np.array([name in self._needs for name in self._tree.resources])
        self._freed = self._parts[0].sums()
        self._useful: list[bool] = self._freed[wanted].any(axis=0).tolist()
        # Pods are rarely what is short, and many small ones do not clear more than one that is big.
        is_pods = np.array([name == PODS for name in self._tree.resources])
        self._clears = self._parts[0].clears(wanted & ~is_pods)

    @classmethod
    def of_gang(
        cls,
        placer: Placer,
        gang: Sequence[requests.Request],
        candidates: Sequence[Run],
        settings: Settings = DEFAULT,
    ) -> 'NodeTrial':
        """For pods that exist at the same time, in the topology of ``placer``."""

        def place() -> Names | None:
            found = placer.place(gang, settings)
            return _used(found) if isinstance(found, results.Placement) else None

        return cls((placer.tree,), candidates, needs_of(gang), place=place, may_fit=lambda: placer.may_fit(gang))

    def remove(self, *runs: Run) -> None:
        self._change(runs, -1)

    def restore(self, *runs: Run) -> None:
        self._change(runs, 1)

    def missing(self) -> Amounts:
        free = np.maximum(self._tree.free[:, self._tree.order], 0).sum(axis=1).tolist()
        by_name = dict(zip(self._tree.resources, free, strict=True))
        lacking = {name: amount - by_name.get(name, 0) for name, amount in self._needs.items()}
        return {name: amount for name, amount in lacking.items() if amount > 0}

    def frees(self, runs: Sequence[Run]) -> Columns:
        columns = self._freed[:, self._places(runs)].tolist()
        return dict(zip(self._tree.resources, columns, strict=True))

    def is_useful(self, run: Run) -> bool:
        return self._useful[self._index[run.workload.key]]

    def clears(self, runs: Sequence[Run]) -> Sequence[float]:
        found: list[float] = self._clears[self._places(runs)].tolist()
        return found

    def _places(self, runs: Sequence[Run]) -> Ints:
        return np.array([self._index[run.workload.key] for run in runs], np.int64)

    def _change(self, runs: Sequence[Run], sign: int) -> None:
        places = self._places(runs)
        for part in self._parts:
            part.change(places, sign)


class QuotaTrial:
    """Quota of queues, kept by whoever gives the functions."""

    def __init__(
        self,
        *,
        take: Callable[[str, Usage], None],
        give_back: Callable[[str, Usage], None],
        fits: Callable[[], bool],
        needs: Usage,
        missing: Usage,
    ) -> None:
        """``needs`` is what is wanted, ``missing`` what of it is not to be had now; too little does no harm."""
        self._take, self._give_back = take, give_back
        self.may_fit: Final = fits
        self._needs = {cell for cell, amount in needs.items() if amount}
        self._missing = {_name(cell): amount for cell, amount in missing.items() if amount > 0}

    def remove(self, *runs: Run) -> None:
        for run in runs:
            self._give_back(run.workload.queue, run.admission.usage)

    def restore(self, *runs: Run) -> None:
        for run in runs:
            self._take(run.workload.queue, run.admission.usage)

    def place(self) -> Names | None:
        return frozenset() if self.may_fit() else None

    def missing(self) -> Amounts:
        return self._missing

    def frees(self, runs: Sequence[Run]) -> Columns:
        cells = {cell for run in runs for cell in run.admission.usage}
        return {_name(cell): [run.admission.usage.get(cell, 0) for run in runs] for cell in cells}

    def is_useful(self, run: Run) -> bool:
        return any(amount and cell in self._needs for cell, amount in run.admission.usage.items())

    def clears(self, runs: Sequence[Run]) -> Sequence[float]:
        freed, nothing = self.frees(runs), [0] * len(runs)
        parts = [[min(1.0, one / most) for one in freed.get(name, nothing)] for name, most in self._missing.items()]
        return [max(each) for each in zip(*parts, strict=True)] if parts else [0.0] * len(runs)


class Joint:
    """All of several trials at once."""

    def __init__(self, *parts: Trial) -> None:
        self._parts = parts

    def remove(self, *runs: Run) -> None:
        for part in self._parts:
            part.remove(*runs)

    def restore(self, *runs: Run) -> None:
        for part in self._parts:
            part.restore(*runs)

    def place(self) -> Names | None:
        used: set[str] = set()
        for part in self._parts:
            found = part.place()
            if found is None:
                return None
            used |= found
        return frozenset(used)

    def may_fit(self) -> bool:
        return all(part.may_fit() for part in self._parts)

    def missing(self) -> Amounts:
        return amounts.peak(part.missing() for part in self._parts)

    def frees(self, runs: Sequence[Run]) -> Columns:
        return {name: column for part in self._parts for name, column in part.frees(runs).items()}

    def is_useful(self, run: Run) -> bool:
        return any(part.is_useful(run) for part in self._parts)

    def clears(self, runs: Sequence[Run]) -> Sequence[float]:
        return [sum(each) for each in zip(*(part.clears(runs) for part in self._parts), strict=True)]


def needs_of(gang: Iterable[requests.Request]) -> Amounts:
    """What a gang takes in sum, pods included."""
    shapes = [(request.pod, request.count) for request in gang]
    shapes += [(request.leader, 1) for request in gang if request.leader is not None]
    return amounts.total(amounts.times({PODS: 1} | shape.amounts, many) for shape, many in shapes)


def _used(found: results.Placement) -> Names:
    leaves = [leaf for each in found.assignments for leaf in (*each.pods, each.leader) if leaf is not None]
    return frozenset(leaf[-1] for leaf in leaves)


def _name(cell: Cell) -> str:
    """A cell as a resource among those of nodes."""
    return f'{cell.resource} of {cell.flavour}'
