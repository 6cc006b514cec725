"""Worked tables of placement, in the notation of :mod:`tests.scheduler.topology.build`."""

import pytest

from jobset.scheduler.topology import results, tree
from jobset.scheduler.topology.requests import Profile
from tests.scheduler.topology import build

MIXED, BESTFIT, BALANCED = Profile.MIXED, Profile.BESTFIT_ONLY, Profile.BALANCED

SIX_WAYS = '{[3 3] [2 1]} {[4 2] [1]}'
WAYS = {
    'required rack': ('required', 'rack', MIXED),
    'required block': ('required', 'block', MIXED),
    'preferred rack': ('preferred', 'rack', MIXED),
    'LFC': ('unconstrained', None, MIXED),
    'BestFit': ('unconstrained', None, BESTFIT),
    'balanced': ('preferred', 'rack', BALANCED),
}
SAME_TREE = {
    1: (
        '{…} {[· ·] [1]}',
        '{…} {[· ·] [1]}',
        '{…} {[· ·] [1]}',
        '{[· ·] [· 1]} {…}',
        '{[· ·] [· 1]} {…}',
        '{[· ·] [· 1]} {…}',
    ),
    2: (
        '{[· ·] [2 ·]} {…}',
        '{…} {[· 2] [·]}',
        '{[· ·] [2 ·]} {…}',
        '{[· ·] [2 ·]} {…}',
        '{[· ·] [2 ·]} {…}',
        '{[· ·] [2 ·]} {…}',
    ),
    4: (
        '{[3 1] [· ·]} {…}',
        '{…} {[4 ·] [·]}',
        '{[3 1] [· ·]} {…}',
        '{…} {[4 ·] [·]}',
        '{…} {[4 ·] [·]}',
        '{…} {[4 ·] [·]}',
    ),
    6: (
        '{[3 3] [· ·]} {…}',
        '{…} {[4 2] [·]}',
        '{[3 3] [· ·]} {…}',
        '{[· ·] [2 1]} {[· 2] [1]}',
        '{[· ·] [2 ·]} {[4 ·] [·]}',
        '{[3 3] [· ·]} {…}',
    ),
    7: (
        'fail 6/7',
        '{…} {[4 2] [1]}',
        '{…} {[4 2] [1]}',
        '{[1 ·] [2 1]} {[· 2] [1]}',
        '{[3 ·] [· ·]} {[4 ·] [·]}',
        '{[3 2] [2 ·]} {…}',
    ),
    8: (
        'fail 6/8',
        '{[3 3] [2 ·]} {…}',
        '{[3 3] [2 ·]} {…}',
        '{[2 ·] [2 1]} {[· 2] [1]}',
        '{[3 ·] [· 1]} {[4 ·] [·]}',
        '{[3 3] [2 ·]} {…}',
    ),
    9: (
        'fail 6/9',
        '{[3 3] [2 1]} {…}',
        '{[3 3] [2 1]} {…}',
        '{[3 ·] [2 1]} {[· 2] [1]}',
        '{[3 ·] [2 ·]} {[4 ·] [·]}',
        '{[3 3] [2 1]} {…}',
    ),
    13: (
        'fail 6/13',
        'fail 9/13',
        '{[3 3] [· ·]} {[4 2] [1]}',
        '{[3 3] [2 1]} {[1 2] [1]}',
        '{[3 3] [2 1]} {[4 ·] [·]}',
        '{[3 3] [· ·]} {[4 2] [1]}',
    ),
    17: (
        'fail 6/17',
        'fail 9/17',
        'fail 16/17',
        'fail 16/17',
        'fail 16/17',
        'fail 16/17',
    ),
}


@pytest.mark.parametrize(
    ('count', 'way', 'wanted'),
    [(count, way, row[i]) for count, row in SAME_TREE.items() for i, way in enumerate(WAYS)],
)
def test_t1_one_tree_six_ways(count: int, way: str, wanted: str) -> None:
    mode, level, profile = WAYS[way]

    _check(SIX_WAYS, build.place(SIX_WAYS, build.request(count, mode, level), profile), wanted)


@pytest.mark.parametrize(
    ('tree', 'mode', 'level', 'count', 'wanted'),
    [
        ('{[2] [2] [1 1 1 1]}', 'required', 'block', 4, '{[·] [·] [1 1 1 1]}'),
        ('{[1 2 1]}', 'required', 'block', 2, '{[· 2 ·]}'),
        ('[2 1 4]', 'preferred', 'host', 5, '[· 1 4]'),
        ('[1 3] [1 2]', 'required', 'host', 1, '[1 ·] [· ·]'),
        ('[1 3] [1 2]', 'required', 'host', 2, '[· ·] [· 2]'),
        ('[1 3] [1 2]', 'required', 'host', 3, '[· 3] [· ·]'),
        ('[1 3] [1 2]', 'required', 'host', 4, 'fail 3/4'),
        ('[1 3] [1 2]', 'required', 'rack', 1, '[· ·] [1 ·]'),
        ('[1 3] [1 2]', 'required', 'rack', 4, '[1 3] [· ·]'),
        ('[1 3] [1 2]', 'required', 'rack', 5, 'fail 4/5'),
        ('[1 3] [1 2]', 'preferred', 'host', 4, '[1 3] [· ·]'),
        ('[1 3] [1 2]', 'preferred', 'host', 6, '[1 3] [· 2]'),
        ('[1 3] [1 2]', 'preferred', 'host', 10, 'fail 7/10'),
    ],
)
def test_t2_best_fit(tree: str, mode: str, level: str, count: int, wanted: str) -> None:
    _check(tree, build.place(tree, build.request(count, mode, level)), wanted)


@pytest.mark.parametrize(
    ('count', 'least_free', 'best_fit'),
    [
        (1, '[· · · 1]', '[· · · 1]'),
        (2, '[· · 2 ·]', '[· · 2 ·]'),
        (3, '[3 · · ·]', '[3 · · ·]'),
        (4, '[1 · 2 1]', '[3 · · 1]'),
        (7, '[3 1 2 1]', '[3 3 · 1]'),
        (9, '[3 3 2 1]', '[3 3 2 1]'),
    ],
)
def test_t3_least_free_capacity_and_best_fit(count: int, least_free: str, best_fit: str) -> None:
    tree = '[3 3 2 1]'

    _check(tree, build.place(tree, build.request(count, 'unconstrained')), least_free)
    _check(tree, build.place(tree, build.request(count, 'unconstrained'), BESTFIT), best_fit)


def test_t3_small_leftovers_are_scattered_unless_tight_domains_are_wanted() -> None:
    tree = '{[1 4 1]} {[1 2]}'

    _check(tree, build.place(tree, build.request(6, 'unconstrained')), '{[1 1 1]} {[1 2]}')
    _check(tree, build.place(tree, build.request(6, 'unconstrained'), Profile.HIERARCHICAL), '{[1 4 1]} {…}')


@pytest.mark.parametrize(
    ('tree', 'mode', 'level', 'size', 'at', 'count', 'wanted'),
    [
        ('{[4 6 5 2]}', 'required', 'block', 2, 'host', 12, '{[4 6 · 2]}'),
        ('{[2 3 2]}', 'required', 'block', 2, 'host', 4, '{[2 · 2]}'),
        ('{[2 4 3]}', 'required', 'block', 2, 'host', 6, '{[2 4 ·]}'),
        ('{[3 3 3]}', 'required', 'block', 2, 'host', 6, '{[2 2 2]}'),
        ('{[3 3 3]} {[6]}', 'preferred', 'block', 3, 'host', 12, '{[3 3 ·]} {[6]}'),
        ('{[1 4 1]} {[1 2]}', 'slice-only', None, 2, 'host', 6, '{[· 4 ·]} {[· 2]}'),
        ('{[2] [2] [2]} {[3] [3]}', 'required', 'block', 3, 'rack', 6, '{…} {[3] [3]}'),
        ('{[2] [2] [2]}', 'required', 'block', 3, 'rack', 6, 'fail 0/2'),
        ('{[3] [1] [1] [1]}', 'required', 'block', 3, 'rack', 6, 'fail 1/2'),
        ('{[1] [1 1 1]} {[1] [2]}', 'preferred', 'block', 2, 'rack', 4, '{[·] [1 1 ·]} {[·] [2]}'),
        ('{[1] [1 1 1]} {[1] [2]}', 'slice-only', None, 2, 'rack', 4, '{[·] [1 1 ·]} {[·] [2]}'),
        ('[6 5 4 3 2]', 'preferred', 'host', 2, 'host', 12, '[6 · 4 · 2]'),
        ('[6 5 4 3 2]', 'preferred', 'host', 2, 'host', 10, '[6 · 4 · ·]'),
        ('[6 5 4 3 2]', 'unconstrained', None, 2, 'host', 10, '[· 2 4 2 2]'),
    ],
)
def test_t4_slices(*, tree: str, mode: str, level: str | None, size: int, at: str, count: int, wanted: str) -> None:
    _check(tree, build.place(tree, build.request(count, mode, level, slices=[(at, size)])), wanted)


@pytest.mark.parametrize(
    ('tree', 'level', 'slices', 'count', 'wanted'),
    [
        ('{[1 4] [3 4]}', 'block', [('rack', 4), ('host', 2)], 8, '{[· 4] [2 2]}'),
        ('{[1 4] [3 4]}', 'block', [('rack', 4)], 8, '{[1 3] [3 1]}'),
        ('{[3 3 0]}', 'block', [('rack', 6), ('host', 2)], 6, 'rack 0/1, host 2/3'),
        ('{[7 4] [7 3]}', 'block', [('rack', 8), ('host', 4)], 16, 'rack 1/2, host 3/4'),
        ('{[4] [4] [4]}', 'block', [('rack', 6), ('host', 2)], 12, 'rack 0/2, host 6/6'),
        (
            '<{[4 4] [4 4]} {[4 4] [1 1]}>',
            'dc',
            [('block', 12), ('rack', 6), ('host', 3)],
            24,
            'block 1/2, rack 3/4, host 6/8',
        ),
    ],
)
def test_t5_layers(tree: str, level: str, slices: list[tuple[str, int]], count: int, wanted: str) -> None:
    answer = build.place(tree, build.request(count, 'required', level, slices=slices))

    if '[' in wanted:
        _check(tree, answer, wanted)
        return
    parts = [part.split() for part in wanted.split(', ')]
    listed = '; '.join(f'{numbers} slice(s) fit on level {at}' for at, numbers in parts)
    assert build.text_of(answer).split('. Total')[0] == f"doesn't allow to fit; {listed}"


def test_t5_two_zones_take_whole_racks_each() -> None:
    levels = ('dc', 'zone', 'block', 'rack', 'host')
    hosts = [
        build.host(('dc', f'z{zone}', f'b{block}', f'r{block * 2 + rack + 1}', f'{host:02}'), 2, levels)
        for zone in range(2)
        for block in range(2)
        for rack in range(2)
        for host in range(18)
    ]
    where = tree.Tree.of(hosts, levels, ('u',), by_node=True)

    answer = build.place(where, build.request(96, 'required', 'dc', units=2, slices=[('zone', 48), ('rack', 16)]))

    by_rack: dict[tuple[str, str], int] = {}
    for leaf, pods in build.pods_of(answer).items():
        by_rack[leaf[1], leaf[3]] = by_rack.get((leaf[1], leaf[3]), 0) + pods
    assert by_rack == {(zone, rack): 16 for zone in ('z0', 'z1') for rack in ('r1', 'r2', 'r3')}


@pytest.mark.parametrize(
    ('tree', 'level', 'count', 'slices', 'wanted'),
    [
        ('{[15] [15]}', 'rack', 25, [], '{[13] [12]}'),
        ('{[15 13 10]}', 'rack', 23, [], '{[12 11 ·]}'),
        ('{[20 15 10]}', 'rack', 25, [('host', 5)], '{[· 15 10]}'),
        ('{[20 10]} {[15 15]}', 'rack', 22, [], '{…} {[11 11]}'),
        ('{[14 11]} {[15 10]}', 'rack', 25, [], '{[14 11]} {…}'),
        ('{[15] [15] [15 15]}', 'rack', 25, [('host', 5)], '{[·] [·] [15 10]}'),
        ('{[20 8] [15 13 10]}', 'host', 22, [], '{[· ·] [11 11 ·]}'),
        ('{[10 5] [5 5 5]}', 'rack', 15, [], '{[· ·] [5 5 5]}'),
        ('{[8 8 8] [16 8]}', 'rack', 24, [], '{[8 8 8] [· ·]}'),
        ('[21 9] [11 10 10]', 'rack', 23, [], '[12 ·] [11 · ·]'),
        ('{[5 5] [5 5]} {[10 4 4 4] [5] [5]}', 'rack', 20, [], '{[5 5] [5 5]} {…}'),
        ('<{[18] [8]} {[15] [9 7]}>', 'block', 20, [('host', 2)], '<{…} {[10] [8 2]}>'),
        ('<{[18] [8]} {[15] [9 7]}>', 'block', 20, [('rack', 2)], '<{…} {[10] [3 7]}>'),
        ('{[15 13 10] [20 8]}', 'host', 22, [('host', 2)], '{[· 12 10] [· ·]}'),
    ],
)
def test_t6_balanced(tree: str, level: str, count: int, slices: list[tuple[str, int]], wanted: str) -> None:
    _check(tree, build.place(tree, build.request(count, 'preferred', level, slices=slices), BALANCED), wanted)


def test_t6_best_fit_of_the_same() -> None:
    _check('{[15] [15]}', build.place('{[15] [15]}', build.request(25, 'preferred', 'rack')), '{[15] [10]}')
    _check('{[15 13 10]}', build.place('{[15 13 10]}', build.request(23, 'preferred', 'rack')), '{[15 · 8]}')


def test_t6_a_share_that_leaves_cannot_hold_is_never_dealt() -> None:
    """The rack of two fives holds two slices of two each, and not five."""
    tree = '<{[3] [5 5]}>'

    _check(
        tree, build.place(tree, build.request(10, 'preferred', 'dc', slices=[('host', 2)]), BALANCED), '<{[2] [4 4]}>'
    )


@pytest.mark.parametrize(
    ('tree', 'mode', 'level', 'leader', 'count', 'units', 'slices', 'profile', 'leads', 'works'),
    [
        ('[2 4 3]', 'required', 'rack', 1, 4, 2, [], MIXED, '[· · 1]', '[1 2 1]'),
        ('[2 4 3]', 'required', 'rack', 1, 8, 1, [('host', 2)], MIXED, '[· · 1]', '[2 4 2]'),
        ('[8 3]', 'preferred', 'host', 1, 5, 2, [], MIXED, '[· 1]', '[4 1]'),
        ('{[10]} {[6]}', 'required', 'block', 1, 5, 1, [], MIXED, '{[·]} {[1]}', '{[·]} {[5]}'),
        ('{[7 5]}', 'preferred', 'rack', 1, 10, 1, [], BALANCED, '{[1 ·]}', '{[5 5]}'),
        ('{[6 5]}', 'preferred', 'rack', 1, 10, 1, [], BALANCED, '{[1 ·]}', '{[5 5]}'),
        ('{[20 15 12]}', 'preferred', 'rack', 1, 25, 1, [('host', 5)], BALANCED, '{[· · 1]}', '{[· 15 10]}'),
        ('{[3] [3] [8]} {[11]}', 'preferred', 'block', 5, 7, 1, [], BALANCED, '{[·] [·] [1]} {…}', '{[3] [1] [3]} {…}'),
    ],
)
def test_t7_leader_and_workers(
    *,
    tree: str,
    mode: str,
    level: str,
    leader: int,
    count: int,
    units: int,
    slices: list[tuple[str, int]],
    profile: Profile,
    leads: str,
    works: str,
) -> None:
    # One rack in the notation of a single list is a rack here, where the table asks for racks.
    tree, leads, works = (f'{text} ' + '[·]' * (level == 'rack' and '{' not in tree) for text in (tree, leads, works))

    answer = build.place(tree, build.request(count, mode, level, units=units, slices=slices, leader=leader), profile)

    _check(tree, answer, works)
    assert isinstance(answer, results.Assignment)
    assert answer.leader is not None
    assert build.shown(tree, {answer.leader: 1}) == build.expected(tree, leads)


@pytest.mark.parametrize(
    ('tree', 'mode', 'level', 'count', 'slices', 'wanted'),
    [
        ('[8 2p]', 'preferred', 'host', 1, [], '[· 1]'),
        ('[2p] [4 4]', 'required', 'rack', 4, [], '[·] [4 ·]'),
        ('{[2p] [4]}', 'preferred', 'rack', 4, [], '{[2] [2]}'),
        ('[2p 1p 2 1]', 'preferred', 'host', 5, [], '[2 1 2 ·]'),
        ('[2p 1p 2 1 1]', 'unconstrained', None, 5, [], '[2 1 · 1 1]'),
        ('[2p 1p 2 2 1]', 'preferred', 'host', 4, [('host', 2)], '[2 · 2 · ·]'),
    ],
)
def test_t8_preferred_nodes(
    *, tree: str, mode: str, level: str | None, count: int, slices: list[tuple[str, int]], wanted: str
) -> None:
    _check(tree, build.place(tree, build.request(count, mode, level, slices=slices, prefers=True)), wanted)


def _check(tree: str, answer: object, wanted: str) -> None:
    if wanted.startswith('fail'):
        fitting, asked = map(int, wanted.split()[1].split('/'))
        assert isinstance(answer, results.NoRoom), answer
        assert (answer.fitting, answer.wanted) == (fitting, asked)
        return
    assert build.shown(tree, build.pods_of(answer)) == build.expected(tree, wanted)
