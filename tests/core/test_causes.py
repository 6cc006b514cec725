"""Why a Job failed, from what is left of it."""

from typing import Any

import msgspec
import pytest

from jobset.api import pods
from jobset.api.extravalues import Cause
from jobset.core import causes
from jobset.core.causes import Death
from tests.core import build


def pod(name: str = 'p', **status: Any) -> pods.Pod:
    manifest = {'metadata': {'name': name}, 'spec': {'nodeName': 'n'}, 'status': status}
    return msgspec.json.decode(msgspec.json.encode(manifest), type=pods.Pod)


def ended(code: int, *, reason: str = 'Error', at: float = 5, said: str = '', name: str = 'main') -> build.Manifest:
    state = {'exitCode': code, 'reason': reason, 'message': said, 'finishedAt': build.stamp(at)}
    return {'name': name, 'state': {'terminated': state}}


def waiting(reason: str) -> build.Manifest:
    return {'name': 'main', 'state': {'waiting': {'reason': reason, 'message': 'm'}}}


def disrupted(reason: str) -> list[build.Manifest]:
    return [{'type': 'DisruptionTarget', 'status': 'True', 'reason': reason, 'message': 'm'}]


@pytest.mark.parametrize(
    ('status', 'cause'),
    [
        pytest.param({'phase': 'Running'}, None, id='all is well'),
        pytest.param({'phase': 'Succeeded'}, None, id='all was well'),
        pytest.param(
            {'phase': 'Running', 'conditions': disrupted('PreemptionByScheduler')}, Cause.DISRUPTION, id='preempted'
        ),
        pytest.param(
            {'phase': 'Failed', 'conditions': disrupted('EvictionByEvictionAPI'), 'containerStatuses': [ended(143)]},
            Cause.DISRUPTION,
            id='evicted',
        ),
        pytest.param(
            {'phase': 'Failed', 'conditions': disrupted('DeletionByTaintManager')}, Cause.NODE, id='node tainted'
        ),
        pytest.param({'phase': 'Failed', 'conditions': disrupted('DeletionByPodGC')}, Cause.NODE, id='node removed'),
        pytest.param({'phase': 'Failed', 'reason': 'Evicted'}, Cause.DISRUPTION, id='by its kubelet'),
        pytest.param({'phase': 'Failed', 'reason': 'NodeLost'}, Cause.NODE, id='node lost'),
        pytest.param({'phase': 'Failed', 'reason': 'OutOfcpu'}, Cause.START, id='refused by its node'),
        pytest.param({'phase': 'Failed', 'reason': 'UnexpectedAdmissionError'}, Cause.START, id='refused by a device'),
        pytest.param({'phase': 'Pending', 'containerStatuses': [waiting('ImagePullBackOff')]}, Cause.START, id='image'),
        pytest.param(
            {'phase': 'Pending', 'initContainerStatuses': [waiting('CreateContainerConfigError')]},
            Cause.START,
            id='configuration',
        ),
        pytest.param({'phase': 'Pending', 'containerStatuses': [waiting('ContainerCreating')]}, None, id='on its way'),
        pytest.param(
            {'phase': 'Failed', 'containerStatuses': [ended(128, reason='StartError')]},
            Cause.START,
            id='cannot be started',
        ),
        pytest.param(
            {'phase': 'Failed', 'containerStatuses': [ended(137, reason='OOMKilled')]},
            Cause.APPLICATION,
            id='out of memory',
        ),
        pytest.param({'phase': 'Failed'}, Cause.UNKNOWN, id='nothing is left'),
    ],
)
def test_of_a_pod(status: build.Manifest, cause: Cause | None) -> None:
    found = causes.of_pod(pod(**status))
    assert (None if found is None else found.cause) == cause


def test_the_container_that_ended_first_tells() -> None:
    both = [ended(143, at=9, name='late', said='late'), ended(7, at=8, name='early', said='a\nb')]
    expected = Death(
        Cause.APPLICATION,
        'Error: exit code 7',
        pod='p',
        node='n',
        container='early',
        exit_code=7,
        lines='a\nb',
        time=build.stamp(8),
    )
    assert causes.of_pod(pod(phase='Failed', containerStatuses=both)) == expected


def test_last_words_are_bounded() -> None:
    found = causes.of_pod(pod(phase='Failed', containerStatuses=[ended(1, said='x' * 5_000 + '\nlast' * 30)]))
    assert found is not None
    assert found.lines == '\n'.join(['last'] * 20)
    found = causes.of_pod(pod(phase='Failed', containerStatuses=[ended(1, said='x' * 5_000)]))
    assert found is not None
    assert found.lines == 'x' * 2_000


def test_the_first_death_is_the_cause() -> None:
    job = build.job('a-0', ended=build.failed())
    crash, later = (Death(Cause.APPLICATION, pod=str(at), time=build.stamp(at)) for at in (5, 6))
    assert causes.of_job(job, [later, crash]) == crash
    # Peers of a preempted pod crash because of it.
    made_room = Death(Cause.DISRUPTION, pod='q')
    assert causes.of_job(job, [crash, made_room]) == made_room


def test_a_peer_of_which_nobody_knows_how_it_ended_hides_no_preemption() -> None:
    peer = Death(Cause.UNKNOWN, pod='a')
    preempted = Death(Cause.DISRUPTION, 'PreemptionByScheduler: m', pod='b')

    assert causes.of_job(build.job('a-0', ended=build.failed()), [peer, preempted]) == preempted


@pytest.mark.parametrize(
    ('reason', 'message', 'cause', 'code'),
    [
        pytest.param('DeadlineExceeded', 'm', Cause.DEADLINE, None),
        pytest.param(
            'PodFailurePolicy',
            'Pod a/p has condition DisruptionTarget matching FailJob rule at index 1',
            Cause.DISRUPTION,
            None,
        ),
        pytest.param(
            'PodFailurePolicy',
            'Container main for pod a/p failed with exit code 42 matching FailJob rule',
            Cause.APPLICATION,
            42,
        ),
        pytest.param('BackoffLimitExceeded', 'm', Cause.UNKNOWN, None),
    ],
)
def test_without_pods_the_condition_tells(reason: str, message: str, cause: Cause, code: int | None) -> None:
    found = causes.of_job(build.job('a-0', ended=build.failed(reason=reason, message=message)))
    assert (found.cause, found.exit_code, found.text) == (cause, code, f'{reason}: {message}')
