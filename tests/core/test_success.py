"""When a JobSet is complete."""

import pytest

from jobset.core import success
from tests.core import build

AB = (build.part('a', 2), build.part('b', 3))
NOTHING = (build.part('z', 0), build.part('a', 1), build.part('b', 1))


def _policy(operator: str = 'All', *targets: str) -> build.Manifest:
    return {'operator': operator, 'targetReplicatedJobs': list(targets)}


@pytest.mark.parametrize(
    ('parts', 'policy', 'done', 'complete'),
    [
        pytest.param(AB, _policy('All', 'b'), {'a': 0, 'b': 3}, True, id='all of the targets, whatever the others do'),
        pytest.param(AB, _policy('All', 'b'), {'a': 2, 'b': 2}, False, id='others do not count for the targets'),
        pytest.param(AB, _policy('Any'), {'b': 1}, True, id='any is the first success of any Job'),
        pytest.param(AB, _policy('Any'), {}, False, id='any needs one'),
        pytest.param(AB, _policy('Any', 'a'), {'b': 3}, False, id='any of the targets'),
        pytest.param(AB, _policy('Any', 'a'), {'a': 1}, True, id='one of the targets is enough'),
        pytest.param(AB, _policy('All'), {'a': 2, 'b': 2}, False, id='four of five'),
        pytest.param(AB, _policy('All'), {'a': 2, 'b': 3}, True, id='five of five'),
        pytest.param(AB, None, {'a': 2, 'b': 2}, False, id='no policy means all: four of five'),
        pytest.param(AB, None, {'a': 2, 'b': 3}, True, id='no policy means all: five of five'),
        pytest.param(AB, _policy('All', 'a', 'b'), {'a': 2, 'b': 3}, True, id='two targets'),
        pytest.param(NOTHING, _policy('All', 'z'), {'a': 1}, False, id='targets of zero replicas wait for the rest'),
        pytest.param(NOTHING, _policy('All', 'z'), {'a': 1, 'b': 1}, True, id='and end with the rest'),
        pytest.param(NOTHING, _policy('Any', 'z'), {'a': 1}, False, id='any of zero replicas waits, too'),
        pytest.param(
            NOTHING, _policy('Any', 'z'), {'a': 1, 'b': 1}, True, id='any of zero replicas ends with the rest'
        ),
        pytest.param(NOTHING, _policy('All', 'z', 'a'), {'a': 1}, True, id='zero replicas beside others are true'),
        pytest.param((), None, {}, True, id='a set without replicated jobs is complete'),
        pytest.param((build.part('z', 0),), None, {}, True, id='a set without replicas is complete'),
        pytest.param((build.part('z', 0),), _policy('Any'), {}, True, id='even where any is asked for'),
        pytest.param(AB, _policy('All', 'gone'), {'a': 2, 'b': 2}, False, id='targets that are not there wait'),
        pytest.param(
            AB, _policy('Any', 'gone'), {'a': 2, 'b': 3}, False, id='any of targets that are not there never ends'
        ),
        pytest.param(AB, _policy('All', 'gone'), {'a': 2, 'b': 3}, True, id='targets that are not there end at last'),
    ],
)
def test_is_complete(
    parts: tuple[build.Manifest, ...],
    policy: build.Manifest | None,
    done: dict[str, int],
    complete: bool,
) -> None:
    jobset = build.jobset(*parts, successPolicy=policy)
    ended = [build.job(f'{name}-{i}', ended=build.completed()) for name, count in done.items() for i in range(count)]

    assert success.is_complete(jobset, build.relatives(*ended).current(0)) is complete


@pytest.mark.parametrize(
    ('suspend', 'complete'),
    [
        pytest.param(True, False, id='a suspended set with nothing to run is not complete'),
        pytest.param(False, True, id='but when it resumes'),
    ],
)
def test_nothing_to_run(suspend: bool, complete: bool) -> None:
    jobset = build.jobset(build.part('z', 0), suspend=suspend)

    assert success.is_complete(jobset, build.relatives().current(0)) is complete


def test_success_counts_while_suspended() -> None:
    jobset = build.jobset(build.part('a', 1), suspend=True)

    assert success.is_complete(jobset, build.relatives(build.job('a-0', ended=build.completed())).current(0))


def test_jobs_not_pods_are_counted_for_any() -> None:
    jobset = build.jobset(build.part('w', 1), successPolicy=_policy('Any'))
    running = build.job('w-0', parallelism=5, completions=5, succeeded=4, active=1)

    assert not success.is_complete(jobset, build.relatives(running).current(0))
