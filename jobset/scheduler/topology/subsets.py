"""The cheapest few of many: exact, over sums instead of subsets."""

from collections.abc import Sequence
from typing import Final, NamedTuple

_MAX_SUM: Final = 1 << 20
_MAX_STEPS: Final = 200_000
"""Bounds of what is worth it: about half a second."""


class _Step(NamedTuple):
    """The sums that came up when an item was added."""

    item: int
    is_leader: bool
    sums: int


def smallest_sufficient(
    capacities: Sequence[int],
    beside_leader: Sequence[int | None] | None,
    *,
    size: int,
    needed: int,
) -> list[int] | None:
    """``size`` of the items, with the smallest sum of capacities that is at least ``needed``.

    ``beside_leader``: what an item holds when it takes the leader, None if it cannot; one of the chosen takes it. Of
    equal sums wins the one that is found first when items are added in the order given, as leader's before as others.
    Sums are the bits of numbers: adding an item to all subsets at once is one shift. None, too, where that is too much.
    """
    if len(set(capacities)) == 1 and (beside_leader is None or len(set(beside_leader)) == 1):
        # All are alike, as empty nodes are: any of them will do, so the first do.
        hosting = capacities[0] if beside_leader is None else beside_leader[0]
        is_enough = hosting is not None and hosting + (size - 1) * capacities[0] >= needed
        return list(range(size)) if is_enough and size <= len(capacities) else None
    # Subsets turn into one another item by item, so the best sum is at most this far from what is needed.
    bound = max(needed, sum(sorted(capacities)[:size])) + 2 * max(capacities, default=0)
    if bound > _MAX_SUM or len(capacities) * size > _MAX_STEPS:
        return None
    most = (1 << (bound + 1)) - 1
    # By whether the leader has a place, and by number of items: the sums there are, and how they came up.
    reached = [[0] * (size + 1) for _ in range(2)]
    reached[0][0] = 1
    steps: list[list[list[_Step]]] = [[[] for _ in range(size + 1)] for _ in range(2)]
    for item, capacity in enumerate(capacities):
        here = None if beside_leader is None else beside_leader[item]
        for i in range(min(item + 1, size), 0, -1):
            options = [(1, False, reached[1][i - 1] << capacity), (0, False, reached[0][i - 1] << capacity)]
            if here is not None:
                options.insert(0, (1, True, reached[0][i - 1] << here))
            for has_leader, is_leader, sums in options:
                new = sums & most & ~reached[has_leader][i]
                if new:
                    reached[has_leader][i] |= new
                    steps[has_leader][i].append(_Step(item, is_leader, new))
    wants_leader = int(beside_leader is not None)
    enough = reached[wants_leader][size] >> needed
    if not enough:
        return None
    total = needed + (enough & -enough).bit_length() - 1
    chosen = []
    for i in range(size, 0, -1):
        step = next(step for step in steps[wants_leader][i] if step.sums >> total & 1)
        chosen.append(step.item)
        if step.is_leader and beside_leader is not None:
            total -= beside_leader[step.item] or 0
            wants_leader = 0
        else:
            total -= capacities[step.item]
    chosen.reverse()
    return chosen
