"""What is taken with a warning, in the words of kube-apiserver 1.37."""

from collections.abc import Sequence

import pytest

from jobset.local.kinds import warnings
from tests.local.kinds import inputs

MAIN = 'spec.containers.0'
DEPRECATED = 'deprecated since v1.14; use "kubernetes.io/os" instead'
HIDDEN = 'hides previous definition of "A", which may be dropped when using apply'
FRACTION = 'fractional byte value "100m" is invalid, must be an integer'
SURPRISE = 'which can result in surprising behavior; a DNS label is recommended'
REQUIRED = 'spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution'
NO_SELECTOR = 'a null labelSelector results in matching no pod'


@pytest.mark.parametrize(
    ('edits', 'expected'),
    [
        pytest.param({}, [], id='plain'),
        pytest.param(
            {'metadata.name': 'a.b'},
            [f"metadata.name: this is used in the Pod's hostname, {SURPRISE}: [must not contain dots]"],
            id='name with dots',
        ),
        pytest.param(
            {'spec.nodeSelector': {'beta.kubernetes.io/os': 'linux'}},
            [f'spec.nodeSelector[beta.kubernetes.io/os]: {DEPRECATED}'],
            id='old label',
        ),
        pytest.param(
            {f'{MAIN}.env': [{'name': 'A', 'value': '1'}, {'name': 'A', 'value': '2'}]},
            [f'spec.containers[0].env[1]: {HIDDEN}'],
            id='variable twice',
        ),
        pytest.param(
            {f'{MAIN}.env': [{'name': 'A', 'value': '1'}, {'name': 'A', 'value': '$(A)x'}]},
            [],
            id='variable made from itself',
        ),
        pytest.param(
            {f'{MAIN}.resources.requests': {'memory': '100m', 'cpu': '100m'}},
            [f'spec.containers[0].resources.requests[memory]: {FRACTION}'],
            id='part of a byte',
        ),
        pytest.param(
            {f'{MAIN}.ports': [{'containerPort': 80}, {'containerPort': 80}]},
            ['spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]'],
            id='port twice',
        ),
        pytest.param(
            {REQUIRED: [{'topologyKey': 'k'}]},
            [f'{REQUIRED}[0].labelSelector: {NO_SELECTOR}'],
            id='affinity to nothing',
        ),
        pytest.param(
            {'spec.imagePullSecrets': [{'name': ''}]},
            ['spec.imagePullSecrets[0].name: invalid empty name ""'],
            id='secret without name',
        ),
    ],
)
def test_pod(edits: inputs.Edits, expected: Sequence[str]) -> None:
    assert warnings.of_pod(inputs.pod(edits)) == expected


def test_job_tells_where_in_the_template() -> None:
    job = inputs.job({'spec.template.spec.nodeSelector': {'beta.kubernetes.io/os': 'linux'}})

    found = warnings.of_job(job, is_new=True)

    assert found == [f'spec.template.spec.nodeSelector[beta.kubernetes.io/os]: {DEPRECATED}']


def test_name_is_told_of_new_jobs_only() -> None:
    job = inputs.job({'metadata.name': 'a.b'})

    assert len(warnings.of_job(job, is_new=True)) == 1
    assert warnings.of_job(job, is_new=False) == []
