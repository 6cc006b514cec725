"""Subresources: binding, eviction, logs, and what is not served."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from jobset.local.objects import Object
from jobset.local.problems import Problem
from jobset.local.server import logs
from jobset.local.server.answers import Stream
from tests.local.server import standins
from tests.local.server.standins import Caller, pod

PODS = '/api/v1/namespaces/default/pods'
TO_N = {'metadata': {'name': 'a'}, 'target': {'kind': 'Node', 'name': 'n'}}


class Lines:
    """A log that says what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[logs.Wanted] = []
        self.closed = 0

    async def read(self, pod: Object, wanted: logs.Wanted) -> AsyncIterator[bytes]:
        self.asked.append(wanted)
        try:
            if wanted.previous:
                raise Problem.bad_request('previous terminated container "main" in pod "a" not found')
            yield b'one\n'
            yield f'{pod["metadata"]["name"]}\n'.encode()
        finally:
            self.closed += 1


@pytest.fixture
def lines() -> Lines:
    return Lines()


@pytest.fixture
async def call(lines: Lines) -> Caller:
    call = Caller(standins.server(log_source=lines))
    await call('POST', PODS, pod('a'))
    return call


async def test_a_pod_is_bound_once(call: Caller) -> None:
    code, done = await call('POST', f'{PODS}/a/binding', TO_N)
    again, refused = await call('POST', f'{PODS}/a/binding', TO_N)
    _, bound = await call('GET', f'{PODS}/a')

    assert (code, done) == (
        201,
        {'kind': 'Status', 'apiVersion': 'v1', 'metadata': {}, 'status': 'Success', 'code': 201},
    )
    assert (again, refused['message'], refused['details']) == (
        409,
        'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n"',
        {'name': 'a', 'kind': 'pods/binding'},
    )
    assert bound['spec']['nodeName'] == 'n'
    assert bound['metadata']['generation'] == 1
    assert bound['status']['conditions'] == [
        {
            'type': 'PodScheduled',
            'status': 'True',
            'lastProbeTime': None,
            'lastTransitionTime': '2026-01-02T03:04:05Z',
        }
    ]


async def test_a_binding_may_be_sent_to_its_collection(call: Caller) -> None:
    code, _ = await call('POST', '/api/v1/namespaces/default/bindings', TO_N)

    assert code == 201
    assert (await call('GET', f'{PODS}/a'))[1]['spec']['nodeName'] == 'n'


@pytest.mark.parametrize(
    ('body', 'code', 'message'),
    [
        (
            {'metadata': {'name': 'b'}, 'target': {'name': 'n'}},
            400,
            'name in URL does not match name in Binding object',
        ),
        ({'metadata': {'name': 'a'}}, 500, 'target.name: Required value'),
    ],
)
async def test_bindings_that_make_no_sense(call: Caller, body: Any, code: int, message: str) -> None:
    answered, refused = await call('POST', f'{PODS}/a/binding', body)

    assert (answered, refused['message']) == (code, message)


async def test_a_pod_with_gates_is_not_bound(call: Caller) -> None:
    await call('POST', PODS, pod('b', schedulingGates=[{'name': 'wait'}]))

    code, refused = await call('POST', f'{PODS}/b/binding', {'target': {'name': 'n'}})

    assert (code, refused['message']) == (
        409,
        'Operation cannot be fulfilled on pods/binding "b": pod b has non-empty .spec.schedulingGates',
    )


async def test_an_eviction_is_a_deletion_with_grace(call: Caller) -> None:
    await call('POST', f'{PODS}/a/binding', TO_N)

    code, done = await call(
        'POST', f'{PODS}/a/eviction', {'metadata': {'name': 'a'}, 'deleteOptions': {'gracePeriodSeconds': 7}}
    )
    missing, _ = await call('POST', f'{PODS}/none/eviction', {'metadata': {'name': 'none'}})

    assert (code, done['status'], missing) == (201, 'Success', 404)
    assert (await call('GET', f'{PODS}/a'))[1]['metadata']['deletionGracePeriodSeconds'] == 7


async def log(call: Caller, query: str) -> bytes:
    answer = await call.answer('GET', f'{PODS}/a/log{query}')
    assert isinstance(answer, Stream)
    assert answer.content_type == 'text/plain'
    return b''.join([piece async for piece in answer.pieces])


async def test_a_log_comes_from_its_source(call: Caller, lines: Lines) -> None:
    query = '?follow=true&timestamps=1&tailLines=3&sinceSeconds=60&limitBytes=100&sinceTime=2026-01-01T00:00:00Z'

    assert await log(call, query) == b'one\na\n'
    assert await log(call, '') == b'one\na\n'

    assert lines.asked == [
        logs.Wanted(
            container='main',
            follow=True,
            timestamps=True,
            tail_lines=3,
            since_seconds=60,
            limit_bytes=100,
            since_time='2026-01-01T00:00:00Z',
        ),
        logs.Wanted(container='main'),
    ]
    assert lines.closed == 2


async def test_a_run_of_a_pod_that_is_gone(call: Caller, lines: Lines) -> None:
    _, there = await call('GET', f'{PODS}/a')

    assert await log(call, f'?uid={there["metadata"]["uid"]}&run=2') == b'one\na\n'
    assert await log(call, '?uid=0-a&run=0&container=old') == b'one\na\n'

    assert lines.asked == [logs.Wanted(container='main', run=2), logs.Wanted(container='old', run=0)]


@pytest.mark.parametrize(
    ('path', 'code', 'message'),
    [
        (f'{PODS}/a/log?uid=..&run=0&container=main', 404, 'pods "a" not found'),
        (f'{PODS}/a/log?uid=0-a&run=0&container=..%2Fx', 404, 'pods "a" not found'),
        (f'{PODS}/none/log', 404, 'pods "none" not found'),
        (f'{PODS}/a/log?container=zz', 400, 'container zz is not valid for pod a'),
        (
            f'{PODS}/two/log',
            400,
            'a container name must be specified for pod two, choose one of: [x y] or one of the init containers: [i]',
        ),
        (f'{PODS}/a/exec', 400, 'pod a does not have a host assigned'),
        (f'{PODS}/a/nothing', 404, 'the server could not find the requested resource'),
    ],
)
async def test_what_is_not_to_be_had(call: Caller, path: str, code: int, message: str) -> None:
    two = pod('two', containers=[{'name': 'x'}, {'name': 'y'}], initContainers=[{'name': 'i'}])
    await call('POST', PODS, two)

    answered, refused = await call('GET', path)

    assert (answered, refused['message']) == (code, message)


async def test_processes_are_not_connected_to(call: Caller) -> None:
    await call('POST', f'{PODS}/a/binding', TO_N)

    code, refused = await call('POST', f'{PODS}/a/exec?command=ls')

    assert (code, refused['message']) == (
        400,
        'pods/exec is not served by this control plane: the containers of pod a are plain processes of this machine',
    )


async def test_there_are_no_tokens(call: Caller) -> None:
    code, _ = await call('POST', '/api/v1/namespaces/default/serviceaccounts/default/token', {})

    assert code == 404
