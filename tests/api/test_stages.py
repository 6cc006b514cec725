"""Which replicated jobs may run beside each other."""

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobset.api import stages
from tests.api import build

Needs = dict[str, str]


def jobset(needs: dict[str, Needs], **spec: Any) -> Any:
    """``needs`` by name of the replicated job: those that must be Ready or Complete."""
    jobs = []
    for name, of in needs.items():
        wanted = [{'name': on, 'status': how} for on, how in of.items()]
        jobs.append(build.replicated(name, dependsOn=wanted) if wanted else build.replicated(name))
    return build.typed(build.obj(jobs, **spec))


@pytest.mark.parametrize(
    ('needs', 'wanted'),
    [
        pytest.param({}, (), id='nothing'),
        pytest.param({'a': {}, 'b': {}}, ((0, 1),), id='nobody waits'),
        pytest.param({'a': {}, 'b': {'a': 'Complete'}}, ((0,), (1,)), id='one after the other'),
        pytest.param({'a': {}, 'b': {'a': 'Ready'}}, ((0, 1),), id='one beside the other'),
        pytest.param(
            {'a': {}, 'b': {'a': 'Complete'}, 'c': {}},
            ((0, 2), (1, 2)),
            id='who waits for nobody is always there',
        ),
        pytest.param(
            {'a': {}, 'b': {'a': 'Complete'}, 'c': {'b': 'Ready'}}, ((0,), (1, 2)), id='what ended before, stays ended'
        ),
        pytest.param(
            {'a': {}, 'b': {'a': 'Ready'}, 'c': {'b': 'Complete'}}, ((0, 1), (0, 2)), id='who comes first may still run'
        ),
        pytest.param(
            {'a': {}, 'b': {'a': 'Complete'}, 'c': {}, 'd': {'c': 'Complete'}},
            ((0, 2), (0, 3), (1, 2), (1, 3)),
            id='two lines, in any step of each',
        ),
        pytest.param({'a': {'b': 'Complete'}, 'b': {}}, ((0, 1),), id='on a later one, which is refused'),
    ],
)
def test_running(needs: dict[str, Needs], wanted: tuple[tuple[int, ...], ...]) -> None:
    assert stages.running(jobset(needs), range(len(needs))) == wanted


def test_in_order_all_run_beside_each_other() -> None:
    ordered = jobset({'a': {}, 'b': {}}, startupPolicy={'startupPolicyOrder': 'InOrder'})
    assert stages.running(ordered, range(2)) == ((0, 1),)
    assert stages.starting(ordered) == [[0], [1]]


def test_only_those_left_count() -> None:
    line = jobset({'a': {}, 'b': {'a': 'Complete'}, 'c': {'b': 'Complete'}})
    assert stages.running(line, [2, 1]) == ((1,), (2,))
    assert stages.running(line, []) == ()


def test_too_many_stages_are_one() -> None:
    lines: dict[str, Needs] = {}
    for number in range(7):
        lines |= {f'a{number}': {}, f'b{number}': {f'a{number}': 'Complete'}}
    assert stages.running(jobset(lines), range(14)) == (tuple(range(14)),)
    assert len(stages.running(jobset(lines), range(12))) == stages.MOST


@given(data=st.data(), count=st.integers(1, 6))
@settings(max_examples=100, deadline=None)
def test_all_that_can_run_together_is_in_one_stage(data: st.DataObject, count: int) -> None:
    names = [f'r{number}' for number in range(count)]
    how = st.sampled_from(['', '', 'Ready', 'Complete'])
    needs = {
        name: {on: status for on in names[:place] if (status := data.draw(how))} for place, name in enumerate(names)
    }
    found = stages.running(jobset(needs), range(count))
    ended: dict[str, set[str]] = {}
    for name in names:
        ended[name] = {on for on, status in needs[name].items() if status == 'Complete'}
        ended[name] |= {each for on in needs[name] for each in ended[on]}
    for size in range(1, count + 1):
        for some in itertools.combinations(range(count), size):
            apart = any(names[one] in ended[names[other]] for one in some for other in some)
            assert any(set(some) <= set(stage) for stage in found) is not apart
