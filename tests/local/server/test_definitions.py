"""CustomResourceDefinitions: their kinds come and go, their objects go first."""

import asyncio
from typing import Any

import pytest

from jobset.local import resources
from jobset.local.objects import Object
from jobset.local.schemas import definitions
from tests.local.server import standins
from tests.local.server.standins import Caller

CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
WIDGETS = '/apis/example.com/v1/namespaces/default/widgets'
MERGE = 'application/merge-patch+json'

DEFINITION = {'metadata': {'name': 'widgets.example.com'}, 'spec': {'group': 'example.com'}}
WIDGET = {'apiVersion': 'example.com/v1', 'kind': 'Widget', 'metadata': {'name': 'a'}}


def _kinds(_: Object) -> list[resources.Kind]:
    return [standins.kind('example.com', 'v1', 'widgets', 'Widget')]


def _establish(obj: Object, *_: Any) -> Object:
    return obj | {'status': {'conditions': [{'type': 'Established', 'status': 'True'}]}}


@pytest.fixture(autouse=True)
def _plain_definitions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(definitions, 'kinds', _kinds)
    monkeypatch.setattr(definitions, 'establish', _establish)


@pytest.fixture
async def call() -> Caller:
    call = Caller(standins.server())
    assert (await call('GET', WIDGETS))[0] == 404
    code, _ = await call('POST', CRDS, DEFINITION)
    assert code == 201
    return call


async def test_a_kind_is_served_as_soon_as_its_definition_is_stored(call: Caller) -> None:
    _, definition = await call('GET', f'{CRDS}/widgets.example.com')
    code, _ = await call('POST', WIDGETS, WIDGET)
    _, found = await call('GET', '/apis/example.com/v1')

    assert definition['metadata']['finalizers'] == ['customresourcecleanup.apiextensions.k8s.io']
    assert definition['status']['conditions'] == [{'type': 'Established', 'status': 'True'}]
    assert code == 201
    assert [one['name'] for one in found['resources']] == ['widgets', 'widgets/status']


async def test_objects_go_with_their_definition(call: Caller) -> None:
    await call('POST', WIDGETS, WIDGET)
    watch = await call.watch(f'{WIDGETS}?watch=1&resourceVersion={call.server.store.revision}')

    code, ending = await call('DELETE', f'{CRDS}/widgets.example.com')
    await asyncio.sleep(0)

    assert (code, 'deletionTimestamp' in ending['metadata']) == (200, True)
    assert await watch.names(1) == [('DELETED', 'a')]
    await asyncio.sleep(0)
    assert (await call('GET', f'{CRDS}/widgets.example.com'))[0] == 404
    assert await call('GET', WIDGETS) == (404, '404 page not found\n')


async def test_a_kept_object_keeps_its_definition(call: Caller) -> None:
    await call('POST', WIDGETS, WIDGET | {'metadata': {'name': 'a', 'finalizers': ['example.com/one']}})
    await call('DELETE', f'{CRDS}/widgets.example.com')
    await asyncio.sleep(0)

    _, kept = await call('GET', f'{WIDGETS}/a')
    code, refused = await call('POST', WIDGETS, WIDGET | {'metadata': {'name': 'b'}})
    assert 'deletionTimestamp' in kept['metadata']
    assert (code, refused['reason'], refused['message']) == (
        405,
        'MethodNotAllowed',
        'create not allowed while custom resource definition is terminating',
    )

    await call('PATCH', f'{WIDGETS}/a', {'metadata': {'finalizers': None}}, content_type=MERGE)
    await asyncio.sleep(0)
    assert (await call('GET', f'{CRDS}/widgets.example.com'))[0] == 404


async def test_an_end_that_was_interrupted_is_finished_later(call: Caller) -> None:
    await call('POST', WIDGETS, WIDGET)
    store = call.server.store
    record = store.get('customresourcedefinitions.apiextensions.k8s.io', '', 'widgets.example.com')
    assert record is not None
    ending = record.decode()
    ending['metadata']['deletionTimestamp'] = '2026-01-01T00:00:00Z'
    recovered = store.everything()
    from jobset.local.store import storage

    again = storage.Store(recovered=recovered)
    again.update(
        'customresourcedefinitions.apiextensions.k8s.io',
        ending,
        expected=again.get('customresourcedefinitions.apiextensions.k8s.io', '', 'widgets.example.com') or record,
    )
    later = Caller(standins.server(store=again))

    assert (await later('GET', f'{CRDS}/widgets.example.com'))[0] == 404


async def test_stored_definitions_are_served_from_the_start(call: Caller) -> None:
    from jobset.local.store import storage

    later = Caller(standins.server(store=storage.Store(recovered=call.server.store.everything())))

    assert (await later('GET', WIDGETS))[0] == 200
