"""Names that belong to somebody else."""

import pytest

from jobset.api import keys, types
from jobset.core import conflicts, network, status
from tests.core import build

NOW = build.at(100)


def _conflict(message: str, *, seconds: float = 100) -> types.Condition:
    return build.condition(
        'NameConflict',
        holds=True,
        reason='ForeignObject',
        message=f'in the way, and not of this JobSet: {message}; delete it or rename the JobSet',
        seconds=seconds,
    )


@pytest.mark.parametrize(
    ('objects', 'message'),
    [
        pytest.param(['Job "js-a-0"'], 'Job "js-a-0"', id='one object'),
        pytest.param(['Job "js-a-0"', 'Job "js-a-1"'], 'Job "js-a-0", Job "js-a-1"', id='two objects'),
        pytest.param(
            [f'Job "j{i}"' for i in range(12)],
            ', '.join(f'Job "j{i}"' for i in range(10)) + ' and 2 more',
            id='ten of many objects',
        ),
    ],
)
def test_noted(objects: list[str], message: str) -> None:
    wanted = types.Status(restarts=3)

    assert conflicts.noted(wanted, objects, NOW) == types.Status(restarts=3, conditions=(_conflict(message),))


@pytest.mark.parametrize(
    ('condition', 'obj', 'noted'),
    [
        pytest.param(_conflict('Job "js-a-1", Job "js-a-2"'), 'Job "js-a-2"', True, id='one of two'),
        pytest.param(_conflict('Job "js-a-11"'), 'Job "js-a-1"', False, id='a longer name'),
        pytest.param(
            build.condition('NameConflict', holds=False, reason='NamesAreFree', message='Job "js-a-1"'),
            'Job "js-a-1"',
            False,
            id='a conflict that is over',
        ),
        pytest.param(
            build.condition('Failed', holds=True, reason='x', message='Job "js-a-1"'),
            'Job "js-a-1"',
            False,
            id='another condition',
        ),
    ],
)
def test_is_noted(condition: types.Condition, obj: str, noted: bool) -> None:
    assert conflicts.is_noted(types.Status(conditions=(condition,)), obj) is noted


def test_the_same_conflict_is_noted_once() -> None:
    once = conflicts.noted(types.Status(), ['Job "js-a-0"'], build.at(1))

    assert conflicts.noted(once, ['Job "js-a-0"'], NOW) is once


@pytest.mark.parametrize(
    ('seen', 'in_the_way'),
    [
        pytest.param(build.service(), False, id='ours'),
        pytest.param(build.service(cluster_ip='10.0.0.1'), False, id='ours, whatever became of it'),
        pytest.param(build.service(owner=None), False, id='nobody owns it but it serves us'),
        pytest.param(build.service(owner=None, selector={}), True, id='without a selector it selects nothing'),
        pytest.param(build.service(owner=None, cluster_ip='10.0.0.1'), True, id='with an address it is not headless'),
        pytest.param(build.service(owner=None, cluster_ip=None), True, id='without the word None it is not headless'),
        pytest.param(
            build.service(owner='other-uid', selector={keys.JOBSET_NAME: 'other'}), True, id='it selects other pods'
        ),
        pytest.param(
            build.service(owner='other-uid', selector={keys.JOBSET_NAME: 'js', 'tier': 'web'}),
            True,
            id='it selects fewer pods than ours',
        ),
    ],
)
def test_review_service(seen: network.Service, in_the_way: bool) -> None:
    draft = status.Draft(types.Status(), NOW)

    assert conflicts.review_service(draft, build.jobset(), seen) is in_the_way
    assert draft.current.conditions == ((_conflict('Service "js"'),) if in_the_way else ())
    assert draft.events == []


def test_the_end_of_a_conflict_is_recorded_without_an_event() -> None:
    draft = status.Draft(types.Status(conditions=(_conflict('Job "js-a-0"', seconds=5),)), NOW)

    conflicts.clear(draft)

    assert draft.events == []
    assert draft.changed == types.Status(
        conditions=(
            build.condition(
                'NameConflict',
                holds=False,
                reason='NamesAreFree',
                message='no object of somebody else is in the way any more',
                seconds=100,
            ),
        )
    )


def test_a_set_that_never_had_a_conflict_gets_no_condition() -> None:
    draft = status.Draft(types.Status(), NOW)

    conflicts.clear(draft)

    assert draft.changed is None
