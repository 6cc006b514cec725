"""Who may be evicted."""

import itertools

import pytest

from jobset.scheduler import model
from jobset.scheduler.model import Cell, Preemption, Reclaim, WithinQueue
from jobset.scheduler.preemption import candidates
from jobset.scheduler.preemption.candidates import Past, Rules
from tests.scheduler.preemption.crowds import NOW, job, run

ENDING = model.Eviction(at=NOW - 5, reason='Preempted', beneficiary='a/other')


def refusals(*runs: model.Run, priority: int = 5, **options: object) -> dict[str, str]:
    """Why each of them may not go; '' where it may."""
    options.setdefault('policy', Preemption())
    found = candidates.eligible(runs, job('urgent', priority), NOW, **options)  # type: ignore[arg-type]
    told = found.refused | {each.workload.key: '' for each in found.runs}
    assert len(told) == len(found.refused) + len(found.runs) == len(runs)
    return {key.removeprefix('a/'): reason for key, reason in sorted(told.items())}


@pytest.mark.parametrize(
    ('other', 'reason'),
    [
        pytest.param(run('x', 4), '', id='lower'),
        pytest.param(run('x', 5), 'of no lower priority', id='equal'),
        pytest.param(run('x', 6), 'of no lower priority', id='higher'),
        pytest.param(run('x', eviction=ENDING), 'ending already', id='ending for somebody else'),
        pytest.param(run('x', on={}), 'without requests', id='nowhere'),
        pytest.param(run('x', on={'n': {'gpu': 0}}), 'without requests', id='nothing but pods'),
        pytest.param(run('x', on={}, usage={Cell('f', 'pods'): 3}), 'without requests', id='only a number of pods'),
        pytest.param(run('x', on={}, usage={Cell('f', 'gpu'): 3}), '', id='only quota'),
    ],
)
def test_B_07_only_strictly_lower_ones_that_hold_something(other: model.Run, reason: str) -> None:
    assert refusals(other) == {'x': reason}


def test_B_04_nobody_goes_for_whom_others_are_ending() -> None:
    mine = model.Eviction(at=NOW - 5, reason='Preempted', beneficiary='a/urgent')

    found = candidates.eligible([run('x'), run('y', eviction=mine)], job('urgent', 5), NOW, policy=Preemption())

    assert found.runs == []
    assert found.text == 'nobody may be evicted: 2 spared, as this one waits for a/y to end'


def test_B_08_never_may_not_evict_but_may_be_evicted() -> None:
    never = job('urgent', 5, may_preempt=False)

    found = candidates.eligible([run('x')], never, NOW, policy=Preemption())

    assert found == ([], {'a/x': 'spared, as this one may not evict others'})
    assert refusals(run('x', may_preempt=False)) == {'x': ''}


def test_B_08_protected_ones_stay_whatever_the_priority() -> None:
    assert refusals(run('x', is_protected=True), priority=10**9) == {'x': 'protected'}


def test_B_08_both_at_once() -> None:
    both = run('x', is_protected=True, may_preempt=False)

    assert refusals(both) == {'x': 'protected'}
    found = candidates.eligible([run('y')], both.workload, NOW, policy=Preemption())
    assert found.runs == []


def test_B_09_equal_priorities_never_evict_each_other_in_turns() -> None:
    first, second = run('x', 3), run('y', 3)

    assert refusals(first, priority=3) == {'x': 'of no lower priority'}
    assert refusals(second, priority=3) == {'y': 'of no lower priority'}


def test_F12_no_cycles_of_evictions() -> None:
    # However often each has been evicted, of two only the higher one may ever evict the other.
    rules = Rules(bonus_per_eviction=1)
    for one, other, evictions in itertools.product(range(4), range(4), range(3)):
        there = not refusals(run('x', other, evictions=evictions), priority=one, rules=rules)['x']
        back = not refusals(run('y', one, evictions=evictions), priority=other, rules=rules)['y']
        assert not (there and back)


@pytest.mark.parametrize(
    ('facts', 'rules', 'past', 'reason'),
    [
        ({'least_runtime': 60, 'admitted': NOW - 59}, Rules(), [], 'within their minimum run time'),
        ({'least_runtime': 60, 'admitted': NOW - 60}, Rules(), [], ''),
        ({'least_runtime': 60, 'admitted': NOW - 59}, Rules(exempt_priority=5), [], ''),
        ({'least_runtime': 60, 'admitted': NOW - 59}, Rules(exempt_priority=6), [], 'within their minimum run time'),
        ({}, Rules(max_evictions=2), [100.0, 900.0], 'evicted often enough'),
        ({}, Rules(max_evictions=2, eviction_window_seconds=900), [100.0, 900.0], ''),
        ({}, Rules(max_evictions=3), [100.0, 900.0], ''),
        ({}, Rules(max_victims_per_hour=2), [100.0, 900.0], 'spared, as 2 were evicted within the hour'),
        ({}, Rules(max_victims_per_hour=2), [NOW - 3600, 900.0], ''),
        ({'evictions': 3}, Rules(), [], ''),
        ({'evictions': 3}, Rules(bonus_per_eviction=2), [], 'of no lower priority'),
        ({'evictions': 2}, Rules(bonus_per_eviction=2), [], ''),
    ],
)
def test_B_25_limits(facts: dict[str, float], rules: Rules, past: list[float], reason: str) -> None:
    recent = [Past(at, 'a/x') for at in past]

    assert refusals(run('x', **facts), rules=rules, recent=recent) == {'x': reason}  # type: ignore[arg-type]


def test_B_25_limits_are_those_of_each() -> None:
    recent = [Past(900.0, 'a/x')]

    assert refusals(run('x'), run('y'), rules=Rules(max_evictions=1), recent=recent) == {
        'x': 'evicted often enough',
        'y': '',
    }


@pytest.mark.parametrize(('limit', 'left'), [(None, None), (5, 3), (2, 0), (1, 0)])
def test_B_25_how_many_may_still_go(limit: int | None, left: int | None) -> None:
    recent = [Past(NOW - 1, 'a/x'), Past(NOW - 3599, 'a/y'), Past(NOW - 3600, 'a/z')]

    assert candidates.allowance(recent, NOW, Rules(max_victims_per_hour=limit)) == left


PARITY = Rules(strictly_lower=False)


@pytest.mark.parametrize(
    ('policy', 'options', 'others'),
    [
        pytest.param(Preemption(within_queue=WithinQueue.NEVER), {}, ['', 'of no lower priority'], id='not of its own'),
        pytest.param(
            Preemption(reclaim=Reclaim.NEVER), {}, ['in other queues, from which this one reclaims nothing'] * 2
        ),
        pytest.param(Preemption(reclaim=Reclaim.LOWER), {}, ['', 'of no lower priority']),
        pytest.param(Preemption(reclaim=Reclaim.LOWER), {'rules': PARITY}, ['', 'of no lower priority']),
        pytest.param(Preemption(reclaim=Reclaim.ANY), {}, ['', 'of no lower priority'], id='any is lower'),
        pytest.param(Preemption(reclaim=Reclaim.ANY), {'rules': PARITY}, ['', ''], id='any, as in Kueue'),
        pytest.param(Preemption(), {'would_borrow': True}, ['in other queues, where this one would only borrow'] * 2),
        pytest.param(Preemption(borrows=True), {'would_borrow': True, 'rules': PARITY}, ['', 'of no lower priority']),
        pytest.param(Preemption(borrows=True, borrows_up_to=2), {'would_borrow': True}, ['', 'of no lower priority']),
        pytest.param(Preemption(borrows=True, borrows_up_to=1), {'would_borrow': True}, ['of no lower priority'] * 2),
        pytest.param(Preemption(), {'peers': ('r',)}, ['', 'of no lower priority'], id='nothing shared but nodes'),
    ],
)
def test_other_queues(policy: Preemption, options: dict[str, object], others: list[str]) -> None:
    runs = [
        run('far', 0, queue='far'),
        run('low', 2, queue='r'),
        run('own', 0),
        run('same', 5, queue='r'),
    ]
    asked: list[str] = []

    def is_borrower(queue: str) -> bool:
        asked.append(queue)
        return queue == 'r'

    told = refusals(*runs, policy=policy, may_reclaim_from=is_borrower, **options)  # type: ignore[arg-type]

    keeps = policy.within_queue is WithinQueue.NEVER
    assert told == {
        'far': 'in queues that use nothing of this one',
        'low': others[0],
        'own': 'in a queue that evicts nobody' if keeps else '',
        'same': others[1],
    }
    assert len(asked) == len(set(asked))


def test_B_27_who_asks_for_nothing_is_no_useful_victim_and_is_told_of() -> None:
    found = candidates.eligible(
        [run('x', on={'n': {}}), run('y', 7), run('z', 8)], job('urgent', 5), NOW, policy=Preemption()
    )

    assert found.text == 'nobody may be evicted: 2 of no lower priority, 1 without requests'


def test_order_does_not_matter() -> None:
    runs = [run('x'), run('y', 9), run('z')]

    answers = [
        candidates.eligible(order, job('urgent', 5), NOW, policy=Preemption()) for order in itertools.permutations(runs)
    ]

    assert all(answer == answers[0] for answer in answers)
    assert candidates.eligible([], job('urgent', 5), NOW, policy=Preemption()).text == 'nobody else runs'
