"""Agents in real pods: restarts in place, the start barrier, and what an agent's token is good for.

The controller runs with the gate InPlaceRestart for the length of these tests.
"""

import copy
import textwrap
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from e2e import agents, deployment
from e2e.kubectl import Kubectl
from jobset.agent import barrier, rounds
from tests.scenarios.api import Object, Objects
from tests.scenarios.space import SAMPLES, Space, sample
from tests.scenarios.stories import UNTIL_TOLD

PODS = 20
FAILS_WHEN_TOLD = ('sh', '-c', f'{UNTIL_TOLD}; exit 1')
"""It does not listen to SIGTERM, as most that is the first process of its container, and has the grace period that pods
have if nothing is said about it."""


@pytest.fixture(scope='module')
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return agents.packed(tmp_path_factory.mktemp('agent'))


@pytest.fixture(scope='module', autouse=True)
def gate(kubectl: Kubectl) -> Iterator[None]:
    with deployment.gated(kubectl, 'InPlaceRestart'):
        yield


@pytest.fixture
def place(here: Space, kubectl: Kubectl, packed: Path) -> Space:
    """The namespace with what pods with an agent need."""
    agents.install(here, kubectl, packed)
    return here


def whereabouts(pods: Objects) -> dict[str, tuple[str, str]]:
    return {name: (pod['metadata']['uid'], pod['spec']['nodeName']) for name, pod in pods.items()}


@pytest.mark.parametrize('mode', ['sidecar', 'wrapper'])
def test_restarts_in_place_keep_pods(place: Space, mode: str) -> None:
    place.apply(agents.in_place(mode, mode, pods=PODS, program=FAILS_WHEN_TOLD))
    before = agents.in_attempt(place, mode, 0, pods=PODS)

    with place.history('pods') as story:
        place.execute(agents.victim(before), 'touch', '/tmp/told')
        after = agents.in_attempt(place, mode, 1, pods=PODS)

    assert whereabouts(after) == whereabouts(before)
    assert {name for moment in story.moments for name in moment} == set(before)
    assert {pod['metadata']['annotations'][rounds.ATTEMPT] for pod in after.values()} == {'1'}
    status = place.jobset(mode)['status']
    assert (status['restarts'], status.get('restartsCountTowardsMax', 0)) == (0, 0)
    assert (status['previousInPlaceRestartAttempt'], status['currentInPlaceRestartAttempt']) == (0, 1)


@pytest.mark.parametrize('mode', ['sidecar', 'wrapper'])
def test_sample(place: Space, mode: str) -> None:
    name = f'in-place-{mode}'
    place.apply(SAMPLES / 'in-place' / f'{mode}.yaml')

    status = place.until_condition(name, 'Completed')['status']

    assert (status['restarts'], status['currentInPlaceRestartAttempt']) == (0, 1)
    pods = place.all('pods')
    assert len(pods) == 4
    assert {each['restartCount'] for pod in pods.values() for each in pod['status']['containerStatuses']} == {1}


def test_all_start_with_the_last_one_although_it_comes_a_minute_later(place: Space) -> None:
    [one] = copy.deepcopy(sample('in-place/start-barrier.yaml'))
    pod = one['spec']['replicatedJobs'][0]['template']['spec']['template']['spec']
    late, agent = pod['initContainers']
    late['command'][2] = late['command'][2].replace('sleep 10', 'sleep 60')
    assert 'sleep 60' in late['command'][2]
    assert 'JOBSET_START_BARRIER' in {each['name'] for each in agent['env']}

    place.apply(one)
    place.until_condition('start-barrier', 'Completed')

    pods = place.all('pods').values()
    assert sorted(pod['metadata']['annotations'][barrier.BARRIER] for pod in pods) == ['here', 'here', 'here', 'open']
    # The workers of the other pods had everything that they needed for a minute. Both times are in whole seconds.
    assert min(begun(pod, 'worker') for pod in pods) >= max(begun(pod, 'agent') for pod in pods)
    assert place.jobset('start-barrier')['status']['restarts'] == 0


def begun(pod: Object, name: str) -> datetime:
    """When a container of a pod that has ended began."""
    status = pod['status']
    [one] = [each for each in status['initContainerStatuses'] + status['containerStatuses'] if each['name'] == name]
    return datetime.fromisoformat(one['state']['terminated']['startedAt'])


PATCH = textwrap.dedent("""
    import json, pathlib, ssl, sys, urllib.error, urllib.request

    name, body = sys.argv[1:]
    account = pathlib.Path('/var/run/secrets/kubernetes.io/serviceaccount')
    url = f'https://kubernetes.default.svc/api/v1/namespaces/{(account / "namespace").read_text()}/pods/{name}'
    headers = {
        'Authorization': f'Bearer {(account / "token").read_text()}',
        'Content-Type': 'application/merge-patch+json',
    }
    request = urllib.request.Request(url, data=body.encode(), headers=headers, method='PATCH')
    context = ssl.create_default_context(cafile=account / 'ca.crt')
    try:
        with urllib.request.urlopen(request, context=context, timeout=30) as answer:
            print(answer.status)
    except urllib.error.HTTPError as error:
        print(error.code, json.load(error)['message'])
""")


def test_what_the_token_of_an_agent_is_good_for(place: Space, kubectl: Kubectl) -> None:
    place.apply(agents.in_place('sidecar', 'sidecar', pods=PODS, program=FAILS_WHEN_TOLD))
    own, other, *_ = sorted(agents.in_attempt(place, 'sidecar', 0, pods=PODS))

    def patched(name: str, body: str) -> str:
        return kubectl('-n', place.name, 'exec', own, '-c', 'agent', '--', 'python3', '-c', PATCH, name, body).strip()

    def annotation(key: str, value: str) -> str:
        return f'{{"metadata": {{"annotations": {{"{key}": "{value}"}}}}}}'

    assert patched(own, annotation(rounds.ATTEMPT, '0')) == '200'
    assert patched(own, annotation(barrier.BARRIER, 'here')) == '200'
    assert 'an agent may change its own pod only' in patched(other, annotation(rounds.ATTEMPT, '0'))
    assert 'an agent may not change annotations of others' in patched(own, annotation('a', 'b'))
    assert 'an attempt is a number' in patched(own, annotation(rounds.ATTEMPT, 'x'))
    assert 'an agent may not change labels' in patched(own, '{"metadata": {"labels": {"a": "b"}}}')
    assert 'an agent may change annotations only' in patched(own, '{"spec": {"activeDeadlineSeconds": 1}}')
