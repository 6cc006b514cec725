"""Names of Jobs that are taken: by a Job of ours that was not seen, or by one of somebody else."""

from collections.abc import Callable
from typing import Any

import pytest

from jobset.api import types
from jobset.controller import failing
from jobset.core import children, plan
from jobset.kube import errors
from tests.controller import bench
from tests.core import build

A0 = children.Child('js-a-0', 0, 0)
EVENT = plan.Event(plan.EventType.NORMAL, 'Told', 'a story')
STATUS = types.Status(restarts=1)


def some(count: int) -> tuple[children.Child, ...]:
    return tuple(children.Child(f'js-a-{index}', 0, index) for index in range(count))


async def carry_out(one: bench.Bench, jobset: types.JobSet, wanted: plan.Plan, *, careful: bool = False) -> None:
    await one.executor.carry_out(jobset, wanted, one.time.now(), careful=careful)


def job(one: bench.Bench, name: str) -> build.Manifest:
    found = one.server.get('jobs', name)
    assert found is not None
    return found


async def test_job_of_ours_that_was_not_seen_is_taken_in() -> None:
    one = bench.Bench()
    jobset = one.apply(build.part('a', 2))
    uid = one.add('jobs', 'js-a-0', owner=jobset.metadata.uid)

    await carry_out(one, jobset, plan.Plan(create=some(2), status=STATUS))

    assert one.names('jobs') == ['js-a-0', 'js-a-1']
    assert sorted(one.seen.family(jobset).jobs) == ['js-a-0', 'js-a-1']
    assert one.seen.family(jobset).jobs['js-a-0'].metadata.uid == uid
    assert one.events == []
    assert one.condition('NameConflict') is None


@pytest.mark.parametrize(
    'owner',
    [
        pytest.param(None, id='of nobody'),
        pytest.param('uid-of-an-earlier-js', id='of an earlier JobSet of that name'),
    ],
)
async def test_foreign_job_is_named_in_condition_and_event_and_never_touched(owner: str | None) -> None:
    one = bench.Bench()
    jobset = one.apply(build.part('a', 3))
    one.add('jobs', 'js-a-1', owner=owner)
    before = job(one, 'js-a-1')

    with pytest.raises(failing.PassFailedError, match='Job js-a-1 exists and belongs to somebody else'):
        await carry_out(one, jobset, plan.Plan(create=some(3), status=STATUS, events=(EVENT,)))

    found = one.condition('NameConflict')
    assert found is not None
    assert (found['status'], found['reason']) == ('True', 'ForeignObject')
    assert 'Job "js-a-1"' in found['message']
    assert one.stored()['status']['restarts'] == 1
    note = 'job "js-a-1" creation failed with error: jobs "js-a-1" already exists'
    assert one.events == [plan.Event(plan.EventType.WARNING, 'JobCreationFailed', note), EVENT]
    assert one.names('jobs') == ['js-a-0', 'js-a-1', 'js-a-2']
    assert job(one, 'js-a-1') == before
    assert sorted(one.seen.family(jobset).jobs) == ['js-a-0', 'js-a-2']


async def _in_conflict(one: bench.Bench, count: int) -> types.JobSet:
    """The JobSet after a pass that found so many Jobs of somebody else."""
    jobset = one.apply(build.part('a', 4))
    for index in range(count):
        one.add('jobs', f'js-a-{index}')
    with pytest.raises(failing.PassFailedError):
        await carry_out(one, jobset, plan.Plan(create=some(4)))
    one.line.heard.clear()
    return one.look()


async def test_of_names_that_are_known_to_be_taken_one_is_tried() -> None:
    one = bench.Bench()
    jobset = await _in_conflict(one, 3)
    before = one.stored()

    with pytest.raises(failing.PassFailedError):
        await carry_out(one, jobset, plan.Plan(create=some(3)), careful=True)

    assert one.line.told() == ['POST jobs js-a-0']
    assert one.stored() == before


async def test_all_are_tried_again_once_the_first_of_them_is_free() -> None:
    one = bench.Bench()
    jobset = await _in_conflict(one, 3)
    one.server.release('jobs', 'js-a-0')

    with pytest.raises(failing.PassFailedError):
        await carry_out(one, jobset, plan.Plan(create=some(3)), careful=True)

    assert one.line.told() == [
        'POST jobs js-a-0',
        'POST jobs js-a-1',
        'POST jobs js-a-2',
        'PUT jobsets js status',
    ]
    found = one.condition('NameConflict')
    assert found is not None
    assert 'Job "js-a-1", Job "js-a-2";' in found['message']


async def test_foreign_job_that_goes_while_we_look_is_no_conflict() -> None:
    one = bench.Bench()
    jobset = one.apply(build.part('a'))
    one.add('jobs', 'js-a-0')

    def vanish(request: Any) -> None:
        if request.method == 'GET':
            one.server.release('jobs', 'js-a-0')

    one.line.before = vanish

    with pytest.raises(failing.PassFailedError, match='404 NotFound'):
        await carry_out(one, jobset, plan.Plan(create=(A0,), status=STATUS))

    assert one.condition('NameConflict') is None
    assert one.line.told() == ['POST jobs js-a-0', 'GET jobs js-a-0']


@pytest.mark.parametrize(
    'error',
    [
        pytest.param(bench.server_error, id='500'),
        pytest.param(bench.forbidden, id='403'),
        pytest.param(bench.too_many(3), id='429'),
    ],
)
async def test_row_71_unreadable_job_in_the_way_is_neither_ours_nor_foreign(
    error: Callable[[str], errors.ApiError],
) -> None:
    one = bench.Bench()
    jobset = one.apply(build.part('a'))
    one.add('jobs', 'js-a-0', owner=jobset.metadata.uid)
    one.line.refuse = bench.failing('GET jobs', error)

    with pytest.raises(failing.PassFailedError):
        await carry_out(one, jobset, plan.Plan(create=(A0,), status=STATUS))

    assert one.condition('NameConflict') is None
    assert one.line.told() == ['POST jobs js-a-0', 'GET jobs js-a-0']
