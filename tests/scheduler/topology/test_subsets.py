"""The cheapest few of many, against looking at all of them."""

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from jobset.scheduler.topology import subsets


@settings(max_examples=300, deadline=None)
@given(
    items=st.lists(st.tuples(st.integers(0, 9), st.none() | st.integers(0, 9)), min_size=1, max_size=6),
    size=st.integers(1, 6),
    needed=st.integers(0, 30),
    with_leader=st.booleans(),
)
def test_smallest_sufficient(items: list[tuple[int, int | None]], size: int, needed: int, *, with_leader: bool) -> None:
    capacities = [capacity for capacity, _ in items]
    beside = [None if less is None else max(capacity - less, 0) for capacity, less in items] if with_leader else None

    def sums(chosen: tuple[int, ...] | list[int]) -> list[int]:
        total = sum(capacities[i] for i in chosen)
        if beside is None:
            return [total]
        return [total - capacities[i] + least for i in chosen if (least := beside[i]) is not None]

    possible = [one for chosen in combinations(range(len(items)), size) for one in sums(chosen) if one >= needed]

    found = subsets.smallest_sufficient(capacities, beside, size=size, needed=needed)

    assert (found is None) == (not possible)
    if found is not None:
        assert len(set(found)) == size
        assert min(possible) in sums(found)


def test_of_equal_sums_the_first_that_is_found_wins() -> None:
    assert subsets.smallest_sufficient([3, 2, 2, 3], None, size=2, needed=5) == [0, 1]
    assert subsets.smallest_sufficient([4, 3, 2], [3, 2, 2], size=2, needed=5) == [1, 2]
    assert subsets.smallest_sufficient([4, 4, 4], None, size=2, needed=8) == [0, 1]
    assert subsets.smallest_sufficient([4, 4, 4], None, size=2, needed=9) is None
