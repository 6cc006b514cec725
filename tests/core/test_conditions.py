"""The conditions of a JobSet and the rule by which one is written."""

import pytest

from jobset.api import types
from jobset.core import conditions, plan
from tests.core import build

NOW = build.at(100)


def _set(holds: bool, *, reason: str = 'R', message: str = 'm', seconds: float = 0) -> types.Condition:
    return build.condition('Suspended', holds=holds, reason=reason, message=message, seconds=seconds)


@pytest.mark.parametrize(
    ('stored', 'notice', 'expected'),
    [
        pytest.param(
            (),
            conditions.Notice('Suspended', True, 'R', 'm'),
            (_set(True, seconds=100),),
            id='a condition is born true',
        ),
        pytest.param((), conditions.Notice('Suspended', False, 'R', 'm'), None, id='a condition is never born false'),
        pytest.param(
            (_set(True),),
            conditions.Notice('Suspended', True, 'R', 'm'),
            None,
            id='an equal condition changes nothing',
        ),
        pytest.param(
            (_set(False),),
            conditions.Notice('Suspended', False, 'R', 'm'),
            None,
            id='an equal false condition changes nothing',
        ),
        pytest.param(
            (_set(True),),
            conditions.Notice('Suspended', False, 'S', 'n'),
            (_set(False, reason='S', message='n', seconds=100),),
            id='changing sides moves the transition time',
        ),
        pytest.param(
            (_set(True),),
            conditions.Notice('Suspended', True, 'S', 'm'),
            (_set(True, reason='S'),),
            id='another reason keeps the transition time',
        ),
        pytest.param(
            (_set(False),),
            conditions.Notice('Suspended', False, 'R', 'n'),
            (_set(False, message='n'),),
            id='another message keeps the transition time',
        ),
    ],
)
def test_updated(
    stored: tuple[types.Condition, ...],
    notice: conditions.Notice,
    expected: tuple[types.Condition, ...] | None,
) -> None:
    assert conditions.updated(stored, notice, NOW) == expected


def _startup(kind: str, holds: bool, seconds: float) -> types.Condition:
    return build.condition(kind, holds=holds, reason=f'InOrder{kind}', message='m', seconds=seconds)


@pytest.mark.parametrize(
    ('written', 'excluded'),
    [
        pytest.param('StartupPolicyInProgress', 'StartupPolicyCompleted', id='starting again revokes the completion'),
        pytest.param('StartupPolicyCompleted', 'StartupPolicyInProgress', id='completion ends the progress'),
    ],
)
def test_startup_conditions_exclude_each_other(written: str, excluded: str) -> None:
    notice = conditions.Notice(written, True, f'InOrder{written}', 'm')

    updated = conditions.updated((_startup(excluded, True, 5),), notice, NOW)

    # Of the excluded one the sign alone changes: reason, message and time stay.
    assert updated == (_startup(excluded, False, 5), _startup(written, True, 100))


def test_a_startup_condition_that_is_false_already_stays_as_it_is() -> None:
    stored = (_startup('StartupPolicyInProgress', False, 5), _startup('StartupPolicyCompleted', True, 7))

    assert conditions.updated(stored, conditions.Notice('Suspended', True, 'R', 'm'), NOW) == (
        *stored,
        _set(True, seconds=100),
    )


NORMAL, WARNING = plan.EventType.NORMAL, plan.EventType.WARNING


@pytest.mark.parametrize(
    ('notice', 'expected'),
    [
        pytest.param(
            conditions.ALL_COMPLETED,
            ('Completed', True, 'AllJobsCompleted', 'jobset completed successfully', NORMAL),
            id='completed',
        ),
        pytest.param(
            conditions.failed('FailedJobs', 'text'),
            ('Failed', True, 'FailedJobs', 'text', WARNING),
            id='failed',
        ),
        pytest.param(
            conditions.NOW_SUSPENDED,
            ('Suspended', True, 'SuspendedJobs', 'jobset is suspended', NORMAL),
            id='suspended',
        ),
        pytest.param(conditions.RESUMED, ('Suspended', False, 'ResumeJobs', 'jobset is resumed', NORMAL), id='resumed'),
        pytest.param(
            conditions.IN_ORDER_IN_PROGRESS,
            (
                'StartupPolicyInProgress',
                True,
                'InOrderStartupPolicyInProgress',
                'in order startup policy is in progress',
                NORMAL,
            ),
            id='in order, in progress',
        ),
        pytest.param(
            conditions.IN_ORDER_COMPLETED,
            (
                'StartupPolicyCompleted',
                True,
                'InOrderStartupPolicyCompleted',
                'in order startup policy has completed',
                NORMAL,
            ),
            id='in order, completed',
        ),
        pytest.param(
            conditions.restarting('DefaultFailurePolicy', 'text'),
            ('RestartingJobSet', True, 'DefaultFailurePolicy', 'text', WARNING),
            id='restarting',
        ),
        pytest.param(
            conditions.RESTART_READY,
            ('RestartingJobSet', False, 'JobsReady', 'all jobs are ready', NORMAL),
            id='a restart ends when all are ready',
        ),
        pytest.param(
            conditions.RESTART_COMPLETED,
            ('RestartingJobSet', False, 'JobSetCompleted', 'jobset completed successfully', NORMAL),
            id='a restart ends with completion',
        ),
        pytest.param(
            conditions.RESTART_FAILED,
            ('RestartingJobSet', False, 'JobSetFailed', 'jobset failed', NORMAL),
            id='a restart ends with failure',
        ),
        pytest.param(
            conditions.RESTART_SUSPENDED,
            ('RestartingJobSet', False, 'JobSetSuspended', 'jobset is suspended', NORMAL),
            id='a restart ends with suspension',
        ),
    ],
)
def test_texts_are_those_of_the_api(notice: conditions.Notice, expected: tuple[object, ...]) -> None:
    assert notice == expected


@pytest.mark.parametrize(
    ('held', 'ending'),
    [
        pytest.param((('Suspended', True),), None, id='a suspended set has not ended'),
        pytest.param((('Failed', False),), None, id='a false condition ends nothing'),
        pytest.param((('Suspended', True), ('Completed', True)), 'Completed', id='completed'),
        pytest.param((('Failed', True), ('Completed', True)), 'Failed', id='of two the first that stands there'),
        pytest.param((('Failed', False), ('Completed', True)), 'Completed', id='a false one is passed over'),
    ],
)
def test_terminal(held: tuple[tuple[str, bool], ...], ending: str | None) -> None:
    status = types.Status(
        conditions=tuple(build.condition(kind, holds=holds, reason='R', message='m') for kind, holds in held)
    )

    found = conditions.terminal(status)

    assert (found.type if found else None) == ending


@pytest.mark.parametrize(
    ('kind', 'holds'),
    [
        pytest.param('Suspended', True, id='true'),
        pytest.param('Failed', False, id='false'),
        pytest.param('Completed', False, id='absent'),
    ],
)
def test_is_true(kind: str, holds: bool) -> None:
    stored = (_set(True), build.condition('Failed', holds=False, reason='R', message='m'))

    assert conditions.is_true(types.Status(conditions=stored), kind) is holds


def test_times_have_whole_seconds_and_survive_the_round_trip() -> None:
    assert conditions.timestamp(build.at(1.9)) == '2026-01-01T00:00:01Z'
    assert conditions.parsed(conditions.timestamp(build.at(61))) == build.at(61)
