"""Single decisions, under the names of the criteria that they show."""

import itertools

import msgspec
import pytest

from jobset.scheduler import model, planner, plans, rules
from jobset.scheduler.books import Books, Setup
from jobset.scheduler.topology import nodes
from jobset.scheduler.verdicts import Cause
from tests.scheduler.facts import GPU, PLAIN, QUEUE, World, job, node, pods, running

HOLDS_BACK = rules.Rules(backfills=False)


def planning(
    known: list[nodes.Node], *runs: model.Run, settings: rules.Rules = rules.DEFAULT, setup: Setup = PLAIN
) -> planner.Planner:
    books = Books(setup, known, by_priority=settings.uses_priority)
    for run in runs:
        books.run(run)
    return planner.Planner(books, settings)


def test_B_03_front_of_queue() -> None:
    world = World([node('n', 1)], settings=rules.Rules(preempts=False))
    world.submit(job('first', priority=1000), 10)
    jobs = [job(f'j{i:04}', priority=i * 7919 % 13, at=1 + i * 104729 % 17) for i in range(300)]
    for each in jobs:
        world.submit(each, 1)

    stable = sorted(jobs, key=lambda each: (-each.priority, each.submitted, each.key))
    # All are there when the first one ends.
    assert [f'a/{name}' for _, name in world.starts()[1:]] == [each.key for each in stable]


def test_B_03_raising_the_priority_takes_effect() -> None:
    plan = planning([node('n', 1)], running(job('r', priority=9), 'n'), settings=rules.Rules(preempts=False))
    for i in range(3):
        plan.books.submit(job(f'j{i}', at=i))
    plan.cycle(5)

    plan.books.submit(job('j2', at=2, priority=5))
    plan.books.ended('a/r')

    assert plan.cycle(6).starts == ('a/j2',)


def test_B_04_no_eviction_where_anything_else_fits() -> None:
    plan = planning([node('a', 1), node('b', 1)], running(job('low'), 'a'))
    plan.books.submit(job('high', priority=9))

    decided = plan.cycle(1)

    assert (decided.starts, decided.evictions) == (('a/high',), ())


def test_B_04_what_eviction_cannot_mend_evicts_nobody() -> None:
    plan = planning([node('a', 1)], running(job('low'), 'a'))
    shape = msgspec.structs.replace(pods().request.pod, node_selector={'zone': 'elsewhere'})
    request = msgspec.structs.replace(pods().request, pod=shape)
    plan.books.submit(job('high', model.PodSet(request=request), priority=9))

    decided = plan.cycle(1)

    assert decided.decisions == ()
    assert decided.waiting['a/high'].no_victims == 'it would not fit if all 1 that may be evicted were gone'


def test_B_04_no_new_victims_while_earlier_ones_end() -> None:
    plan = planning([node('a', 1), node('b', 1)], running(job('one'), 'a'), running(job('two'), 'b'))
    plan.books.submit(job('high', priority=9))
    assert plan.cycle(1).evictions == ('a/one',)

    plan.books.wake()
    decided = plan.cycle(2)

    assert decided.decisions == ()
    assert decided.waiting['a/high'].cause is Cause.VICTIMS_ENDING


@pytest.mark.parametrize(
    ('known', 'runs', 'wanted'),
    [
        pytest.param([node('a', 3)], [running(job('l', gpus=3), 'a')], pods(gpus=4), id='a: 4 wanted, 3 there'),
        pytest.param(
            [node('a', 1), node('b', 1)],
            [running(job('l'), 'a'), running(job('m'), 'b')],
            pods(gpus=2),
            id='b: two halves on two nodes',
        ),
        pytest.param(
            [node(f'n{i}', 2) for i in range(3)],
            [running(job(f'l{i}', gpus=2), f'n{i}') for i in range(3)],
            pods(4, 2),
            id='c: three of four pods',
        ),
        pytest.param(
            [node('a', 2, memory=1)],
            [running(job('l', gpus=2), 'a')],
            pods(1, 2, memory=2),
            id='d: memory would not do',
        ),
    ],
)
def test_B_05_enough_is_freed_or_nothing(known: list[nodes.Node], runs: list[model.Run], wanted: model.PodSet) -> None:
    plan = planning(known, *runs)
    plan.books.submit(job('high', wanted, priority=9))

    decided = plan.cycle(1)

    assert decided.decisions == ()
    assert decided.waiting['a/high'].no_victims is not None


@pytest.mark.parametrize('order', list(itertools.permutations(range(3))))
def test_B_06_fewest(order: tuple[int, ...]) -> None:
    runs = [running(job(name, gpus=gpus), 'n') for name, gpus in (('A', 1), ('B', 1), ('C', 2))]
    plan = planning([node('n', 4)], *[runs[i] for i in order])
    plan.books.submit(job('high', gpus=2, priority=9))

    assert plan.cycle(1).evictions == ('a/C',)


@pytest.mark.parametrize('order', list(itertools.permutations(range(4))))
def test_B_06_karmadas_example(order: tuple[int, ...]) -> None:
    sizes = ((0, 1), (1, 2), (2, 5), (3, 2))
    runs = [running(job(f'P{priority}', gpus=gpus, priority=priority), 'n') for priority, gpus in sizes]
    plan = planning([node('n', 10)], *[runs[i] for i in order])
    plan.books.submit(job('high', gpus=5, priority=10))

    assert plan.cycle(1).evictions == ('a/P2',)


@pytest.mark.parametrize(('lowest_first', 'victims'), [(False, ('a/C',)), (True, ('a/A', 'a/B'))])
def test_B_06_the_switch(lowest_first: bool, victims: tuple[str, ...]) -> None:
    runs = [
        running(job(name, gpus=gpus, priority=priority), 'n')
        for name, priority, gpus in (('A', 0, 1), ('B', 0, 1), ('C', 5, 2))
    ]
    plan = planning([node('n', 4)], *runs, settings=rules.Rules(evicts_lowest_first=lowest_first))
    plan.books.submit(job('high', gpus=2, priority=9))

    assert plan.cycle(1).evictions == victims


@pytest.mark.parametrize(
    ('victim', 'reason'),
    [
        pytest.param(running(job('v', priority=9), 'n'), '1 of no lower priority', id='equal'),
        pytest.param(running(job('v', priority=10), 'n'), '1 of no lower priority', id='higher'),
        pytest.param(running(job('v', is_protected=True), 'n'), '1 protected', id='protected'),
        pytest.param(running(job('v', gpus=0), 'n', 'n'), '1 without requests', id='nothing would be gained'),
        pytest.param(
            running(job('v', least_runtime=60), 'n', admitted=50), '1 within their minimum run time', id='too young'
        ),
        pytest.param(
            msgspec.structs.replace(running(job('v'), 'n'), eviction=model.Eviction(at=90, reason='Preempted')),
            '1 ending already',
            id='ending',
        ),
    ],
)
def test_B_07_who_is_never_a_victim(victim: model.Run, reason: str) -> None:
    plan = planning([node('n', 1)], victim)
    plan.books.submit(job('high', pods(1, 2), priority=9))

    decided = plan.cycle(100)

    assert decided.decisions == ()
    assert decided.waiting['a/high'].no_victims == f'nobody may be evicted: {reason}'


def test_B_08_who_never_preempts_waits_at_its_priority_and_can_be_evicted() -> None:
    plan = planning([node('n', 1)], running(job('low'), 'n'))
    plan.books.submit(job('never', priority=5, may_preempt=False, at=1))
    plan.books.submit(job('lower', priority=1, at=0))
    assert plan.cycle(1).evictions == ('a/low',), 'for the lower one, which may'
    plan.books.evicted('a/low')
    assert plan.cycle(2).starts == ('a/never',), 'a higher one takes what was freed'

    plan.books.submit(job('high', priority=9, at=3))

    assert plan.cycle(3).evictions == ('a/never',)


def test_B_13_a_gang_over_several_nodes_is_one_victim() -> None:
    known = [node(name, 1) for name in 'abcd']
    plan = planning(known, running(job('gang', pods(2)), 'a', 'b'), running(job('x'), 'c'), running(job('y'), 'd'))
    plan.books.submit(job('high', pods(2), priority=9))

    assert plan.cycle(1).evictions == ('a/gang',)


def test_B_14_freed_room_is_kept_for_whom_it_was_freed() -> None:
    plan = planning([node('n', 2)], running(job('low', gpus=2), 'n'))
    plan.books.submit(job('high', gpus=2, priority=9, at=1))
    assert plan.cycle(1).evictions == ('a/low',)

    plan.books.submit(job('equal', gpus=1, priority=9, at=2))
    assert plan.cycle(2).starts == ()
    plan.books.evicted('a/low')
    plan.books.submit(job('lower', gpus=1, priority=1, at=3))

    assert plan.cycle(3).starts == ('a/high',)


def test_B_14_a_higher_one_takes_it() -> None:
    plan = planning([node('n', 2)], running(job('low', gpus=2), 'n'))
    plan.books.submit(job('high', gpus=2, priority=9, at=1))
    plan.cycle(1)
    plan.books.evicted('a/low')
    plan.books.submit(job('higher', gpus=2, priority=10, at=2))

    assert plan.cycle(2).starts == ('a/higher',)
    assert plan.books.promises == {}
    assert plan.verdict('a/high') is not None


@pytest.mark.parametrize('gone', ['withdrawn', 'too late'])
def test_B_14_a_promise_ends(gone: str) -> None:
    plan = planning([node('n', 2)], running(job('low', gpus=2), 'n'))
    plan.books.submit(job('high', gpus=2, priority=9, at=1))
    plan.cycle(1)
    if gone == 'withdrawn':
        plan.books.withdraw('a/high')
        assert plan.cycle(2).decisions == ()
    plan.books.evicted('a/low')

    starts = plan.cycle(3 if gone == 'withdrawn' else 700).starts

    assert starts == (('a/low',) if gone == 'withdrawn' else ('a/high',))
    assert plan.books.promises == {}


def test_B_15_victims_wait_at_the_time_at_which_they_came() -> None:
    plan = planning([node('n', 1)], running(job('low', at=3), 'n', admitted=4))
    plan.books.submit(job('high', priority=9, at=5))
    plan.books.submit(job('later', at=4))
    plan.cycle(5)
    plan.books.evicted('a/low')
    plan.cycle(6)
    plan.books.ended('a/high')

    assert plan.cycle(7).starts == ('a/low',)
    assert plan.books.runs['a/low'].workload.evictions == 1


def test_B_25_minimum_run_time_ends() -> None:
    plan = planning([node('n', 1)], running(job('low', least_runtime=60), 'n', admitted=0))
    plan.books.submit(job('high', priority=9, at=1))
    first = plan.cycle(1)
    assert (first.evictions, first.again_at) == ((), 60)

    plan.books.wake()

    assert plan.cycle(60).evictions == ('a/low',)


@pytest.mark.parametrize(
    'settings', [rules.Rules(max_victims_per_hour=1), rules.Rules(max_evictions=1)], ids=['of all', 'of one']
)
def test_B_25_evictions_have_limits(settings: rules.Rules) -> None:
    plan = planning([node('n', 1)], running(job('low'), 'n'), settings=settings)
    plan.books.submit(job('high', priority=9, at=1))
    plan.cycle(1)
    plan.books.evicted('a/low')
    plan.cycle(2)
    plan.books.ended('a/high')
    assert plan.cycle(3).starts == ('a/low',)
    plan.books.submit(job('again', priority=9, at=4))

    assert plan.cycle(4).evictions == ()
    plan.books.wake()
    assert plan.cycle(3700).evictions == ('a/low',)


def test_B_25_evictions_may_protect() -> None:
    often = running(job('often', evictions=5), 'n')
    plan = planning(
        [node('n', 2)], often, running(job('never', priority=3), 'n'), settings=rules.Rules(bonus_per_eviction=1)
    )
    plan.books.submit(job('high', priority=9, at=1))

    assert plan.cycle(1).evictions == ('a/never',)


def test_B_29_preemption_without_priority_is_refused() -> None:
    (problem,) = rules.problems(rules.Rules(uses_priority=False))

    assert str(problem) == 'preempts: preemption without priority would evict nobody: turn on usesPriority, too'
    assert rules.problems(rules.Rules()) == ()


def test_scenario_18_priority_and_exclusivity() -> None:
    known = [node(f'r{i}', 1) for i in range(3)]
    plan = planning(known, *[running(job(f'low{i}', at=i), f'r{i}', admitted=i) for i in range(3)])
    plan.books.submit(job('high', priority=9, at=5))

    decided = plan.cycle(5)
    assert decided.evictions == ('a/low2',), 'the one that has lost the least work'
    plan.books.evicted('a/low2')
    (start,) = plan.cycle(6).decisions
    assert isinstance(start, plans.Start)
    assert start.admission.holds == {'r2': {GPU: 1, 'pods': 1}}


def test_scenario_20_no_eviction_without_a_start() -> None:
    highs = [running(job(f'h{i}{k}', priority=10), f'n{i}') for i in range(4) for k in range(6)]
    lows = [running(job(f'l{i}{k}'), f'n{i}') for i in range(4) for k in range(2)]
    plan = planning([node(f'n{i}', 8) for i in range(4)], *highs, *lows)
    plan.books.submit(job('big', gpus=8, priority=10, at=1))
    assert plan.cycle(1).decisions == ()

    plan.books.ended('a/l00')
    plan.books.submit(job('small', at=2))
    assert plan.cycle(2).starts == ('a/small',)
    for k in range(6):
        plan.books.run(running(job(f'h2{k}', priority=0), 'n2'))
    plan.books.wake()

    assert plan.cycle(3).evictions == (*(f'a/h2{k}' for k in range(6)), 'a/l20', 'a/l21')


def test_scenario_22_a_gang_is_repaired_before_new_work_of_its_rank() -> None:
    plan = planning([node('a', 1), node('b', 1)], running(job('gang', pods(2)), 'a', 'b'))
    plan.books.remove_node('b')
    plan.books.submit(job('filler', at=1))
    assert plan.cycle(1).decisions == ()

    plan.books.set_node(node('c', 1))
    (move,) = plan.cycle(2).decisions

    assert isinstance(move, plans.Move)
    assert (move.key, move.lost, dict(move.admission.holds)) == (
        'a/gang',
        ('b',),
        {'a': {GPU: 1, 'pods': 1}, 'c': {GPU: 1, 'pods': 1}},
    )


def test_two_pod_sets_of_a_gang_do_not_move_into_the_same_room() -> None:
    plan = planning([node('a', 2)])
    plan.books.submit(job('gang', pods(name='v'), pods(name='w')))
    assert plan.cycle(1).starts == ('a/gang',)
    plan.books.remove_node('a')
    plan.books.set_node(node('b', 1))
    assert plan.cycle(2).decisions == ()

    plan.books.set_node(node('b', 2))

    (move,) = plan.cycle(3).decisions
    assert isinstance(move, plans.Move)
    assert dict(move.admission.holds) == {'b': {GPU: 2, 'pods': 2}}


def test_a_gang_that_cannot_be_repaired_is_evicted_where_that_is_wanted() -> None:
    gang = running(job('gang', pods(2)), 'a', 'b')
    plan = planning([node('a', 1), node('b', 1)], gang, settings=rules.Rules(repair_waits=False))
    plan.books.remove_node('b')

    (evict,) = plan.cycle(1).decisions

    assert isinstance(evict, plans.Evict)
    assert evict.eviction.reason == 'NodeFailures'
    assert evict.text == 'lost b, and no other nodes take the pods that were there'


def test_an_elastic_gang_starts_smaller_and_grows() -> None:
    plan = planning([node(f'n{i}', 1) for i in range(4)], running(job('r', gpus=1, priority=5), 'n0'))
    plan.books.submit(job('elastic', pods(4, least=2)))
    (start,) = plan.cycle(1).decisions
    assert isinstance(start, plans.Start)
    assert start.admission.counts == {'w': 3}

    plan.books.ended('a/r')
    (grown,) = plan.cycle(2).decisions

    assert isinstance(grown, plans.Resize)
    assert grown.admission.counts == {'w': 4}
    assert sorted(grown.admission.holds) == ['n0', 'n1', 'n2', 'n3']


def test_hopeless_ones_are_looked_at_once() -> None:
    plan = planning([node('n', 1)], running(job('r', priority=9), 'n'))
    for i in range(50):
        plan.books.submit(job(f'j{i:02}', at=i))
    assert list(plan.cycle(100).waiting) == ['a/j00']

    plan.books.submit(job('late', at=100))

    assert plan.cycle(101).waiting == {}
    assert plan.verdict('a/late') == plan.verdict('a/j00')


@pytest.mark.parametrize(
    ('queue', 'cause', 'text'),
    [
        pytest.param('none', Cause.NO_QUEUE, 'there is no queue "none"', id='unknown'),
        pytest.param('held', Cause.QUEUE_STOPPED, 'queue held is stopped (Hold)', id='stopped'),
        pytest.param(
            'wrong',
            Cause.QUEUE_UNUSABLE,
            'queue wrong cannot be used: spec.weight: -1 is negative; give 0 or more',
            id='wrong',
        ),
    ],
)
def test_queues_that_start_nobody_do_not_stop_others(queue: str, cause: Cause, text: str) -> None:
    setup = Setup(
        queues=(
            model.Queue(name=QUEUE),
            model.Queue(name='held', stop=model.Stop.HOLD),
            model.Queue(name='wrong', weight=-1),
        )
    )
    plan = planning([node('n', 1)], setup=setup)
    plan.books.submit(job('stuck', queue=queue, priority=9))
    plan.books.submit(job('other'))

    decided = plan.cycle(1)

    assert decided.starts == ('a/other',)
    assert (decided.waiting['a/stuck'].cause, decided.waiting['a/stuck'].text) == (cause, text)


def test_the_head_of_a_strict_queue_blocks_that_queue_alone() -> None:
    setup = Setup(queues=(model.Queue(name='strict', strategy=model.Strategy.STRICT), model.Queue(name=QUEUE)))
    plan = planning([node('n', 3)], running(job('r', priority=9), 'n'), setup=setup, settings=HOLDS_BACK)
    plan.books.submit(job('hopeless', gpus=4, queue='strict', priority=1))
    plan.books.submit(job('big', gpus=3, queue='strict'))
    plan.books.submit(job('behind', queue='strict', at=1))
    plan.books.submit(job('elsewhere', at=2))

    assert plan.cycle(3).starts == ('a/elsewhere',)
    behind, hopeless = plan.verdict('a/behind'), plan.verdict('a/hopeless')
    assert behind is not None
    assert hopeless is not None
    assert hopeless.cause is Cause.NEVER_FITS, 'and is not in the way of others'
    assert (behind.cause, behind.text) == (Cause.BEHIND_HEAD, 'queue strict is strict: a/big comes before it')
