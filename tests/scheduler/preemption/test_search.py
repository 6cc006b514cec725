"""The search for victims, against trying everything."""

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobset.scheduler import model
from jobset.scheduler.preemption import search
from tests.scheduler.facts import GPU, job, running

NOW = 100.0


def rank(run: model.Run) -> int:
    return run.workload.priority


class Nodes:
    """Where single pods of one size need single nodes: knows what is free, and who holds what."""

    def __init__(self, free: dict[str, int], wanted: int, size: int) -> None:
        self.free, self.wanted, self.size = free, wanted, size
        self.tries = 0

    def fits(self, victims: Sequence[model.Run]) -> frozenset[str] | None:
        self.tries += 1
        free = dict(self.free)
        for run in victims:
            for name, amounts in run.admission.holds.items():
                free[name] += amounts[GPU]
        used: list[str] = []
        for name in sorted(free):
            used += [name] * (free[name] // self.size)
        return frozenset(used[: self.wanted]) if len(used) >= self.wanted else None


@st.composite
def crowds(draw: st.DrawFn, *, most: int) -> tuple[list[model.Run], Nodes]:
    names = ['a', 'b', 'c', 'd']
    runs = []
    for i in range(draw(st.integers(1, most))):
        on = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3))
        priority, gpus = draw(st.integers(0, 3)), draw(st.integers(1, 3))
        (pods,) = job('x', gpus=gpus).pod_sets
        workload = job(f'j{i:02}', model.PodSet(request=pods.request), priority=priority)
        admitted = draw(st.integers(0, 90))
        runs.append(running(workload, *on, admitted=admitted, saved=draw(st.none() | st.integers(admitted, 95))))
    free = {name: draw(st.integers(0, 2)) for name in names}
    return runs, Nodes(free, draw(st.integers(1, 4)), draw(st.integers(1, 4)))


@given(crowds(most=8))
def test_B_06_equal_to_trying_all(crowd: tuple[list[model.Run], Nodes]) -> None:
    runs, nodes = crowd
    found = search.fewest(runs, nodes.fits, now=NOW)

    sets = [each for many in range(1, len(runs) + 1) for each in itertools.combinations(runs, many)]
    fitting = [each for each in sets if nodes.fits(each) is not None]
    best = min((search.preference(each, NOW, rank) for each in fitting), default=None)
    assert (found and search.preference(found, NOW, rank)) == best


@given(crowds(most=24), st.booleans(), st.randoms())
def test_B_05_enough_and_nobody_in_vain(
    crowd: tuple[list[model.Run], Nodes], lowest_first: bool, random: object
) -> None:
    runs, nodes = crowd
    found = search.fewest(runs, nodes.fits, now=NOW, lowest_first=lowest_first)
    if found is None:
        assert nodes.fits(runs) is None
        return
    assert nodes.fits(found) is not None
    for each in found if len(found) > 1 else ():
        assert nodes.fits([other for other in found if other is not each]) is None


@given(crowds(most=20), st.data())
def test_the_order_of_candidates_does_not_matter(crowd: tuple[list[model.Run], Nodes], data: st.DataObject) -> None:
    runs, nodes = crowd
    shuffled = data.draw(st.permutations(runs))

    assert search.fewest(shuffled, nodes.fits, now=NOW) == search.fewest(runs, nodes.fits, now=NOW)


@pytest.mark.parametrize(
    ('one', 'other'),
    [
        pytest.param({'priority': 1}, {'priority': 2}, id='the lower priority'),
        pytest.param({'admitted': 50}, {'admitted': 10}, id='less work lost'),
        pytest.param({'admitted': 10, 'saved': 95}, {'admitted': 50}, id='a late checkpoint'),
        pytest.param({'name': 'a'}, {'name': 'b'}, id='the first name'),
    ],
)
def test_who_of_two_goes(one: dict[str, object], other: dict[str, object]) -> None:
    def run(name: str = 'z', priority: int = 0, admitted: float = 20, saved: float | None = None) -> model.Run:
        return running(job(name, priority=priority), 'n', admitted=admitted, saved=saved)

    first, second = run(**one), run(**{'name': 'y'} | other)  # type: ignore[arg-type]

    assert search.fewest([second, first], Nodes({'n': 0}, 1, 1).fits, now=NOW) == (first,)
