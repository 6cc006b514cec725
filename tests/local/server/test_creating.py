"""POST: names, namespaces, metadata, field validation, dry runs; answers as the real server gives them."""

import datetime
import re
from typing import Any

import pytest

from jobset.local.store import storage
from tests.local.server import standins
from tests.local.server.standins import Caller, configmap, job

MAPS = '/api/v1/namespaces/default/configmaps'
JOBS = '/apis/batch/v1/namespaces/default/jobs'


@pytest.fixture
def call() -> Caller:
    return Caller(standins.server())


async def test_a_new_object_gets_what_it_does_not_bring(call: Caller) -> None:
    code, made = await call('POST', JOBS, job('a', n=1) | {'status': {'active': 3}}, user_agent='kubectl/v1.37')

    uid = made['metadata'].pop('uid')
    assert re.fullmatch(r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', uid)
    assert (code, made) == (
        201,
        {
            'apiVersion': 'batch/v1',
            'kind': 'Job',
            'metadata': {
                'name': 'a',
                'namespace': 'default',
                'creationTimestamp': '2026-01-02T03:04:05Z',
                'generation': 1,
                'resourceVersion': '3',
                'managedFields': [{'manager': 'kubectl', 'operation': 'Update'}],
            },
            'spec': {'n': 1},
        },
    )
    assert await call('GET', f'{JOBS}/a') == (200, made | {'metadata': made['metadata'] | {'uid': uid}})


async def test_what_a_creator_may_not_set_is_dropped(call: Caller) -> None:
    brought = {
        'name': 'a',
        'uid': 'mine',
        'creationTimestamp': '2020-01-01T00:00:00Z',
        'deletionTimestamp': '2020-01-01T00:00:00Z',
        'deletionGracePeriodSeconds': 3,
        'generation': 7,
        'selfLink': '/a',
    }
    _, made = await call('POST', JOBS, job('a') | {'metadata': brought})

    metadata = made['metadata']
    assert metadata['uid'] != 'mine'
    assert (metadata['creationTimestamp'], metadata['generation']) == ('2026-01-02T03:04:05Z', 1)
    assert not metadata.keys() & {'deletionTimestamp', 'deletionGracePeriodSeconds', 'selfLink'}


async def test_kind_and_version_may_be_left_out(call: Caller) -> None:
    code, made = await call('POST', MAPS, {'metadata': {'name': 'a'}})

    assert (code, made['kind'], made['apiVersion']) == (201, 'ConfigMap', 'v1')


async def test_a_generated_name_has_five_characters_of_the_alphabet(call: Caller) -> None:
    names = []
    for base in ('web-', 'x' * 70):
        _, made = await call('POST', MAPS, {'metadata': {'generateName': base}})
        names.append(made['metadata']['name'])

    assert re.fullmatch('web-[bcdfghjklmnpqrstvwxz2456789]{5}', names[0])
    assert re.fullmatch('x{58}[bcdfghjklmnpqrstvwxz2456789]{5}', names[1])


async def test_a_generated_name_that_is_taken_is_made_again(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    suffixes = iter(['aaaaa', 'aaaaa', 'aaaaa', 'bbbbb'])
    monkeypatch.setattr('jobset.local.server.metadata.random_suffix', lambda: next(suffixes))

    names = []
    for _ in range(2):
        _, made = await call('POST', MAPS, {'metadata': {'generateName': 'web-'}})
        names.append(made['metadata']['name'])

    assert names == ['web-aaaaa', 'web-bbbbb']


async def test_a_name_that_stays_taken_is_refused(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('jobset.local.server.metadata.random_suffix', lambda: 'aaaaa')
    await call('POST', MAPS, {'metadata': {'generateName': 'web-'}})

    code, refused = await call('POST', MAPS, {'metadata': {'generateName': 'web-'}})

    assert (code, refused['message']) == (409, 'configmaps "web-aaaaa" already exists')


async def test_a_dry_run_stores_nothing(call: Caller) -> None:
    before = call.server.store.revision

    code, made = await call('POST', f'{MAPS}?dryRun=All', configmap('a', x='1'))

    assert (code, made['data'], 'resourceVersion' in made['metadata']) == (201, {'x': '1'}, False)
    assert (await call('GET', f'{MAPS}/a'))[0] == 404
    assert call.server.store.revision == before


async def test_a_dry_run_finds_a_taken_name(call: Caller) -> None:
    await call('POST', MAPS, configmap('a'))

    assert (await call('POST', f'{MAPS}?dryRun=All', configmap('a')))[0] == 409


async def test_yaml_is_read_as_kubectl_sends_it(call: Caller) -> None:
    body = b'kind: ConfigMap\nmetadata:\n  name: a\n  annotations: {date: 2026-01-01}\ndata: {x: "yes"}\n'

    code, made = await call('POST', MAPS, body, content_type='application/yaml; charset=utf-8')

    assert (code, made['data'], made['metadata']['annotations']) == (201, {'x': 'yes'}, {'date': '2026-01-01'})


UNKNOWN = b'{"metadata":{"name":"a"},"data":{"x":"1","x":"2"},"unknownOne":{},"unknownTwo":{}}'


@pytest.mark.parametrize(
    ('query', 'warnings'),
    [
        (
            '',
            [
                '299 - "duplicate field \\"data.x\\""',
                '299 - "unknown field \\"unknownOne\\""',
                '299 - "unknown field \\"unknownTwo\\""',
            ],
        ),
        (
            '?fieldValidation=Warn',
            [
                '299 - "duplicate field \\"data.x\\""',
                '299 - "unknown field \\"unknownOne\\""',
                '299 - "unknown field \\"unknownTwo\\""',
            ],
        ),
        ('?fieldValidation=Ignore', []),
    ],
)
async def test_unknown_fields_are_dropped_and_told(call: Caller, query: str, warnings: list[str]) -> None:
    assert await call.warnings('POST', MAPS + query, UNKNOWN) == warnings

    _, made = await call('GET', f'{MAPS}/a')
    assert made['data'] == {'x': '2'}
    assert not made.keys() & {'unknownOne', 'unknownTwo'}


async def test_strict_validation_refuses_them(call: Caller) -> None:
    code, refused = await call('POST', f'{MAPS}?fieldValidation=Strict', UNKNOWN)

    assert (code, refused['reason'], refused['message']) == (
        400,
        'BadRequest',
        (
            'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: duplicate field '
            '"data.x", '
            'unknown field "unknownOne", unknown field "unknownTwo"'
        ),
    )


@pytest.mark.parametrize(
    'body',
    [
        pytest.param(b'{"a" : 1, "a": 2, "metadata": {}}', id='a space before the colon'),
        pytest.param(b'{"a":\n1,"b":{"c":1,"c":{}}}', id='deep'),
        pytest.param(b'{"a":[{"x":1},{"y":1,"y":1}]}', id='in a list'),
        pytest.param(b'{"\\u0061":1,"a":2}', id='escaped'),
    ],
)
async def test_double_fields_are_found_however_they_are_written(call: Caller, body: bytes) -> None:
    _, refused = await call('POST', f'{MAPS}?fieldValidation=Strict', body)

    assert 'strict decoding error: duplicate field' in refused['message']


async def test_mistakes_are_told_together(call: Caller) -> None:
    code, refused = await call('POST', JOBS, {'metadata': {'name': 'A', 'labels': {'a b': 'ok'}}, 'spec': {'bad': 'x'}})

    assert (code, [cause['field'] for cause in refused['details']['causes']]) == (
        422,
        ['metadata.name', 'metadata.labels', 'spec.bad'],
    )
    assert refused['message'].startswith(
        'Job.batch "A" is invalid: [metadata.name: Invalid value: "A": a lowercase RFC'
    )


async def test_an_ending_namespace_takes_nothing_new(call: Caller) -> None:
    await call('POST', '/api/v1/namespaces', {'metadata': {'name': 'other'}, 'spec': {'finalizers': ['kubernetes']}})
    maps = '/api/v1/namespaces/other/configmaps'
    assert (await call('POST', maps, configmap('early')))[0] == 201
    await call('DELETE', '/api/v1/namespaces/other')

    assert await call('POST', maps, configmap('late')) == (
        403,
        {
            'kind': 'Status',
            'apiVersion': 'v1',
            'metadata': {},
            'status': 'Failure',
            'message': 'configmaps "late" is forbidden: unable to create new content in namespace other because it is '
            'being terminated',
            'reason': 'Forbidden',
            'details': {
                'name': 'late',
                'kind': 'configmaps',
                'causes': [
                    {
                        'reason': 'NamespaceTerminating',
                        'message': 'namespace other is being terminated',
                        'field': 'metadata.namespace',
                    }
                ],
            },
            'code': 403,
        },
    )


async def test_time_is_the_clocks() -> None:
    clock = standins.Clock()
    call = Caller(standins.server(now=clock))
    clock.time = datetime.datetime(2030, 5, 6, 7, 8, 9, tzinfo=datetime.UTC)

    _, made = await call('POST', MAPS, configmap('a'))

    assert made['metadata']['creationTimestamp'] == '2030-05-06T07:08:09Z'


async def test_a_full_disk_is_told_and_nothing_is_stored() -> None:
    from pathlib import Path

    from jobset.local.store import journal

    class Full:
        on = False

        def append(self, *_: Any) -> None:
            if self.on:
                raise journal.Unwritable(Path('/data/journal-00000000'), 'No space left on device', full=True)

    full = Full()
    call = Caller(standins.server(store=storage.Store(journal=full)))
    full.on = True

    code, refused = await call('POST', MAPS, configmap('a'))

    assert (code, refused['reason'], refused['message']) == (
        507,
        'InsufficientStorage',
        'nothing was stored: /data/journal-00000000: No space left on device. Make some space there, then try again',
    )
    full.on = False
    assert (await call('POST', MAPS, configmap('a')))[0] == 201
