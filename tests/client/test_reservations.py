"""Which nodes are reserved for which Job."""

import io
import json
import pathlib
from typing import Any

import pytest
import yaml

from jobset.api import keys
from jobset.client import reservations

RACK = 'example.com/rack'


def node(name: str, rack: str | None, held_by: str | None = None) -> dict[str, Any]:
    labels = {key: value for key, value in ((RACK, rack), (keys.NAMESPACED_JOB, held_by)) if value is not None}
    return {'metadata': {'name': name, 'labels': labels}}


def jobset(name: str, *parts: tuple[str, int], **metadata: str) -> dict[str, Any]:
    jobs = [{'name': part, 'replicas': count} for part, count in parts]
    return {'kind': keys.KIND, 'metadata': {'name': name, **metadata}, 'spec': {'replicatedJobs': jobs}}


NODES = [node('n1', 'r1'), node('n2', 'r1'), node('n3', 'r2'), node('n4', None)]


def places(made: list[reservations.Object]) -> dict[str, str]:
    return {one['metadata']['name']: one['metadata']['labels'][keys.NAMESPACED_JOB] for one in made}


def test_jobs_are_named_as_their_pods_select_them() -> None:
    manifests = [jobset('a', ('w', 2), ('x', 1)), {'kind': 'Service'}, jobset('b', ('w', 1), namespace='team')]
    assert reservations.jobs(manifests, 'default') == [
        'default_a-w-0',
        'default_a-w-1',
        'default_a-x-0',
        'team_b-w-0',
    ]


def test_each_job_gets_all_nodes_of_a_domain() -> None:
    made = reservations.reserve(['ns_a-w-0', 'ns_a-w-1'], NODES, RACK)

    assert places(made) == {'n1': 'ns_a-w-0', 'n2': 'ns_a-w-0', 'n3': 'ns_a-w-1'}
    assert made[0]['spec'] == {
        'taints': [{'key': 'alpha.jobset.sigs.k8s.io/no-schedule', 'value': 'true', 'effect': 'NoSchedule'}]
    }


@pytest.mark.parametrize(
    ('held', 'expected'),
    [
        pytest.param('ns_a-w-0', {'n3': 'ns_a-w-0'}, id='by the Job itself: it stays there'),
        pytest.param('other_b-w-0', {'n1': 'ns_a-w-0', 'n2': 'ns_a-w-0'}, id='by another Job: it is not given away'),
    ],
)
def test_a_domain_that_is_held(held: str, expected: dict[str, str]) -> None:
    nodes = [NODES[0], NODES[1], node('n3', 'r2', held)]
    assert places(reservations.reserve(['ns_a-w-0'], nodes, RACK)) == expected


def test_too_few_domains_are_told(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / 'train.yaml'
    file.write_text(yaml.safe_dump(jobset('a', ('w', 3))))
    monkeypatch.setattr('sys.stdin', io.StringIO(json.dumps({'items': NODES})))

    assert reservations.main([str(file), '--topology', RACK]) == 1
    assert capsys.readouterr().err.startswith('3 Jobs need a domain, and 2 of 2 domains of example.com/rack are free; ')


def test_what_is_printed_can_be_applied(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / 'train.yaml'
    file.write_text(yaml.safe_dump(jobset('a', ('w', 1))))
    monkeypatch.setattr('sys.stdin', io.StringIO(json.dumps({'items': NODES})))

    assert reservations.main([str(file), '--topology', RACK, '--namespace', 'team']) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed['kind'], places(printed['items'])) == ('List', {'n1': 'team_a-w-0', 'n2': 'team_a-w-0'})
