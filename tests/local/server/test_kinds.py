"""The server with the real kinds: what only they need."""

import datetime
from typing import Any

import pytest

from jobset.local import kinds
from jobset.local.server.server import Server
from jobset.local.store import storage
from tests.local.server import standins
from tests.local.server.standins import Caller

CORE = '/api/v1/namespaces/default/events'
NEW = '/apis/events.k8s.io/v1/namespaces/default/events'
MERGE = 'application/merge-patch+json'

EVENT: dict[str, Any] = {
    'metadata': {'name': 'e'},
    'eventTime': '2026-01-01T00:00:00.000000Z',
    'reportingController': 'example.com/me',
    'reportingInstance': 'one',
    'action': 'Tested',
    'reason': 'Test',
    'type': 'Normal',
    'note': 'something',
    'regarding': {'kind': 'Pod', 'name': 'p', 'namespace': 'default'},
}


@pytest.fixture
def call() -> Caller:
    store = storage.Store()
    store.create('namespaces', standins.namespace('default'))
    return Caller(Server(store, kinds.all_(), now=lambda: datetime.datetime.now(tz=datetime.UTC)))


async def test_an_event_is_read_through_both_groups(call: Caller) -> None:
    core = await call.watch(f'{CORE}?watch=1&fieldSelector=involvedObject.name=p')
    new = await call.watch(f'{NEW}?watch=1&fieldSelector=regarding.name=p')
    code, made = await call('POST', NEW, EVENT)
    _, read = await call('GET', f'{CORE}/e')
    _, again = await call('GET', f'{NEW}/e')
    _, listed = await call('GET', f'{CORE}?fieldSelector=involvedObject.name=p')

    assert code == 201, made
    assert (made['apiVersion'], made['note']) == ('events.k8s.io/v1', 'something')
    assert (read['apiVersion'], read['message'], read['involvedObject']['name']) == ('v1', 'something', 'p')
    assert again == made
    assert [item['metadata']['name'] for item in listed['items']] == ['e']
    assert await core.next() == ('ADDED', read)
    assert await new.next() == ('ADDED', made)


async def test_an_event_is_changed_and_deleted_through_either(call: Caller) -> None:
    await call('POST', NEW, EVENT)

    code, changed = await call('PATCH', f'{CORE}/e', {'count': 2}, content_type=MERGE)
    series = {'series': {'count': 2, 'lastObservedTime': '2026-01-01T00:00:00.000000Z'}}
    _, newer = await call('PATCH', f'{NEW}/e', series, content_type=MERGE)
    deleted, _ = await call('DELETE', f'{NEW}/e')

    assert (code, changed['count'], changed['message']) == (200, 2, 'something')
    assert (newer['deprecatedCount'], newer['series']['count']) == (2, 2)
    assert deleted == 200
    assert (await call('GET', f'{CORE}/e'))[0] == 404


async def test_a_namespace_lives_and_ends(call: Caller) -> None:
    _, made = await call('POST', '/api/v1/namespaces', {'metadata': {'name': 'other'}})
    _, ending = await call('DELETE', '/api/v1/namespaces/other')
    finalized = made | {'spec': {}}
    del finalized['metadata']['resourceVersion']
    code, _ = await call('PUT', '/api/v1/namespaces/other/finalize', finalized)

    assert (made['status'], made['spec']) == ({'phase': 'Active'}, {'finalizers': ['kubernetes']})
    assert made['metadata']['labels'] == {'kubernetes.io/metadata.name': 'other'}
    assert ending['status']['phase'] == 'Terminating'
    assert code == 200
    assert (await call('GET', '/api/v1/namespaces/other'))[0] == 404


async def test_documents_of_all_groups_are_served(call: Caller) -> None:
    _, index = await call('GET', '/openapi/v3')
    _, batch = await call('GET', index['paths']['apis/batch/v1']['serverRelativeURL'])

    assert {'api/v1', 'apis/batch/v1', 'apis/apiextensions.k8s.io/v1'} <= index['paths'].keys()
    assert 'io.k8s.api.batch.v1.Job' in batch['components']['schemas']
