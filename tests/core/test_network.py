"""Host names: the headless Service and the names made of it."""

import pytest

from jobset.api import keys
from jobset.core import network
from tests.core import build


@pytest.mark.parametrize(
    ('settings', 'enabled', 'name'),
    [
        pytest.param(None, False, 'js', id='no settings, only possible without admission, mean no'),
        pytest.param({}, False, 'js', id='a missing flag means no'),
        pytest.param({'enableDNSHostnames': None}, False, 'js', id='a null flag means no'),
        pytest.param({'enableDNSHostnames': False}, False, 'js', id='no'),
        pytest.param({'enableDNSHostnames': True}, True, 'js', id='yes, under the name of the set'),
        pytest.param({'enableDNSHostnames': True, 'subdomain': ''}, True, 'js', id='an empty subdomain is none'),
        pytest.param({'enableDNSHostnames': True, 'subdomain': 'mesh'}, True, 'mesh', id='under a subdomain'),
        pytest.param({'enableDNSHostnames': False, 'subdomain': 'mesh'}, False, 'mesh', id='a name without a Service'),
    ],
)
def test_service_name(settings: build.Manifest | None, enabled: bool, name: str) -> None:
    jobset = build.jobset(network=settings)

    assert (network.is_enabled(jobset), network.service_name(jobset)) == (enabled, name)


@pytest.mark.parametrize(
    ('settings', 'name', 'publish'),
    [
        pytest.param({'enableDNSHostnames': True}, 'js', True, id='publishes unready addresses unless told otherwise'),
        pytest.param({'publishNotReadyAddresses': None}, 'js', True, id='null is not told otherwise'),
        pytest.param({'publishNotReadyAddresses': False, 'subdomain': 'mesh'}, 'mesh', False, id='told otherwise'),
        pytest.param(None, 'js', True, id='no settings'),
    ],
)
def test_service(settings: build.Manifest | None, name: str, publish: bool) -> None:
    assert network.service(build.jobset(network=settings)) == {
        'apiVersion': 'v1',
        'kind': 'Service',
        'metadata': {'name': name, 'namespace': 'default', 'ownerReferences': [build.OWNER]},
        'spec': {
            'clusterIP': 'None',
            'selector': {'jobset.sigs.k8s.io/jobset-name': 'js'},
            'publishNotReadyAddresses': publish,
        },
    }


@pytest.mark.parametrize(
    ('seen', 'serves'),
    [
        pytest.param(build.service(owner=None), True, id='headless with our selector'),
        pytest.param(build.service(owner=None, selector={}), False, id='no selector resolves nothing'),
        pytest.param(build.service(cluster_ip='10.0.0.1'), False, id='with an address'),
        pytest.param(build.service(selector={keys.JOBSET_NAME: 'other'}), False, id='pods of another set'),
        pytest.param(build.service(selector={keys.JOBSET_NAME: 'js', 'a': 'b'}), False, id='fewer pods than ours'),
    ],
)
def test_serves(seen: network.Service, serves: bool) -> None:
    assert network.serves(seen, build.jobset()) is serves


@pytest.mark.parametrize(
    ('coordinator', 'settings', 'endpoint'),
    [
        pytest.param(None, None, None, id='no coordinator'),
        pytest.param({'replicatedJob': 'b'}, None, 'js-b-0-0.js', id='the first pod unless told otherwise'),
        pytest.param(
            {'replicatedJob': 'b', 'jobIndex': 1, 'podIndex': 2},
            {'subdomain': 'mesh'},
            'js-b-1-2.mesh',
            id='another pod under a subdomain',
        ),
    ],
)
def test_coordinator_endpoint(
    coordinator: build.Manifest | None,
    settings: build.Manifest | None,
    endpoint: str | None,
) -> None:
    jobset = build.jobset(build.part('b', 2), coordinator=coordinator, network=settings)

    assert network.coordinator_endpoint(jobset) == endpoint


def test_owner_reference() -> None:
    assert network.owner_reference(build.jobset()) == {
        'apiVersion': 'jobset.x-k8s.io/v1alpha2',
        'kind': 'JobSet',
        'name': 'js',
        'uid': 'js-uid',
        'controller': True,
        'blockOwnerDeletion': True,
    }
