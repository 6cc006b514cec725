"""Bodies in Protobuf are the objects that a real server and a real kubectl say they are."""

import base64
import datetime
import gzip
import json
from typing import Any

import pytest

from jobset.local import kinds
from jobset.local.problems import Problem
from jobset.local.server import protobuf
from jobset.local.server.answers import PROTOBUF, Answer, Call
from jobset.local.server.protobuf import messages
from jobset.local.server.server import Server
from jobset.local.store import storage
from tests.local.server import samples, standins
from tests.local.server.record_protobuf import RECORDED

FOUND: Any = json.loads(gzip.decompress(RECORDED.read_bytes()))
SENT = {one['title']: base64.b64decode(one['body']) for one in FOUND['sent']}


def _cases(part: str) -> list[Any]:
    return [pytest.param(one, id=one['title']) for one in FOUND[part] if one['object'] is not None]


@pytest.mark.parametrize('recorded', _cases('objects'))
def test_an_object_of_a_server_is_the_same_in_both_forms(recorded: Any) -> None:
    found = protobuf.decode(base64.b64decode(recorded['body']))

    assert _without_nulls(found) == _without_nulls(recorded['object'])


def _without_nulls(value: Any) -> Any:
    """In JSON, a few lists without entries are there."""
    if isinstance(value, dict):
        return {key: _without_nulls(part) for key, part in value.items() if part is not None}
    return [_without_nulls(part) for part in value] if isinstance(value, list) else value


@pytest.mark.parametrize('recorded', _cases('sent'))
def test_what_kubectl_sends_is_what_it_shows(recorded: Any) -> None:
    assert protobuf.decode(base64.b64decode(recorded['body'])) == recorded['object']


def test_every_built_in_kind_is_covered() -> None:
    shown = {(one['object']['apiVersion'], one['object']['kind']) for one in FOUND['objects']}

    assert {(kind.api_version, kind.kind) for kind in kinds.all_()} - shown == set()


def test_reviews_are_read() -> None:
    wanted = {'namespace': 'default', 'verb': 'create', 'resource': 'jobs'}

    assert protobuf.decode(SENT['auth can-i create jobs'])['spec'] == {'resourceAttributes': wanted}
    assert protobuf.decode(SENT['auth whoami'])['kind'] == 'SelfSubjectReview'


@pytest.fixture
def server() -> Server:
    store = storage.Store()
    store.create('namespaces', standins.namespace('default'))
    return Server(store, kinds.all_(), now=lambda: datetime.datetime.now(tz=datetime.UTC))


async def _asked(server: Server, method: str, path: str, body: bytes) -> tuple[int, Any]:
    answer = await server.answer(Call(method, path, '', body, PROTOBUF, f'{PROTOBUF},application/json'))
    assert isinstance(answer, Answer)
    return answer.status, json.loads(answer.body)


async def test_a_server_takes_them_and_answers_in_json(server: Server) -> None:
    code, made = await _asked(server, 'POST', '/api/v1/namespaces', SENT['create namespace made'])

    assert (code, made['kind'], made['metadata']['name']) == (201, 'Namespace', 'made')


async def test_options_of_a_deletion_are_read(server: Server) -> None:
    made = '/api/v1/namespaces/default/configmaps'
    await _asked(server, 'POST', made, SENT['create configmap made --from-literal=a=1'])
    other = _body('v1', 'DeleteOptions', _field(2, _field(1, b'other')))
    code, refused = await _asked(server, 'DELETE', f'{made}/made', other)

    assert (code, refused['reason']) == (409, 'Conflict')


def _field(number: int, value: bytes) -> bytes:
    assert len(value) < 128
    return bytes([number << 3 | 2, len(value)]) + value


def _body(api_version: str, kind: str, message: bytes = b'') -> bytes:
    described = _field(1, api_version.encode()) + _field(2, kind.encode())
    return b'k8s\x00' + _field(1, described) + _field(2, message)


@pytest.mark.parametrize(
    ('body', 'text'),
    [
        pytest.param(
            b'xx\n',
            'the object provided is unrecognized: provided data does not appear to be a protobuf message, '
            'expected prefix [107 56 115 0]',
            id='no Protobuf',
        ),
        pytest.param(b'k8s\x00\x0a\x01', 'the object provided is unrecognized: unexpected EOF', id='cut off'),
        pytest.param(b'k8s\x00\x0a', 'the object provided is unrecognized: unexpected EOF', id='cut off in a number'),
        pytest.param(
            b'k8s\x00\x0b', 'the object provided is unrecognized: proto: illegal wireType 3', id='an unknown layout'
        ),
        pytest.param(
            b'k8s\x00' + b'\xff' * 11,
            'the object provided is unrecognized: proto: integer overflow',
            id='a number without end',
        ),
        pytest.param(
            _body('v1', 'Namespace', b'\x08\x01'),
            'the object provided is unrecognized: proto: wrong wireType = 0',
            id='a number in place of a message',
        ),
        pytest.param(
            _body('v1', 'Secret', _field(4, b'').replace(b'\x22\x00', b'\x20\x01')),
            'the object provided is unrecognized: proto: wrong wireType = 0',
            id='a number in place of a map',
        ),
        pytest.param(
            _body('v1', 'Foo'),
            'Foo in version "v1" cannot be handled: no kind "Foo" is registered for version "v1" here',
            id='an unknown kind',
        ),
    ],
)
def test_what_cannot_be_read_is_refused(body: bytes, text: str) -> None:
    with pytest.raises(Problem) as refused:
        protobuf.decode(body)

    assert (refused.value.code, refused.value.message) == (400, text)


def test_fields_of_later_versions_are_left_out() -> None:
    assert protobuf.decode(_body('v1', 'Namespace', b'\xf8\x07\x01')) == {'apiVersion': 'v1', 'kind': 'Namespace'}


def test_packed_numbers_are_several() -> None:
    fields = messages.table().messages['k8s.io.api.core.v1.PodSecurityContext']
    number = next(number for number, field in fields.items() if field.name == 'supplementalGroups')

    assert messages.read('k8s.io.api.core.v1.PodSecurityContext', _field(number, b'\x01\xac\x02')) == {
        'supplementalGroups': [1, 300]
    }


async def test_custom_objects_are_not_sent_in_it(server: Server) -> None:
    path, definition = next(one for one in samples.OBJECTS if one[1]['kind'] == 'CustomResourceDefinition')
    await server.answer(Call('POST', path, '', json.dumps(definition).encode(), 'application/json'))

    widgets = '/apis/protobuf.example.com/v1/namespaces/default/widgets'
    code, _ = await _asked(server, 'POST', widgets, _body('protobuf.example.com/v1', 'Widget'))

    assert code == 415
