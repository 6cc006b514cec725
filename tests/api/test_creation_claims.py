"""Which policies for volume claims may be created."""

from typing import Any

import pytest

from jobset.api import validation
from tests.api import build
from tests.api.build import claim, errors, internal, obj, policies, replicated

Json = Any


MOUNTS = [{'name': name, 'mountPath': f'/{name}'} for name in ('d', 'e', 'D', 'c' * 61)]
USER = replicated('a', pod={'containers': [{'name': 'c', 'image': 'i', 'volumeMounts': MOUNTS}]})
INIT_USER = replicated('a', pod={'initContainers': [{'name': 'c', 'image': 'i', 'volumeMounts': MOUNTS}]})
TEMPLATE = 'spec.volumeClaimPolicies[0].template[0]'
CLAIM = claim('d')['spec']


@pytest.mark.parametrize(
    ('job', 'spec', 'expected'),
    [
        pytest.param(USER, policies(claim('d'), claim('e')), [], id='two claims that containers mount'),
        pytest.param(INIT_USER, policies(claim('d')), [], id='a claim that an init container mounts'),
        pytest.param(
            USER,
            {'volumeClaimPolicies': [{'templates': [claim('d')]}, {'templates': [claim('d')]}]},
            [
                (
                    'spec.volumeClaimPolicies[1].template[0].name: Invalid value: "d": '
                    'names must be unique for VolumeClaimPolicies template'
                )
            ],
            id='one name in two policies',
        ),
        pytest.param(
            USER,
            policies(claim('c' * 61)),
            [f'{TEMPLATE}.name: Invalid value: "{"c" * 61}": VolumeClaimPolicies template name is too long'],
            id='a name that is one too long',
        ),
        pytest.param(
            replicated(
                'a', pod={**USER['template']['spec']['template']['spec'], 'volumes': [{'name': 'x'}, {'name': 'd'}]}
            ),
            policies(claim('d')),
            [
                (
                    'spec.replicatedJobs[0].template.spec.template.spec.volumes[1].name: Invalid value: "d": '
                    'volume name conflicts with VolumeClaimPolicy template name: d'
                )
            ],
            id='a volume of the same name',
        ),
    ],
)
def test_volume_claims(job: Json, spec: Json, expected: list[str]) -> None:
    assert errors(obj([job], **spec)) == expected


def test_a_claim_that_nobody_mounts_is_refused_with_all_replicated_jobs() -> None:
    (error,) = errors(obj([replicated('a')], **policies(claim('d'))))

    assert error.startswith('spec.replicatedJobs: Invalid value: [{"name":"a",')
    assert error.endswith("]: replicatedJob containers don't have a matching volumeMount: d from VolumeClaimPolicies")


@pytest.mark.parametrize(
    ('when_deleted', 'found', 'expected'),
    [
        pytest.param('Retain', validation.ExistingClaim(CLAIM), [], id='an equal one'),
        pytest.param(
            'Retain',
            validation.ExistingClaim({**CLAIM, 'resources': {'requests': {'storage': '1024Mi'}}}),
            [],
            id='an equal one in other units',
        ),
        pytest.param(
            'Retain',
            validation.ExistingClaim({**CLAIM, 'volumeMode': 'Filesystem'}),
            [
                (
                    f'{TEMPLATE}.spec: Invalid value: {{"accessModes":["ReadWriteOnce"],"resources":{{"requests":'
                    '{"storage":"1Gi"}}}: spec does not match existing PVC d-js in namespace default'
                )
            ],
            id='another one',
        ),
        pytest.param(
            'Delete',
            validation.ExistingClaim(CLAIM),
            [
                (
                    'spec.volumeClaimPolicies[0].retentionPolicy.whenDeleted: Invalid value: "Delete": '
                    'retentionPolicy must be retain when PVC exists'
                )
            ],
            id='one that would be deleted',
        ),
        pytest.param(
            'Delete',
            validation.UnknownClaim('timed out'),
            internal('failed to check for existing PVC d-js: timed out'),
            id='nobody knows',
        ),
    ],
)
def test_existing_claims(when_deleted: str, found: validation.Found, expected: list[str]) -> None:
    assert errors(obj([USER], **policies(claim('d'), when_deleted=when_deleted)), d_js=found) == expected


def test_claims_to_look_up() -> None:
    js = build.typed(obj([USER], **policies(claim('e'), claim('d'), claim('e'), claim('D'))))

    assert validation.claims_to_look_up(js) == ['e-js', 'd-js']
