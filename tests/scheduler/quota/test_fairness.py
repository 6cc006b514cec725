"""Whose turn it is."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobset.scheduler.model import Cell, Cohort, Queue, ResourceGroup, Usage
from jobset.scheduler.quota import fairness, history
from jobset.scheduler.quota.checks import Kind
from jobset.scheduler.quota.fairness import Candidate, Tournament
from jobset.scheduler.quota.history import History
from jobset.scheduler.quota.node import Node
from jobset.scheduler.quota.tree import Quotas
from tests.scheduler.quota import build
from tests.scheduler.quota.build import CPU

SPOT, GPU = Cell('spot', 'cpu'), Cell('default', 'gpu')


def candidate(queue: str, cpu: int, *, priority: int = 0, submitted: float = 0) -> Candidate:
    return Candidate(queue=queue, key=f'n/{queue}', usage={CPU: cpu}, priority=priority, submitted=submitted)


@pytest.mark.parametrize(
    ('weight', 'used', 'more', 'expected'),
    [
        pytest.param(1, {CPU: 4, SPOT: 2}, {}, 0, id='all that is its own'),
        pytest.param(1, {CPU: 6, SPOT: 3}, {}, 3 * 1000 / 20, id='flavours of a resource add up'),
        pytest.param(
            1, {CPU: 5, SPOT: 0}, {}, 1000 / 20, id='what is left of one flavour does not make up for another'
        ),
        pytest.param(1, {CPU: 5, GPU: 2}, {}, 2 * 1000 / 5, id='the dominant resource'),
        pytest.param(2, {CPU: 5, GPU: 2}, {}, 2 * 1000 / 5 / 2, id='by weight'),
        pytest.param(1, {CPU: 3}, {CPU: 2}, 1000 / 20, id='with a candidate'),
        pytest.param(0, {CPU: 4}, {}, 0, id='no weight, but nothing borrowed'),
        pytest.param(0, {CPU: 4}, {CPU: 1}, math.inf, id='no weight'),
        pytest.param(1, {Cell('gone', 'tpu'): 1}, {}, math.inf, id='what nobody has'),
    ],
)
def test_E_12_share(weight: float, used: Usage, more: Usage, expected: float) -> None:
    """Of 12 and 8 CPUs in two flavours, and 5 GPUs, a has 4, 2 and none."""
    groups = (ResourceGroup(resources=('cpu', 'gpu'), flavours=('default', 'spot')),)
    own = {CPU: build.quota(4), SPOT: build.quota(2)}
    rest = {CPU: build.quota(8), SPOT: build.quota(6), GPU: build.quota(5)}
    quotas = Quotas(
        [Queue(name='a', cohort='c', groups=groups, quotas=own, weight=weight)], [Cohort(name='c', quotas=rest)]
    )
    quotas.take('a', used)

    assert fairness.share(quotas.path('a')[0], more) == expected
    assert fairness.share(quotas.path('a')[1]) == 0


@pytest.mark.parametrize(
    ('used', 'candidates', 'order'),
    [
        pytest.param({}, [candidate('a', 1, submitted=2), candidate('b', 1, submitted=1)], 'b a', id='first come'),
        pytest.param({}, [candidate('a', 1), candidate('b', 1, priority=1)], 'b a', id='priority'),
        pytest.param({}, [candidate('a', 5, priority=9), candidate('b', 4)], 'b a', id='who does not borrow'),
        pytest.param(
            {'a': 5, 'b': 6},
            [candidate('a', 4), candidate('b', 1)],
            'b a',
            id='the lesser share, with what is asked for',
        ),
        pytest.param({'a': 6, 'w': 7}, [candidate('a', 1), candidate('w', 1)], 'w a', id='by weight'),
        pytest.param(
            {'a': 5, 'x': 9}, [candidate('a', 1), candidate('x', 1)], 'x a', id='the cohort of x is within its quota'
        ),
        pytest.param(
            {'a': 5, 'x': 14, 'y': 0},
            [candidate('y', 1), candidate('x', 1, priority=9), candidate('a', 1)],
            'a y x',
            id='in a cohort that borrows much, the best comes after others, and its worst last',
        ),
        pytest.param(
            {'lone': 9},
            [candidate('lone', 1, priority=1), candidate('other', 1, priority=2), candidate('a', 5, priority=3)],
            'a other lone',
            id='strangers by priority',
        ),
        pytest.param({}, [candidate('gone', 1, priority=1), candidate('a', 1)], 'gone a', id='queue that is not there'),
        pytest.param({}, [], '', id='nobody'),
    ],
)
def test_E_12_fair_order(used: dict[str, int], candidates: list[Candidate], order: str) -> None:
    """4 each for a, b and w, the last with twice the weight; a cohort of x and y, 6 each; two without cohort."""
    queues = [
        build.queue('a', 4, 'all'),
        build.queue('b', 4, 'all'),
        build.queue('w', 4, 'all', weight=2),
        build.queue('x', 6, 'inner'),
        build.queue('y', 6, 'inner'),
        build.queue('lone', 4),
        build.queue('other', 4),
    ]
    quotas = Quotas(queues, [build.cohort('inner', 0, 'all'), build.cohort('all', 20)])
    for name, cpu in used.items():
        quotas.take(name, {CPU: cpu})
    for entries in itertools.permutations(candidates):
        tournament = Tournament(quotas)
        for each in entries:
            tournament.enter(each)
        found = [each.queue for each in iter(tournament.next_queue, None)]

        assert found == order.split()


def test_E_12_borrowers_take_turns() -> None:
    """Three queues want all they can get of what belongs to nobody: in the end each has its part by weight."""
    queues = [build.queue(name, 2, 'c', weight=weight) for name, weight in (('a', 1), ('b', 1), ('c', 2))]
    quotas = Quotas(queues, [build.cohort('c', 12)])
    tournament = Tournament(quotas)
    turns = []
    for queue in queues:
        tournament.enter(candidate(queue.name, 1))
    while (found := tournament.next_queue()) is not None:
        if quotas.fits(found.queue, found.usage):
            quotas.take(found.queue, found.usage)
            turns.append(found.queue)
            tournament.enter(found)

    assert ''.join(turns) == 'aabbcc' + 'cabc' * 3
    assert [quotas.path(each.name)[0].usage[CPU] for each in queues] == [5, 5, 8]


def by_the_rules(quotas: Quotas, candidates: list[Candidate]) -> Candidate | None:
    """Who is next, found by trying each candidate in the tree, and comparing in each cohort from the top down."""

    def standing(node: Node, each: Candidate) -> tuple[bool, float, int, float, str]:
        quotas.take(each.queue, each.usage)
        found = node.is_over(cell for cell, amount in each.usage.items() if amount), fairness.share(node)
        quotas.give_back(each.queue, each.usage)
        return *found, -each.priority, each.submitted, each.queue

    def best(among: list[Candidate], depth: int) -> Candidate:
        children: dict[Node, list[Candidate]] = {}
        for each in among:
            path = quotas.path(each.queue)
            if len(path) == depth + 1:
                return each
            children.setdefault(path[-2 - depth], []).append(each)
        return min(
            (standing(child, winner), winner.queue, winner)
            for child, below in children.items()
            for winner in [best(below, depth + 1)]
        )[-1]

    roots: dict[Node, list[Candidate]] = {}
    for each in candidates:
        roots.setdefault(quotas.path(each.queue)[-1], []).append(each)
    winners = [best(among, 0) for among in roots.values()]
    return min(winners, key=lambda each: (-each.priority, each.submitted, each.queue), default=None)


@settings(max_examples=200, deadline=None)
@given(
    homes=st.lists(st.tuples(st.sampled_from('ccdde-'), st.none() | st.integers(0, 3)), min_size=1, max_size=6),
    asks=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), min_size=6, max_size=6),
    takes=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(0, 4)), max_size=6),
)
def test_each_turn_is_as_the_rules_say(
    homes: list[tuple[str, int | None]], asks: list[tuple[int, int]], takes: list[tuple[int, int, int]]
) -> None:
    """Whatever is taken meanwhile, by whomever."""
    cohorts = [build.cohort('c', 3), build.cohort('d', build.quota(2, lend=1), 'c'), build.cohort('e', 2, 'd')]
    queues = [
        build.queue(f'q{i}', {'default': 3, 'spot': 1})
        if home == '-'
        else build.queue(f'q{i}', build.quota(3, lend=lend), home)
        for i, (home, lend) in enumerate(homes)
    ]
    quotas = Quotas(queues, cohorts)
    tournament = Tournament(quotas)
    left = {
        queue.name: Candidate(queue=queue.name, key='n/j', usage={CPU: cpu, SPOT: spot}, submitted=asks[-1 - i][0])
        for i, (queue, (cpu, spot)) in enumerate(zip(queues, asks, strict=False))
    }
    for each in left.values():
        tournament.enter(each)
    for number, cpu, spot in [*takes, *[(0, 0, 0)] * len(queues)]:
        quotas.take(queues[number % len(queues)].name, {CPU: cpu, SPOT: spot})
        expected = by_the_rules(quotas, list(left.values()))

        assert tournament.next_queue() == expected
        if expected is not None:
            del left[expected.queue]
    assert left == {}


def test_a_turn_is_lost_by_what_is_taken_meanwhile() -> None:
    """Even of what a queue keeps to itself."""
    alone = build.quota(3, lend=0)
    quotas = Quotas(
        [build.queue('a', alone, 'c'), build.queue('b', alone, 'c'), build.queue('lone', 1)], [build.cohort('c', 9)]
    )
    tournament = Tournament(quotas)
    for each in (candidate('a', 2, submitted=1), candidate('b', 2, submitted=2), candidate('lone', 1)):
        tournament.enter(each)
    first = tournament.next_queue()
    quotas.take('a', {CPU: 3})

    assert [each and each.queue for each in (first, *iter(tournament.next_queue, None))] == ['lone', 'b', 'a']


def test_a_cohort_stands_by_what_its_queue_does_not_have_itself() -> None:
    """Of its 6, x keeps 4 to itself; the other 2 are its team's own."""
    quotas = Quotas(
        [build.queue('x', build.quota(4, lend=0), 'team'), build.queue('a', 0, 'all')],
        [build.cohort('team', 3, 'all'), build.cohort('all', 9)],
    )
    tournament = Tournament(quotas)
    tournament.enter(candidate('x', 6))
    tournament.enter(candidate('a', 1, priority=1))

    assert [each.queue for each in iter(tournament.next_queue, None)] == ['x', 'a']


def test_who_comes_later_takes_part_at_once() -> None:
    quotas = Quotas([build.queue('a', 1, 'c'), build.queue('b', 1, 'c'), build.queue('lone', 1)])
    tournament = Tournament(quotas)
    tournament.enter(candidate('a', 1, priority=1))
    tournament.enter(candidate('lone', 1, priority=3))
    first = tournament.next_queue()
    tournament.enter(candidate('b', 1, priority=2))

    assert [each and each.queue for each in (first, *iter(tournament.next_queue, None))] == ['lone', 'b', 'a']


def test_E_12_who_had_much_lately_comes_later() -> None:
    quotas = Quotas([build.queue('a', 0, 'c'), build.queue('b', 0, 'c')], [build.cohort('c', 10)])
    whole = quotas.path('a')[1].lendable
    used = History(at=0).after(60, {'cpu': 8}, half_life=60)
    loads = {(Kind.QUEUE, 'a'): history.load(used, whole, 1)}
    tournament = Tournament(quotas, loads)
    tournament.enter(candidate('a', 1, priority=5))
    tournament.enter(candidate('b', 4))

    assert loads == {(Kind.QUEUE, 'a'): 400}
    assert [each.queue for each in iter(tournament.next_queue, None)] == ['b', 'a']


@pytest.mark.parametrize(
    ('start', 'now', 'using', 'half_life', 'expected'),
    [
        pytest.param({'cpu': 8.0}, 100, {}, 50, {'cpu': 2.0}, id='two half-lives'),
        pytest.param({'cpu': 8.0}, 50, {'cpu': 8}, 50, {'cpu': 8.0}, id='steady use'),
        pytest.param({}, 50, {'cpu': 8, 'gpu': 0}, 50, {'cpu': 4.0}, id='from nothing'),
        pytest.param({'cpu': 8.0}, 0, {'cpu': 99}, 50, {'cpu': 8.0}, id='no time passed'),
        pytest.param({'cpu': 8.0}, -1000, {'cpu': 99}, 50, {'cpu': 8.0}, id='the clock went backwards'),
        pytest.param({'cpu': 8.0}, 1e300, {'cpu': 3}, 1e-300, {'cpu': 3.0}, id='for ever'),
        pytest.param({'cpu': 8.0}, 1, {'cpu': 3}, 0, {}, id='nothing is remembered'),
    ],
)
def test_history(
    start: dict[str, float], now: float, using: dict[str, int], half_life: float, expected: dict[str, float]
) -> None:
    assert History(at=0, used=start).after(now, using, half_life=half_life) == History(at=now, used=expected)


def test_history_does_not_depend_on_how_often_it_is_kept() -> None:
    once = History(at=0, used={'cpu': 4.0}).after(90, {'cpu': 8}, half_life=30)
    often = History(at=0, used={'cpu': 4.0})
    for now in range(1, 91):
        often = often.after(now, {'cpu': 8}, half_life=30)

    assert once.used == {'cpu': 7.5}
    assert often.used == {'cpu': pytest.approx(7.5)}


def test_what_enters_counts_at_once() -> None:
    before = History(at=7, used={'cpu': 1.0})

    assert before.charged({'cpu': 8, 'gpu': 2}, period=60, half_life=60) == History(at=7, used={'cpu': 5.0, 'gpu': 1.0})
    assert before.charged({'cpu': 8}, period=60, half_life=0) == before


@pytest.mark.parametrize(
    ('used', 'by', 'expected'),
    [
        pytest.param({'cpu': 5.0, 'gpu': 1.0}, 1, 500, id='dominant'),
        pytest.param({'cpu': 5.0, 'gpu': 1.0}, 4, 125, id='by weight'),
        pytest.param({'cpu': 5.0}, 0, math.inf, id='no weight'),
        pytest.param({}, 0, 0, id='nothing used'),
    ],
)
def test_load(used: dict[str, float], by: float, expected: float) -> None:
    assert history.load(History(at=0, used=used), {'cpu': 10, 'gpu': 4}, by) == expected
