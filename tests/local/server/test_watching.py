"""Watches: from where, what is told, what ends them."""

import asyncio
from typing import Any

import pytest

from jobset.local.server import feeds
from tests.kube import virtual
from tests.local.server import standins
from tests.local.server.standins import Caller, configmap, pod

MAPS = '/api/v1/namespaces/default/configmaps'
PODS = '/api/v1/namespaces/default/pods'
MERGE = 'application/merge-patch+json'


@pytest.fixture
async def call() -> Caller:
    call = Caller(standins.server())
    for name in ('b', 'a'):
        await call('POST', MAPS, configmap(name))
    return call


def labelled(name: str, **labels: str) -> Any:
    obj = configmap(name)
    obj['metadata']['labels'] = labels
    return obj


async def test_changes_since_a_version(call: Caller) -> None:
    await call('PUT', f'{MAPS}/a', configmap('a', x='1'))
    watch = await call.watch(f'{MAPS}?watch=1&resourceVersion=3')
    await call('DELETE', f'{MAPS}/b')

    assert await watch.names(3) == [('ADDED', 'a'), ('MODIFIED', 'a'), ('DELETED', 'b')]
    assert await watch.is_idle()


async def test_events_carry_the_object_and_the_version_of_the_change(call: Caller) -> None:
    watch = await call.watch(f'{MAPS}?watch=1&resourceVersion=4')
    _, changed = await call('PUT', f'{MAPS}/a', configmap('a', x='1'))
    await call('DELETE', f'{MAPS}/a')

    first, second = await watch.next(), await watch.next()

    assert first == ('MODIFIED', changed)
    assert second == ('DELETED', changed | {'metadata': changed['metadata'] | {'resourceVersion': '6'}})


@pytest.mark.parametrize('query', ['watch=true', 'watch=1&resourceVersion=', 'watch=1&resourceVersion=0'])
async def test_what_is_there_comes_first(call: Caller, query: str) -> None:
    watch = await call.watch(f'{MAPS}?{query}')
    await call('POST', MAPS, configmap('c'))

    assert await watch.names(3) == [('ADDED', 'a'), ('ADDED', 'b'), ('ADDED', 'c')]


async def test_a_streamed_list_ends_with_a_bookmark(call: Caller) -> None:
    query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
    watch = await call.watch(f'{MAPS}?{query}')
    await call('POST', MAPS, configmap('c'))

    assert await watch.names(2) == [('ADDED', 'a'), ('ADDED', 'b')]
    assert await watch.next() == (
        'BOOKMARK',
        {
            'kind': 'ConfigMap',
            'apiVersion': 'v1',
            'metadata': {'resourceVersion': '4', 'annotations': {'k8s.io/initial-events-end': 'true'}},
        },
    )
    assert await watch.names(1) == [('ADDED', 'c')]


async def test_a_streamed_list_of_nothing_ends_too(call: Caller) -> None:
    query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
    watch = await call.watch(f'{PODS}?{query}')

    assert await watch.names(1) == [('BOOKMARK', '')]


@pytest.mark.parametrize(
    ('version', 'message'),
    [('3', 'too old resource version: 3 (5)'), ('99', 'too large resource version: 99 (5)')],
)
async def test_a_version_that_is_not_known_is_told_in_the_stream(call: Caller, version: str, message: str) -> None:
    await call('POST', MAPS, configmap('c'))
    call.server.store.forget()

    watch = await call.watch(f'{MAPS}?watch=1&resourceVersion={version}')

    event = await watch.next()
    assert event is not None
    assert (event[0], event[1]['code'], event[1]['reason'], event[1]['message']) == ('ERROR', 410, 'Expired', message)
    assert await watch.next() is None


async def test_other_namespaces_and_kinds_are_not_told(call: Caller) -> None:
    await call('POST', '/api/v1/namespaces', {'metadata': {'name': 'other'}})
    one = await call.watch(f'{MAPS}?watch=1&resourceVersion=5')
    every = await call.watch('/api/v1/configmaps?watch=1&resourceVersion=5')
    await call('POST', '/api/v1/namespaces/other/configmaps', configmap('x'))
    await call('POST', PODS, pod('x'))
    await call('POST', MAPS, configmap('y'))

    assert await one.names(1) == [('ADDED', 'y')]
    assert await every.names(2) == [('ADDED', 'x'), ('ADDED', 'y')]
    assert await every.is_idle()


async def test_objects_come_and_go_as_they_match(call: Caller) -> None:
    watch = await call.watch(f'{MAPS}?watch=1&resourceVersion=4&labelSelector=colour=red')
    await call('POST', MAPS, labelled('x', colour='blue'))
    await call('PUT', f'{MAPS}/x', labelled('x', colour='red'))
    await call('PUT', f'{MAPS}/x', labelled('x', colour='red', more='1'))
    await call('PUT', f'{MAPS}/x', labelled('x', colour='blue'))
    await call('PUT', f'{MAPS}/x', labelled('x', colour='red'))
    await call('DELETE', f'{MAPS}/x')
    await call('DELETE', f'{MAPS}/a')

    assert await watch.names(2) == [('ADDED', 'x'), ('MODIFIED', 'x')]
    event = await watch.next()
    assert event is not None
    # As it was when it was last selected, with the version of the change.
    assert event[0] == 'DELETED'
    assert event[1]['metadata']['labels'] == {'colour': 'red', 'more': '1'}
    assert event[1]['metadata']['resourceVersion'] == '8'
    assert await watch.names(2) == [('ADDED', 'x'), ('DELETED', 'x')]
    assert await watch.is_idle()


async def test_field_selectors(call: Caller) -> None:
    by_node = await call.watch(f'{PODS}?watch=1&fieldSelector=spec.nodeName=n')
    by_name = await call.watch(f'{PODS}?watch=1&fieldSelector=metadata.name=q')
    await call('POST', PODS, pod('p'))
    await call('POST', PODS, pod('q', nodeName='n'))
    await call('POST', f'{PODS}/p/binding', {'target': {'name': 'n'}})

    assert await by_node.names(2) == [('ADDED', 'q'), ('ADDED', 'p')]
    assert await by_name.names(1) == [('ADDED', 'q')]
    assert await by_name.is_idle()


async def test_the_old_paths_for_watches(call: Caller) -> None:
    watch = await call.watch('/api/v1/watch/namespaces/default/configmaps')
    one = await call.watch('/api/v1/watch/namespaces/default/configmaps/b')

    assert await watch.names(2) == [('ADDED', 'a'), ('ADDED', 'b')]
    assert await one.names(1) == [('ADDED', 'b')]


async def test_tables_name_their_columns_once(call: Caller) -> None:
    watch = await call.watch(f'{MAPS}?watch=1', accept='application/json;as=Table;v=v1;g=meta.k8s.io')

    first, second = await watch.next(), await watch.next()

    assert first is not None
    assert second is not None
    assert [column['name'] for column in first[1]['columnDefinitions']] == ['Name', 'Age']
    assert second[1]['columnDefinitions'] is None
    assert [one[1]['rows'][0]['cells'][0] for one in (first, second)] == ['a', 'b']


async def test_metadata_alone(call: Caller) -> None:
    watch = await call.watch(f'{MAPS}?watch=1', accept='application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io')

    event = await watch.next()

    assert event is not None
    assert (event[1]['kind'], sorted(event[1])) == ('PartialObjectMetadata', ['apiVersion', 'kind', 'metadata'])


async def test_a_slow_reader_is_cut_off_and_holds_nothing(call: Caller) -> None:
    call = Caller(standins.server(settings=feeds.Watching(max_waiting=3)))
    watch = await call.watch(f'{MAPS}?watch=1&resourceVersion=1')
    for name in ('a', 'b', 'c', 'd'):
        await call('POST', MAPS, configmap(name))

    assert await watch.next() is None


async def test_closing_stops_listening(call: Caller) -> None:
    watch = await call.watch(f'{MAPS}?watch=1&resourceVersion=4')
    await watch.close()
    await call('POST', MAPS, configmap('c'))

    assert await watch.next() is None


async def test_a_server_that_closes_ends_its_watches(call: Caller) -> None:
    watch = await call.watch(f'{MAPS}?watch=1&resourceVersion=4')
    waiting = asyncio.ensure_future(watch.next())
    await asyncio.sleep(0)

    call.server.close()

    assert await waiting is None


async def test_a_long_list_comes_in_pieces() -> None:
    call = Caller(standins.server(settings=feeds.Watching(piece_bytes=2000)))
    for n in range(20):
        await call('POST', MAPS, configmap(f'm{n:02}', x='x' * 300))
    watch = await call.watch(f'{MAPS}?watch=1')

    pieces = [await anext(watch.stream.pieces) for _ in range(3)]

    assert all(2000 <= len(piece) < 3000 for piece in pieces)


@virtual.timed
async def test_bookmarks_come_in_time_and_at_the_end() -> None:
    call = Caller(standins.server(settings=feeds.Watching(bookmark_seconds=60)))
    watch = await call.watch(f'{MAPS}?watch=1&resourceVersion=2&allowWatchBookmarks=true&timeoutSeconds=150')
    found = []
    while True:
        event = await anext(watch.stream.pieces, b'')
        if not event:
            break
        found.append((round(virtual.now()), event))
        await call('POST', PODS, pod(f'p{len(found)}'))

    # The first one after 30 to 60 seconds, then one each minute, then one at the end.
    assert len(found) in (3, 4)
    assert 30 <= found[0][0] <= 60
    assert found[1][0] == found[0][0] + 60
    assert found[-1][0] == 150
    assert all(b'"type":"BOOKMARK"' in event for _, event in found)
    versions = [f'"resourceVersion":"{2 + n}"'.encode() for n in range(len(found))]
    assert all(version in event for version, (_, event) in zip(versions, found, strict=True))


@virtual.timed
async def test_a_watch_without_bookmarks_just_ends() -> None:
    call = Caller(standins.server())
    watch = await call.watch(f'{MAPS}?watch=1&resourceVersion=2&timeoutSeconds=100')

    assert await anext(watch.stream.pieces, b'') == b''
    assert virtual.now() == 100


@virtual.timed
async def test_a_watch_without_a_time_ends_some_day() -> None:
    call = Caller(standins.server(settings=feeds.Watching(timeout_seconds=1000)))
    watch = await call.watch(f'{MAPS}?watch=1&resourceVersion=2')

    assert await anext(watch.stream.pieces, b'') == b''
    assert 1000 <= virtual.now() <= 2000


@pytest.mark.parametrize(
    ('query', 'code', 'message'),
    [
        (
            'sendInitialEvents=true',
            422,
            (
                'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents '
                'requires setting '
                'resourceVersionMatch to NotOlderThan'
            ),
        ),
        (
            'resourceVersionMatch=NotOlderThan',
            422,
            (
                'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch '
                'is forbidden for '
                'watch unless sendInitialEvents is provided'
            ),
        ),
        (
            'resourceVersion=abc',
            500,
            'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
        ),
        ('labelSelector=,', 400, "found ',', expected: !, identifier, or 'end of string'"),
    ],
)
async def test_refused_before_it_begins(call: Caller, query: str, code: int, message: str) -> None:
    answered, refused = await call('GET', f'{MAPS}?watch=1&{query}')

    assert (answered, refused['message']) == (code, message)
