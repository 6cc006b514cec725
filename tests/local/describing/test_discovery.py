"""Discovery, compared with what kube-apiserver 1.37 was seen to answer for the same kinds."""

from typing import Any

import pytest

from jobset.local.describing import discovery, openapi
from tests.local.describing import made

VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
CUSTOM_VERBS = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch']
STATUS_VERBS = ['get', 'patch', 'update']


def _version(group: str, version: str) -> dict[str, str]:
    return {'groupVersion': f'{group}/{version}', 'version': version}


def test_core_versions() -> None:
    assert discovery.core(made.ALL, '127.0.0.1:25703') == {
        'kind': 'APIVersions',
        'versions': ['v1'],
        'serverAddressByClientCIDRs': [{'clientCIDR': '0.0.0.0/0', 'serverAddress': '127.0.0.1:25703'}],
    }


def test_groups_in_the_order_of_kubernetes_with_others_after_them() -> None:
    found = discovery.groups(made.ALL)

    assert (found['kind'], found['apiVersion']) == ('APIGroupList', 'v1')
    assert [group['name'] for group in found['groups']] == ['batch', 'scheduling.k8s.io', 'h-g.example.com']


def test_one_group() -> None:
    assert discovery.group(made.ALL, 'scheduling.k8s.io') == {
        'kind': 'APIGroup',
        'apiVersion': 'v1',
        'name': 'scheduling.k8s.io',
        'versions': [_version('scheduling.k8s.io', 'v1'), _version('scheduling.k8s.io', 'v1beta1')],
        'preferredVersion': _version('scheduling.k8s.io', 'v1'),
    }


@pytest.mark.parametrize('name', ['', 'nope', 'v1'])
def test_no_such_group(name: str) -> None:
    assert discovery.group(made.ALL, name) is None


def test_resources_of_the_core_group() -> None:
    found = discovery.resource_list(made.ALL, '', 'v1')

    assert found is not None
    assert list(found) == ['kind', 'groupVersion', 'resources']
    assert {entry['name']: entry for entry in found['resources'] if '/' in entry['name']} == {
        'namespaces/finalize': _part('namespaces/finalize', 'Namespace', ['update'], namespaced=False),
        'namespaces/status': _part('namespaces/status', 'Namespace', STATUS_VERBS, namespaced=False),
        'pods/binding': _part('pods/binding', 'Binding', ['create']),
        'pods/eviction': _part('pods/eviction', 'Eviction', ['create'], group='policy', version='v1'),
        'pods/log': _part('pods/log', 'Pod', ['get']),
        'pods/status': _part('pods/status', 'Pod', STATUS_VERBS),
    }


def _part(name: str, kind: str, verbs: list[str], *, namespaced: bool = True, **more: str) -> dict[str, Any]:
    return {'name': name, 'singularName': '', 'namespaced': namespaced, 'kind': kind, 'verbs': verbs, **more}


def test_resources_of_a_group() -> None:
    assert discovery.resource_list(made.ALL, 'h-g.example.com', 'v1') == {
        'kind': 'APIResourceList',
        'apiVersion': 'v1',
        'groupVersion': 'h-g.example.com/v1',
        'resources': [
            {
                'name': 'widgets',
                'singularName': 'widget',
                'namespaced': True,
                'kind': 'Widget',
                'verbs': CUSTOM_VERBS,
                'shortNames': ['wd'],
                'categories': ['all'],
            },
            _part('widgets/scale', 'Scale', STATUS_VERBS, group='autoscaling', version='v1'),
            _part('widgets/status', 'Widget', STATUS_VERBS),
        ],
    }


def test_a_version_that_is_not_served() -> None:
    assert discovery.resource_list(made.ALL, 'batch', 'v3') is None


def test_all_at_once() -> None:
    found = discovery.aggregated(made.ALL, is_core=False)

    assert {key: found[key] for key in ('kind', 'apiVersion', 'metadata')} == {
        'kind': 'APIGroupDiscoveryList',
        'apiVersion': 'apidiscovery.k8s.io/v2',
        'metadata': {},
    }
    assert found['items'][0] == {
        'metadata': {'name': 'batch'},
        'versions': [
            {
                'version': 'v1',
                'resources': [
                    {
                        'resource': 'jobs',
                        'responseKind': {'group': '', 'version': '', 'kind': 'Job'},
                        'scope': 'Namespaced',
                        'singularResource': 'job',
                        'verbs': VERBS,
                        'categories': ['all'],
                        'subresources': [
                            {
                                'subresource': 'status',
                                'responseKind': {'group': '', 'version': '', 'kind': 'Job'},
                                'verbs': STATUS_VERBS,
                            }
                        ],
                    }
                ],
                'freshness': 'Current',
            }
        ],
    }
    assert [(item['metadata'], [v['version'] for v in item['versions']]) for item in found['items'][1:]] == [
        ({'name': 'scheduling.k8s.io'}, ['v1', 'v1beta1']),
        ({'name': 'h-g.example.com'}, ['v1', 'v1beta1']),
    ]
    widgets = found['items'][2]['versions'][0]['resources'][0]
    assert widgets['responseKind'] == {'group': 'h-g.example.com', 'version': 'v1', 'kind': 'Widget'}
    assert [part['responseKind'] for part in widgets['subresources']] == [
        {'group': 'autoscaling', 'version': 'v1', 'kind': 'Scale'},
        {'group': 'h-g.example.com', 'version': 'v1', 'kind': 'Widget'},
    ]


def test_the_core_group_has_no_name() -> None:
    (item,) = discovery.aggregated(made.ALL, is_core=True)['items']

    assert item['metadata'] == {}
    assert [one['resource'] for one in item['versions'][0]['resources']] == ['namespaces', 'pods']
    assert item['versions'][0]['resources'][0]['scope'] == 'Cluster'


def test_versions_from_the_best_to_the_worst() -> None:
    names = ('v1alpha1', 'v2', 'foo', 'v1', 'v11beta2', 'v10', 'v2beta1', 'v1beta1', 'bar')
    kinds = [made.kind('g.example.com', name, 'widgets', 'Widget') for name in names]

    found = discovery.group(kinds, 'g.example.com')

    assert found is not None
    assert [entry['version'] for entry in found['versions']] == [
        'v10',
        'v2',
        'v1',
        'v11beta2',
        'v2beta1',
        'v1beta1',
        'v1alpha1',
        'bar',
        'foo',
    ]


@pytest.mark.parametrize(
    ('accept', 'is_aggregated'),
    [
        ('application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json', True),
        ('application/json, application/json; as=APIGroupDiscoveryList; v=v2; g=apidiscovery.k8s.io', True),
        ('application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json', False),
        ('application/json', False),
        ('', False),
    ],
)
def test_who_wants_all_at_once(accept: str, is_aggregated: bool) -> None:
    assert discovery.accepts_aggregated(accept) is is_aggregated


def test_tags_tell_changes() -> None:
    before = discovery.etag(discovery.aggregated(made.ALL, is_core=False))

    assert before == discovery.etag(discovery.aggregated(tuple(reversed(made.ALL)), is_core=False))
    assert before != discovery.etag(discovery.aggregated(made.ALL[1:], is_core=False))


def test_root_paths() -> None:
    assert discovery.paths([made.JOBS, made.PODS])['paths'] == [
        '/api',
        '/api/v1',
        '/apis',
        '/apis/batch',
        '/apis/batch/v1',
        '/healthz',
        '/livez',
        '/openapi/v2',
        '/openapi/v3',
        '/readyz',
        '/version',
    ]


def test_index_of_documents() -> None:
    digest = openapi.digest(b'{}')

    assert openapi.index({openapi.path_of('batch', 'v1'): digest, openapi.path_of('', 'v1'): 'AB'}) == {
        'paths': {
            'api/v1': {'serverRelativeURL': '/openapi/v3/api/v1?hash=AB'},
            'apis/batch/v1': {'serverRelativeURL': f'/openapi/v3/apis/batch/v1?hash={digest}'},
        }
    }
    assert len(digest) == 128
