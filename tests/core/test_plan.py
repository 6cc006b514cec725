"""The plan as data."""

import pytest

from jobset.api import types
from jobset.core import children, plan
from tests.core import build


@pytest.mark.parametrize(
    ('wanted', 'empty'),
    [
        pytest.param(plan.Plan(), True, id='nothing'),
        pytest.param(plan.Plan(again_after_seconds=5), True, id='to look again writes nothing'),
        pytest.param(plan.Plan(delete=(build.ref('a-0'),)), False, id='a deletion'),
        pytest.param(plan.Plan(create=(children.Child('js-a-0', 0, 0),)), False, id='a creation'),
        pytest.param(plan.Plan(suspend=(build.ref('a-0'),)), False, id='a suspension'),
        pytest.param(plan.Plan(status=types.Status()), False, id='a status'),
        pytest.param(plan.Plan(delete_jobset=True), False, id='the end of the set'),
        pytest.param(plan.Plan(events=(plan.Event(plan.EventType.NORMAL, 'R', 'n'),)), False, id='an event'),
    ],
)
def test_is_empty(wanted: plan.Plan, empty: bool) -> None:
    assert wanted.is_empty is empty
