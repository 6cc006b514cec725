"""PUT, PATCH and the subresource status: conditions, what may not change, generations, conflicts."""

from typing import Any

import pytest

from jobset.local import resources
from jobset.local.objects import Object
from tests.local.server import standins
from tests.local.server.standins import Caller, configmap, job

MAPS = '/api/v1/namespaces/default/configmaps'
JOBS = '/apis/batch/v1/namespaces/default/jobs'
LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases'
MERGE = 'application/merge-patch+json'
JSON = 'application/json-patch+json'
STRATEGIC = 'application/strategic-merge-patch+json'
APPLY = 'application/apply-patch+yaml'


@pytest.fixture
def call() -> Caller:
    return Caller(standins.server())


async def made(call: Caller, path: str, obj: Object) -> Any:
    code, found = await call('POST', path, obj)
    assert code == 201, found
    return found


async def test_an_update_replaces_all_but_what_the_server_keeps(call: Caller) -> None:
    first = await made(call, MAPS, configmap('a', x='1', y='1'))

    code, second = await call('PUT', f'{MAPS}/a', configmap('a', x='2'))

    assert (code, second['data']) == (200, {'x': '2'})
    kept = ('uid', 'creationTimestamp', 'namespace', 'name')
    assert [second['metadata'][key] for key in kept] == [first['metadata'][key] for key in kept]
    assert second['metadata']['resourceVersion'] == '4'
    assert await call('GET', f'{MAPS}/a') == (200, second)


async def test_an_update_of_another_state_is_a_conflict(call: Caller) -> None:
    first = await made(call, MAPS, configmap('a', x='1'))
    await call('PUT', f'{MAPS}/a', first | {'data': {'x': '2'}})

    code, refused = await call('PUT', f'{MAPS}/a', first | {'data': {'x': '3'}})

    assert (code, refused['reason'], refused['message']) == (
        409,
        'Conflict',
        (
            'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your '
            'changes to the '
            'latest version and try again'
        ),
    )
    assert (await call('GET', f'{MAPS}/a'))[1]['data'] == {'x': '2'}


async def test_an_update_that_changes_nothing_keeps_the_version(call: Caller) -> None:
    first = await made(call, JOBS, job('a', n=1))
    before = call.server.store.revision

    assert await call('PUT', f'{JOBS}/a', first) == (200, first)
    assert await call('PATCH', f'{JOBS}/a', {'spec': {'n': 1}}, content_type=MERGE) == (200, first)
    assert call.server.store.revision == before


async def test_the_generation_counts_changes_of_what_is_wanted(call: Caller) -> None:
    await made(call, JOBS, job('a', n=1))
    generations = []
    for path, patch in (
        (f'{JOBS}/a', {'spec': {'n': 2}}),
        (f'{JOBS}/a', {'metadata': {'labels': {'a': 'b'}}}),
        (f'{JOBS}/a/status', {'status': {'active': 1}}),
        (f'{JOBS}/a', {'spec': {'n': 3}, 'status': {'active': 5}}),
    ):
        _, found = await call('PATCH', path, patch, content_type=MERGE)
        generations.append(found['metadata']['generation'])

    assert generations == [2, 2, 2, 3]
    assert (await call('GET', f'{JOBS}/a/status'))[1]['status'] == {'active': 1}


async def test_status_and_the_rest_are_written_apart(call: Caller) -> None:
    first = await made(call, JOBS, job('a', n=1))
    body = first | {'spec': {'n': 9}, 'status': {'active': 1}}
    del body['metadata']['resourceVersion']

    _, with_status = await call('PUT', f'{JOBS}/a/status', body)
    _, with_spec = await call('PUT', f'{JOBS}/a', body | {'status': {'active': 7}})

    assert (with_status['spec'], with_status['status']) == ({'n': 1}, {'active': 1})
    assert (with_spec['spec'], with_spec['status']) == ({'n': 9}, {'active': 1})


@pytest.mark.parametrize(
    ('patch', 'code', 'message'),
    [
        (
            {'uid': 'other'},
            422,
            'ConfigMap "a" is invalid: metadata.uid: Invalid value: "other": field is immutable',
        ),
        (
            {'deletionTimestamp': '2020-01-01T00:00:00Z'},
            422,
            (
                'ConfigMap "a" is invalid: metadata.deletionTimestamp: Invalid value: "2020-01-01T00:00:00Z": '
                'field is immutable'
            ),
        ),
        ({'name': 'b'}, 400, 'the name of the object (b) does not match the name on the URL (a)'),
        (
            {'namespace': 'b'},
            400,
            'the namespace of the provided object does not match the namespace sent on the request',
        ),
        (
            {'resourceVersion': '1'},
            409,
            (
                'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply '
                'your changes to '
                'the latest version and try again'
            ),
        ),
    ],
)
async def test_metadata_that_may_not_change(call: Caller, patch: Object, code: int, message: str) -> None:
    await made(call, MAPS, configmap('a'))

    answered, refused = await call('PATCH', f'{MAPS}/a', {'metadata': patch}, content_type=MERGE)

    assert (answered, refused['message']) == (code, message)


async def test_null_metadata_mean_no_change(call: Caller) -> None:
    first = await made(call, MAPS, configmap('a'))
    patch = {'metadata': {'uid': None, 'creationTimestamp': None, 'resourceVersion': None, 'generation': 4}}

    assert await call('PATCH', f'{MAPS}/a', patch, content_type=MERGE) == (200, first)


async def test_a_lease_is_updated_in_a_known_state_only(call: Caller) -> None:
    lease = {'metadata': {'name': 'a'}, 'spec': {}}
    first = await made(call, LEASES, lease)

    code, refused = await call('PUT', f'{LEASES}/a', lease)

    assert (code, refused['message']) == (
        422,
        (
            'leases.coordination.k8s.io "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be '
            'specified for an update'
        ),
    )
    assert (await call('PUT', f'{LEASES}/a', first | {'spec': {'holderIdentity': 'me'}}))[0] == 200


@pytest.mark.parametrize(
    ('media', 'patch'),
    [
        (MERGE, {'data': {'x': '2', 'y': None}}),
        (STRATEGIC, {'data': {'x': '2', 'y': None}}),
        (JSON, [{'op': 'replace', 'path': '/data', 'value': {'x': '2'}}]),
    ],
)
async def test_patches(call: Caller, media: str, patch: Any) -> None:
    await made(call, MAPS, configmap('a', x='1', y='1'))

    code, found = await call('PATCH', f'{MAPS}/a', patch, content_type=media)

    assert (code, found['data'], found['metadata']['resourceVersion']) == (200, {'x': '2'}, '4')


async def test_a_patch_may_name_the_state(call: Caller) -> None:
    first = await made(call, MAPS, configmap('a', x='1'))
    patch = {'metadata': {'resourceVersion': first['metadata']['resourceVersion']}, 'data': {'x': '2'}}

    codes = [(await call('PATCH', f'{MAPS}/a', patch, content_type=MERGE))[0] for _ in range(2)]

    assert codes == [200, 409]


async def test_a_dry_run_changes_nothing(call: Caller) -> None:
    first = await made(call, MAPS, configmap('a', x='1'))

    code, found = await call('PUT', f'{MAPS}/a?dryRun=All', configmap('a', x='2'))

    assert (code, found['data']) == (200, {'x': '2'})
    assert await call('GET', f'{MAPS}/a') == (200, first)


async def test_apply_makes_and_changes_and_conflicts(call: Caller) -> None:
    target = f'{MAPS}/a?fieldManager='
    applied = configmap('a', x='1')

    made_code, _ = await call('PATCH', f'{target}one', applied, content_type=APPLY)
    same_code, same = await call('PATCH', f'{target}one', applied, content_type=APPLY)
    other_code, refused = await call('PATCH', f'{target}two', configmap('a', x='2'), content_type=APPLY)
    forced_code, forced = await call('PATCH', f'{target}two&force=true', configmap('a', x='2'), content_type=APPLY)

    assert (made_code, same_code, other_code, forced_code) == (201, 200, 409, 200)
    assert same['metadata']['resourceVersion'] == '3'
    assert refused['message'] == 'Apply failed with 1 conflict: conflict with "one": .data'
    assert (forced['data'], forced['metadata']['managedFields'][0]['manager']) == ({'x': '2'}, 'two')


async def test_apply_reads_yaml(call: Caller) -> None:
    body = b'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: "1"}\n'

    code, found = await call('PATCH', f'{MAPS}/a?fieldManager=me', body, content_type=APPLY)

    assert (code, found['data']) == (201, {'x': '1'})


class Meddling:
    """Admission that lets somebody else change the object while it is asked."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.call: Caller | None = None

    def configure(self, **_: Any) -> None: ...

    def is_mutating(self, kind: resources.Kind, operation: str, subresource: str = '') -> bool:
        return operation == 'UPDATE'

    def is_validating(self, kind: resources.Kind, operation: str, subresource: str = '') -> bool:
        return False

    async def mutate(self, asked: Any) -> Object:
        if self.times:
            self.times -= 1
            assert self.call is not None
            store = self.call.server.store
            old = store.get('configmaps', 'default', 'a')
            assert old is not None
            new = old.decode()
            new['data']['meddled'] = str(self.times)
            store.update('configmaps', new, expected=old)
        obj: Object = asked.object
        return obj

    async def validate(self, asked: Any) -> None: ...


@pytest.mark.parametrize(('times', 'code'), [(4, 200), (5, 409)])
async def test_a_patch_is_made_again_when_somebody_was_faster(times: int, code: int) -> None:
    meddling = Meddling(0)
    call = meddling.call = Caller(standins.server(admission=meddling))
    await made(call, MAPS, configmap('a'))
    meddling.times = times

    answered, found = await call('PATCH', f'{MAPS}/a', {'data': {'x': '1'}}, content_type=MERGE)

    assert answered == code
    if code == 200:
        assert found['data'] == {'x': '1', 'meddled': '0'}


async def test_an_update_that_names_its_state_is_not_made_again() -> None:
    meddling = Meddling(0)
    call = meddling.call = Caller(standins.server(admission=meddling))
    first = await made(call, MAPS, configmap('a'))
    meddling.times = 1

    assert (await call('PUT', f'{MAPS}/a', first | {'data': {'x': '1'}}))[0] == 409


async def test_what_is_deleted_takes_no_new_finalizers(call: Caller) -> None:
    kept = configmap('a')
    kept['metadata']['finalizers'] = ['example.com/one']
    await made(call, MAPS, kept)
    await call('DELETE', f'{MAPS}/a')
    patch = {'metadata': {'finalizers': ['example.com/one', 'example.com/two']}}

    code, refused = await call('PATCH', f'{MAPS}/a', patch, content_type=MERGE)

    assert (code, refused['message']) == (
        422,
        (
            'ConfigMap "a" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the '
            'object is being '
            'deleted, found new finalizers []string{"example.com/two"}'
        ),
    )


async def test_the_result_of_a_patch_is_judged(call: Caller) -> None:
    await made(call, JOBS, job('a'))

    code, refused = await call('PATCH', f'{JOBS}/a', {'spec': {'bad': 'x'}}, content_type=MERGE)
    strict, unknown = await call('PATCH', f'{JOBS}/a?fieldValidation=Strict', {'unknown': {}}, content_type=MERGE)

    assert (code, refused['message']) == (422, 'Job.batch "a" is invalid: spec.bad: Invalid value: "x": is bad')
    assert (strict, unknown['message'].endswith('strict decoding error: unknown field "unknown"')) == (422, True)


async def test_patches_of_custom_kinds_are_not_strategic(call: Caller) -> None:
    call.server.registry.put('widgets.example.com', [standins.kind('example.com', 'v1', 'widgets', 'Widget')])
    widgets = '/apis/example.com/v1/namespaces/default/widgets'
    await made(call, widgets, {'apiVersion': 'example.com/v1', 'kind': 'Widget', 'metadata': {'name': 'a'}})

    code, refused = await call('PATCH', f'{widgets}/a', {}, content_type=STRATEGIC)

    assert (code, refused['message']) == (
        415,
        (
            'the body of the request was in an unknown format - accepted media types include: '
            'application/json-patch+json, '
            'application/merge-patch+json, application/apply-patch+yaml'
        ),
    )


async def test_labels_of_custom_kinds_are_not_written_through_the_status(call: Caller) -> None:
    call.server.registry.put('widgets.example.com', [standins.kind('example.com', 'v1', 'widgets', 'Widget')])
    widgets = '/apis/example.com/v1/namespaces/default/widgets'
    await made(call, widgets, {'apiVersion': 'example.com/v1', 'kind': 'Widget', 'metadata': {'name': 'a'}})
    patch = {'metadata': {'labels': {'a': 'b'}}, 'spec': {'n': 1}, 'status': {'n': 1}}

    _, found = await call('PATCH', f'{widgets}/a/status', patch, content_type=MERGE)

    assert (found.get('spec'), found['status'], found['metadata'].get('labels')) == (None, {'n': 1}, None)
