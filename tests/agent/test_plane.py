"""Agents in pods of the embedded cluster, with our controller: what the samples promise."""

import base64
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobset.agent import barrier, rounds
from jobset.api import features
from jobset.local import cluster
from tests.scenarios import plane
from tests.scenarios.space import SAMPLES, Space, conditions

RANKS = ['0-0', '0-1', '1-0', '1-1']


@pytest.fixture(scope='module')
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[plane.Plane]:
    gates = features.parse({'InPlaceRestart': True})
    with plane.started(tmp_path_factory.mktemp('plane'), cluster.Settings(gates=gates)) as running:
        yield running


@pytest.fixture
def here(request: pytest.FixtureRequest, place: plane.Plane, packed: Path) -> Space:
    """A namespace with what the samples ask for."""
    space = Space(place, re.sub(r'[^a-z]+', '-', request.node.name.lower())[:40].strip('-'))
    space.apply({'apiVersion': 'v1', 'kind': 'ServiceAccount', 'metadata': {'name': 'jobset-agent'}})
    data = {packed.name: base64.b64encode(packed.read_bytes()).decode()}
    space.apply({'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'jobset-agent'}, 'binaryData': data})
    return space


@pytest.mark.parametrize(('mode', 'counted'), [('sidecar', {'agent', 'worker'}), ('wrapper', {'worker'})])
def test_workers_restart_in_place(here: Space, mode: str, counted: set[str]) -> None:
    name = f'in-place-{mode}'
    with here.history('pods') as pods:
        here.apply(SAMPLES / 'in-place' / f'{mode}.yaml')
        one = here.until_condition(name, 'Completed')

    status = one['status']
    assert conditions(one) == {'Completed': ('True', 'AllJobsCompleted')}
    assert (status['restarts'], status['currentInPlaceRestartAttempt'], status['previousInPlaceRestartAttempt']) == (
        0,
        1,
        0,
    )
    ever = {pod['metadata']['uid'] for moment in pods.moments for pod in moment.values()}
    last = here.until('pods', lambda seen: len(seen) == len(RANKS), what='all pods')
    assert ever == {pod['metadata']['uid'] for pod in last.values()}
    for pod in last.values():
        statuses = [
            *pod['status'].get('initContainerStatuses', []),
            *pod['status']['containerStatuses'],
        ]
        assert {each['name']: each['restartCount'] for each in statuses} == dict.fromkeys(counted, 1)
        assert pod['metadata']['annotations'][rounds.ATTEMPT] == '1'


def test_all_start_with_the_last_one(here: Space) -> None:
    with here.history('pods') as pods:
        here.apply(SAMPLES / 'in-place' / 'start-barrier.yaml')
        here.until_condition('start-barrier', 'Completed')

    last = pods.moments[-1]
    assert sorted(pod['metadata']['annotations'][barrier.BARRIER] for pod in last.values()) == [
        'here',
        'here',
        'here',
        'open',
    ]
    begun = [int(line) for job in range(2) for line in here.logs(f'start-barrier-worker-{job}')]
    late = next(pod for name, pod in last.items() if name.startswith('start-barrier-worker-1-1-'))
    assert len(begun) == len(RANKS)
    assert max(begun) - min(begun) <= 1
    assert late['status']['initContainerStatuses'][0]['name'] == 'late'
