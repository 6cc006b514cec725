"""Whole stories on a clock of their own, under the names of the criteria that they show."""

import itertools

import pytest

from jobset.scheduler import model, rules
from jobset.scheduler.books import Setup
from tests.scheduler.facts import QUEUE, World, job, node, pods

FCFS = rules.Rules(uses_priority=False, preempts=False)
PRIORITY_ONLY = rules.Rules(preempts=False)
MINUTE = 60


@pytest.mark.parametrize(
    ('settings', 'seconds'),
    [
        pytest.param(FCFS, 600 * MINUTE, id='first come first served'),
        pytest.param(PRIORITY_ONLY, 60 * MINUTE, id='priority only'),
        pytest.param(rules.DEFAULT, 2 + 30, id='preemptive: the grace period of the victim'),
    ],
)
def test_B_02_first_come_first_served_is_not_enough(settings: rules.Rules, seconds: float) -> None:
    world = World([node('n', 2)], settings=settings)
    hour = 60 * MINUTE
    for i in range(10):
        world.submit(job(f'L{i}', gpus=2, at=min(i, 1), duration=hour), hour)
    world.submit(job('U', gpus=2, priority=100, at=2, duration=hour), hour)

    (at,) = [at for at, name in world.starts() if name == 'U']
    assert at == seconds


def test_B_19_expected_queue_time() -> None:
    assert _b_19(model.Strategy.BEST_EFFORT) == [(100, 'H'), (150, 'L'), (300, 'M')]


def test_B_19_with_strict_order() -> None:
    assert _b_19(model.Strategy.STRICT) == [(100, 'H'), (300, 'M'), (500, 'L')]


def _b_19(strategy: model.Strategy) -> list[tuple[float, str]]:
    world = World([node('n', 4)], Setup(queues=(model.Queue(name=QUEUE, strategy=strategy),)), PRIORITY_ONLY)
    world.submit(job('R1', gpus=2, priority=50, duration=100), 100)
    world.submit(job('R2', gpus=2, priority=50, duration=300), 300)
    for name, gpus, priority, duration in (('H', 2, 10, 50), ('M', 4, 5, 200), ('L', 2, 1, 100)):
        world.submit(job(name, gpus=gpus, priority=priority, at=1, duration=duration), duration)
    return world.starts()[2:]


@pytest.mark.parametrize('order', list(itertools.permutations(('urgent', 'medium', 'low'))))
def test_B_01_priority_levels(order: tuple[str, ...]) -> None:
    values = {'urgent': 100, 'medium': 50, 'low': 10}
    world = World([node('n', 1)], settings=PRIORITY_ONLY)
    world.submit(job('first', priority=1000), 10)
    for i, name in enumerate(order):
        world.submit(job(name, priority=values[name], at=1 + i), 10)

    assert [name for _, name in world.starts()] == ['first', 'urgent', 'medium', 'low']


def test_scenario_12_staged_readiness() -> None:
    stages = ((pods(1, name='A'),), (pods(3, name='B'),))
    world = World([node(f'n{i}', 1) for i in range(3)])
    world.submit(job('js', stages=stages))

    assert world.starts() == [(0, 'js')]
    assert world.moments('evicted') == []


def test_scenario_22_two_gangs_half_each() -> None:
    world = World([node(f'n{i}', 1) for i in range(4)])
    world.submit(job('one', pods(3)), 100)
    world.submit(job('two', pods(3), at=1), 100)
    world.submit(job('single', at=2), 100)

    assert world.starts() == [(0, 'one'), (2, 'single'), (100, 'two')]


def test_B_28_life_of_one_urgent_job() -> None:
    world = World([node('n0', 2), node('n1', 2)])
    world.submit(job('low-a', pods(2), duration=1000), 1000, keeps_work=True)
    world.submit(job('low-b', pods(2), duration=1000), 1000, keeps_work=True)
    world.submit(job('urgent', pods(2), priority=100, at=200, duration=50), 50)
    world.engine.run()

    assert [(change.at, change.what, change.key) for change in world.story] == [
        (0, 'submitted', 'a/low-a'),
        (0, 'submitted', 'a/low-b'),
        (0, 'started', 'a/low-a'),
        (0, 'started', 'a/low-b'),
        (200, 'submitted', 'a/urgent'),
        (200, 'evicted', 'a/low-a'),
        (230, 'gone', 'a/low-a'),
        (230, 'started', 'a/urgent'),
        (280, 'ended', 'a/urgent'),
        (280, 'started', 'a/low-a'),
        (1000, 'ended', 'a/low-b'),
        (1080, 'ended', 'a/low-a'),
    ]
