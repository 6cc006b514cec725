"""What annotations and rules say about how a pod fares."""

import dataclasses

import pytest

from jobset.local.simulated import outcomes

DEFAULT = outcomes.Outcome(duration=60)


def _facts(attempt: str = '0', name: str = 'pod', **annotations: str) -> outcomes.Facts:
    said = {outcomes.PREFIX + key.replace('_', '-'): value for key, value in annotations.items()}
    labels = {'jobset.sigs.k8s.io/restart-attempt': attempt}
    return outcomes.Facts('default', name, 'node', labels, {'other': 'annotation', **said}, 0, 'seed')


@pytest.mark.parametrize(
    ('annotations', 'change'),
    [
        pytest.param({}, {}, id='nothing is said'),
        pytest.param({'duration': '90s'}, {'duration': 90.0}, id='a duration'),
        pytest.param({'duration': '1h30m'}, {'duration': 5400.0}, id='as Go writes it'),
        pytest.param({'duration': 'forever'}, {'duration': None}, id='no end'),
        pytest.param({'exit_code': '3'}, {'exit_code': 3}, id='an exit code'),
        pytest.param({'fail_at': '5s'}, {'duration': 5.0, 'exit_code': 1}, id='an early end'),
        pytest.param({'fail_at': '5s', 'exit_code': '7'}, {'duration': 5.0, 'exit_code': 1}, id='of its own code'),
        pytest.param({'fail_attempts': '1'}, {'exit_code': 1}, id='the first attempt fails at its end'),
        pytest.param({'fail_attempts': '1', 'fail_at': '2s'}, {'duration': 2.0, 'exit_code': 1}, id='or before'),
        pytest.param({'fail_probability': '0', 'fail_at': '2s'}, {}, id='never'),
        pytest.param({'fail_probability': '1', 'fail_at': '2s'}, {'duration': 2.0, 'exit_code': 1}, id='always'),
        pytest.param(
            {'start_delay': '2s', 'ready_after': '3s', 'stop_after': '4s', 'reason': 'OOMKilled', 'message': 'big'},
            {'start_delay': 2.0, 'ready_after': 3.0, 'stop_after': 4.0, 'reason': 'OOMKilled', 'message': 'big'},
            id='all else',
        ),
    ],
)
def test_annotations(annotations: dict[str, str], change: dict[str, object]) -> None:
    wanted = dataclasses.replace(DEFAULT, **change)  # type: ignore[arg-type]
    if annotations.get('exit_code') == '7':
        wanted = dataclasses.replace(wanted, exit_code=7)

    assert outcomes.decide(_facts(**annotations), (), DEFAULT) == wanted


def test_later_attempts_succeed() -> None:
    assert outcomes.decide(_facts(attempt='1', fail_attempts='1'), (), DEFAULT) == DEFAULT


@pytest.mark.parametrize(
    ('annotations', 'text'),
    [
        pytest.param({'duration': 'long'}, "'long' is no duration", id='no duration'),
        pytest.param({'exit_code': 'bad'}, "simulation.jobset.x-k8s.io/exit-code: 'bad' is no number", id='no number'),
    ],
)
def test_annotations_that_say_nothing(annotations: dict[str, str], text: str) -> None:
    with pytest.raises(outcomes.ScriptError, match=text):
        outcomes.decide(_facts(**annotations), (), DEFAULT)


def test_chance_is_the_same_for_the_same_pod_and_differs_between_pods() -> None:
    annotations = {'duration': '100s', 'jitter': '0.1'}
    first, again, other = (
        outcomes.decide(_facts(name=name, **annotations), (), DEFAULT).duration for name in ('a', 'a', 'b')
    )

    assert first == again != other
    assert first is not None
    assert 90 <= first <= 110


def test_pods_of_a_job_are_told_apart_by_their_index_not_by_their_name() -> None:
    def chance(name: str, index: str) -> float:
        labels = {'batch.kubernetes.io/job-name': 'job', 'batch.kubernetes.io/job-completion-index': index}
        return outcomes.Facts('default', name, 'node', labels, {}, 0, 0).chance.random()

    assert chance('job-0-x7k2p', '0') == chance('job-0-9d8fq', '0') != chance('job-1-x7k2p', '1')


def test_the_first_rule_that_says_anything_counts() -> None:
    def of_others(facts: outcomes.Facts) -> outcomes.Outcome | None:
        return outcomes.Outcome(duration=1) if facts.name == 'other' else None

    def of_all(facts: outcomes.Facts) -> outcomes.Outcome | None:
        return outcomes.Outcome(duration=2)

    assert outcomes.decide(_facts(duration='9s'), (of_others, of_all), DEFAULT) == outcomes.Outcome(duration=2)
    assert outcomes.decide(_facts(duration='9s'), (of_others,), DEFAULT).duration == 9.0
