"""Placement as one would write it down first: plain dictionaries, everything counted again for each question.

Without slices, leaders, filters and failure texts; where it answers at all, the answers are those of the real one.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from jobset.scheduler.topology import nodes
from jobset.scheduler.topology.domains import Values


class Naive:
    """Nodes and what is free on them."""

    def __init__(self, found: Sequence[nodes.Node], levels: Sequence[str], held: Mapping[Values, int]) -> None:
        self._levels = levels
        self._free = {
            leaf: {name: amount - held.get(leaf, 0) * (name == 'gpu') for name, amount in node.allocatable.items()}
            for node in found
            for leaf in [tuple(node.labels[level] for level in levels)]
        }

    def unconstrained(self, count: int, needs: Mapping[str, int]) -> dict[Values, int] | None:
        """Least free capacity over all hosts."""
        fit = self._fit(needs)
        enough = [(pods, leaf) for leaf, pods in fit.items() if pods >= count]
        return {min(enough)[1]: count} if enough else self._smallest(fit, count)

    def required(self, count: int, needs: Mapping[str, int], level: str) -> dict[Values, int] | None:
        """Best fit within one domain."""
        fit = self._fit(needs)
        last = len(self._levels)
        depth = self._levels.index(level) + 1
        sums: dict[Values, int] = defaultdict(int)
        for leaf, pods in fit.items():
            for i in range(1, last + 1):
                sums[leaf[:i]] += pods
        enough = [(pods, name) for name, pods in sums.items() if len(name) == depth and pods >= count]
        if not enough:
            return None
        chosen = {min(enough)[1]}
        for i in range(depth + 1, last + 1):
            children = [(pods, name) for name, pods in sums.items() if len(name) == i and name[:-1] in chosen]
            chosen = set(taken := self._biggest(children, count))
        return taken

    def _fit(self, needs: Mapping[str, int]) -> dict[Values, int]:
        return {
            leaf: max(0, min(free[name] // need for name, need in needs.items())) for leaf, free in self._free.items()
        }

    @staticmethod
    def _smallest(fit: Mapping[Values, int], count: int) -> dict[Values, int] | None:
        taken = {}
        for pods, leaf in sorted((pods, leaf) for leaf, pods in fit.items() if pods):
            taken[leaf] = min(pods, count)
            count -= taken[leaf]
            if not count:
                return taken
        return None

    @staticmethod
    def _biggest(children: Sequence[tuple[int, Values]], count: int) -> dict[Values, int]:
        taken = {}
        left = sorted(children, key=lambda child: (-child[0], child[1]))
        for i, (pods, name) in enumerate(left):
            if pods < count:
                taken[name] = pods
                count -= pods
                continue
            taken[min((pods, name) for pods, name in left[i:] if pods >= count)[1]] = count
            break
        return taken
