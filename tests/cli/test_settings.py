"""``--set``."""

from typing import Any

import pytest

from jobset.cli import failures, settings

Object = dict[str, Any]


def jobset() -> Object:
    return {'spec': {'replicatedJobs': [{'name': 'prep'}, {'name': 'train', 'replicas': 2}]}}


@pytest.mark.parametrize(
    ('assignment', 'spec'),
    [
        pytest.param(
            'spec.replicatedJobs[1].replicas=4',
            {'replicatedJobs': [{'name': 'prep'}, {'name': 'train', 'replicas': 4}]},
            id='by number',
        ),
        pytest.param(
            'spec.replicatedJobs[prep].replicas=3',
            {'replicatedJobs': [{'name': 'prep', 'replicas': 3}, {'name': 'train', 'replicas': 2}]},
            id='by name',
        ),
        pytest.param(
            'spec.failurePolicy.maxRestarts=1',
            {**jobset()['spec'], 'failurePolicy': {'maxRestarts': 1}},
            id='what is not there is made',
        ),
        pytest.param('spec.suspend=true', {**jobset()['spec'], 'suspend': True}, id='a boolean'),
        pytest.param('spec.managedBy="a=b"', {**jobset()['spec'], 'managedBy': 'a=b'}, id='text with an equals sign'),
    ],
)
def test_a_field_is_set(assignment: str, spec: Object) -> None:
    obj = jobset()
    settings.apply(obj, [assignment])
    assert obj == {'spec': spec}


@pytest.mark.parametrize(
    ('assignment', 'text'),
    [
        pytest.param(
            'spec.suspend',
            '--set spec.suspend: write it as PATH=VALUE, like spec.failurePolicy.maxRestarts=2',
            id='no value',
        ),
        pytest.param(
            'spec.replicatedJobs[tain].replicas=1',
            '--set spec.replicatedJobs[tain].replicas=1: there is no "tain"; there are: prep, train',
            id='no such name',
        ),
        pytest.param(
            'spec.replicatedJobs[2].replicas=1',
            '--set spec.replicatedJobs[2].replicas=1: there are 2 elements, counted from 0',
            id='no such number',
        ),
        pytest.param(
            'spec.replicatedJobs[0].name.first=1',
            '--set spec.replicatedJobs[0].name.first=1: "first" is no part of \'prep\'',
            id='not an object',
        ),
        pytest.param(
            'spec.rules[0].action=1', '--set spec.rules[0].action=1: there is no list "rules" to index', id='no list'
        ),
    ],
)
def test_a_mistake_is_explained(assignment: str, text: str) -> None:
    with pytest.raises(failures.Failure) as raised:
        settings.apply(jobset(), [assignment])
    assert (str(raised.value), raised.value.code) == (text, failures.USAGE)
