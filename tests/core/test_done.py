"""What is remembered of Jobs that succeeded."""

import base64
import random
import zlib

import pytest

from jobset.api import extras, types
from jobset.core import conditions, done, family, status
from tests.core import build

ASKING = {'annotations': {extras.DONE_STAYS_DONE.key: 'true'}}


BOMB = base64.b64encode(zlib.compress(b'a ' + b'1,' * 5_000_000 + b'1', 9)).decode()


def noted(text: str, *, restarts: int = 0) -> types.Status:
    told = build.condition('JobsDone', holds=True, reason='JobsSucceeded', message=text)
    return types.Status(conditions=(told,), restarts=restarts)


@pytest.mark.parametrize(
    ('text', 'restarts', 'expected'),
    [
        pytest.param('attempt 0: a 0-2,5; b 1', 0, {'a': {0, 1, 2, 5}, 'b': {1}}, id='ranges'),
        pytest.param('attempt 0: a 0-2', 1, {}, id='of an earlier attempt'),
        pytest.param('attempt 0: a x', 0, {}, id='not readable'),
        pytest.param('attempt 0: zlib AAAA', 0, {}, id='not readable when packed'),
        pytest.param('attempt 0: a 0-1000000', 0, {}, id='more than there can be'),
        pytest.param('attempt 0: a 0-999999999999999999', 0, {}, id='far more than there can be'),
        pytest.param(f'attempt 0: zlib {BOMB}', 0, {}, id='more text than there can be'),
    ],
)
def test_reading(text: str, restarts: int, expected: dict[str, set[int]]) -> None:
    assert done.known(build.jobset(metadata=ASKING, status=noted(text, restarts=restarts))) == expected


@pytest.mark.parametrize('count', [1, 10, 1_000, 12_000])
def test_whatever_is_noted_is_known_again(count: int) -> None:
    chance = random.Random(count)
    indexes = sorted({chance.randrange(2 * count) for _ in range(count)})
    cohort = family.Cohort()
    for index in indexes:
        cohort.put(build.job(f'a-{index}', ended=build.completed()))
    cohort.put(build.job('b-0', ended=build.failed()))
    cohort.put(build.job('b-1', active=1))
    draft = status.Draft(types.Status(), build.START)

    done.note(draft, cohort, {}, {})

    (condition,) = draft.current.conditions
    assert len(condition.message) <= 32_768
    assert done.known(build.jobset(metadata=ASKING, status=draft.current)) == {'a': frozenset(indexes)}


def test_those_that_are_gone_count_and_are_not_made() -> None:
    jobset = build.jobset(build.part('a', 4), metadata=ASKING, status=noted('attempt 0: a 0,2'))
    kin = build.relatives(build.job('a-0', ended=build.completed()), build.job('a-1', active=1))
    cohort = done.remembered(kin.current(0), done.known(jobset))
    assert (cohort.tally('a').succeeded, kin.current(0).tally('a').succeeded) == (2, 1)
    assert [child.name for child in done.missing(jobset, 0, kin)] == ['js-a-3']


def test_a_success_that_no_pass_has_looked_at_counts() -> None:
    """The Job succeeds and goes between two passes."""
    jobset = build.jobset(build.part('a', 2), metadata=ASKING)
    kin = build.relatives(build.job('a-0', ended=build.completed()), build.job('a-1', active=1))
    kin.drop(build.job('a-0', ended=build.completed()))
    draft = status.Draft(jobset.status, build.START)
    assert done.take(draft, jobset, kin).tally('a').succeeded == 1
    assert [condition.message for condition in draft.current.conditions] == ['attempt 0: a 0']
    assert done.missing(jobset, 0, kin) == ()


def test_what_departed_in_an_earlier_attempt_is_forgotten() -> None:
    kin = build.relatives(build.job('a-0', ended=build.completed()))
    kin.drop(build.job('a-0', ended=build.completed()))
    kin.put(build.job('a-0', attempt=1))
    assert kin.departed == {}


def test_many_that_are_done_do_not_hide_the_rest() -> None:
    count = family.MOST_AT_ONCE + 5
    jobset = build.jobset(build.part('a', count), metadata=ASKING, status=noted(f'attempt 0: a 0-{count - 3}'))
    assert [child.job_index for child in done.missing(jobset, 0, family.Family())] == [count - 2, count - 1]


@pytest.mark.parametrize(
    ('text', 'seconds', 'expected'),
    [
        pytest.param('attempt 0: a 0', 14.5, ((), 0.5), id='not over'),
        pytest.param('attempt 0: a 0', 15, ((build.ref('a-0'),), None), id='over'),
        pytest.param('attempt 0: a 1', 99, ((), None), id='not noted yet'),
    ],
)
def test_time_to_live(text: str, seconds: float, expected: object) -> None:
    template = {'spec': {**build.pods(), 'ttlSecondsAfterFinished': 5}}
    jobset = build.jobset(build.part('a', template=template), metadata=ASKING, status=noted(text))
    cohort = build.relatives(build.job('a-0', ended=build.completed(10))).current(0)
    assert done.expired(jobset, cohort, build.at(seconds)) == expected


def test_after_the_end_failed_jobs_live_no_longer_either() -> None:
    template = {'spec': {**build.pods(), 'ttlSecondsAfterFinished': 5}}
    ended = types.Status(conditions=(build.condition(conditions.FAILED, holds=True, reason='r', message='m'),))
    jobset = build.jobset(build.part('a', 2, template=template), metadata=ASKING, status=ended)
    cohort = build.relatives(build.job('a-0', ended=build.failed(10)), build.job('a-1', active=1)).current(0)
    assert done.expired(jobset, cohort, build.at(20)) == ((build.ref('a-0'),), None)
