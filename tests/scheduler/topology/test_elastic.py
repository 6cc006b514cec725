"""Growing and shrinking what runs, and replacing what was lost."""

import pytest

from jobset.scheduler.topology import elastic, placing, requests, results, single, tree
from tests.scheduler.topology import build


def running(on: str, text: str, wanted: requests.Request, leader: tuple[str, ...] | None = None) -> placing.Placer:
    """A placer whose tree holds pods as written, besides what is free according to ``on``."""
    where = build.topology(on)
    elastic.take(where, wanted, current(on, text, leader))
    return placing.Placer(where)


def current(on: str, text: str, leader: tuple[str, ...] | None = None) -> results.Assignment:
    """An assignment as written."""
    found = build.leaves(build.expected(on, text))
    pods = {path: int(number) for path, number in found.items() if int(number)}
    return results.Assignment(name='workers', pods=pods, leader=leader)


@pytest.mark.parametrize(
    ('hosts', 'before', 'count', 'after'),
    [
        pytest.param('[2 2 2]', '[2 · ·]', 4, '[2 2 ·]', id='the rest goes elsewhere'),
        pytest.param('[2 2 2]', '[1 1 ·]', 4, '[1 1 2]', id='old pods stay though others would be tighter'),
        pytest.param('[4 4]', '[3 2]', 3, '[3 ·]', id='the last go first'),
        pytest.param('[4 4]', '[3 2]', 5, '[3 2]', id='the same count is the same place'),
        pytest.param('[4 4]', '[3 2]', 9, 'fail', id='no room for so many'),
    ],
)
@pytest.mark.parametrize('parity', [True, False])
def test_t9_elastic(hosts: str, before: str, count: int, after: str, parity: bool) -> None:
    wanted = build.request(count, 'unconstrained')

    answer = running(hosts, before, wanted).resize(wanted, current(hosts, before), single.Settings(parity=parity))

    if after == 'fail':
        assert build.text_of(answer).startswith('allows to fit only 3 out of 4 pod(s)')
        return
    assert build.shown(hosts, build.pods_of(answer)) == build.expected(hosts, after)


def test_t9_a_lost_leader_means_a_fresh_place() -> None:
    hosts, wanted = '[4 4 4]', build.request(3, 'preferred', 'host', leader=1)
    placer = running(hosts, '[· 2 ·]', wanted, leader=('01',))
    (lost,) = [node for node in build.hosts(hosts) if node.name == '01']
    placer.tree.remove_node(lost.name)

    answer = placer.resize(wanted, current(hosts, '[· 2 ·]', ('01',)))

    assert isinstance(answer, results.Assignment)
    assert (answer.pods, answer.leader) == ({('00',): 3}, ('00',))


@pytest.mark.parametrize(
    ('parity', 'after'), [(True, '[4 · ·] [1 ·]'), (False, '[4 1 ·] [· ·]')], ids=['as upstream', 'in its rack']
)
def test_a_required_domain_holds_for_new_pods_too(parity: bool, after: str) -> None:
    hosts, wanted = '[4 4 4] [1 8]', build.request(5, 'required', 'rack')

    answer = running(hosts, '[4 · ·] [· ·]', wanted).resize(
        wanted, current(hosts, '[4 · ·] [· ·]'), single.Settings(parity=parity)
    )

    assert build.shown(hosts, build.pods_of(answer)) == build.expected(hosts, after)


def test_a_preferred_domain_is_left_only_when_full() -> None:
    hosts, wanted = '{[4] [4]} {[9]}', build.request(7, 'preferred', 'rack')

    answer = running(hosts, '{[4] [·]} {[·]}', wanted).resize(wanted, current(hosts, '{[4] [·]} {[·]}'))

    assert build.shown(hosts, build.pods_of(answer)) == build.expected(hosts, '{[4] [3]} {[·]}')


# What is free in these trees is there besides what the pods hold.
REPLACEMENTS = [
    pytest.param('[1 2]', 'required', 'host', [], '[1 ·]', ['00'], '[· 1]', id='one host level'),
    pytest.param(
        '{[2 2 9] [4 4]}',
        'required',
        'block',
        [('rack', 4)],
        '{[2 2 ·] [· ·]}',
        ['00-00-00'],
        '{[· 2 2] [· ·]}',
        id='a broken rack slice stays in its rack',
    ),
    pytest.param(
        '{[2 2] [4 4]}', 'required', 'block', [('rack', 4)], '{[2 2] [· ·]}', ['00-00-00'], 'fail', id='no room there'
    ),
    pytest.param(
        '<{[2 2] [6 6]} {[4 4] [2 2]}>',
        'required',
        'dc',
        [('block', 8), ('rack', 4), ('host', 2)],
        '<{[2 2] [2 2]} {[· ·] [· ·]}>',
        ['00-00-00-00'],
        'fail',
        id='of three layers the innermost broken one holds the pods, here a full rack',
    ),
    pytest.param(
        '<{[2 2 5] [6 6 ·]} {[4 4 ·] [2 2 ·]}>',
        'required',
        'dc',
        [('block', 8), ('rack', 4), ('host', 2)],
        '<{[2 2 ·] [2 2 ·]} {…}>',
        ['00-00-00-00'],
        '<{[· 2 2] [2 2 ·]} {…}>',
        id='three layers, innermost broken is the rack',
    ),
    pytest.param(
        '{[4 4] [3 3 3]}',
        'required',
        'block',
        [('rack', 4), ('host', 2)],
        '{[4 ·] [· · ·]}',
        ['00-00-00'],
        '{[· 4] [· · ·]}',
        id='a whole slice goes to a whole place',
    ),
    pytest.param(
        '{[4 · 1 3 2]}',
        'required',
        'block',
        [('rack', 4), ('host', 2)],
        '{[4 · · · ·]}',
        ['00-00-00'],
        '{[· · · 2 2]}',
        id='pairs stay pairs',
    ),
    pytest.param('[2 2] [9 9]', 'required', 'rack', [], '[2 1] [· ·]', ['00-00'], 'fail', id='required: never outside'),
    pytest.param(
        '[2 4] [9 9]', 'required', 'rack', [], '[2 1] [· ·]', ['00-00'], '[· 3] [· ·]', id='required: beside the rest'
    ),
    pytest.param('[2 1] [9 9]', 'unconstrained', None, [], '[2 1] [· ·]', ['00-00'], '[· 1] [2 ·]', id='anywhere'),
]


@pytest.mark.parametrize(('free', 'mode', 'level', 'slices', 'before', 'lost', 'after'), REPLACEMENTS)
@pytest.mark.parametrize('parity', [True, False], ids=['parity', 'ours'])
@pytest.mark.parametrize('is_deleted', [True, False], ids=['node deleted', 'node sick'])
def test_replacement(
    *,
    free: str,
    mode: str,
    level: str | None,
    slices: list[tuple[str, int]],
    before: str,
    lost: list[str],
    after: str,
    parity: bool,
    is_deleted: bool,
) -> None:
    runs = current(free, before)
    wanted = build.request(runs.count, mode, level, slices=slices)
    placer = running(free, before, wanted)
    leaves = {tuple(name.split('-')) for name in lost}
    if is_deleted:
        for name in lost:
            placer.tree.remove_node(name)

    answer = placer.replace(wanted, runs, leaves, single.Settings(parity=parity))

    if after == 'fail':
        assert build.text_of(answer)
        return
    assert build.shown(free, build.pods_of(answer)) == build.expected(free, after)


def test_a_single_pod_is_never_moved() -> None:
    wanted, runs = build.request(1, 'required', 'host'), current('[1 2]', '[1 ·]')

    assert running('[1 2]', '[1 ·]', wanted).replace(wanted, runs, [('00',)], is_movable=False) == runs


def test_a_rack_whose_name_begins_like_another_is_another() -> None:
    levels = ('rack', 'host')
    hosts = [build.host(path, 2, levels) for path in [('r1', 'a'), ('r1', 'b'), ('r1', 'c'), ('r1-x', 'a')]]
    where = tree.Tree.of(hosts, levels, ('u',), by_node=True)
    wanted = build.request(4, 'required', 'rack', slices=[('rack', 4)])
    runs = results.Assignment(name='workers', pods={('r1', 'a'): 2, ('r1', 'b'): 2})
    elastic.take(where, wanted, runs)
    placer = placing.Placer(where)

    assert build.pods_of(placer.replace(wanted, runs, [('r1', 'a')])) == {('r1', 'b'): 2, ('r1', 'c'): 2}
    where.remove_node('r1-c')
    assert build.text_of(placer.replace(wanted, runs, [('r1', 'a')])) == (
        'doesn\'t allow to fit any of 2 pod(s). Total nodes: 3; excluded: excludedNode: 1, resource "u": 1, '
        'topologyDomain: 1'
    )


def test_several_lost_nodes_each_come_back_where_they_belong() -> None:
    free, before = '{[2 2 2] [2 2 2]}', '{[2 2 ·] [2 2 ·]}'
    wanted = build.request(8, 'required', 'block', slices=[('rack', 4), ('host', 2)])
    lost = [('00', '00', '00'), ('00', '01', '01')]

    ours = running(free, before, wanted).replace(wanted, current(free, before), lost)
    theirs = running(free, before, wanted).replace(wanted, current(free, before), lost, single.Settings(parity=True))

    assert build.shown(free, build.pods_of(ours)) == build.expected(free, '{[· 2 2] [2 · 2]}')
    assert build.text_of(theirs) == 'lost 2 domains of the assignment; only 1 can be replaced'


def test_a_whole_slice_of_two_lost_nodes_stays_whole_in_another_rack() -> None:
    free, before = '{[2 2] [4 1] [3 3]}', '{[2 2] [· ·] [· ·]}'
    wanted = build.request(4, 'required', 'block', slices=[('rack', 4)])

    answer = running(free, before, wanted).replace(
        wanted, current(free, before), [('00', '00', '00'), ('00', '00', '01')]
    )

    assert build.shown(free, build.pods_of(answer)) == build.expected(free, '{[· ·] [3 1] [· ·]}')


def test_a_lost_leader_comes_back_beside_its_workers() -> None:
    free, before = '[1 2 1] [9 9 9]', '[· 2 ·] [· · ·]'
    wanted = build.request(2, 'required', 'rack', leader=1)

    answer = running(free, before, wanted, ('00', '00')).replace(
        wanted, current(free, before, ('00', '00')), [('00', '00')]
    )

    assert isinstance(answer, results.Assignment)
    assert (answer.pods, answer.leader) == ({('00', '01'): 2}, ('00', '02'))


def test_nothing_is_held_after_a_replacement_that_failed_half_way() -> None:
    free, before = '{[2 2 2] [2 2]}', '{[2 2 ·] [2 2]}'
    wanted = build.request(8, 'required', 'block', slices=[('rack', 4)])
    placer = running(free, before, wanted)
    held = placer.tree.free.copy()

    answer = placer.replace(wanted, current(free, before), [('00', '00', '00'), ('00', '01', '01')])

    assert isinstance(answer, results.NoRoom)
    assert (placer.tree.free == held).all()
