"""How long pauses are, and when they are over."""

import pytest

from jobset.api import extras, types
from jobset.api.extravalues import Pause
from jobset.core import conditions, pauses, status
from tests.core import build

BRAKE = Pause(base=1, cap=60, reset=300)
ASKING = {'annotations': {extras.RESTART_PAUSE.key: 'base=1s, cap=1m, reset=5m'}}


@pytest.mark.parametrize(
    ('number', 'seconds'),
    [(1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (10_000, 60)],
)
def test_pauses_double_up_to_the_cap(number: int, seconds: float) -> None:
    assert pauses.length(BRAKE, number, jitter_by='x') == seconds


def test_jitter_is_bounded_spread_and_the_same_for_the_same_attempt() -> None:
    loose = Pause(base=10, cap=10, reset=300, jitter=0.5)
    lengths = [pauses.length(loose, 1, jitter_by=f'uid-{n}/1') for n in range(200)]
    assert all(10 <= each <= 15 for each in lengths)
    assert min(lengths) < 11
    assert max(lengths) > 14
    assert lengths == [pauses.length(loose, 1, jitter_by=f'uid-{n}/1') for n in range(200)]


def stored(*told: types.Condition, restarts: int = 3) -> types.Status:
    return types.Status(conditions=told, restarts=restarts)


def paused(number: int, attempt: int) -> types.Condition:
    message = f'attempt {attempt}: pause {number}: jobs are made at 2026-01-01T00:00:07+00:00'
    return build.condition('RestartPaused', holds=True, reason='RestartPause', message=message)


def ready(at: float) -> types.Condition:
    return build.condition(conditions.RESTARTING, holds=False, reason='JobsReady', message='m', seconds=at)


RESTARTING = build.condition(conditions.RESTARTING, holds=True, reason='r', message='m')
SUSPENDED = build.condition(conditions.RESTARTING, holds=False, reason='JobSetSuspended', message='m')


@pytest.mark.parametrize(
    ('before', 'failed_at', 'expected'),
    [
        pytest.param([], 10, (1, '16:41'), id='the first'),
        pytest.param([paused(2, 3), RESTARTING], 10, (3, '16:44'), id='never ready'),
        pytest.param([paused(2, 3), SUSPENDED], 900, (3, '16:44'), id='suspended'),
        pytest.param([paused(2, 3), ready(10)], 309, (3, '16:44'), id='not long enough'),
        pytest.param([paused(2, 3), ready(10)], 310, (1, '16:41'), id='healthy'),
    ],
)
def test_which_pause_comes(before: list[types.Condition], failed_at: float, expected: tuple[int, str]) -> None:
    draft = status.Draft(stored(*before), build.at(1000))
    draft.count_restart(towards_max=True)
    pauses.begin(draft, build.jobset(metadata=ASKING), [build.job('a-0', ended=build.failed(failed_at))])
    found = conditions.find(draft.current, 'RestartPaused')
    assert found is not None
    number, time = expected
    assert found.message == f'attempt 4: pause {number}: jobs are made at 2026-01-01T00:{time}+00:00'


@pytest.mark.parametrize(
    ('told', 'annotations', 'left'),
    [
        pytest.param(paused(2, 3), ASKING, 5, id='paused'),
        pytest.param(paused(2, 2), ASKING, 0, id='an earlier pause'),
        pytest.param(paused(2, 3), {}, 0, id='not asked for any more'),
    ],
)
def test_what_is_left(told: types.Condition, annotations: build.Manifest, left: float) -> None:
    jobset = build.jobset(metadata=annotations, status=stored(told))
    assert pauses.seconds_left(jobset, build.at(2)) == left


@pytest.mark.parametrize(('jobs', 'kept'), [(100, 100), (1024, 1024), (20_000, None)])
def test_pauses_of_single_jobs_fit_into_a_condition_however_many_there_are(jobs: int, kept: int | None) -> None:
    """Those that do not are forgotten in the order in which they are over."""
    ends = {number: build.at(number * 1.618033) for number in range(jobs)}
    paused = {f'js-w-{number}': pauses.Single(number % 7 + 1, at.isoformat()) for number, at in ends.items()}
    text = pauses._written(paused)
    message = f'attempt 0: {text}'
    condition = build.condition('JobRestartsPaused', holds=True, reason='RestartPause', message=message)
    found = pauses.singles(types.Status(conditions=(condition,)))

    assert len(message) <= 32_768
    assert found == {name: paused[name] for name in list(paused)[-len(found) :]}
    assert len(found) == kept if kept is not None else len(found) > 1024


@pytest.mark.parametrize('text', ['zlib !', 'zlib eJwDAAAAAAE=', 'js-w-0', 'js-w-0 1', 'zlib'])
def test_pauses_that_nobody_has_written_are_none(text: str) -> None:
    stored = types.Status(
        conditions=(
            build.condition('JobRestartsPaused', holds=True, reason='RestartPause', message=f'attempt 0: {text}'),
        )
    )
    assert pauses.singles(stored) == {}
