"""Requests as the server reads them."""

from collections.abc import Callable

import msgspec
import pytest

from jobset.api import meta
from jobset.kube import requests

JOBS = requests.JOBS


@pytest.mark.parametrize(
    ('request_', 'method', 'target'),
    [
        pytest.param(
            requests.read(JOBS, 'ns', 'a'), 'GET', '/apis/batch/v1/namespaces/ns/jobs/a', id='one of a named group'
        ),
        pytest.param(requests.read(requests.PODS, 'ns', 'a'), 'GET', '/api/v1/namespaces/ns/pods/a', id='core group'),
        pytest.param(requests.read(requests.NODES, None, 'n'), 'GET', '/api/v1/nodes/n', id='cluster-wide'),
        pytest.param(
            requests.read(JOBS, 'ns', 'a', subresource='status'),
            'GET',
            '/apis/batch/v1/namespaces/ns/jobs/a/status',
            id='a part',
        ),
        pytest.param(
            requests.read(JOBS, 'ns', '../b?c'),
            'GET',
            '/apis/batch/v1/namespaces/ns/jobs/..%2Fb%3Fc',
            id='a name cannot lead elsewhere',
        ),
        pytest.param(requests.list_(JOBS), 'GET', '/apis/batch/v1/jobs', id='all of all namespaces'),
        pytest.param(
            requests.list_(JOBS, 'ns', label_selector='a in (b,c)', limit=5, continue_='x/y='),
            'GET',
            '/apis/batch/v1/namespaces/ns/jobs?labelSelector=a+in+%28b%2Cc%29&limit=5&continue=x%2Fy%3D',
            id='selected, in pages',
        ),
        pytest.param(
            requests.watch(JOBS, since='7', timeout_seconds=60),
            'GET',
            '/apis/batch/v1/jobs?watch=true&allowWatchBookmarks=true&timeoutSeconds=60&resourceVersion=7',
            id='changes since a version',
        ),
        pytest.param(
            requests.watch(JOBS, since=None, timeout_seconds=60),
            'GET',
            '/apis/batch/v1/jobs?watch=true&allowWatchBookmarks=true&timeoutSeconds=60'
            '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
            id='all, then changes',
        ),
        pytest.param(requests.create(JOBS, 'ns', b'{}'), 'POST', '/apis/batch/v1/namespaces/ns/jobs', id='new'),
        pytest.param(
            requests.replace(JOBS, 'ns', 'a', b'{}', subresource='status'),
            'PUT',
            '/apis/batch/v1/namespaces/ns/jobs/a/status',
            id='status',
        ),
        pytest.param(
            requests.patch(JOBS, 'ns', 'a', {}, requests.Patch.APPLY, field_manager='m', force=True),
            'PATCH',
            '/apis/batch/v1/namespaces/ns/jobs/a?fieldManager=m&force=true',
            id='applied by force',
        ),
        pytest.param(
            requests.delete_collection(JOBS, 'ns', label_selector='a=b'),
            'DELETE',
            '/apis/batch/v1/namespaces/ns/jobs?labelSelector=a%3Db',
            id='many at once',
        ),
    ],
)
def test_target(request_: requests.Request, method: str, target: str) -> None:
    assert (request_.method, request_.target) == (method, target)
    assert request_.is_write is (method != 'GET')
    assert str(request_) == f'{method} {target.partition("?")[0]}'


@pytest.mark.parametrize(
    ('make', 'message'),
    [
        pytest.param(
            lambda: requests.delete(JOBS, 'ns', ''), 'jobs: an object is named by namespace and name', id='name'
        ),
        pytest.param(lambda: requests.delete(JOBS, None, 'a'), 'jobs: an object is named by namespace', id='namespace'),
        pytest.param(lambda: requests.read(requests.NODES, None, ''), 'nodes: an object is named by name', id='node'),
        pytest.param(
            lambda: requests.delete_collection(JOBS, 'ns'),
            'jobs: a selector is needed to delete a coll',
            id='everything',
        ),
    ],
)
def test_more_than_meant_is_never_asked_for(make: Callable[[], requests.Request], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ('request_', 'options'),
    [
        pytest.param(requests.delete(JOBS, 'ns', 'a'), {}, id='as the server likes'),
        pytest.param(
            requests.delete(JOBS, 'ns', 'a', propagation=requests.Propagation.FOREGROUND, uid='u', grace_seconds=0),
            {'propagationPolicy': 'Foreground', 'gracePeriodSeconds': 0, 'preconditions': {'uid': 'u'}},
            id='this very object, now, its dependants first',
        ),
        pytest.param(
            requests.delete(JOBS, 'ns', 'a', resource_version='7'),
            {'preconditions': {'resourceVersion': '7'}},
            id='only in this state',
        ),
    ],
)
def test_deletion(request_: requests.Request, options: dict[str, object]) -> None:
    assert request_.body is not None
    assert msgspec.json.decode(request_.body) == {'apiVersion': 'v1', 'kind': 'DeleteOptions'} | options


@pytest.mark.parametrize(
    'body',
    [
        pytest.param(b'{"metadata":{"name":"a"}}', id='encoded already'),
        pytest.param({'metadata': {'name': 'a'}}, id='a dict'),
        pytest.param(meta.Partial(metadata=meta.ObjectMeta(name='a')), id='a structure'),
    ],
)
def test_bodies(body: requests.Body) -> None:
    assert requests.create(JOBS, 'ns', body).body == b'{"metadata":{"name":"a"}}'


@pytest.mark.parametrize(
    ('resource', 'api_version', 'text'),
    [
        pytest.param(JOBS, 'batch/v1', 'jobs.batch', id='named group'),
        pytest.param(requests.PODS, 'v1', 'pods', id='core group'),
    ],
)
def test_resource(resource: requests.Resource, api_version: str, text: str) -> None:
    assert (resource.api_version, str(resource)) == (api_version, text)
