"""DELETE: at once or when nobody keeps the object any longer; answers as the real server gives them."""

from typing import Any

import pytest

from jobset.local.objects import Object
from tests.local.server import standins
from tests.local.server.standins import Caller, configmap, job, pod

MAPS = '/api/v1/namespaces/default/configmaps'
JOBS = '/apis/batch/v1/namespaces/default/jobs'
PODS = '/api/v1/namespaces/default/pods'
MERGE = 'application/merge-patch+json'


@pytest.fixture
def clock() -> standins.Clock:
    return standins.Clock()


@pytest.fixture
def call(clock: standins.Clock) -> Caller:
    return Caller(standins.server(now=clock))


async def made(call: Caller, path: str, obj: Object, *finalizers: str) -> Any:
    if finalizers:
        obj['metadata']['finalizers'] = list(finalizers)
    code, found = await call('POST', path, obj)
    assert code == 201, found
    return found


async def bound(call: Caller, name: str) -> None:
    await made(call, PODS, pod(name))
    code, _ = await call('POST', f'{PODS}/{name}/binding', {'target': {'kind': 'Node', 'name': 'n'}})
    assert code == 201


async def test_an_object_that_nobody_keeps_is_gone(call: Caller) -> None:
    first = await made(call, MAPS, configmap('a'))

    assert await call('DELETE', f'{MAPS}/a') == (
        200,
        {
            'kind': 'Status',
            'apiVersion': 'v1',
            'metadata': {},
            'status': 'Success',
            'details': {'name': 'a', 'kind': 'configmaps', 'uid': first['metadata']['uid']},
        },
    )
    assert (await call('GET', f'{MAPS}/a'))[0] == 404
    assert (await call('DELETE', f'{MAPS}/a'))[0] == 404


async def test_finalizers_keep_it_until_the_last_is_off(call: Caller) -> None:
    await made(call, MAPS, configmap('a'), 'example.com/one', 'example.com/two')

    _, marked = await call('DELETE', f'{MAPS}/a')
    _, again = await call('DELETE', f'{MAPS}/a')
    _, one_off = await call('PATCH', f'{MAPS}/a', {'metadata': {'finalizers': ['example.com/two']}}, content_type=MERGE)
    code, last_off = await call('PATCH', f'{MAPS}/a', {'metadata': {'finalizers': None}}, content_type=MERGE)

    assert marked['metadata']['deletionTimestamp'] == '2026-01-02T03:04:05Z'
    assert marked['metadata']['deletionGracePeriodSeconds'] == 0
    assert again == marked
    # As of the real server: the version is that of the state before, only a watch tells that of the deletion.
    assert (code, last_off['metadata']['resourceVersion']) == (200, one_off['metadata']['resourceVersion'])
    assert (await call('GET', f'{MAPS}/a'))[0] == 404


@pytest.mark.parametrize(
    ('query', 'body', 'finalizers'),
    [
        ('?propagationPolicy=Foreground', None, ['foregroundDeletion']),
        ('?propagationPolicy=Orphan', None, ['orphan']),
        ('?orphanDependents=true', None, ['orphan']),
        ('', {'propagationPolicy': 'Foreground'}, ['foregroundDeletion']),
        ('', {'orphanDependents': True}, ['orphan']),
        ('?propagationPolicy=Background', None, None),
        # A body, even an empty object, is all that counts.
        ('?propagationPolicy=Foreground', {}, None),
        ('', None, None),
    ],
)
async def test_what_becomes_of_dependants(call: Caller, query: str, body: Any, finalizers: list[str] | None) -> None:
    await made(call, MAPS, configmap('a'))

    _, answered = await call('DELETE', f'{MAPS}/a{query}', body)

    assert answered['metadata'].get('finalizers') == finalizers
    assert (await call('GET', f'{MAPS}/a'))[0] == (200 if finalizers else 404)


async def test_a_later_policy_takes_the_place_of_the_first(call: Caller) -> None:
    await made(call, MAPS, configmap('a'), 'example.com/one')
    found = []
    for policy in ('Foreground', 'Orphan', 'Background'):
        _, answered = await call('DELETE', f'{MAPS}/a?propagationPolicy={policy}')
        found.append(answered['metadata']['finalizers'])

    assert found == [
        ['example.com/one', 'foregroundDeletion'],
        ['example.com/one', 'orphan'],
        ['example.com/one'],
    ]


async def test_dependants_of_jobs_stay_unless_somebody_says_else(call: Caller) -> None:
    await made(call, JOBS, job('a'))
    warning = (
        '299 - "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove '
        'them or set propagationPolicy=Orphan to suppress this warning"'
    )

    assert await call.warnings('DELETE', f'{JOBS}/a') == [warning]

    _, marked = await call('GET', f'{JOBS}/a')
    assert (marked['metadata']['finalizers'], marked['metadata']['generation']) == (['orphan'], 2)
    assert await call.warnings('DELETE', f'{JOBS}/a?propagationPolicy=Background') == []
    assert (await call('GET', f'{JOBS}/a'))[0] == 404


@pytest.mark.parametrize(
    ('preconditions', 'message'),
    [
        (
            {'uid': 'other'},
            (
                'Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (other) does not '
                'match the UID in '
                'record ({uid}). The object might have been deleted and then recreated'
            ),
        ),
        (
            {'resourceVersion': '1'},
            (
                'Operation cannot be fulfilled on ConfigMap "a": the ResourceVersion in the precondition (1) '
                'does not match '
                'the ResourceVersion in record (3). The object might have been modified'
            ),
        ),
    ],
)
async def test_preconditions(call: Caller, preconditions: Object, message: str) -> None:
    first = await made(call, MAPS, configmap('a'))
    metadata = first['metadata']

    code, refused = await call('DELETE', f'{MAPS}/a', {'preconditions': preconditions})
    fine = {'uid': metadata['uid'], 'resourceVersion': metadata['resourceVersion']}

    assert (code, refused['message']) == (409, message.format(uid=metadata['uid']))
    assert (await call('DELETE', f'{MAPS}/a', {'preconditions': fine}))[0] == 200


async def test_a_running_pod_has_its_time_of_grace(call: Caller, clock: standins.Clock) -> None:
    await bound(call, 'a')
    found = []
    for query in ('', '?gracePeriodSeconds=40', '?gracePeriodSeconds=5', ''):
        _, answered = await call('DELETE', f'{PODS}/a{query}')
        metadata = answered['metadata']
        found.append((metadata['deletionTimestamp'], metadata['deletionGracePeriodSeconds'], metadata['generation']))
        clock.pass_(1)

    assert found == [
        ('2026-01-02T03:04:35Z', 30, 2),
        ('2026-01-02T03:04:35Z', 30, 2),
        ('2026-01-02T03:04:10Z', 5, 2),
        ('2026-01-02T03:04:10Z', 5, 2),
    ]
    code, last = await call('DELETE', f'{PODS}/a?gracePeriodSeconds=0')
    assert (code, last['kind'], last['metadata']['name']) == (200, 'Pod', 'a')
    assert (await call('GET', f'{PODS}/a'))[0] == 404


async def test_a_pod_without_a_node_goes_at_once(call: Caller) -> None:
    await made(call, PODS, pod('a'))

    code, gone = await call('DELETE', f'{PODS}/a')

    assert (code, gone['kind'], gone['metadata']['deletionGracePeriodSeconds']) == (200, 'Pod', 0)
    assert (await call('GET', f'{PODS}/a'))[0] == 404


async def test_a_status_written_after_the_end_of_grace_is_no_deletion(call: Caller) -> None:
    await bound(call, 'a')
    await call('DELETE', f'{PODS}/a')

    await call('PATCH', f'{PODS}/a/status', {'status': {'phase': 'Failed'}}, content_type=MERGE)

    assert (await call('GET', f'{PODS}/a'))[1]['status']['phase'] == 'Failed'


async def test_a_dry_run_deletes_nothing(call: Caller) -> None:
    first = await made(call, MAPS, configmap('a'))
    for query, body in (('?dryRun=All', None), ('', {'dryRun': ['All']})):
        code, answered = await call('DELETE', f'{MAPS}/a{query}', body)
        assert (code, answered['status']) == (200, 'Success')

    assert await call('GET', f'{MAPS}/a') == (200, first)


async def test_a_collection_goes_as_one_by_one(call: Caller) -> None:
    for name, colour in (('a', 'red'), ('b', 'blue'), ('c', 'red')):
        obj = configmap(name)
        obj['metadata']['labels'] = {'colour': colour}
        await made(call, MAPS, obj, *(['example.com/one'] if name == 'c' else []))

    code, answered = await call('DELETE', f'{MAPS}?labelSelector=colour=red')

    assert (code, answered['kind'], [one['metadata']['name'] for one in answered['items']]) == (
        200,
        'ConfigMapList',
        ['a', 'c'],
    )
    _, left = await call('GET', MAPS)
    assert [(one['metadata']['name'], 'deletionTimestamp' in one['metadata']) for one in left['items']] == [
        ('b', False),
        ('c', True),
    ]


async def test_a_namespace_ends_when_it_is_confirmed(call: Caller) -> None:
    namespace = {'metadata': {'name': 'other'}, 'spec': {'finalizers': ['kubernetes']}}
    await made(call, '/api/v1/namespaces', namespace)

    _, ending = await call('DELETE', '/api/v1/namespaces/other')
    _, again = await call('DELETE', '/api/v1/namespaces/other')
    done = {'metadata': {'name': 'other'}, 'spec': {}}
    code, _ = await call('PUT', '/api/v1/namespaces/other/finalize', done)

    assert ending['status']['phase'] == 'Terminating'
    assert again == ending
    assert code == 200
    assert (await call('GET', '/api/v1/namespaces/other'))[0] == 404


async def test_confirming_a_namespace_that_is_not_ending_keeps_it(call: Caller) -> None:
    code, found = await call(
        'PUT', '/api/v1/namespaces/default/finalize', {'metadata': {'name': 'default'}, 'spec': {'finalizers': []}}
    )

    assert (code, found['spec']) == (200, {})
    assert (await call('GET', '/api/v1/namespaces/default'))[0] == 200
