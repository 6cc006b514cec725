"""Endpoint slices."""

import pytest

from jobset.api import meta
from jobset.kube import requests
from jobset.local.controllers import models, shared
from jobset.local.controllers.endpoints import matching, slicing
from jobset.local.objects import Object
from tests.local.controllers import world
from tests.local.controllers.world import World

SELECTOR = {'app': 'a'}


def _service(name: str = 'svc', selector: dict[str, str] | None = None, **spec: object) -> models.Service:
    return models.Service(
        metadata=meta.Common(name=name, namespace='n', uid=f'uid-{name}'),
        spec=models.ServiceSpec(selector=selector or SELECTOR, **spec),  # type: ignore[arg-type]
    )


def _pod(name: str, labels: dict[str, str] | None = None, ip: str = '10.0.0.1', phase: str = 'Running') -> models.Pod:
    return models.Pod(
        metadata=meta.Common(name=name, namespace='n', uid=f'uid-{name}', labels=labels or SELECTOR),
        status=models.PodStatus(pod_ip=ip, phase=phase),
    )


def _as_slice(name: str, body: Object) -> models.EndpointSlice:
    return models.EndpointSlice(
        metadata=meta.Common(name=name, namespace='n', labels=body['metadata']['labels']),
        endpoints=body['endpoints'],
        ports=body['ports'],
    )


def test_pods_fill_slices_and_stay_where_they_are() -> None:
    service = _service()
    pods = [_pod(f'p{i:03}') for i in range(250)]

    first = slicing.plan(service, pods, [])
    assert [len(body['endpoints']) for body in first.create] == [100, 100, 50]
    slices = [_as_slice(f's{i}', body) for i, body in enumerate(first.create)]
    assert slicing.plan(service, pods, slices) == slicing.Plan([], [], [])

    # One goes from the middle, one comes: the new one takes the free place, and one slice is written.
    second = slicing.plan(service, [*pods[:120], *pods[121:], _pod('new')], slices)
    assert (second.create, second.delete) == ([], [])
    ((written, body),) = second.update
    assert written.metadata.name == 's1'
    names = [one['targetRef']['name'] for one in body['endpoints']]
    assert (len(names), names[-1], 'p120' in names) == (100, 'new', False)

    # All but those of the first go: slices that are empty go, too.
    third = slicing.plan(service, pods[:100], slices)
    assert (third.create, third.update, [one.metadata.name for one in third.delete]) == ([], [], ['s1', 's2'])

    # All go: one stays, and is empty.
    fourth = slicing.plan(service, [], slices)
    assert [one.metadata.name for one in fourth.delete] == ['s1', 's2']
    ((written, body),) = fourth.update
    assert (written.metadata.name, body['endpoints']) == ('s0', [])


def test_a_service_that_nothing_stands_behind_has_an_empty_slice() -> None:
    (body,) = slicing.plan(_service(), [_pod('done', phase='Succeeded'), _pod('new', ip='')], []).create

    assert (body['endpoints'], body['ports']) == ([], None)
    assert slicing.plan(_service(), [], [_as_slice('s', body)]) == slicing.Plan([], [], [])


def test_pods_that_name_their_ports_differently_are_in_different_slices() -> None:
    service = _service(ports=(models.ServicePort(name='web', port=80, target_port='http'),))

    def pod(name: str, port: int) -> models.Pod:
        named = models.ContainerPort(name='http', container_port=port)
        plain = _pod(name)
        return models.Pod(
            metadata=plain.metadata,
            spec=models.PodSpec(containers=(models.Container(ports=(named,)),)),
            status=plain.status,
        )

    found = slicing.plan(service, [pod('a', 8080), pod('b', 9090), pod('c', 8080)], []).create

    assert [([one['targetRef']['name'] for one in s['endpoints']], s['ports'][0]['port']) for s in found] == [
        (['a', 'c'], 8080),
        (['b'], 9090),
    ]


def test_matching_follows_labels_and_selectors() -> None:
    known = matching.Matching()
    both = _pod('both', {'app': 'a', 'tier': 'x'})
    one, other = _service('one'), _service('other', {'app': 'a', 'tier': 'x'})
    known.on_pod(None, _pod('plain'))
    known.on_service(None, one)
    known.on_pod(None, both)
    known.on_service(None, other)

    assert {pod.metadata.name for pod in known.pods(one)} == {'plain', 'both'}
    assert [pod.metadata.name for pod in known.pods(other)] == ['both']
    assert {service.metadata.name for service in known.services(both)} == {'one', 'other'}

    moved = _pod('both', {'app': 'b'})
    known.on_pod(both, moved)
    assert list(known.services(moved)) == []
    assert [pod.metadata.name for pod in known.pods(one)] == ['plain']

    changed = _service('one', {'app': 'b'})
    known.on_service(one, changed)
    assert [pod.metadata.name for pod in known.pods(changed)] == ['both']
    known.on_service(changed, None)
    known.on_pod(moved, None)
    assert list(known.services(moved)) == []


@pytest.mark.parametrize(
    ('service', 'served'),
    [
        pytest.param(_service(), True, id='with a selector'),
        pytest.param(models.Service(metadata=meta.Common()), False, id='without'),
        pytest.param(_service(type='ExternalName'), False, id='elsewhere'),
    ],
)
def test_which_services_have_slices(service: models.Service, served: bool) -> None:
    assert slicing.is_served(service) is served


async def _pod_at(w: World, name: str, ip: str, ready: str = 'True', phase: str = 'Running') -> None:
    ports = [{'name': 'http', 'containerPort': 8080}]
    await w.create(
        requests.PODS,
        name,
        metadata={'labels': {'app': 'a'}},
        finalizers=['h-g.example.com/hold'],
        spec={
            'nodeName': 'n1',
            'hostname': f'host-{name}',
            'subdomain': 'svc',
            'containers': [world.CONTAINER | {'ports': ports}],
        },
    )
    conditions = [{'type': 'Ready', 'status': ready}]
    status = {'phase': phase, 'podIP': ip, 'podIPs': [{'ip': ip}], 'conditions': conditions}
    await w.patch(requests.PODS, name, {'status': status}, 'status')


async def _slice(w: World, service: str, names: set[str]) -> Object:
    async def look() -> Object | None:
        for one in await w.all(shared.SLICES):
            if one['metadata']['labels']['kubernetes.io/service-name'] == service:
                endpoints = one.get('endpoints') or []
                if {endpoint['targetRef']['name'] for endpoint in endpoints} == names:
                    return one
        return None

    found: Object = await w.until(look)
    return found


@world.story
async def test_as_kubernetes_writes_them(w: World) -> None:
    ports = [{'name': 'web', 'port': 80, 'targetPort': 'http'}, {'name': 'raw', 'port': 81, 'protocol': 'UDP'}]
    spec = {'clusterIP': 'None', 'selector': {'app': 'a'}, 'ports': ports}
    service = await w.create(requests.SERVICES, 'svc', metadata={'labels': {'x': 'y'}}, spec=spec)
    bare = {'clusterIP': 'None', 'selector': {'app': 'a'}, 'publishNotReadyAddresses': True}
    await w.create(requests.SERVICES, 'bare', spec=bare)
    await _slice(w, 'svc', set())
    await _pod_at(w, 'good', '10.0.0.1')
    await _pod_at(w, 'ending', '10.0.0.2')
    await _pod_at(w, 'waiting', '10.0.0.3', ready='False')
    await _pod_at(w, 'done', '10.0.0.4', ready='False', phase='Succeeded')
    await w.delete(requests.PODS, 'ending')

    async def seen() -> Object | None:
        found = await _slice(w, 'svc', {'good', 'ending', 'waiting'})
        return found if any(one['conditions']['terminating'] for one in found['endpoints']) else None

    found = await w.until(seen)
    metadata = found['metadata']
    assert metadata['labels'] == {
        'x': 'y',
        'kubernetes.io/service-name': 'svc',
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
        'service.kubernetes.io/headless': '',
    }
    assert metadata['generateName'] == 'svc-'
    assert metadata['ownerReferences'] == [world.owner(service, block=True, controller=True)]
    assert found['addressType'] == 'IPv4'
    assert found['ports'] == [
        {'name': 'raw', 'port': 81, 'protocol': 'UDP'},
        {'name': 'web', 'port': 8080, 'protocol': 'TCP'},
    ]
    endpoints = {one['targetRef'].pop('name'): one for one in found['endpoints']}
    for one in endpoints.values():
        del one['targetRef']['uid']
    target = {'kind': 'Pod', 'namespace': w.namespace}
    assert endpoints == {
        'good': {
            'addresses': ['10.0.0.1'],
            'conditions': {'ready': True, 'serving': True, 'terminating': False},
            'hostname': 'host-good',
            'nodeName': 'n1',
            'targetRef': target,
        },
        'ending': {
            'addresses': ['10.0.0.2'],
            'conditions': {'ready': False, 'serving': True, 'terminating': True},
            'hostname': 'host-ending',
            'nodeName': 'n1',
            'targetRef': target,
        },
        'waiting': {
            'addresses': ['10.0.0.3'],
            'conditions': {'ready': False, 'serving': False, 'terminating': False},
            'hostname': 'host-waiting',
            'nodeName': 'n1',
            'targetRef': target,
        },
    }
    bare_slice = await _slice(w, 'bare', {'good', 'ending', 'waiting'})
    assert bare_slice.get('ports') is None
    assert all(one['conditions']['ready'] for one in bare_slice['endpoints'])
    assert not any('hostname' in one for one in bare_slice['endpoints'])

    await w.delete(requests.SERVICES, 'svc')
    await w.gone(shared.SLICES, metadata['name'])
    for name in ('good', 'ending', 'waiting', 'done'):
        await w.patch(requests.PODS, name, {'metadata': {'finalizers': None}})
