"""The volume claims that all Jobs of a set share."""

import msgspec
import pytest

from jobset.api import templates
from jobset.core import plan, volumes
from tests.core import build

SPEC = {'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': '1Gi'}}}


def _template(name: str, **metadata: object) -> build.Manifest:
    return {'metadata': {'name': name, **metadata}, 'spec': SPEC}


def _policy(*claim_templates: build.Manifest, **fields: object) -> build.Manifest:
    return {'templates': list(claim_templates), **fields}


DELETE: build.Manifest = {'retentionPolicy': {'whenDeleted': 'Delete'}}
TWO = [_policy(_template('data'), _template('logs'), **DELETE), _policy(_template('cache'), **DELETE)]


def _names(claims: tuple[plan.Object, ...]) -> list[str]:
    return [claim.name for claim in claims]


@pytest.mark.parametrize(
    ('existing', 'missing'),
    [
        pytest.param(set(), ['data-js', 'logs-js', 'cache-js'], id='all, in order'),
        pytest.param({'logs-js'}, ['data-js', 'cache-js'], id='one that exists is used as it is'),
        pytest.param({'data-js', 'logs-js', 'cache-js'}, [], id='none'),
        pytest.param(
            {'logs'}, ['data-js', 'logs-js', 'cache-js'], id='the name of the template is not that of the claim'
        ),
    ],
)
def test_missing_claims(existing: set[str], missing: list[str]) -> None:
    jobset = build.jobset(volumeClaimPolicies=TWO)

    assert _names(volumes.missing_claims(jobset, existing)) == missing


@pytest.mark.parametrize(
    ('fields', 'owned'),
    [
        pytest.param(DELETE, True, id='to be deleted with the set'),
        pytest.param({'retentionPolicy': {'whenDeleted': 'Retain'}}, False, id='to be retained'),
        pytest.param({'retentionPolicy': {}}, True, id='a block without a value means Delete'),
        pytest.param({'retentionPolicy': {'whenDeleted': None}}, True, id='a null value means Delete'),
        pytest.param({}, False, id='no block, only possible without admission, retains'),
    ],
)
def test_who_owns_a_claim(fields: build.Manifest, owned: bool) -> None:
    jobset = build.jobset(volumeClaimPolicies=[_policy(_template('data'), **fields)])
    expected = {
        'apiVersion': 'v1',
        'kind': 'PersistentVolumeClaim',
        'metadata': {
            'name': 'data-js',
            'namespace': 'default',
            'labels': {'jobset.sigs.k8s.io/jobset-name': 'js'},
            **({'ownerReferences': [build.OWNER]} if owned else {}),
        },
        'spec': SPEC,
    }

    (claim,) = volumes.missing_claims(jobset, frozenset())

    assert msgspec.json.decode(msgspec.json.encode(claim.body)) == expected


def test_a_claim_keeps_the_metadata_of_its_template() -> None:
    template = _template('data', labels={'tier': 'fast'}, annotations={'note': 'n'})
    jobset = build.jobset(volumeClaimPolicies=[_policy(template)])

    (claim,) = volumes.missing_claims(jobset, frozenset())

    assert claim.body['metadata'] == {
        'name': 'data-js',
        'namespace': 'default',
        'labels': {'tier': 'fast', 'jobset.sigs.k8s.io/jobset-name': 'js'},
        'annotations': {'note': 'n'},
    }


def test_a_claim_without_a_spec_is_made_without_one() -> None:
    jobset = build.jobset(volumeClaimPolicies=[_policy({'metadata': {'name': 'data'}})])

    (claim,) = volumes.missing_claims(jobset, frozenset())

    assert 'spec' not in claim.body


def _mounting(*names: str) -> build.Manifest:
    return {'name': 'c', 'volumeMounts': [{'name': name, 'mountPath': f'/{name}'} for name in names]}


@pytest.mark.parametrize(
    ('pod', 'mounted'),
    [
        pytest.param({'containers': [_mounting()]}, [], id='nothing is mounted'),
        pytest.param({'containers': [_mounting('cache', 'data')]}, ['data', 'cache'], id='in the order of policies'),
        pytest.param({'initContainers': [_mounting('logs')]}, ['logs'], id='by an init container'),
        pytest.param({'containers': [_mounting('own')]}, [], id='a volume of its own'),
        pytest.param({'containers': [_mounting('data'), _mounting('data')]}, ['data'], id='twice is once'),
        pytest.param({}, [], id='no containers at all'),
    ],
)
def test_volumes(pod: build.Manifest, mounted: list[str]) -> None:
    jobset = build.jobset(volumeClaimPolicies=TWO)

    assert volumes.volumes(jobset, msgspec.convert(pod, templates.PodSpec)) == [
        {'name': name, 'persistentVolumeClaim': {'claimName': f'{name}-js'}} for name in mounted
    ]
