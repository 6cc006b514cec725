"""Who of those that may be evicted goes."""

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobset.scheduler.model import Run
from jobset.scheduler.preemption import reasons, search, trials
from jobset.scheduler.preemption.preferences import Preference, preference
from jobset.scheduler.preemption.search import Strategy
from jobset.scheduler.topology import requests
from jobset.scheduler.topology.requests import Mode
from tests.scheduler.preemption.crowds import CLUSTER, GPU, NOW, Sizes, names, pods, run, trial

LOWEST = Strategy.LOWEST_PRIORITY_FIRST


def victims(
    sizes: Sizes, runs: Sequence[Run], *gang: requests.Request, strategy: Strategy = Strategy.FEWEST, **more: int
) -> list[str] | None:
    found = search.fewest(runs, trial(sizes, runs, *gang, **more), now=NOW, strategy=strategy)
    return names(found)


def hopeless(sizes: Sizes, runs: Sequence[Run], *gang: requests.Request, **more: int) -> str:
    """Why nobody goes."""
    where = trial(sizes, runs, *gang, **more)
    assert search.fewest(runs, where, now=NOW) is None
    return reasons.hopeless(runs, where)


def test_B_04_nobody_goes_where_it_fits_already() -> None:
    assert victims({'n': 2, 'm': 1}, [run('a')], pods(gpus=1)) == []
    crowd = [run(f'x{i:02}') for i in range(20)]
    assert victims({'n': 20, 'm': 1}, crowd, pods(gpus=1)) == []


def test_without_candidates() -> None:
    assert victims({'n': 1}, [], pods()) == []
    assert victims({'n': 1}, [], pods(gpus=2)) is None
    assert victims({'n': 1}, [run('nowhere', on={})], pods(gpus=2)) is None


def test_B_05a_too_little_in_sum() -> None:
    runs = [run('a'), run('b', 1, {'n': 2})]

    assert hopeless({'n': 3}, runs, pods(gpus=4)) == '4 gpu missing, and the 2 that may be evicted hold 3'


def test_B_05b_too_little_on_each_node() -> None:
    runs = [run('a', on={'n1': 1}), run('b', on={'n2': 1})]

    assert hopeless({'n1': 1, 'n2': 1}, runs, pods(gpus=2)) == 'no node can be emptied enough by evicting any of 2'


def test_B_05c_room_for_a_part_of_the_gang() -> None:
    runs = [run(f'x{i}', on={f'n{i}': 2}) for i in range(3)] + [run('y', on={'n3': 1}), run('z', on={'n4': 1})]
    sizes = {'n0': 2, 'n1': 2, 'n2': 2, 'n3': 1, 'n4': 1}

    assert hopeless(sizes, runs, pods(4, 2)) == 'no node can be emptied enough by evicting any of 5'
    assert victims(sizes, runs, pods(3, 2)) == ['x0', 'x1', 'x2']


def test_B_05d_enough_of_one_resource() -> None:
    runs = [run('a', on={'n': {GPU: 2, 'memory': 1}})]

    told = hopeless({'n': 2}, runs, pods(gpus=2, memory=4), memory=3)
    assert told == '2 memory missing, and the 1 that may be evicted hold 1'
    assert victims({'n': 2}, runs, pods(gpus=2, memory=3), memory=3) == ['a']


EXAMPLES = [
    pytest.param(2, {'A': (1, 1), 'B': (1, 1), 'C': (1, 2)}, 4, Strategy.FEWEST, ['C'], id='one instead of two'),
    pytest.param(
        5, {'0': (0, 1), '1': (1, 2), '2': (2, 5), '3': (3, 2)}, 10, Strategy.FEWEST, ['2'], id='as Karmada has it'
    ),
    pytest.param(4, {'A': (0, 1), 'B': (1, 2)}, 6, Strategy.FEWEST, ['A'], id='a gap of one'),
    pytest.param(2, {'A': (0, 1), 'B': (0, 1), 'C': (5, 2)}, 4, Strategy.FEWEST, ['C'], id='fewest'),
    pytest.param(2, {'A': (0, 1), 'B': (0, 1), 'C': (5, 2)}, 4, LOWEST, ['A', 'B'], id='lowest'),
    pytest.param(2, {'A': (0, 1), 'B': (1, 2), 'C': (5, 2)}, 5, LOWEST, ['B'], id='lowest, but none in vain'),
]


@pytest.mark.parametrize(('need', 'crowd', 'size', 'strategy', 'expected'), EXAMPLES)
def test_B_06_fewest_in_every_order(
    need: int, crowd: dict[str, tuple[int, int]], size: int, strategy: Strategy, expected: list[str]
) -> None:
    runs = [run(name, priority, {'n': gpus}) for name, (priority, gpus) in crowd.items()]

    for order in itertools.permutations(runs):
        assert victims({'n': size}, order, pods(gpus=need), strategy=strategy) == expected


@pytest.mark.parametrize(
    ('one', 'other'),
    [
        pytest.param({'priority': 1}, {'priority': 2}, id='lower priority'),
        pytest.param({'admitted': 500}, {'admitted': 400}, id='less work lost'),
        pytest.param({'admitted': 100, 'saved': 990.0}, {'admitted': 400}, id='less work lost since a checkpoint'),
        pytest.param({'on': {'n': 1}}, {'on': {'n': 2}}, id='less surplus'),
        pytest.param({'admitted': 500, 'saved': 900.0}, {'admitted': 400, 'saved': 900.0}, id='younger'),
        pytest.param({'name': 'a'}, {'name': 'b'}, id='first by name'),
    ],
)
@pytest.mark.parametrize('others', [0, 12])
def test_B_06_ties(one: dict[str, object], other: dict[str, object], others: int) -> None:
    runs = [run(**({'name': 'x'} | one)), run(**({'name': 'w' if one.get('name') is None else 'b'} | other))]  # type: ignore[arg-type]
    dear = [run(f'z{i}', 4) for i in range(others)]
    size = sum(each.admission.holds['n'][GPU] for each in [*runs, *dear])

    expected = [runs[0].workload.key.removeprefix('a/')]
    assert victims({'n': size}, [*runs, *dear], pods()) == expected
    assert victims({'n': size}, [*dear, *reversed(runs)], pods()) == expected


def test_B_06_several_replicas_with_some_room() -> None:
    runs = [run('a', 1, {'n': 1}), run('b', 1, {'n': 2})]

    assert victims({'n': 6}, runs, pods(2, 2)) == ['a']


CLUSTERS = {('X', 'x1'): 1, ('X', 'x2'): 1, ('Y', 'y1'): 1, ('Y', 'y2'): 1, ('Z', 'z1'): 1, ('Z', 'z2'): 1}
TOGETHER = pods(2, mode=Mode.REQUIRED, level=CLUSTER)
IN_X = [run('a', on={'x1': 1}), run('b', on={'x2': 1})]


def test_B_13_the_cluster_with_the_fewest_victims() -> None:
    in_y = [run('gang', 4, {'y1': 1, 'y2': 1})]
    full = [*IN_X, *in_y]

    assert victims(CLUSTERS, full, TOGETHER) == []
    without_z = {key: size for key, size in CLUSTERS.items() if key[0] != 'Z'}
    # A gang over several nodes is one.
    assert victims(without_z, full, TOGETHER) == ['gang']
    # With as many on both sides, the lower priorities go.
    in_y = [run('c', 0, {'y1': 1}), run('d', 1, {'y2': 1})]
    assert victims(without_z, [*IN_X, *in_y], TOGETHER) == ['a', 'b']
    # One cluster each would be two clusters for a gang.
    half = {('X', 'x1'): 1, ('Y', 'y1'): 1}
    assert victims(half, [run('a', on={'x1': 1}), run('c', on={'y1': 1})], TOGETHER) is None


def test_B_13_in_a_large_crowd() -> None:
    crowd = [run(f'o{i:02}', 0, {f'o{i:02}': 1}) for i in range(15)]
    # Each alone in its cluster: no help for a gang of two.
    sizes = {('X', 'x1'): 1, ('X', 'x2'): 1, ('Y', 'y1'): 1, ('Y', 'y2'): 1}
    sizes |= {(f'O{i:02}', f'o{i:02}'): 1 for i in range(15)}

    assert victims(sizes, [*IN_X, run('gang', 4, {'y1': 1, 'y2': 1}), *crowd], TOGETHER) == ['gang']


def test_F12_smallest_sufficient_set() -> None:
    # One slot is wanted: a gang of eleven would do, and so does a single one.
    gang = run('gang', 0, {f'n{i}': 1 for i in range(11)})

    assert victims({f'n{i}': 1 for i in range(12)}, [gang, run('one', 1, {'n11': 1})], pods()) == ['gang']
    equal = run('one', 0, {'n11': 1})
    assert victims({f'n{i}': 1 for i in range(12)}, [gang, equal], pods()) == ['one']


def test_F12_no_eviction_that_frees_nothing_of_use() -> None:
    idle = run('idle', 0, {'n': {'cpu': 5}})
    busy = [run(f'x{i:02}', 1) for i in range(13)]

    assert victims({'n': 13}, [idle, *busy], pods(gpus=13), cpu=5) == names(busy)
    assert victims({'n': 1}, [idle], pods(gpus=2), cpu=5) is None


def test_scenario_20_no_eviction_without_a_start() -> None:
    sizes = {f'n{i}': 8 for i in range(4)}

    def single(i: int, j: int, priority: int) -> Run:
        return run(f'{i}{j}', priority, {f'n{i}': 1}, admitted=j)

    high = [single(i, j, 10) for i in range(4) for j in range(6)]
    low = [single(i, j, 0) for i in range(4) for j in range(6, 8)]
    full = trial(sizes, [*high, *low], pods(gpus=8))

    assert search.fewest(low, full, now=NOW) is None
    assert 'no node can be emptied' in reasons.hopeless(low, full)
    # Now the six on one node are lower, too.
    lowered = [each for each in high if 'n2' in each.admission.holds]
    found = search.fewest([*low, *lowered], full, now=NOW)
    assert names(found) == [f'2{j}' for j in range(8)]
    assert names(search.fewest([*low, *lowered], full, now=NOW, strategy=LOWEST)) == [f'2{j}' for j in range(8)]


def test_fewer_and_dearer_ones_are_found_in_a_large_crowd() -> None:
    singles = [run(f's{i:02}', 0, {'n': 1}) for i in range(30)]
    runs = [*singles, run('pair', 3, {'n': 2}), run('big', 5, {'n': 8})]

    assert victims({'n': 40}, runs, pods(gpus=8)) == ['big']
    assert victims({'n': 40}, runs, pods(gpus=2)) == ['pair']
    assert victims({'n': 40}, runs, pods(gpus=2), strategy=LOWEST) == ['s00', 's01']


@st.composite
def crowds(draw: st.DrawFn, *, most: int) -> tuple[dict[str, int], list[Run], requests.Request]:
    """Nodes with a little room, and gangs on them."""
    on = st.dictionaries(st.sampled_from('abcd'), st.integers(1, 3), min_size=1, max_size=3)
    runs = []
    for i in range(draw(st.integers(1, most))):
        admitted = draw(st.integers(0, 3)) * 100
        saved = draw(st.none() | st.integers(admitted, 999))
        runs.append(run(f'{i:02}', draw(st.integers(0, 3)), draw(on), admitted=admitted, saved=saved))
    sizes = {name: draw(st.integers(0, 2)) for name in 'abcd'}
    for each in runs:
        for name, held in each.admission.holds.items():
            sizes[name] += held[GPU]
    mode = draw(st.sampled_from([(Mode.UNCONSTRAINED, None), (Mode.REQUIRED, 'kubernetes.io/hostname')]))
    return sizes, runs, pods(draw(st.integers(1, 4)), draw(st.integers(1, 4)), mode=mode[0], level=mode[1])


def fits(where: trials.Trial, gone: Sequence[Run]) -> bool:
    where.remove(*gone)
    try:
        return where.place() is not None
    finally:
        where.restore(*gone)


def by_trying_all(where: trials.NodeTrial, runs: Sequence[Run]) -> list[str] | None:
    """The best of all sets, without any shortcut."""
    freed, missing = where.frees(runs), where.missing()
    columns = {name: dict(zip(names(runs) or [], column, strict=True)) for name, column in freed.items()}
    totals = {name: max(1, sum(column)) for name, column in freed.items()}

    def order(victims: Sequence[Run]) -> Preference:
        keys = names(victims) or []
        beyond = [
            max(0, sum(columns[name][key] for key in keys) - missing.get(name, 0)) / totals[name]
            for name in sorted(totals)
        ]
        return preference(victims, NOW, surplus=sum(beyond))

    for many in range(len(runs) + 1):
        enough = [each for each in itertools.combinations(runs, many) if fits(where, each)]
        if enough:
            return names(min(enough, key=order))
    return None


@settings(max_examples=150, deadline=None)
@given(crowds(most=7))
def test_B_06_equal_to_trying_all(crowd: tuple[dict[str, int], list[Run], requests.Request]) -> None:
    sizes, runs, wanted = crowd
    where = trial(sizes, runs, wanted)

    assert names(search.fewest(runs, where, now=NOW)) == by_trying_all(where, runs)


@settings(max_examples=5, deadline=None)
@given(crowds(most=12))
def test_B_06_equal_to_trying_all_of_twelve(crowd: tuple[dict[str, int], list[Run], requests.Request]) -> None:
    sizes, runs, wanted = crowd
    where = trial(sizes, runs, wanted)

    assert names(search.fewest(runs, where, now=NOW)) == by_trying_all(where, runs)


@settings(max_examples=200, deadline=None)
@given(crowds(most=30), st.sampled_from(Strategy))
def test_B_05e_enough_and_nobody_in_vain(
    crowd: tuple[dict[str, int], list[Run], requests.Request], strategy: Strategy
) -> None:
    sizes, runs, wanted = crowd
    where = trial(sizes, runs, wanted)

    found = search.fewest(runs, where, now=NOW, strategy=strategy)

    if found is None:
        assert not fits(where, runs)
    else:
        assert fits(where, found)
        assert not any(fits(where, [other for other in found if other is not each]) for each in found)


@settings(max_examples=60, deadline=None)
@given(crowds(most=30), st.sampled_from(Strategy), st.data())
def test_the_order_of_facts_does_not_matter(
    crowd: tuple[dict[str, int], list[Run], requests.Request], strategy: Strategy, data: st.DataObject
) -> None:
    sizes, runs, wanted = crowd
    shuffled = data.draw(st.permutations(runs))

    found = search.fewest(runs, trial(sizes, runs, wanted), now=NOW, strategy=strategy)

    assert search.fewest(shuffled, trial(sizes, shuffled, wanted), now=NOW, strategy=strategy) == found


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 6)), min_size=13, max_size=40), st.integers(1, 40))
def test_B_06_fewest_of_one_capacity_whatever_the_crowd(crowd: list[tuple[int, int]], need: int) -> None:
    runs = [run(f'{i:02}', priority, {'n': gpus}) for i, (priority, gpus) in enumerate(crowd)]
    biggest = list(itertools.accumulate(sorted((gpus for _, gpus in crowd), reverse=True)))

    found = victims({'n': biggest[-1]}, runs, pods(gpus=need))

    fewest = next((i for i, gpus in enumerate(biggest, start=1) if gpus >= need), None)
    assert (found and len(found)) == fewest
