"""The whole controller over HTTP: what it waits for, who writes, and how it ends."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from jobset.api import features
from jobset.controller import manager, metrics, world
from jobset.kube import discovery, lease, requests
from tests.controller import plane
from tests.kube import fakes

SECONDS = 60
"""How long a test waits for something that must come; a defect, not slowness, makes it fail."""

QUICK = lease.Leasing(lease_duration=2, renew_deadline=1, retry_period=0.2, release_timeout=5)


def leadership(identity: str, settings: lease.Leasing = QUICK) -> manager.Leadership:
    return manager.Leadership(namespace='default', name='lock', identity=identity, settings=settings)


@contextlib.asynccontextmanager
async def running(
    server: plane.Plane, leads: manager.Leadership | None = None
) -> AsyncIterator[tuple[manager.Manager, 'asyncio.Task[None]']]:
    async with plane.carrier(server) as line:
        settings = manager.Settings(gates=features.FeatureGates(), leadership=leads, instance='test')
        one = manager.Manager(line, settings, metrics.Metrics())
        task = asyncio.create_task(one.run())
        try:
            yield one, task
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task


async def ends(task: 'asyncio.Task[None]') -> None:
    async with asyncio.timeout(SECONDS):
        await asyncio.wait({task})


async def until(server: plane.Plane, holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        await server.until(holds)


@pytest.fixture
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks for missing kinds without the pauses of a real start."""
    monkeypatch.setattr(discovery.Waiting.__init__, '__kwdefaults__', {'base': 0.01, 'cap': 0.05})


async def test_jobset_becomes_jobs_and_a_status() -> None:
    server = plane.Plane()
    server.apply(replicas=3)

    async with running(server):
        await until(server, lambda: 'status' in server.objects[world.JOBSETS.item('default', 'js')])

    assert server.names(requests.JOBS) == ['js-a-0', 'js-a-1', 'js-a-2']


@pytest.mark.usefixtures('quick_looks')
@pytest.mark.parametrize('kind', manager.NEEDED, ids=str)
async def test_missing_kind_is_named_and_waited_for(kind: requests.Resource, caplog: pytest.LogCaptureFixture) -> None:
    server = plane.Plane()
    server.apply()
    server.kinds.remove(kind)

    async with running(server) as (one, task):
        await until(server, lambda: server.counted(f'GET {kind.collection().rpartition("/")[0]}') >= 3)
        waited = server.writes(), one.is_synced, task.done()
        server.kinds.add(kind)
        await until(server, lambda: 'status' in server.objects[world.JOBSETS.item('default', 'js')])

    assert waited == ([], False, False)
    said = [record.getMessage() for record in caplog.records if record.name == 'jobset.kube.discovery']
    assert said == [f'the server does not have {kind} ({kind.version}); install the definition; waiting']


@pytest.mark.usefixtures('quick_looks')
async def test_missing_right_is_named_and_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    server = plane.Plane()
    server.apply()
    forbidden = fakes.refusal(403, 'Forbidden', 'jobs.batch is forbidden: User "x" cannot list resource "jobs"')
    server.refuse = lambda seen: forbidden if seen.path == requests.JOBS.collection() else None

    async with running(server) as (one, task):
        await until(server, lambda: server.counted('GET /apis/batch/v1/jobs') >= 2)
        waited = server.writes(), one.is_synced, task.done()
        server.refuse = lambda seen: None
        await until(server, lambda: 'status' in server.objects[world.JOBSETS.item('default', 'js')])

    assert waited == ([], False, False)
    assert 'User "x" cannot list resource "jobs"' in caplog.text


@pytest.mark.parametrize('kind', manager.NEEDED, ids=str)
async def test_row_71_nothing_is_written_while_a_kind_cannot_be_seen(kind: requests.Resource) -> None:
    server = plane.Plane()
    server.apply()
    unseen = fakes.refusal(500, 'InternalError', 'etcd is away')
    server.refuse = lambda seen: unseen if seen.path == kind.collection() else None

    async with running(server) as (one, _):
        await until(server, lambda: server.counted(f'GET {kind.collection()}') >= 4)
        others = [each for each in one.world.caches if each.resource != kind]
        async with asyncio.timeout(SECONDS):
            for each in others:
                await each.synced()
        wrote = server.writes()
        server.refuse = lambda seen: None
        await until(server, lambda: 'status' in server.objects[world.JOBSETS.item('default', 'js')])

    assert wrote == []


@pytest.mark.usefixtures('quick_looks')
async def test_end_while_a_kind_is_missing_does_not_wait_for_it() -> None:
    server = plane.Plane()
    server.kinds.remove(world.JOBSETS)

    async with running(server) as (one, task):
        await until(server, lambda: server.counted('GET /apis/jobset.x-k8s.io/v1alpha2') >= 1)
        one.stop()
        await ends(task)

    assert task.exception() is None


async def test_end_before_anything_has_begun_is_an_end() -> None:
    server = plane.Plane()

    async with running(server) as (one, task):
        one.stop()
        await ends(task)

    assert task.exception() is None


async def test_replica_that_does_not_lead_fills_its_caches_and_writes_nothing() -> None:
    server = plane.Plane()
    server.apply()
    long = lease.Leasing(lease_duration=600, renew_deadline=500, retry_period=0.05)
    server.put(
        requests.LEASES,
        'default',
        'lock',
        spec={'holderIdentity': 'other', 'leaseDurationSeconds': 600, 'leaseTransitions': 0},
    )
    before = server.objects[requests.LEASES.item('default', 'lock')]

    async with running(server, leadership('we', long)) as (one, task):
        await until(server, lambda: server.counted(f'GET {requests.LEASES.item("default", "lock")}') >= 5)
        async with asyncio.timeout(SECONDS):
            await one.world.synced()
        state = one.is_synced, one.leads
        one.stop()
        await ends(task)

    assert state == (True, False)
    assert server.writes() == []
    assert task.exception() is None
    assert server.objects[requests.LEASES.item('default', 'lock')] == before


async def test_end_gives_the_lease_back() -> None:
    server = plane.Plane()
    server.apply()

    async with running(server, leadership('we')) as (one, task):
        await until(server, lambda: 'status' in server.objects[world.JOBSETS.item('default', 'js')])
        held = server.objects[requests.LEASES.item('default', 'lock')]['spec']['holderIdentity']
        one.stop()
        await ends(task)

    assert held == 'we'
    assert task.exception() is None
    assert 'holderIdentity' not in server.objects[requests.LEASES.item('default', 'lock')]['spec']


async def test_next_replica_takes_over_where_the_first_has_ended() -> None:
    server = plane.Plane()
    server.apply('first')

    async with running(server, leadership('one')) as (one, task):
        await until(server, lambda: server.names(requests.JOBS) == ['first-a-0'])
        one.stop()
        await ends(task)
    server.apply('second')
    async with running(server, leadership('two')):
        await until(server, lambda: server.names(requests.JOBS) == ['first-a-0', 'second-a-0'])

    assert server.counted('POST /apis/batch/v1/namespaces/default/jobs') == 2


async def test_lost_lease_ends_the_manager_with_an_error() -> None:
    server = plane.Plane()

    async with running(server, leadership('we')) as (one, task):
        await until(server, lambda: requests.LEASES.item('default', 'lock') in server.objects)
        async with asyncio.timeout(SECONDS):
            while not one.leads:
                await asyncio.sleep(0.01)
        server.put(
            requests.LEASES,
            'default',
            'lock',
            spec={'holderIdentity': 'other', 'leaseDurationSeconds': 600, 'leaseTransitions': 1},
        )
        await ends(task)

    error = task.exception()
    assert isinstance(error, BaseExceptionGroup)
    assert [str(each) for each in error.exceptions] == ['lease default/lock: taken by other']
    assert not one.leads


async def test_running_pass_ends_in_its_time_and_events_are_sent_before_the_end() -> None:
    server = plane.Plane()
    server.apply()
    server.put(requests.JOBS, 'default', 'js-a-0')

    async with running(server) as (one, task):
        await until(server, lambda: bool(_conflicts(server)))
        one.stop()
        await ends(task)

    assert task.exception() is None
    assert 'JobCreationFailed' in [
        server.objects[requests.EVENTS.item('default', name)]['reason'] for name in server.names(requests.EVENTS)
    ]


def _conflicts(server: plane.Plane) -> list[Any]:
    status = server.objects[world.JOBSETS.item('default', 'js')].get('status', {})
    return [found for found in status.get('conditions', []) if found['type'] == 'NameConflict']


async def test_failed_pass_is_logged_with_its_key_and_without_a_trace(caplog: pytest.LogCaptureFixture) -> None:
    server = plane.Plane()
    server.apply()
    server.refuse = lambda seen: (
        fakes.refusal(422, 'Invalid', 'spec.completions: Required value') if seen.method == 'POST' else None
    )

    async with running(server):
        async with asyncio.timeout(SECONDS):
            while not any('pass failed' in record.msg for record in caplog.records):
                await asyncio.sleep(0.01)

    records = [record for record in caplog.records if record.levelno == logging.WARNING and 'pass failed' in record.msg]
    assert records[0].getMessage().startswith('default/js: pass failed, trying again: PassFailed: POST ')
    assert 'spec.completions: Required value' in records[0].getMessage()
    assert records[0].exc_info is None
