"""The names and the order of domains: which there are on each level, and which belong together.

Each level is a sorted list of domains, named by the tuple of label values from the top; tuples and not joined strings,
because "a" with child "b-c" is not "a-b" with child "c". The children of one domain stand side by side on the level
below, so that sums are made in one sweep.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Values = tuple[str, ...]


class Domains:
    """Domains by level, from coarse to fine; those of the last level are the leaves."""

    def __init__(self, levels: Sequence[str]) -> None:
        self.levels: Final = tuple(levels)
        self.names: Final[list[list[Values]]] = [[] for _ in levels]
        self.starts: Final[list[Ints]] = [np.zeros(1, np.int64) for _ in levels[:-1]]
        """By level and domain: its first child on the level below; and at last, where the children of all end."""
        self.order: Ints = np.zeros(0, np.int64)
        """By leaf: its slot, a number that stays when leaves come and go."""

    @property
    def last(self) -> int:
        """The index of the leaves' level."""
        return len(self.levels) - 1

    def position(self, values: Values) -> int | None:
        """Where on its level a domain is; None where there is none of that name."""
        level = self.names[len(values) - 1]
        index = bisect_left(level, values)
        return index if index < len(level) and level[index] == values else None

    def leaves_of(self, values: Values) -> tuple[int, int] | None:
        """The range of leaves below a domain."""
        first = self.position(values)
        if first is None:
            return None
        end = first + 1
        for starts in self.starts[len(values) - 1 :]:
            first, end = int(starts[first]), int(starts[end])
        return first, end

    def arrange(self, slots: Iterable[tuple[Values, int]]) -> None:
        """Order all levels anew."""
        leaves = sorted(slots)
        self.names[-1][:] = [values for values, _ in leaves]
        self.order = np.array([slot for _, slot in leaves], np.int64)
        for level in range(self.last - 1, -1, -1):
            names: list[Values] = []
            starts: list[int] = []
            for i, values in enumerate(self.names[level + 1]):
                if not names or names[-1] != values[:-1]:
                    names.append(values[:-1])
                    starts.append(i)
            self.names[level][:] = names
            self.starts[level] = np.array([*starts, len(self.names[level + 1])], np.int64)

    def insert(self, values: Values, slot: int) -> None:
        """Give a leaf its place, and the domains above it theirs where it is their first."""
        child = bisect_left(self.names[-1], values)
        self.names[-1].insert(child, values)
        self.order = np.insert(self.order, child, slot)
        for level in range(self.last - 1, -1, -1):
            names, name = self.names[level], values[: level + 1]
            index = bisect_left(names, name)
            is_known = index < len(names) and names[index] == name
            if not is_known:
                names.insert(index, name)
                self.starts[level] = np.insert(self.starts[level], index, child)
            self.starts[level][index + 1 :] += 1
            if is_known:
                return
            child = index

    def delete(self, values: Values) -> None:
        """Take a leaf out of the order, and the domains above it where it was their last."""
        child = bisect_left(self.names[-1], values)
        del self.names[-1][child]
        self.order = np.delete(self.order, child)
        for level in range(self.last - 1, -1, -1):
            index = bisect_left(self.names[level], values[: level + 1])
            starts = self.starts[level]
            starts[index + 1 :] -= 1
            if starts[index] < starts[index + 1]:
                return
            del self.names[level][index]
            self.starts[level] = np.delete(starts, index + 1)
