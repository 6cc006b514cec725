"""What is wrong with queues and cohorts, and that the others go on."""

import itertools

import pytest

from jobset.scheduler.model import Cell, Cohort, Queue, ResourceGroup
from jobset.scheduler.quota.tree import Quotas
from tests.scheduler.quota import build
from tests.scheduler.quota.build import CPU

FINE = build.queue('fine', 8, 'good')
COHORT = build.cohort('good', 4)


def groups(*of: tuple[str, str]) -> tuple[ResourceGroup, ...]:
    """Resources and flavours, in words."""
    return tuple(
        ResourceGroup(resources=tuple(resources.split()), flavours=tuple(flavours.split()))
        for resources, flavours in of
    )


@pytest.mark.parametrize(
    ('queues', 'cohorts', 'problems', 'unusable'),
    [
        pytest.param(
            [build.queue('a', build.quota(-3), 'good')],
            [],
            ['queue "a", quotas[default/cpu].nominal: -3 is negative; give 0 or more'],
            'a',
            id='negative amount',
        ),
        pytest.param(
            [build.queue('a', build.quota(5, borrow=-1), 'good')],
            [],
            ['queue "a", quotas[default/cpu].borrowingLimit: -1 is negative; give 0 or more'],
            'a',
            id='negative borrowing limit',
        ),
        pytest.param(
            [build.queue('a', build.quota(5, lend=-(10**30)), 'good')],
            [],
            [f'queue "a", quotas[default/cpu].lendingLimit: {-(10**30)} is negative; give 0 or more'],
            'a',
            id='absurdly negative lending limit',
        ),
        pytest.param(
            [build.queue('a', build.quota(5, lend=6), 'good')],
            [],
            ['queue "a", quotas[default/cpu].lendingLimit: 6 is more than the nominal amount; give at most 5'],
            'a',
            id='lends more than it has',
        ),
        pytest.param(
            [build.queue('a', build.quota(5, borrow=1, lend=2))],
            [],
            [
                'queue "a", quotas[default/cpu].borrowingLimit: nobody to share with; name a cohort, or leave it out',
                'queue "a", quotas[default/cpu].lendingLimit: nobody to share with; name a cohort, or leave it out',
            ],
            'a',
            id='limits without a cohort',
        ),
        pytest.param(
            [build.queue('a', 1, weight=-1), build.queue('b', 1, weight=float('nan'))],
            [],
            [
                'queue "a", weight: -1 is no weight; give 0 or more',
                'queue "b", weight: nan is no weight; give 0 or more',
            ],
            'a b',
            id='absurd weights',
        ),
        pytest.param(
            [Queue(name='a', groups=groups(('cpu', 'x y'), ('gpu', 'z x')))],
            [],
            ['queue "a", groups[*].flavours: "x" is there 2 times; leave it in one place'],
            'a',
            id='a flavour in two groups',
        ),
        pytest.param(
            [Queue(name='a', groups=groups(('cpu', 'x x'), ('gpu cpu', 'y')))],
            [],
            [
                'queue "a", groups[*].flavours: "x" is there 2 times; leave it in one place',
                'queue "a", groups[*].resources: "cpu" is there 2 times; leave it in one place',
            ],
            'a',
            id='a flavour twice and a resource in two groups',
        ),
        pytest.param(
            [Queue(name='a', groups=groups(('', '')))],
            [],
            [
                'queue "a", groups[0].flavours: there is none; name at least one',
                'queue "a", groups[0].resources: there is none; name at least one',
            ],
            'a',
            id='an empty group',
        ),
        pytest.param(
            [Queue(name='a', groups=groups(('cpu', 'x')), quotas={Cell('x', 'gpu'): build.quota(1)})],
            [],
            ['queue "a", quotas[x/gpu]: no group has this flavour with this resource; add them to one'],
            'a',
            id='quota that would never count',
        ),
        pytest.param(
            [build.queue('a', 1, 'good'), build.queue('a', 2, 'good')],
            [],
            ['queue "a", name: 2 queues have this name; rename all but one'],
            'a',
            id='two queues of one name',
        ),
        pytest.param(
            [build.queue('a', 1, 'c'), build.queue('b', 1, 'd')],
            [build.cohort('c', 1), build.cohort('c', 2), build.cohort('d', 0, 'c')],
            ['cohort "c", name: 2 cohorts have this name; rename all but one'],
            'a b',
            id='two cohorts of one name',
        ),
        pytest.param(
            [build.queue('a', 1, 'x'), build.queue('b', 1, 'below'), build.queue('c', 1, 'self')],
            [
                build.cohort('x', 0, 'y'),
                build.cohort('y', 0, 'x'),
                build.cohort('below', 0, 'y'),
                build.cohort('self', 0, 'self'),
            ],
            [
                'cohort "self", parent: cohort "self" lies below this one itself; leave out one parent of the circle',
                'cohort "x", parent: cohort "y" lies below this one itself; leave out one parent of the circle',
                'cohort "y", parent: cohort "x" lies below this one itself; leave out one parent of the circle',
            ],
            'a b c',
            id='cohorts in a circle',
        ),
        pytest.param(
            [build.queue('a', 1, 'c'), build.queue('b', 1, 'd')],
            [build.cohort('c', -1, 'd'), build.cohort('d', 5)],
            ['cohort "c", quotas[default/cpu].nominal: -1 is negative; give 0 or more'],
            'a',
            id='a bad cohort below a good one',
        ),
        pytest.param(
            [build.queue('a', build.quota(2, lend=2), 'c'), build.queue('b', 0, 'nowhere')],
            [build.cohort('c', build.quota(1, borrow=10**30, lend=7), 'd')],
            [],
            '',
            id='all is well: a cohort may lend more than is its own, and need not be defined',
        ),
    ],
)
def test_bad_input_stops_nobody_else(
    queues: list[Queue], cohorts: list[Cohort], problems: list[str], unusable: str
) -> None:
    names = sorted({each.name for each in queues})
    for order in itertools.permutations([*queues, FINE]):
        quotas = Quotas(order, [*reversed(cohorts), COHORT])

        assert [str(each) for each in quotas.problems] == problems
        assert [name for name in names if quotas.reason(name)] == unusable.split()
        assert quotas.reason('fine') is None
        assert quotas.available('fine', CPU) >= 12
        assert not any(quotas.fits(name, {CPU: 1}) or quotas.potential(name, CPU) for name in unusable.split())


def test_the_reason_names_all_that_is_wrong_from_the_queue_up() -> None:
    quotas = Quotas([build.queue('a', 1, 'c', weight=-1)], [build.cohort('c', -2)])

    assert quotas.reason('a') == (
        'queue "a", weight: -1 is no weight; give 0 or more; '
        'cohort "c", quotas[default/cpu].nominal: -2 is negative; give 0 or more'
    )


def test_what_runs_in_a_queue_with_problems_still_counts() -> None:
    quotas = Quotas([build.queue('a', 4, 'good', weight=-1), FINE], [COHORT])
    quotas.take('a', {CPU: 10})

    assert quotas.available('fine', CPU) == 4 + 8 + 4 - 10
    quotas.give_back('a', {CPU: 10})
    assert quotas.available('fine', CPU) == 16


def test_what_runs_in_a_queue_that_is_gone_stops_nobody() -> None:
    quotas = Quotas([FINE])
    quotas.take('gone', {CPU: 3})

    assert quotas.reason('gone') == 'there is no queue "gone"'
    assert (quotas.fits('gone', {CPU: 1}), quotas.available('fine', CPU)) == (False, 8)
    quotas.give_back('gone', {CPU: 3})
