"""GET: lists in order, in pages, of the past; forms that a client may ask for."""

import base64
import json
from typing import Any

import pytest
import yaml

from jobset.local.store import storage
from tests.local.server import standins
from tests.local.server.standins import Caller, configmap, pod

MAPS = '/api/v1/namespaces/default/configmaps'
PODS = '/api/v1/namespaces/default/pods'
TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'
PARTIAL = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'
PARTIALS = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'


@pytest.fixture
async def call() -> Caller:
    call = Caller(standins.server())
    for name in ('d', 'b', 'a', 'c', 'e'):
        await call('POST', MAPS, configmap(name))
    return call


def names(listed: Any) -> list[str]:
    return [item['metadata']['name'] for item in listed['items']]


async def test_a_list_is_in_order_and_of_one_revision(call: Caller) -> None:
    code, listed = await call('GET', MAPS)

    assert (code, listed['kind'], listed['apiVersion']) == (200, 'ConfigMapList', 'v1')
    assert listed['metadata'] == {'resourceVersion': '7'}
    assert names(listed) == ['a', 'b', 'c', 'd', 'e']


async def test_an_empty_list_has_items(call: Caller) -> None:
    assert (await call('GET', PODS))[1] == {
        'kind': 'PodList',
        'apiVersion': 'v1',
        'metadata': {'resourceVersion': '7'},
        'items': [],
    }


async def test_pages_belong_together_whatever_happens_between(call: Caller) -> None:
    found, token, rest = [], '', []
    while True:
        _, page = await call('GET', f'{MAPS}?limit=2&continue={token}')
        found += names(page)
        rest.append(page['metadata'].get('remainingItemCount'))
        assert page['metadata']['resourceVersion'] == '7'
        token = page['metadata'].get('continue', '')
        if not token:
            break
        await call('DELETE', f'{MAPS}/d')
        await call('POST', MAPS, configmap(f'bb{len(found)}'))
        await call('PUT', f'{MAPS}/e', configmap('e', x=str(len(found))))

    assert (found, rest) == (['a', 'b', 'c', 'd', 'e'], [3, 1, None])
    assert names((await call('GET', MAPS))[1]) == ['a', 'b', 'bb2', 'bb4', 'c', 'e']


async def test_a_page_that_is_too_old_says_how_to_go_on(call: Caller) -> None:
    _, page = await call('GET', f'{MAPS}?limit=2')
    await call('POST', MAPS, configmap('f'))
    call.server.store.forget()

    code, expired = await call('GET', f'{MAPS}?limit=2&continue={page["metadata"]["continue"]}')
    _, rest = await call('GET', f'{MAPS}?continue={expired["metadata"]["continue"]}')

    assert (code, expired['reason']) == (410, 'Expired')
    assert expired['message'].startswith(
        'The provided continue parameter is too old to display a consistent list result.'
    )
    assert names(rest) == ['c', 'd', 'e', 'f']


async def test_pages_of_all_namespaces(call: Caller) -> None:
    await call('POST', '/api/v1/namespaces', {'metadata': {'name': 'apart'}})
    await call('POST', '/api/v1/namespaces/apart/configmaps', configmap('x'))
    found, token = [], ''
    while True:
        _, page = await call('GET', f'/api/v1/configmaps?limit=2&continue={token}')
        found += names(page)
        token = page['metadata'].get('continue', '')
        if not token:
            break

    assert found == ['x', 'a', 'b', 'c', 'd', 'e']


async def test_selected_pages_are_full(call: Caller) -> None:
    for name in ('b', 'c', 'e'):
        obj = configmap(name)
        obj['metadata']['labels'] = {'x': 'y'}
        await call('PUT', f'{MAPS}/{name}', obj)

    _, page = await call('GET', f'{MAPS}?limit=2&labelSelector=x=y')
    _, last = await call('GET', f'{MAPS}?limit=2&labelSelector=x=y&continue={page["metadata"]["continue"]}')

    assert (names(page), names(last)) == (['b', 'c'], ['e'])
    assert 'remainingItemCount' not in page['metadata']


async def test_the_token_is_the_real_servers(call: Caller) -> None:
    _, page = await call('GET', f'{MAPS}?limit=1')

    token = page['metadata']['continue']
    assert json.loads(base64.urlsafe_b64decode(token + '==')) == {'v': 'meta.k8s.io/v1', 'rv': 7, 'start': '/a\0'}


async def test_an_exact_list_is_of_the_past(call: Caller) -> None:
    await call('DELETE', f'{MAPS}/a')

    _, exact = await call('GET', f'{MAPS}?resourceVersion=7&resourceVersionMatch=Exact')
    _, newer = await call('GET', f'{MAPS}?resourceVersion=7&resourceVersionMatch=NotOlderThan')
    call.server.store.forget()
    code, expired = await call('GET', f'{MAPS}?resourceVersion=7&resourceVersionMatch=Exact')

    assert (names(exact), exact['metadata']['resourceVersion']) == (['a', 'b', 'c', 'd', 'e'], '7')
    assert (names(newer), newer['metadata']['resourceVersion']) == (['b', 'c', 'd', 'e'], '8')
    assert (code, expired['message']) == (410, 'The resourceVersion for the provided list is too old.')


async def test_field_selectors(call: Caller) -> None:
    await call('POST', PODS, pod('p', nodeName='one'))
    await call('POST', PODS, pod('q', nodeName='two'))
    await call('POST', PODS, pod('r'))

    async def selected(selector: str) -> list[str]:
        return names((await call('GET', f'{PODS}?fieldSelector={selector}'))[1])

    assert await selected('spec.nodeName=one') == ['p']
    assert await selected('spec.nodeName=') == ['r']
    assert await selected('spec.nodeName!=one') == ['q', 'r']
    assert await selected('metadata.name=q,spec.nodeName!=one') == ['q']
    assert await selected('metadata.namespace!=default') == []
    assert await call('GET', f'{PODS}?fieldSelector=spec.colour=red') == (
        400,
        {
            'kind': 'Status',
            'apiVersion': 'v1',
            'metadata': {},
            'status': 'Failure',
            'message': 'field label not supported: spec.colour',
            'reason': 'BadRequest',
            'code': 400,
        },
    )


async def test_metadata_alone(call: Caller) -> None:
    _, whole = await call('GET', f'{MAPS}/a')

    _, one = await call('GET', f'{MAPS}/a', accept=PARTIAL)
    _, listed = await call('GET', f'{MAPS}?limit=1', accept=PARTIALS)

    partial = {'kind': 'PartialObjectMetadata', 'apiVersion': 'meta.k8s.io/v1', 'metadata': whole['metadata']}
    assert one == partial
    assert (listed['kind'], listed['items'], listed['metadata']['remainingItemCount']) == (
        'PartialObjectMetadataList',
        [partial],
        4,
    )


async def test_tables(call: Caller) -> None:
    _, one = await call('GET', f'{MAPS}/a', accept=TABLE)
    _, listed = await call('GET', f'{MAPS}?includeObject=None', accept=TABLE)

    assert [column['name'] for column in one['columnDefinitions']] == ['Name', 'Age']
    assert [row['cells'] for row in one['rows']] == [['a', '0s']]
    assert one['rows'][0]['object']['kind'] == 'PartialObjectMetadata'
    assert [(row['cells'][0], row['object']) for row in listed['rows']] == [(name, None) for name in 'abcde']
    assert listed['metadata'] == {'resourceVersion': '7'}


async def test_yaml(call: Caller) -> None:
    _, whole = await call('GET', f'{MAPS}/a')
    answer = await call.answer('GET', f'{MAPS}/a', accept='application/yaml')

    assert answer.content_type == 'application/yaml'
    assert yaml.safe_load(getattr(answer, 'body', b'')) == whole


@pytest.mark.parametrize(
    ('accept', 'code'),
    [
        ('', 200),
        ('*/*', 200),
        ('application/json', 200),
        ('application/json;charset=utf-8', 200),
        ('application/vnd.kubernetes.protobuf, application/json;q=0.5', 200),
        ('text/html, */*;q=0.1', 200),
        ('text/html', 406),
        ('application/vnd.kubernetes.protobuf', 406),
        ('application/json;as=Table;v=v7;g=meta.k8s.io', 406),
    ],
)
async def test_what_clients_accept(call: Caller, accept: str, code: int) -> None:
    assert (await call('GET', f'{MAPS}/a', accept=accept))[0] == code


async def test_one_object_through_another_version(call: Caller) -> None:
    newer = standins.kind('example.com', 'v2', 'widgets', 'Widget')
    older = standins.kind('example.com', 'v1', 'widgets', 'Widget')
    call.server.registry.put('widgets.example.com', [newer, older])
    path = '/apis/example.com/{}/namespaces/default/widgets'
    body = {'apiVersion': 'example.com/v1', 'kind': 'Widget', 'metadata': {'name': 'a'}}
    _, made = await call('POST', path.format('v1'), body)

    _, read = await call('GET', path.format('v2') + '/a')
    _, listed = await call('GET', path.format('v2'))

    assert read == made | {'apiVersion': 'example.com/v2'}
    assert listed['items'] == [read]


async def test_a_future_version_is_refused_for_now() -> None:
    call = Caller(standins.server(store=storage.Store()))

    code, refused = await call('GET', f'{MAPS}?resourceVersion=99')

    assert (code, refused['reason'], refused['message'], refused['details']['retryAfterSeconds']) == (
        504,
        'Timeout',
        'Timeout: Too large resource version: 99, current: 2',
        1,
    )
