"""Where mistakes are of which admission tells no path: for each of its texts, by making that mistake."""

import copy
from typing import Any

import pytest

from jobset import client
from jobset.api import features, types
from jobset.cli import checking, output, places
from jobset.client import manifests

GOOD = client.build(
    'js',
    client.group('prep', command=['a']),
    client.group('train', command=['a'], jobs=2, pods=2, depends_on={'prep': types.DependsOnStatus.COMPLETE}),
    coordinator='train',
    success_of=['prep', 'train'],
)
RULES = [
    {'name': 'one', 'action': 'FailJobSet', 'targetReplicatedJobs': ['prep']},
    {'name': 'two', 'action': 'RestartJobSet', 'onJobFailureReasons': ['FailedIndexes']},
]


def put(obj: Any, path: str, value: object) -> None:
    *parents, last = manifests.steps(path)
    for step in parents:
        obj = obj[step]
    obj[last] = value


@pytest.mark.parametrize(
    ('path', 'value', 'expected'),
    [
        (
            'spec.replicatedJobs[0].dependsOn',
            [{'name': 'train', 'status': 'Ready'}],
            'spec.replicatedJobs[0].dependsOn',
        ),
        ('spec.replicatedJobs[1].replicas', 2**31 - 1, 'spec.replicatedJobs[1].replicas'),
        ('spec.replicatedJobs[1].dependsOn[0].name', 'no', 'spec.replicatedJobs[1].dependsOn[0].name'),
        ('spec.replicatedJobs[1].dependsOn[0].name', 'train', 'spec.replicatedJobs[1].dependsOn[0].name'),
        ('spec.failurePolicy.restartStrategy', 'InPlaceRestart', 'spec.failurePolicy.restartStrategy'),
        ('spec.failurePolicy.rules[1].action', 'RestartJob', 'spec.failurePolicy.rules[1].action'),
        ('spec.failurePolicy.rules[1].name', 'no name', 'spec.failurePolicy.rules[1].name'),
        ('spec.failurePolicy.rules[1].name', 'n' * 200, 'spec.failurePolicy.rules[1].name'),
        ('spec.failurePolicy.rules[1].name', 'one', 'spec.failurePolicy.rules[1].name'),
        (
            'spec.failurePolicy.rules[0].targetReplicatedJobs[0]',
            'no',
            'spec.failurePolicy.rules[0].targetReplicatedJobs[0]',
        ),
        (
            'spec.failurePolicy.rules[1].onJobFailureReasons[0]',
            'no',
            'spec.failurePolicy.rules[1].onJobFailureReasons[0]',
        ),
        ('spec.successPolicy.targetReplicatedJobs[1]', 'no', 'spec.successPolicy.targetReplicatedJobs[1]'),
        ('spec.coordinator.replicatedJob', 'no', 'spec.coordinator.replicatedJob'),
        ('spec.coordinator.jobIndex', 2, 'spec.coordinator.jobIndex'),
        ('spec.coordinator.podIndex', 2, 'spec.coordinator.podIndex'),
        ('spec.replicatedJobs[1].template.spec.completionMode', 'NonIndexed', 'spec.coordinator'),
        ('spec.network', {'subdomain': 'very-long-name-of-a-subdomain-that-is-no-label-value'}, 'spec.coordinator'),
    ],
)
async def test_paths(path: str, value: object, expected: str) -> None:
    obj = copy.deepcopy(GOOD)
    obj['spec']['failurePolicy'] = {'rules': copy.deepcopy(RULES)}
    put(obj, path, value)
    (document,) = manifests.parse(output.document(obj, 'yaml').encode(), 'f').documents
    (problem, *_) = (await checking.check(document)).problems
    assert problem.field == expected
    assert not problem.text.startswith(places.PREFIX)


async def test_single_restarts_of_too_many() -> None:
    obj = copy.deepcopy(GOOD)
    obj['spec']['failurePolicy'] = {'rules': [{'action': 'RestartJob'}]}
    put(obj, 'spec.replicatedJobs[1].replicas', 2000)
    (document,) = manifests.parse(output.document(obj, 'yaml').encode(), 'f').documents
    verdict = await checking.check(document, gates=features.FeatureGates(restart_job=True))
    assert [problem.field for problem in verdict.problems] == ['spec.failurePolicy.rules[0].action']


def test_nothing_is_made_up() -> None:
    assert places.of('something new', GOOD) == ''
    assert places.of("invalid replicatedJob name 'x' does not appear in .spec.ReplicatedJobs", {}) == ''
