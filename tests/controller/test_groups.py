"""Groups of pods and the API that may be there or not: found, lost, found again, and names that are taken."""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from jobset.api import extras, features, keys
from jobset.controller import groups, manager, metrics, world
from jobset.core.groups import observed
from jobset.kube import requests
from tests.controller import plane
from tests.kube import fakes

SECONDS = 60
BETA = groups.Served(observed.Version.V1BETA1)
ALPHA = groups.Served(observed.Version.V1ALPHA2)
KINDS = (BETA.workloads, BETA.pod_groups)


class Plane(plane.Plane):
    """Tells the versions of the group that has PodGroups; ``scheduling.k8s.io`` itself is always there."""

    def __init__(self, *served: requests.Resource) -> None:
        super().__init__()
        self.kinds |= {*served, requests.PODS}

    def _serve(self, seen: fakes.Seen) -> fakes.Answer:
        if seen.path == f'/apis/{observed.GROUP}':
            versions = {kind.version for kind in self.kinds if kind.group == observed.GROUP} | {'v2'}
            return fakes.Answer(body={'versions': [{'version': version} for version in sorted(versions)]})
        return super()._serve(seen)

    def ask(self, **spec: Any) -> None:
        """Store a JobSet that asks for a gang."""
        self.apply(**spec)
        held = self.objects[world.JOBSETS.item('default', 'js')]
        annotated = held['metadata'] | {'annotations': {extras.GANG.key: 'set'}}
        self.put(world.JOBSETS, 'default', 'js', metadata=annotated)

    def condition(self, kind: str) -> tuple[str, str, str] | None:
        status = self.objects[world.JOBSETS.item('default', 'js')].get('status', {})
        found = [one for one in status.get('conditions', []) if one['type'] == kind]
        return (found[0]['status'], found[0]['reason'], found[0]['message']) if found else None


@contextlib.asynccontextmanager
async def running(server: plane.Plane) -> AsyncIterator[manager.Manager]:
    async with plane.carrier(server) as line:
        settings = manager.Settings(gates=features.FeatureGates(), leadership=None, instance='test')
        one = manager.Manager(line, settings, metrics.Metrics())
        task = asyncio.create_task(one.run())
        try:
            yield one
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task


async def until(server: plane.Plane, holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        await server.until(holds)


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks for other versions without the pauses of daily life."""
    quick = {'poll_seconds': 0.05, 'backoff_base': 0.01, 'backoff_cap': 0.05}
    monkeypatch.setattr(groups.Looking.__init__, '__kwdefaults__', quick)


def workload_name() -> str:
    return 'js-' + hashlib.sha256(b'JobSet/default/js').hexdigest()[:8]


async def test_nobody_looks_for_groups_before_one_is_asked_for() -> None:
    server = Plane(*KINDS)
    server.apply()

    async with running(server):
        await until(server, lambda: 'status' in server.objects[world.JOBSETS.item('default', 'js')])

    assert [one for one in server.seen if observed.GROUP in one.path] == []


async def test_groups_come_before_jobs() -> None:
    server = Plane(*KINDS)
    server.ask(replicas=2)

    async with running(server):
        await until(server, lambda: server.names(requests.JOBS) == ['js-a-0', 'js-a-1'])

    made = [one for one in server.writes() if one.startswith('POST') and 'events' not in one]
    assert made == [
        f'POST {BETA.workloads.collection("default")}',
        f'POST {BETA.pod_groups.collection("default")}',
        f'POST {requests.JOBS.collection("default")}',
        f'POST {requests.JOBS.collection("default")}',
    ]
    assert server.names(BETA.workloads) == [workload_name()]
    job = server.objects[requests.JOBS.item('default', 'js-a-0')]
    template = job['spec']['template']
    assert template['spec']['schedulingGroup'] == {'podGroupName': 'js-set-0'}
    assert (job['metadata']['labels'][keys.POD_GROUP], template['metadata']['labels'][keys.POD_GROUP]) == (
        'js-set-0',
        'js-set-0',
    )


async def test_the_newest_version_that_is_whole_is_spoken() -> None:
    server = Plane(ALPHA.workloads, ALPHA.pod_groups, BETA.workloads)
    server.ask()

    async with running(server):
        await until(server, lambda: server.names(requests.JOBS) == ['js-a-0'])

    assert server.names(ALPHA.pod_groups) == ['js-set-0']
    assert server.names(BETA.workloads) == []


async def test_without_the_api_a_set_runs_and_says_so() -> None:
    server = Plane()
    server.ask()

    async with running(server):
        await until(server, lambda: server.condition('GangDegraded') is not None)

    assert server.names(requests.JOBS) == ['js-a-0']
    found = server.condition('GangDegraded')
    assert found is not None
    assert found[:2] == ('True', 'APINotServed')
    job = server.objects[requests.JOBS.item('default', 'js-a-0')]
    assert 'schedulingGroup' not in job['spec']['template']['spec']


async def test_a_version_that_goes_is_told_and_the_next_set_runs() -> None:
    server = Plane(*KINDS)
    server.ask()

    async with running(server):
        await until(server, lambda: server.names(requests.JOBS) == ['js-a-0'])
        server.kinds -= set(KINDS)
        server.cut_watches()
        await until(server, lambda: server.condition('GangDegraded') is not None)
        found = server.condition('GangDegraded')
        server.put(world.JOBSETS, 'default', 'next', **_copy(server))
        await until(server, lambda: 'next-a-0' in server.names(requests.JOBS))
        server.kinds |= set(KINDS)
        server.put(world.JOBSETS, 'default', 'last', **_copy(server))
        await until(server, lambda: 'last-a-0' in server.names(requests.JOBS))

    assert found is not None
    assert found[1] == 'APINotServed'
    assert found[2].endswith('v1beta1 was served before, and is not any more')
    assert server.names(BETA.pod_groups) in (['js-set-0', 'last-set-0'], ['js-set-0'])


def _copy(server: Plane) -> dict[str, Any]:
    held = server.objects[world.JOBSETS.item('default', 'js')]
    return {'spec': held['spec']}


async def test_missing_rights_are_told_and_waited_for() -> None:
    server = Plane(*KINDS)
    server.ask()
    forbidden = fakes.refusal(403, 'Forbidden', 'User "x" cannot list resource "podgroups"')
    server.refuse = lambda seen: forbidden if seen.path == BETA.pod_groups.collection() else None

    async with running(server):
        await until(server, lambda: server.condition('Waiting') is not None)
        found = server.condition('Waiting')
        waited = server.names(requests.JOBS)
        server.refuse = lambda seen: None
        await until(server, lambda: server.names(requests.JOBS) == ['js-a-0'])

    assert waited == []
    assert found is not None
    assert found[:2] == ('True', 'GroupsUnknown')
    assert 'User "x" cannot list resource "podgroups"' in found[2]


@pytest.mark.parametrize(('kind', 'name'), [(BETA.workloads, ''), (BETA.pod_groups, 'js-set-0')], ids=['w', 'g'])
async def test_a_name_that_is_taken_is_told_and_waited_for(kind: requests.Resource, name: str) -> None:
    server = Plane(*KINDS)
    name = name or workload_name()
    server.put(kind, 'default', name)
    server.ask()

    async with running(server):
        await until(server, lambda: server.condition('NameConflict') is not None)
        found = server.condition('NameConflict')
        waited = server.names(requests.JOBS)
        server.drop(kind, 'default', name)
        await until(server, lambda: server.names(requests.JOBS) == ['js-a-0'])

    assert waited == []
    assert found == (
        'True',
        'ForeignObject',
        f'in the way, and not of this JobSet: {kind.kind} "{name}"; delete it or rename the JobSet',
    )
    assert (server.names(BETA.workloads), server.names(BETA.pod_groups)) == ([workload_name()], ['js-set-0'])
