"""What users of JobSet ran into, row by row of the list that the project keeps."""

from typing import Any

import pytest

from jobset.api import defaulting, types, validation
from tests.api import build, plane
from tests.api.build import DEFAULTS, claim, obj, replicated

Json = Any


def create(sent: Json) -> list[validation.FieldError]:
    return validation.create(build.typed(sent), gates=DEFAULTS, existing_claims={})


@pytest.mark.parametrize('spec', [{}, {'replicatedJobs': []}], ids=['absent', 'empty'])
def test_row_57_no_replicated_jobs_are_fine(spec: Json) -> None:
    sent = {'metadata': {'name': 'js', 'namespace': 'default'}, 'spec': spec}

    assert len(defaulting.patch(sent)) == 3
    assert plane.judge(plane.admitted(sent)) == []
    assert create(sent) == []
    assert validation.update(build.typed(sent), build.typed(sent), gates=DEFAULTS) == []


def test_row_69_a_generated_name_leaves_the_subdomain_open() -> None:
    sent = obj([replicated('a')], metadata={'generateName': 'js-', 'namespace': 'default'})

    (network,) = (operation for operation in defaulting.patch(sent) if operation['path'] == '/spec/network')

    assert network['value'] == {'enableDNSHostnames': True, 'publishNotReadyAddresses': True}
    assert create(sent) == []


@pytest.mark.parametrize(
    ('metadata', 'length'),
    [
        pytest.param({'name': 'js', 'generateName': 'x-'}, 2, id='the name itself'),
        pytest.param({'generateName': 'js-'}, 8, id='the prefix and five characters'),
        pytest.param({'generateName': 'j' * 80}, 63, id='a long prefix is cut'),
        pytest.param({}, 0, id='neither'),
    ],
)
def test_row_69_names_are_judged_before_they_are_known(metadata: Json, length: int) -> None:
    assert len(validation.sample_name(build.typed(obj(metadata=metadata)).metadata)) == length


@pytest.mark.parametrize(
    ('metadata', 'fits'),
    [
        pytest.param({'generateName': 'j' * 46}, True, id='the longest prefix that leaves room for pods'),
        pytest.param({'generateName': 'j' * 47}, False, id='one more'),
        pytest.param({'name': 'j' * 50}, False, id='a name of fifty with a hundred Jobs of a thousand pods'),
    ],
)
def test_row_87_long_names_are_refused(metadata: Json, fits: bool) -> None:
    many = 'generateName' not in metadata
    jobs = [replicated('a', replicas=100 if many else 1, job={'completions': 1000 if many else 1})]

    assert [error.path for error in create(obj(jobs, metadata=metadata))] == (
        [] if fits else ['spec.replicatedJobs[0].name']
    )


@pytest.mark.parametrize(
    ('policy', 'kept'),
    [
        pytest.param({}, 'Delete', id='no block'),
        pytest.param({'retentionPolicy': None}, 'Delete', id='a null block'),
        pytest.param({'retentionPolicy': {}}, 'Delete', id='an empty block'),
        pytest.param({'retentionPolicy': {'whenDeleted': 'Retain'}}, 'Retain', id='a full block'),
    ],
)
def test_row_97_a_retention_block_without_value_means_delete(policy: Json, kept: str) -> None:
    sent = obj(volumeClaimPolicies=[{'templates': [claim('d')], **policy}])
    for operation in defaulting.patch(sent):
        if operation['path'] == '/spec/volumeClaimPolicies/0/retentionPolicy':
            sent['spec']['volumeClaimPolicies'][0]['retentionPolicy'] = operation['value']

    (stored,) = build.typed(plane.admitted(sent)).spec.volume_claim_policies

    assert stored.retention_policy == types.Retention(when_deleted=kept)
