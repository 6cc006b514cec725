"""The cheapest few of many: exact, over sums instead of subsets."""

from collections.abc import Sequence


def smallest_sufficient(
    capacities: Sequence[int],
    beside_leader: Sequence[int | None] | None,
    *,
    size: int,
    needed: int,
) -> list[int] | None:
    """``size`` of the items, with the smallest sum of capacities that is at least ``needed``.

    ``beside_leader``: what an item holds when it takes the leader, None if it cannot; one of the chosen takes it. Of
    equal sums wins the one that is found first when items are added in the order given. Sums are the bits of numbers:
    adding an item to all subsets at once is one shift.
    """
    wants_leader = beside_leader is not None
    most = (1 << (needed + max(capacities, default=0) + 1)) - 1
    # reached[leader][i]: the sums that i items make; steps[leader][i]: the same as they came up, item by item.
    reached = [[0] * (size + 1), [0] * (size + 1)]
    reached[0][0] = 1
    steps: list[list[list[tuple[int, int]]]] = [[[] for _ in range(size + 1)] for _ in range(2)]
    for item, capacity in enumerate(capacities):
        hosting = beside_leader[item] if beside_leader is not None else None
        for i in range(min(item + 1, size), 0, -1):
            options = [(0, reached[0][i - 1] << capacity)]
            if wants_leader:
                lead = reached[1][i - 1] << capacity
                options.append((1, lead | (reached[0][i - 1] << hosting if hosting is not None else 0)))
            for leader, sums in options:
                new = sums & most & ~reached[leader][i]
                if new:
                    reached[leader][i] |= new
                    steps[leader][i].append((item, new))
    enough = reached[int(wants_leader)][size] >> needed
    if not enough:
        return None
    total = needed + (enough & -enough).bit_length() - 1
    return _trace(capacities, beside_leader, steps, size, total)


def _trace(
    capacities: Sequence[int],
    beside_leader: Sequence[int | None] | None,
    steps: list[list[list[tuple[int, int]]]],
    size: int,
    total: int,
) -> list[int]:
    """Which items made ``total`` first."""
    chosen = []
    leader = int(beside_leader is not None)
    for i in range(size, 0, -1):
        item = next(item for item, new in steps[leader][i] if new >> total & 1)
        chosen.append(item)
        before = total - capacities[item]
        if leader and not _was_reached(steps[1][i - 1], before, item):
            hosting = beside_leader[item] if beside_leader is not None else None
            before, leader = total - (hosting or 0), 0
        total = before
    chosen.reverse()
    return chosen


def _was_reached(steps: list[tuple[int, int]], total: int, before: int) -> bool:
    return total >= 0 and any(item < before and new >> total & 1 for item, new in steps)
