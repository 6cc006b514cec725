"""Events: what is sent, what is folded, what is dropped; on a clock that jumps."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobset.kube import client, errors, events, requests, series
from tests.kube import fakes, virtual

PATH = '/apis/events.k8s.io/v1/namespaces/ns/events'
TRAIN = events.ObjectRef(
    api_version='jobset.x-k8s.io/v1alpha2', kind='JobSet', name='train', namespace='ns', uid='u1', resource_version='7'
)
MICRO = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z')
BROKEN = fakes.refusal(500, 'InternalError')


@dataclass
class Desk:
    """A recorder and the server that it writes to."""

    server: fakes.Server
    carrier: fakes.Carrier
    recorder: events.Recorder
    dropped: list[str] = field(default_factory=list)

    def record(self, reason: str = 'Started', note: str = 'it runs', regarding: events.ObjectRef = TRAIN) -> None:
        self.recorder.record(regarding, type=events.EventType.NORMAL, reason=reason, note=note)

    def sent(self) -> list[tuple[str, Any]]:
        """Method and reason or count of each request."""
        return [(one.method, _gist(msgspec.json.decode(one.body))) for one in self.server.seen]


def _gist(body: Any) -> Any:
    return body.get('reason') or body['series']['count']


def desk(settings: events.Recording | None = None) -> Desk:
    server = fakes.Server()
    carrier = fakes.Carrier(server)
    dropped: list[str] = []
    recorder = events.Recorder(
        client.Client(carrier, settings=client.Retrying(attempts=1)),
        controller='jobset',
        instance='jobset-host',
        settings=settings,
        on_drop=dropped.append,
        clock=virtual.now,
    )
    return Desk(server, carrier, recorder, dropped)


@contextlib.asynccontextmanager
async def running(settings: events.Recording | None = None) -> AsyncIterator[Desk]:
    it = desk(settings)
    async with asyncio.TaskGroup() as group:
        run = group.create_task(it.recorder.run())
        yield it
        run.cancel()


@virtual.timed
async def test_an_event_as_the_server_wants_it() -> None:
    async with running() as it:
        it.recorder.record(TRAIN, type=events.EventType.WARNING, reason='JobCreationFailed', note='no quota')
        await asyncio.sleep(1)

    (seen,) = it.server.seen
    body = msgspec.json.decode(seen.body)
    assert (seen.method, seen.path) == ('POST', PATH)
    assert re.fullmatch(r'train\.[0-9a-f]{16}', body['metadata'].pop('name'))
    assert MICRO.fullmatch(body.pop('eventTime'))
    assert body == {
        'apiVersion': 'events.k8s.io/v1',
        'kind': 'Event',
        'metadata': {'namespace': 'ns'},
        'reportingController': 'jobset',
        'reportingInstance': 'jobset-host',
        'action': 'Reconciling',
        'reason': 'JobCreationFailed',
        'regarding': {
            'apiVersion': 'jobset.x-k8s.io/v1alpha2',
            'kind': 'JobSet',
            'name': 'train',
            'namespace': 'ns',
            'uid': 'u1',
            'resourceVersion': '7',
        },
        'note': 'no quota',
        'type': 'Warning',
    }


@virtual.timed
async def test_repetitions_are_told_once_then_every_half_hour_and_at_the_end() -> None:
    async with running() as it:
        for _ in range(16):  # one every five minutes, for 75 minutes
            it.record(note=f'at {virtual.now()}')
            await asyncio.sleep(300)
        await asyncio.sleep(600)

    # After 5 minutes the second one; the counts of 35 and 65 minutes; the last count when it has been quiet.
    assert it.sent() == [('POST', 'Started'), ('PATCH', 2), ('PATCH', 8), ('PATCH', 14), ('PATCH', 16)]
    (event,) = (one for path, one in it.server.objects.items() if path.startswith(PATH))
    assert event['note'] == 'at 0.0'
    assert event['series']['count'] == 16
    assert MICRO.fullmatch(event['series']['lastObservedTime'])


@virtual.timed
async def test_a_late_repetition_is_a_new_event() -> None:
    async with running() as it:
        for pause in (359, 360, 1):
            it.record()
            await asyncio.sleep(pause)

    assert it.sent() == [('POST', 'Started'), ('PATCH', 2), ('POST', 'Started')]


@pytest.mark.parametrize(
    'other',
    [
        pytest.param({'reason': 'Ended'}, id='another reason'),
        pytest.param({'regarding': msgspec.structs.replace(TRAIN, resource_version='8')}, id='a later state'),
        pytest.param({'regarding': msgspec.structs.replace(TRAIN, name='other', uid='u2')}, id='another object'),
    ],
)
@virtual.timed
async def test_not_a_repetition(other: dict[str, Any]) -> None:
    async with running() as it:
        it.record()
        it.record(**other)
        await asyncio.sleep(1)

    assert [method for method, _ in it.sent()] == ['POST', 'POST']
    assert len(it.server.objects) == 2


@virtual.timed
async def test_an_event_that_is_gone_is_made_again_with_its_count() -> None:
    async with running() as it:
        it.record()
        await asyncio.sleep(1)
        (path,) = it.server.objects
        del it.server.objects[path]
        it.record()
        await asyncio.sleep(1)

    assert [method for method, _ in it.sent()] == ['POST', 'PATCH', 'POST']
    assert it.server.objects[path]['series']['count'] == 2


@pytest.mark.parametrize(
    ('faults', 'methods', 'dropped'),
    [
        pytest.param([BROKEN, BROKEN], 3, [], id='a failing server is asked again'),
        pytest.param([fakes.Answer(cut=True)], 2, [], id='and so is one that did not answer'),
        pytest.param([BROKEN] * 5, 5, ['server failing'], id='but not for ever'),
        pytest.param([fakes.refusal(403, 'Forbidden')], 1, ['refused'], id='a refusal is final'),
        pytest.param([fakes.refusal(409, 'AlreadyExists')], 1, [], id='one that arrived before its answer was lost'),
    ],
)
@virtual.timed
async def test_sending_is_tried(faults: list[fakes.Answer], methods: int, dropped: list[str]) -> None:
    async with running() as it:
        it.server.faults.extend(faults)
        it.record()
        await asyncio.sleep(300)

    assert it.sent() == [('POST', 'Started')] * methods
    assert it.dropped == dropped


@virtual.timed
async def test_the_oldest_is_dropped_when_too_many_wait() -> None:
    it = desk(events.Recording(queue_size=3))
    for number in range(5):
        it.record(reason=f'Reason{number}')
    await it.recorder.flush()

    assert it.sent() == [('POST', 'Reason2'), ('POST', 'Reason3'), ('POST', 'Reason4')]
    assert it.dropped == ['queue full', 'queue full']


@virtual.timed
async def test_flush_tells_the_last_counts() -> None:
    async with running() as it:
        for _ in range(5):
            it.record()
            await asyncio.sleep(1)
    await it.recorder.flush()

    assert it.sent() == [('POST', 'Started'), ('PATCH', 2), ('PATCH', 5)]


@virtual.timed
async def test_what_was_on_its_way_when_the_recorder_was_stopped_is_sent_by_flush() -> None:
    async with running() as it:
        it.carrier.delay = 100
        it.record()
        await asyncio.sleep(1)
    it.carrier.delay = 0
    await it.recorder.flush()

    assert it.sent() == [('POST', 'Started')]
    assert it.dropped == []


@virtual.timed
async def test_flush_is_bounded() -> None:
    it = desk()
    it.carrier.delay = 1000
    it.record()
    it.record(reason='Ended')

    await it.recorder.flush()

    assert virtual.now() == 5
    assert it.dropped == ['shutdown', 'shutdown']


@virtual.timed
async def test_forgetting_for_lack_of_room_tells_the_count() -> None:
    it = desk(events.Recording(folding=series.Folding(remembered=1)))
    for reason in ('A', 'A', 'A', 'B', 'A'):
        it.record(reason=reason)
    await it.recorder.flush()

    assert it.sent() == [('POST', 'A'), ('PATCH', 3), ('PATCH', 3), ('POST', 'B'), ('POST', 'A')]


@virtual.timed
async def test_nothing_is_sent_by_one_who_does_not_lead() -> None:
    def forbid() -> None:
        raise errors.NotLeading('not now')

    it = desk()
    recorder = events.Recorder(
        client.Client(it.carrier, guard=forbid), controller='jobset', instance='i', on_drop=it.dropped.append
    )
    recorder.record(TRAIN, type=events.EventType.NORMAL, reason='Started', note='')
    await recorder.flush()

    assert it.server.seen == []
    assert it.dropped == ['refused']


@virtual.timed
async def test_names_fit_and_differ() -> None:
    it = desk()
    long = msgspec.structs.replace(TRAIN, name='x' * 253, namespace='')
    for number in range(50):
        it.record(reason=f'Reason{number}', regarding=long)
    await it.recorder.flush()

    names = [path.rsplit('/', 1)[1] for path in it.server.objects]
    assert len(names) == len(set(names)) == 50
    assert {len(name) for name in names} == {253}
    # Events of cluster-wide objects are in the default namespace.
    assert {one.path for one in it.server.seen} == {requests.EVENTS.collection('default')}


@given(text=st.text(), size=st.integers(0, 40))
def test_shortened_text_is_a_prefix_that_fits(text: str, size: int) -> None:
    short = events.shorten(text, size)

    assert text.startswith(short)
    assert len(short.encode()) <= size
    # And no shorter than it has to be.
    assert short == text or len(text[: len(short) + 1].encode()) > size


@virtual.timed
async def test_long_notes_are_cut_at_a_character() -> None:
    it = desk()
    it.record(note='ä' * 600)
    it.record(reason='Other', note='x' + 'ä' * 600)
    await it.recorder.flush()

    notes = [one['note'] for one in it.server.objects.values()]
    assert notes == ['ä' * 512, 'x' + 'ä' * 511]


@virtual.timed
async def test_events_with_different_related_objects_are_told_apart() -> None:
    it = desk()
    for name in ('a', 'b', 'a'):
        related = events.ObjectRef(api_version='v1', kind='Pod', name=name, namespace='ns')
        it.recorder.record(TRAIN, type=events.EventType.NORMAL, reason='Created', note=name, related=related)

    await it.recorder.flush()

    bodies = [msgspec.json.decode(one.body or b'') for one in it.server.seen]
    assert [(one['related']['name'], one['note']) for one in bodies if 'related' in one] == [('a', 'a'), ('b', 'b')]
    assert [one['series']['count'] for one in bodies if 'series' in one] == [2, 2]
