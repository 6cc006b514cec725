"""What candidates hold in a tree, as arrays, so that many can be taken away and given back in one sweep."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from jobset.scheduler.model import Run
from jobset.scheduler.topology.domains import Ints
from jobset.scheduler.topology.tree import PODS, Tree


class Holdings:
    """One entry for each node of each run; runs go by their places among the candidates."""

    def __init__(self, tree: Tree, candidates: Sequence[Run]) -> None:
        self._tree, self._many = tree, len(candidates)
        holds = [run.admission.holds for run in candidates]
        found = [tree.slot_of_node(name) for each in holds for name in each]
        slots = np.array([-1 if slot is None else slot for slot in found], np.int64)
        owners = np.repeat(np.arange(self._many), np.array([len(each) for each in holds], np.int64))
        # Most hold the same as others do: each such kind becomes a vector once.
        held = [mine for each in holds for mine in each.values()]
        keys = [(*mine, *mine.values()) for mine in held]
        kinds = dict(zip(keys, held, strict=True))
        vectors = [tree.vector({PODS: 0} | mine) for mine in kinds.values()]
        by_kind: Ints = np.array(vectors, np.int64).reshape(-1, len(tree.resources))
        index = {key: i for i, key in enumerate(kinds)}
        rows: Ints = by_kind[np.array([index[key] for key in keys], np.int64)]
        # Nothing is gained on a node that is not in question.
        known = slots >= 0
        self._owners, self._slots, self._amounts = owners[known], slots[known], rows[known].T.copy()
        self._starts: Ints = np.searchsorted(self._owners, np.arange(self._many + 1))

    def change(self, places: Ints, sign: int) -> None:
        """Take, or give back, what those hold."""
        first, many = self._starts[places], self._starts[places + 1] - self._starts[places]
        # The entries of one run stand side by side: count on from the first of each.
        entries = np.repeat(first - (many.cumsum() - many), many) + np.arange(many.sum())
        self._tree.hold(self._slots[entries], sign * self._amounts[:, entries])

    def sums(self) -> Ints:
        """By resource and run."""
        found: Ints = np.zeros((len(self._tree.resources), self._many), np.int64)
        for row, held in enumerate(self._amounts):
            np.add.at(found[row], self._owners, held)
        return found

    def clears(self, wanted: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
        """By run: its part of what all candidates hold of a node, of the resource where it is largest, over nodes."""
        parts = np.zeros(self._owners.size)
        for held in self._amounts[wanted]:
            by_slot: Ints = np.zeros(self._tree.width, np.int64)
            np.add.at(by_slot, self._slots, held)
            np.maximum(parts, held / np.maximum(by_slot[self._slots], 1), out=parts)
        found = np.zeros(self._many)
        np.add.at(found, self._owners, parts)
        return found
