"""What a JobSet waits for, in the words that people read."""

from typing import Any

import pytest

from jobset.api import keys
from jobset.client import waits
from tests.client import facts


def told(obj: facts.Json, **parts: Any) -> list[str]:
    return [str(wait) for wait in waits.of(facts.family(obj, **parts))]


def started(**given: Any) -> facts.Json:
    """A JobSet of one replicated job that has been taken up."""
    return facts.jobset(facts.group('train'), status={'replicatedJobsStatus': [facts.counts('train')]}, **given)


def test_nothing_once_it_has_ended() -> None:
    obj = facts.jobset(facts.group('train'), suspend=True, status={'terminalState': 'Completed'})
    assert told(obj) == []


def test_managed_by_somebody_else() -> None:
    obj = facts.jobset(facts.group('train'), managedBy='kueue.x-k8s.io/multikueue')
    assert told(obj) == ['spec.managedBy names kueue.x-k8s.io/multikueue, which has to do its part']


def test_suspended_by_a_person() -> None:
    obj = facts.jobset(facts.group('train'), suspend=True)
    assert told(obj, suspender='kubectl-edit') == ['suspended by kubectl-edit; set spec.suspend to false to go on']


def test_suspended_in_a_queue() -> None:
    obj = facts.jobset(facts.group('train'), suspend=True, labels={keys.KUEUE_QUEUE: 'team-a'})
    assert told(obj, suspender='kueue') == ['suspended: waits in the queue team-a']


@pytest.mark.parametrize(
    ('reason', 'status', 'expected'),
    [
        ('NoExclusiveDomain', 'True', ['in its words']),
        ('NoExclusiveDomain', 'False', []),
        ('DependsOn', 'True', []),
        ('Queued', 'True', []),
    ],
)
def test_what_the_controller_says_is_told_where_it_is_not_seen_here(
    reason: str, status: str, expected: list[str]
) -> None:
    said = facts.condition('Waiting', reason, 'in its words', status=status)
    held = {'replicatedJobsStatus': [facts.counts('train')], 'conditions': [said]}
    assert told(facts.jobset(facts.group('train'), status=held)) == expected


def test_nobody_has_taken_it_up() -> None:
    assert told(facts.jobset(facts.group('train'))) == ['no controller has taken it up yet; does one run?']


@pytest.mark.parametrize(
    ('status', 'prep', 'expected'),
    [
        ('Complete', {'active': 2}, ['train: waits for prep to be complete (0 of 2 Jobs succeeded)']),
        ('Complete', {'succeeded': 1}, ['train: waits for prep to be complete (1 of 2 Jobs succeeded)']),
        ('Complete', {'succeeded': 2}, []),
        ('Ready', {'ready': 1}, ['train: waits for prep to be ready (1 of 2 Jobs ready)']),
        ('Ready', {'ready': 1, 'succeeded': 1}, []),
    ],
)
def test_dependencies(status: str, prep: dict[str, int], expected: list[str]) -> None:
    groups = [facts.group('prep', replicas=2), facts.group('train', depends_on={'prep': status})]
    told_counts = [facts.counts('prep', **prep), facts.counts('train')]
    obj = facts.jobset(*groups, status={'replicatedJobsStatus': told_counts})
    assert told(obj) == expected


def test_dependency_that_was_reached_once_is_not_told_again() -> None:
    groups = [facts.group('server'), facts.group('client', depends_on={'server': 'Ready'})]
    obj = facts.jobset(*groups, status={'replicatedJobsStatus': [facts.counts('server'), facts.counts('client')]})
    assert told(obj, jobs=[facts.job('client')]) == []
    assert told(obj, jobs=[facts.job('client', spec={'suspend': True})]) == [
        'client: waits for server to be ready (0 of 1 Jobs ready)'
    ]


def test_only_the_next_one_in_order_is_told() -> None:
    obj = facts.jobset(
        facts.group('a'),
        facts.group('b', replicas=2),
        facts.group('c'),
        facts.group('d'),
        startupPolicy={'startupPolicyOrder': 'InOrder'},
        status={'replicatedJobsStatus': [facts.counts('a', ready=1), facts.counts('b', ready=1)]},
    )
    jobs = [facts.job('a'), facts.job('b', 0), facts.job('b', 1)]
    assert told(obj, jobs=jobs) == ['c: waits its turn after b (1 of 2 Jobs ready)']


NOT_SCHEDULED = {'type': 'PodScheduled', 'status': 'False', 'reason': 'Unschedulable', 'message': '0/3 nodes fit.'}
GATED = {'type': 'PodScheduled', 'status': 'False', 'reason': 'SchedulingGated', 'message': 'two gates'}


@pytest.mark.parametrize(
    ('pod', 'expected'),
    [
        pytest.param(
            {'node': '', 'conditions': [NOT_SCHEDULED]}, 'cannot be scheduled: 0/3 nodes fit.', id='no node fits'
        ),
        pytest.param({'node': '', 'conditions': [GATED]}, 'two gates', id='gated'),
        pytest.param({'node': ''}, 'waits for a node', id='not yet looked at'),
        pytest.param({}, 'its containers are being started', id='no container yet'),
        pytest.param(
            {'containers': [facts.waiting('ContainerCreating')]}, 'its containers are being started', id='creating'
        ),
        pytest.param(
            {'containers': [facts.waiting('ImagePullBackOff', 'no such image "x"')]},
            'the image of main cannot be had: ImagePullBackOff: no such image "x"',
            id='image',
        ),
        pytest.param(
            {'containers': [facts.waiting('CreateContainerConfigError', 'secret "s" not found')]},
            'main cannot be started: CreateContainerConfigError: secret "s" not found',
            id='configuration',
        ),
        pytest.param(
            {'containers': [facts.waiting('CrashLoopBackOff', restarts=2, lastState={'terminated': {'exitCode': 3}})]},
            'main has ended 3 times, last with exit code 3; is started again later',
            id='back-off',
        ),
        pytest.param({'containers': [facts.waiting('Odd', 'thing')]}, 'main waits: Odd: thing', id='something new'),
    ],
)  # fmt: skip
def test_pods(pod: dict[str, Any], expected: str) -> None:
    assert told(started(), jobs=[facts.job('train')], pods=[facts.pod('train', **{'phase': 'Pending', **pod})]) == [
        f'train-0-0: {expected}'
    ]


def test_pods_that_run_or_have_ended_wait_for_nothing() -> None:
    pods = [
        facts.pod('train', 0, 0, containers=[facts.running()]),
        facts.pod('train', 0, 1, phase='Succeeded'),
        facts.pod('train', 0, 2, phase='Failed', node=''),
    ]
    assert told(started(), jobs=[facts.job('train')], pods=pods) == []


def test_pods_with_the_same_reason_are_told_together() -> None:
    pods = [facts.pod('train', 0, i, node='', phase='Pending', conditions=[NOT_SCHEDULED]) for i in range(5)]
    pods.append(facts.pod('train', 1, 0, phase='Pending'))
    assert told(started(), jobs=[facts.job('train')], pods=pods) == [
        'train-0-0, train-0-1 and 3 more: cannot be scheduled: 0/3 nodes fit.',
        'train-1-0: its containers are being started',
    ]


def test_volume_that_cannot_be_mounted() -> None:
    pod = facts.pod('train', phase='Pending', containers=[facts.waiting('ContainerCreating')])
    event = facts.event('Pod', pod['metadata']['name'], 'FailedMount', 'no such configmap', type='Warning')
    assert told(started(), jobs=[facts.job('train')], pods=[pod], events=[event]) == ['train-0-0: no such configmap']


def test_objects_that_cannot_be_made() -> None:
    events = [
        facts.event('JobSet', 'js', 'JobCreationFailed', 'name is taken', uid='uid-js', type='Warning', seen=2),
        facts.event('Job', 'js-train-0', 'FailedCreate', 'exceeded quota', uid='uid-js-train-0-0', type='Warning'),
        facts.event('Job', 'js-train-0', 'FailedCreate', 'of an earlier one', uid='gone', type='Warning', seen=-0),
    ]
    assert told(started(), jobs=[facts.job('train')], events=events[:2]) == [
        'Job js-train-0: FailedCreate: exceeded quota',
        'JobCreationFailed: name is taken',
    ]
    assert told(started(), jobs=[facts.job('train')], events=events[2:]) == []


def test_trouble_that_is_over_is_not_told() -> None:
    events = [
        facts.event('Job', 'js-train-0', 'FailedCreate', 'exceeded quota', uid='uid-js-train-0-0', type='Warning'),
        facts.event('Job', 'js-train-0', 'SuccessfulCreate', 'Created pod', uid='uid-js-train-0-0', seen=5),
    ]
    assert told(started(), jobs=[facts.job('train')], events=events) == []
