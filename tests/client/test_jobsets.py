"""The SDK's methods, on a cluster in memory."""

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator
from typing import Any, get_type_hints

import msgspec
import pytest

from jobset import client
from jobset.api import types
from jobset.client import failures, jobsets, sync
from jobset.kube import requests
from tests.client import facts, fakes
from tests.kube.virtual import now, timed

MANIFEST = client.build('js', client.group('main', command=['true']))
COMPLETED = facts.condition('Completed', 'AllJobsCompleted', 'all done')
FAILED = facts.condition('Failed', 'FailedJobs', 'first failed job: js-train-0')


def ended(condition: facts.Json) -> facts.Json:
    status = {'terminalState': condition['type'], 'conditions': [condition]}
    return facts.jobset(facts.group('train'), status=status)


@timed
async def test_create_gives_it_as_stored() -> None:
    cluster = fakes.Cluster()
    made = await cluster.jobsets().create(MANIFEST)
    assert (made.metadata.name, made.metadata.uid, made.spec.replicated_jobs[0].name) == ('js', 'made', 'main')
    with pytest.raises(failures.AlreadyExists):
        await cluster.jobsets().create(MANIFEST)


@timed
async def test_a_typed_jobset_can_be_sent_back() -> None:
    cluster = fakes.Cluster(facts.jobset(facts.group('train'), status={'restarts': 1}))
    held = await cluster.jobsets().get('js')
    await cluster.jobsets().create(
        msgspec.structs.replace(held, metadata=msgspec.structs.replace(held.metadata, name='b'))
    )
    body = msgspec.json.decode(cluster.sent[-1].body or b'')
    assert (body['apiVersion'], body['kind'], body['metadata']['name']) == ('jobset.x-k8s.io/v1alpha2', 'JobSet', 'b')
    assert body['spec']['replicatedJobs'][0]['template'] == {'spec': {'template': {'spec': {}}}}
    assert 'status' not in body


@timed
async def test_apply_is_server_side() -> None:
    cluster = fakes.Cluster()
    await cluster.jobsets().apply(MANIFEST, force=True)
    request = cluster.sent[-1]
    assert (request.method, request.content_type, request.query) == (
        'PATCH',
        requests.Patch.APPLY,
        'fieldManager=jobset-client&force=true',
    )


@timed
async def test_namespaces() -> None:
    cluster = fakes.Cluster()
    inside = cluster.jobsets()
    await inside.create(client.build('a', namespace='own'))
    await inside.create(client.build('b'), namespace='given')
    await inside.create(client.build('c'))
    assert [request.path.split('/')[-2] for request in cluster.sent] == ['own', 'given', 'default']
    assert [one.metadata.name for one in await inside.list(all_namespaces=True)] == ['c', 'b', 'a']
    assert [one.metadata.name for one in await inside.list(namespace='own')] == ['a']


@timed
async def test_suspend_and_resume() -> None:
    cluster = fakes.Cluster(facts.jobset(facts.group('train')))
    assert (await cluster.jobsets().suspend('js')).suspended is True
    assert (await cluster.jobsets().resume('js')).suspended is False


@timed
async def test_delete() -> None:
    cluster = fakes.Cluster(facts.jobset(facts.group('train')))
    await cluster.jobsets().delete('js', propagation=requests.Propagation.FOREGROUND)
    assert msgspec.json.decode(cluster.sent[-1].body or b'')['propagationPolicy'] == 'Foreground'
    with pytest.raises(failures.NotFound):
        await cluster.jobsets().get('js')


async def later(cluster: fakes.Cluster, obj: facts.Json, *, gone: bool = False) -> None:
    await asyncio.sleep(30)
    if gone:
        cluster.drop(obj)
    else:
        cluster.put(obj)


@timed
async def test_wait_for_completion() -> None:
    cluster = fakes.Cluster(facts.jobset(facts.group('train')))
    changing = asyncio.create_task(later(cluster, ended(COMPLETED)))
    found = await cluster.jobsets().wait('js')
    await changing
    assert found.status.terminal_state == 'Completed'
    assert now() == pytest.approx(30, abs=1)


@timed
async def test_wait_for_a_test() -> None:
    cluster = fakes.Cluster(facts.jobset(facts.group('train')))
    changing = asyncio.create_task(later(cluster, facts.jobset(facts.group('train'), status={'restarts': 1})))
    assert (await cluster.jobsets().wait('js', until=lambda one: one.status.restarts == 1)).status.restarts == 1
    await changing


@timed
async def test_wait_tells_of_a_failure() -> None:
    cluster = fakes.Cluster(facts.jobset(facts.group('train')))
    changing = asyncio.create_task(later(cluster, ended(FAILED)))
    with pytest.raises(failures.JobSetFailed) as caught:
        await cluster.jobsets().wait('js')
    await changing
    assert str(caught.value) == 'jobset js: failed: FailedJobs: first failed job: js-train-0'
    assert caught.value.summary is not None
    assert caught.value.summary.phase == 'Failed'


@timed
async def test_wait_for_what_cannot_come_any_more() -> None:
    with pytest.raises(failures.JobSetFailed, match='jobset js: has completed without Suspended'):
        await fakes.Cluster(ended(COMPLETED)).jobsets().wait('js', until='Suspended')


@timed
async def test_waiting_for_the_failure_is_no_failure() -> None:
    assert (await fakes.Cluster(ended(FAILED)).jobsets().wait('js', until='Failed')).status.terminal_state == 'Failed'


@timed
async def test_wait_tells_of_a_deletion() -> None:
    obj = facts.jobset(facts.group('train'))
    cluster = fakes.Cluster(obj)
    changing = asyncio.create_task(later(cluster, obj, gone=True))
    with pytest.raises(failures.Gone, match='jobset js: was deleted'):
        await cluster.jobsets().wait('js')
    await changing


@timed
async def test_wait_takes_no_longer_than_allowed_and_says_what_was_missing() -> None:
    cluster = fakes.Cluster(facts.jobset(facts.group('train'), suspend=True))
    with pytest.raises(failures.TookTooLong) as caught:
        await cluster.jobsets().wait('js', timeout=5)
    assert str(caught.value) == (
        'jobset js: no Completed within 5 s; it is Suspended; suspended; set spec.suspend to false to go on'
    )
    assert isinstance(caught.value, TimeoutError)
    assert now() == pytest.approx(5, abs=0.1)


@timed
async def test_watch() -> None:
    obj = facts.jobset(facts.group('train'))
    cluster = fakes.Cluster(obj)
    changing = asyncio.create_task(later(cluster, obj, gone=True))
    found: list[tuple[bool, bool]] = []
    async for change in cluster.jobsets().watch():
        found.append((change.old is not None, change.new is not None))
        if change.new is None:
            break
    await changing
    assert found == [(False, True), (True, False)]


def events() -> list[facts.Json]:
    return [
        facts.event('Job', 'js-train-0', 'Late', seen=30),
        facts.event('Pod', 'js-train-0-0-x1', 'OfAPod', seen=20),
        facts.event('JobSet', 'js', 'First', seen=10),
        facts.event('PersistentVolumeClaim', 'data-js', 'OfAClaim', seen=25),
        facts.event('Job', 'js-other-0', 'OfAnother', seen=20),
        facts.event('JobSet', 'js-2', 'OfAnother', seen=20),
        facts.event('Pod', 'else', 'OfAnother', seen=20),
    ]


@timed
async def test_events_of_all_that_belongs_to_it() -> None:
    policy = {'templates': [{'metadata': {'name': 'data'}}]}
    obj = facts.jobset(facts.group('train'), volumeClaimPolicies=[policy])
    found = await fakes.Cluster(obj, *events()).jobsets().events('js')
    assert [event.reason for event in found] == ['First', 'OfAPod', 'OfAClaim', 'Late']


@timed
async def test_events_outlive_the_jobset() -> None:
    found = await fakes.Cluster(*events()).jobsets().events('js')
    assert [event.reason for event in found] == ['First', 'OfAnother', 'OfAPod', 'OfAClaim', 'Late']


@timed
async def test_events_of_an_earlier_jobset_of_that_name_do_not_count() -> None:
    obj = facts.jobset(facts.group('train'))
    obj['metadata']['creationTimestamp'] = facts.at(15)
    found = await fakes.Cluster(obj, *events()).jobsets().events('js')
    assert [event.reason for event in found] == ['OfAPod', 'Late']


def test_every_method_has_a_synchronous_twin() -> None:
    def public(cls: type) -> set[str]:
        return {name for name in vars(cls) if not name.startswith('_') and name != 'connect'}

    assert public(jobsets.Jobsets) == public(sync.Jobsets)
    for name in public(jobsets.Jobsets):
        twin, method = getattr(sync.Jobsets, name), getattr(jobsets.Jobsets, name)
        assert (twin.__name__, twin.__doc__) == (name, method.__doc__)
        assert inspect.isgeneratorfunction(twin) == inspect.isasyncgenfunction(method)


def test_the_synchronous_face(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = fakes.Cluster(ended(COMPLETED))
    pod = facts.pod('train', phase='Succeeded', containers=[facts.ended()])
    cluster.put(pod)
    cluster.log(pod, b'2026-01-01T12:00:01Z hello\n')
    monkeypatch.setattr('jobset.client.connections.connect', cluster.connect)
    with sync.connect() as inside:
        assert inside.get('js').metadata.name == 'js'
        assert inside.wait('js', timeout=10).status.terminal_state == 'Completed'
        assert list(inside.logs('js')) == [('train-0-0', 'hello')]
        with pytest.raises(failures.NotFound):
            inside.get('absent')
        for state in inside.follow('js'):
            assert state.name == 'js'
            break
    assert 'jobset-client' not in [thread.name for thread in threading.enumerate()]


def test_types_of_the_synchronous_face() -> None:
    # For the type checker: it fails on a wrong one, and so does the comparison.
    def use(inside: sync.Jobsets) -> tuple[types.JobSet, str]:
        got: types.JobSet = inside.get('a', namespace='b')
        for rank, text in inside.logs('a', follow=True):
            return got, rank + text
        return got, ''

    assert get_type_hints(use)['return'] == tuple[types.JobSet, str]


def test_what_iterates_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    async def numbers(_: jobsets.Jobsets) -> AsyncIterator[int]:
        try:
            for number in range(10):
                yield number
        finally:
            closed.append('yes')

    monkeypatch.setattr(sync.Jobsets, 'numbers', sync._iterating(numbers), raising=False)
    portal = sync.Portal()
    inside: Any = sync.Jobsets(fakes.Cluster().jobsets(), portal)
    iterator = inside.numbers()
    assert next(iterator) == 0
    iterator.close()
    portal.close()
    assert closed == ['yes']
