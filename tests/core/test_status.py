"""The status that a pass is about to write."""

import msgspec
import pytest

from jobset.api import types
from jobset.core import conditions, plan, status
from tests.core import build

NOW = build.at(100)
AB = build.jobset(build.part('a', 1), build.part('b', 3))


def _counted(
    stored: types.Status,
    jobset: types.JobSet = AB,
    *,
    keep_job_restarts: bool = False,
) -> types.Status | None:
    draft = status.Draft(stored, NOW)
    cohort = build.relatives(build.job('b-0', active=1), build.job('b-1', ended=build.failed())).current(0)
    draft.count_jobs(jobset, cohort, keep_job_restarts=keep_job_restarts)
    return draft.changed


COUNTED = (build.counters('b', active=1, failed=1), build.counters('a'))


@pytest.mark.parametrize(
    ('stored', 'changed'),
    [
        pytest.param((), COUNTED, id='names stand in descending order, with one entry for each replicated job'),
        pytest.param(COUNTED, None, id='equal counters are no change'),
        pytest.param(COUNTED[::-1], None, id='another order is no change'),
        pytest.param((build.counters('b', active=1), build.counters('a')), COUNTED, id='one counter differs'),
        pytest.param((*COUNTED, build.counters('gone')), COUNTED, id='an entry of a replicated job that is gone'),
    ],
)
def test_count_jobs(
    stored: tuple[types.ReplicatedJobStatus, ...],
    changed: tuple[types.ReplicatedJobStatus, ...] | None,
) -> None:
    expected = None if changed is None else types.Status(restarts=2, replicated_jobs_status=changed)

    assert _counted(types.Status(restarts=2, replicated_jobs_status=stored)) == expected


def test_jobs_of_unknown_replicated_jobs_are_not_counted() -> None:
    assert _counted(types.Status(), build.jobset(build.part('a'))) == types.Status(
        replicated_jobs_status=(build.counters('a'),)
    )


@pytest.mark.parametrize(
    ('keep', 'kept'),
    [
        pytest.param(True, (0, 2, 0), id='kept while the gate is on'),
        pytest.param(False, (), id='dropped while it is off'),
    ],
)
def test_restarts_of_single_jobs_are_carried_over(keep: bool, kept: tuple[int, ...]) -> None:
    stored = msgspec.structs.replace(
        build.counters('b'), job_restarts=(0, 2, 0), job_restarts_count_towards_max=(0, 1, 0)
    )
    counted = _counted(types.Status(replicated_jobs_status=(stored,)), keep_job_restarts=keep)

    assert counted is not None
    entry = counted.replicated_jobs_status[0]
    assert (entry.name, entry.job_restarts) == ('b', kept)
    assert entry.job_restarts_count_towards_max == ((0, 1, 0) if keep else ())


@pytest.mark.parametrize(
    ('towards_max', 'expected'),
    [
        pytest.param(True, types.Status(restarts=4, restarts_count_towards_max=2), id='one that counts'),
        pytest.param(False, types.Status(restarts=4, restarts_count_towards_max=1), id='one that is free'),
    ],
)
def test_count_restart(towards_max: bool, expected: types.Status) -> None:
    draft = status.Draft(types.Status(restarts=3, restarts_count_towards_max=1), NOW)

    draft.count_restart(towards_max=towards_max)

    assert draft.changed == expected


def test_an_event_is_told_only_of_a_change() -> None:
    draft = status.Draft(types.Status(), NOW)

    draft.set(conditions.RESUMED)
    draft.set(conditions.NOW_SUSPENDED)
    draft.set(conditions.NOW_SUSPENDED)

    assert draft.events == [plan.Event(plan.EventType.NORMAL, 'SuspendedJobs', 'jobset is suspended')]


def test_the_stored_status_is_never_touched() -> None:
    stored = types.Status()
    draft = status.Draft(stored, NOW)

    draft.set(conditions.NOW_SUSPENDED)
    draft.count_restart(towards_max=True)

    assert draft.stored is stored
    assert stored == types.Status()


def test_what_is_done_and_undone_is_no_change() -> None:
    stored = types.Status(conditions=(build.condition('Suspended', holds=False, reason='ResumeJobs', message='m'),))
    draft = status.Draft(stored, NOW)
    draft.current = msgspec.structs.replace(stored, restarts=1)
    draft.current = msgspec.structs.replace(draft.current, restarts=0)

    assert draft.changed is None


@pytest.mark.parametrize(
    ('notice', 'restarting', 'state'),
    [
        pytest.param(
            conditions.ALL_COMPLETED, conditions.RESTART_COMPLETED, types.TerminalState.COMPLETED, id='completed'
        ),
        pytest.param(
            conditions.failed('FailedJobs', 'm'), conditions.RESTART_FAILED, types.TerminalState.FAILED, id='failed'
        ),
    ],
)
def test_end(notice: conditions.Notice, restarting: conditions.Notice, state: types.TerminalState) -> None:
    draft = status.Draft(types.Status(), NOW)

    draft.end(notice, restarting, state)

    # A set that was never restarted gets no RestartingJobSet condition at its end.
    assert draft.current == types.Status(
        terminal_state=state.value,
        conditions=(
            build.condition(notice.type, holds=True, reason=notice.reason, message=notice.message, seconds=100),
        ),
    )
