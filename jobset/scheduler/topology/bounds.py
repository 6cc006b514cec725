"""Whether there is enough in sum: much cheaper to say than where, and never wrong in saying no."""

import numpy as np

from jobset.scheduler.topology import requests
from jobset.scheduler.topology.domains import Ints
from jobset.scheduler.topology.fitting import Fitting
from jobset.scheduler.topology.requests import Mode
from jobset.scheduler.topology.tree import Tree


def may_fit(fitting: Fitting, request: requests.Request) -> bool:
    """False only where a valid request has no place for sure, by its coarsest slices and the level that it requires."""
    tree, order = fitting.tree, fitting.tree.order
    if not order.size or (request.leader is not None and not fitting.pods(request.leader)[order].any()):
        return False
    slices, level = fitting.pods(request.pod)[order], tree.last
    if request.slices:
        level = tree.levels.index(request.slices[0].level)
        slices = _sums(tree, slices, tree.last, level) // request.slice_size
    top = request.level if request.mode is Mode.REQUIRED else None
    found = slices.sum() if top is None else _sums(tree, slices, level, tree.levels.index(top)).max()
    return int(found) >= request.count // request.slice_size


def _sums(tree: Tree, counts: Ints, level: int, above: int) -> Ints:
    """Counts of the domains of ``level``, added up for those of a level above it."""
    for i in range(level - 1, above - 1, -1):
        counts = np.add.reduceat(counts, tree.starts[i][:-1])
    return counts
