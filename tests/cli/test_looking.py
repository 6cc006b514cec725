"""``tree``, ``status``, ``events`` and ``logs``: a pipeline whose second attempt runs."""

import json
from typing import Any

import pytest

from tests.cli.conftest import Jobset
from tests.client import facts, fakes

NOTE = 'applying RestartJobSet failure policy action (first failed job: js-train-0)'


@pytest.fixture
def pipeline(cluster: fakes.Cluster) -> fakes.Cluster:
    """Its data are there; of the training one pod has failed, one runs, one cannot be placed."""
    obj = facts.jobset(
        facts.group('prep'),
        facts.group('train', replicas=2, depends_on={'prep': 'Complete'}),
        facts.group('report', depends_on={'train': 'Complete'}),
        network={'enableDNSHostnames': True},
        failurePolicy={'maxRestarts': 3},
        volumeClaimPolicies=[{'templates': [{'metadata': {'name': 'data'}}]}],
        status={
            'restarts': 1,
            'restartsCountTowardsMax': 1,
            'replicatedJobsStatus': [
                facts.counts('prep', succeeded=1),
                facts.counts('train', active=2, ready=1),
                facts.counts('report'),
            ],
        },
    )
    full = {
        'type': 'PodScheduled',
        'status': 'False',
        'reason': 'Unschedulable',
        'message': '0/2 nodes are available: 2 Insufficient cpu.',
    }
    failed = facts.ended(code=1, start=60, end=70)
    service = {'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': 'js', 'namespace': 'default'}}
    claim = {
        'apiVersion': 'v1',
        'kind': 'PersistentVolumeClaim',
        'metadata': {'name': 'data-js', 'namespace': 'default'},
        'status': {'phase': 'Bound'},
    }
    one = {'parallelism': 1}
    for made in (
        obj,
        service,
        claim,
        facts.job('prep', attempt=1, spec=one, conditions=[facts.condition('Complete', 'CompletionsReached')]),
        facts.job(
            'train', 0, attempt=1, created=50, spec={'parallelism': 2}, active=2, ready=1, startTime=facts.at(50)
        ),
        facts.job('train', 1, attempt=1, created=50, spec=one, active=1, startTime=facts.at(50)),
        facts.pod('prep', attempt=1, phase='Succeeded', containers=[facts.ended(end=50)]),
        facts.pod(
            'train', 0, 0, attempt=1, conditions=[{'type': 'Ready', 'status': 'True'}], containers=[facts.running()]
        ),
        facts.pod('train', 0, 1, attempt=1, phase='Failed', node='node-b', containers=[failed]),
        facts.pod('train', 1, 0, attempt=1, phase='Pending', node='', conditions=[full]),
        facts.event('JobSet', 'js', 'RestartJobSetFailurePolicyAction', NOTE, seen=40, uid='uid-js', type='Warning'),
        facts.event('Job', 'js-train-0', 'SuccessfulCreate', 'Created pod', seen=10, uid='gone'),
        facts.event(
            'Pod', 'js-train-1-0-x1', 'FailedScheduling', 'no\n room', seen=55, type='Warning', count=3, last=95
        ),
    ):
        cluster.put(made)
    return cluster


@pytest.mark.usefixtures('pipeline')
def test_tree(jobset: Jobset) -> None:
    assert jobset('tree', 'js') == (
        0,
        '\n'.join(
            [
                'JobSet/js  Running  restarts 1/3  age 100s',
                '├─ Service/js',
                '├─ PersistentVolumeClaim/data-js  Bound',
                '├─ ReplicatedJob/prep  1 Job  1 succeeded',
                '│  └─ Job/js-prep-0  Complete  attempt 1',
                '│     └─ Pod/js-prep-0-0-x1  Succeeded  node-a',
                '├─ ReplicatedJob/train  2 Jobs  1 ready  2 active',
                '│  ├─ Job/js-train-0  Active  attempt 1  1/2 ready',
                '│  │  ├─ Pod/js-train-0-0-x1  Running  node-a  ready',
                '│  │  └─ Pod/js-train-0-1-x1  Failed  node-b  exit code 1',
                '│  └─ Job/js-train-1  Active  attempt 1  0/1 ready',
                '│     └─ Pod/js-train-1-0-x1  Pending  no node  Unschedulable',
                '└─ ReplicatedJob/report  1 Job  waits for train to be complete (0 of 2 Jobs succeeded)',
                '',
            ]
        ),
        '',
    )


def test_what_is_waited_for_is_told_in_full(jobset: Jobset, cluster: fakes.Cluster) -> None:
    text = 'Job js-train-0 waits for a domain of rack to itself: 1 of 1 are taken (1 by JobSet other)'
    held = facts.condition('Waiting', 'NoExclusiveDomain', text)
    counted = {'replicatedJobsStatus': [facts.counts('train')], 'conditions': [held]}
    cluster.put(facts.jobset(facts.group('train'), status=counted))

    _, tree, _ = jobset('tree', 'js')
    _, status, _ = jobset('status', 'js')

    assert tree.splitlines()[0].endswith(f'  Waiting: {text}')
    assert text in status


@pytest.mark.usefixtures('pipeline')
def test_tree_for_programs(jobset: Jobset) -> None:
    _, out, _ = jobset('tree', 'js', '-o', 'json')
    tree = json.loads(out)
    assert (tree['kind'], tree['name'], tree['state'], tree['restarts']) == ('JobSet', 'js', 'Running', 1)
    train = next(child for child in tree['children'] if child['name'] == 'train')
    assert train['children'][0]['children'][1] == {
        'kind': 'Pod',
        'name': 'js-train-0-1-x1',
        'state': 'Failed',
        'rank': 'train-0-1',
        'node': 'node-b',
        'phase': 'Failed',
        'ready': False,
        'restarts': 0,
        'attempt': 1,
        'reason': 'exit code 1',
    }
    _, out, _ = jobset('tree', 'js', '-o', 'name')
    assert out.splitlines()[:4] == [
        'jobset.jobset.x-k8s.io/js',
        'service/js',
        'persistentvolumeclaim/data-js',
        'job.batch/js-prep-0',
    ]
    _, out, _ = jobset('tree', 'js', '-o', 'yaml')
    assert out.startswith('kind: JobSet\nname: js\nstate: Running\n')


def test_status(jobset: Jobset, pipeline: fakes.Cluster) -> None:
    pod = facts.pod('train', 0, 1, attempt=1)
    pipeline.log(pod, b'2026-01-01T12:01:09Z Traceback:\n2026-01-01T12:01:10Z ValueError: too deep\n')
    assert jobset('status', 'js') == (
        0,
        '\n'.join(
            [
                'js  Running  default',
                '  age 100s, this attempt started 50s ago',
                '  restarts 1 of 3',
                '',
                '  REPLICATED JOB   JOBS   READY   SUCCEEDED   FAILED   ACTIVE   SUSPENDED   PODS RUNNING',
                '  prep             1      0       1           0        0        0           0/0',
                '  train            2      1       0           0        2        0           1/2',
                '  report           1      0       0           0        0        0           0/0',
                '',
                'Waits',
                '  report: waits for train to be complete (0 of 2 Jobs succeeded)',
                '  train-1-0: cannot be scheduled: 0/2 nodes are available: 2 Insufficient cpu.',
                '',
                'Last failure',
                '  Job js-train-0, pod js-train-0-1-x1 (rank train-0-1), node node-b, attempt 1',
                '  container main: exit code 1 (30s ago)',
                '    | Traceback:',
                '    | ValueError: too deep',
                '',
            ]
        ),
        '',
    )


@pytest.mark.usefixtures('pipeline')
def test_status_for_programs(jobset: Jobset) -> None:
    _, out, _ = jobset('status', 'js', '-o', 'json')
    status: dict[str, Any] = json.loads(out)
    assert status['phase'] == 'Running'
    assert status['waits'][1] == {
        'kind': 'unschedulable',
        'who': 'train-1-0',
        'text': 'cannot be scheduled: 0/2 nodes are available: 2 Insufficient cpu.',
    }
    assert (status['failure']['exitCode'], status['failure']['at'], status['failure']['log']) == (
        1,
        '2026-01-01T12:01:10Z',
        [],
    )


def test_status_of_what_has_ended(jobset: Jobset, cluster: fakes.Cluster) -> None:
    failed = facts.condition('Failed', 'ReachedMaxRestarts', 'jobset failed due to reaching max number of restarts')
    failed['lastTransitionTime'] = facts.at(70)
    status = {'terminalState': 'Failed', 'conditions': [failed], 'restarts': 3, 'restartsCountTowardsMax': 2}
    cluster.put(facts.jobset(facts.group('a'), status=status))
    code, out, _ = jobset('status', 'js', '--watch')
    # In a pipe, watching is a line for each change.
    restarts = 'restarts 2 of 0, and 1 that does not count'
    message = 'jobset failed due to reaching max number of restarts'
    assert (code, out) == (0, f'js: Failed; {restarts}; a 0 of 1; {message}\n')
    assert jobset('status', 'js')[1].splitlines()[:4] == [
        'js  Failed  default',
        f'  {message}',
        '  age 100s, ended 30s ago, took 70s',
        f'  {restarts}',
    ]


@pytest.mark.usefixtures('pipeline')
def test_events(jobset: Jobset) -> None:
    assert jobset('events', 'js') == (
        0,
        '\n'.join(
            [
                'LAST SEEN          TYPE      REASON                             OBJECT                MESSAGE',
                '90s                Normal    SuccessfulCreate                   job/js-train-0        Created pod',
                f'60s                Warning   RestartJobSetFailurePolicyAction   jobset/js             {NOTE}',
                '5s (x3 over 45s)   Warning   FailedScheduling                   pod/js-train-1-0-x1   no room',
                '',
            ]
        ),
        '',
    )
    assert jobset('events', 'js', '--type', 'Normal', '-o', 'name')[1] == 'event/js-train-0.SuccessfulCreate.10\n'
    event = json.loads(jobset('events', 'js', '-o', 'json')[1])['items'][2]
    assert (event['count'], event['firstSeen'], event['lastSeen']) == (3, facts.at(55), facts.at(95))


def test_no_events(jobset: Jobset, cluster: fakes.Cluster) -> None:
    cluster.put(facts.jobset(facts.group('a')))
    assert jobset('events', 'js') == (0, '', 'No events found for jobset js; servers keep them for about an hour.\n')
    assert jobset('events', 'absent') == (1, '', 'jobset: jobsets "absent" not found\n')


def test_logs(jobset: Jobset, cluster: fakes.Cluster) -> None:
    pods = [facts.pod('train', 0, i, containers=[facts.running()]) for i in range(2)]
    for made in (facts.jobset(facts.group('train')), *pods):
        cluster.put(made)
    for _ in range(3):
        for i, pod in enumerate(pods):
            cluster.log(pod, f'2026-01-01T12:00:0{i}Z \x1b[31mline {i}\x1b[0m\n'.encode())
    assert jobset('logs', 'js') == (
        0,
        '[train-0-0] \x1b[31mline 0\x1b[0m\n[train-0-1] \x1b[31mline 1\x1b[0m\n',
        '',
    )
    assert jobset('logs', 'js', '--rank', '1', '--no-prefix')[1] == '\x1b[31mline 1\x1b[0m\n'
    assert jobset('logs', 'js', '-r', 'train', '--pod-index', '0', '--timestamps')[1] == (
        '[train-0-0] 2026-01-01T12:00:00Z \x1b[31mline 0\x1b[0m\n'
    )


def test_logs_that_are_not_there(jobset: Jobset, cluster: fakes.Cluster) -> None:
    cluster.put(facts.jobset(facts.group('train')))
    assert jobset('logs', 'js') == (0, '', 'Nothing was logged by jobset js that fits.\n')
    assert jobset('logs', 'js', '--attempt', '0') == (
        0,
        '',
        'No pods of attempt 0 of jobset js are left; a cluster keeps logs as long as their pods.\n',
    )
    cluster.put(facts.pod('train', containers=[facts.running()]))
    assert jobset('logs', 'js') == (
        1,
        '',
        'jobset: [train-0-0] its log cannot be read: pods "js-train-0-0-x0" not found\n',
    )
    assert jobset('logs', 'js', '--since', '3x') == (2, '', 'jobset: --since 3x: write a time as 90s, 5m or 1h30m\n')
    assert jobset('logs', 'js', '-f', '-p') == (2, '', 'jobset: --follow and --previous exclude each other\n')
