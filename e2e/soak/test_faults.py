"""Everything goes wrong between controller and API server: all ends as it must, and nobody is asked too often."""

import asyncio
import contextlib
import json
import pathlib
import random
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator
from typing import Final

import pytest

from e2e import controller, faults
from e2e.kubectl import Kubectl
from e2e.soak import kinds, roles
from e2e.soak.conftest import IN_FULL, SEED
from e2e.soak.killing import ARGUMENTS
from e2e.soak.load import Load
from e2e.soak.server import Object, Server, connected, told

WANTED: Final = 1500 if IN_FULL else 150
"""Faults after which the weather clears up."""

ALL: Final = {
    *(f'Refuse{code}' for code in (409, 410, 429, 500, 503)),
    *('Drop', 'Lose', 'Truncate', 'Delay', 'CutStream', 'ExpireStream'),
    *(('StallStream',) if IN_FULL else ()),
}
STALLS: Final = 4 if IN_FULL else 0

FIRST_SECONDS: Final = 10
MOST_AT_FIRST: Final = 20
LATER_SECONDS: Final = 120 if IN_FULL else 15
"""For so long requests are counted after the first seconds: at most one a second."""


@contextlib.asynccontextmanager
async def controlled(
    kubeconfig: str, folder: pathlib.Path
) -> AsyncIterator[tuple[faults.Proxy, controller.Controller]]:
    """A controller that is being started behind a proxy."""
    async with faults.Proxy(kubeconfig).serving() as proxy:
        one = controller.Controller(proxy.kubeconfig(folder), folder, arguments=ARGUMENTS)
        try:
            yield proxy, one
        finally:
            if one.process is not None and one.process.poll() is None:
                await asyncio.to_thread(one.stop)


async def test_bad_weather_loses_nothing_and_doubles_nothing(kubectl: Kubectl, tmp_path: pathlib.Path) -> None:
    namespace = f'faults-{secrets.token_hex(3)}'
    async with (
        connected(kubectl.kubeconfig, namespace) as server,
        told(server) as story,
        controlled(kubectl.kubeconfig, tmp_path) as (proxy, one),
    ):
        weather = faults.Weather(random.Random(SEED), likelihood=0.15, stalls=STALLS)
        proxy.script = weather
        load = Load(server, story, seed=SEED)
        one.start()
        async with asyncio.TaskGroup() as group:
            work = group.create_task(load.run(len(kinds.KINDS)))
            while proxy.faults.total() < WANTED or set(proxy.faults) != ALL:
                await asyncio.sleep(0.1)
            load.enough = True
            await work
        weather.is_bad = False
        assert await asyncio.to_thread(one.stop) == 0
        untold = await load.untold()

        print(f'{len(proxy.log)} requests, faults {dict(proxy.faults)}; {load.account}')
        # An event may be lost where each of its attempts met a fault; a sixth of them at most, by our likelihood.
        assert len(untold) <= load.account.ended.total() // 6


class Trouble:
    """One object that nothing can be done about; each has a namespace of its own, by which its requests are known."""

    def __init__(self, name: str, method: str, plural: str, fault: faults.Fault | None, **shape: int) -> None:
        self.name = name
        self.namespace = f'{name}-{secrets.token_hex(3)}'
        self.fault = fault
        self.shape = shape
        self._method = method
        self._end = plural

    def of(self, seen: faults.Seen) -> faults.Fault | None:
        """What goes wrong with a request for this object."""
        ours = f'/namespaces/{self.namespace}/' in seen.path and seen.method == self._method
        return self.fault if ours and self._end in seen.path.split('/') else None


def _error(code: int, reason: str) -> faults.Refuse:
    return faults.Refuse(code, reason)


TROUBLES: Final = (
    Trouble('post-500', 'POST', 'jobs', _error(500, 'InternalError')),
    Trouble('post-422', 'POST', 'jobs', _error(422, 'Invalid')),
    Trouble('post-403', 'POST', 'jobs', _error(403, 'Forbidden')),
    Trouble('post-409', 'POST', 'jobs', _error(409, 'Conflict')),
    Trouble('post-429', 'POST', 'jobs', _error(429, 'TooManyRequests')),
    Trouble('post-wait', 'POST', 'jobs', faults.Refuse(429, 'TooManyRequests', retry_after=2)),
    Trouble('post-cut', 'POST', 'jobs', faults.Drop()),
    Trouble('post-wide', 'POST', 'jobs', _error(422, 'Invalid'), replicas=60),
    Trouble('foreign', 'POST', 'nothing', None, foreign=1),
    Trouble('service-500', 'POST', 'services', _error(500, 'InternalError')),
    Trouble('claims-403', 'POST', 'persistentvolumeclaims', _error(403, 'Forbidden'), claims=1),
    Trouble('status-500', 'PUT', 'status', _error(500, 'InternalError')),
    Trouble('status-409', 'PUT', 'status', _error(409, 'Conflict')),
    Trouble('delete-500', 'DELETE', 'jobs', _error(500, 'InternalError'), ends=1),
    Trouble('delete-409', 'DELETE', 'jobs', _error(409, 'Conflict'), ends=1),
    Trouble('patch-500', 'PATCH', 'jobs', _error(500, 'InternalError'), suspends=1),
    Trouble('events-500', 'POST', 'events', _error(500, 'InternalError'), ends=1),
)


@pytest.fixture(scope='module')
def requests(kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[float]]:
    """When which trouble caused a request, in seconds from the start of the trouble."""
    return asyncio.run(_suffer(kubectl.kubeconfig, tmp_path_factory.mktemp('troubles')))


async def _suffer(kubeconfig: str, folder: pathlib.Path) -> dict[str, list[float]]:
    """All troubles side by side."""
    async with controlled(kubeconfig, folder) as (proxy, one):
        proxy.script = lambda seen: next((fault for each in TROUBLES if (fault := each.of(seen)) is not None), None)
        one.start()
        await asyncio.to_thread(one.wait_until_ready)
        async with asyncio.TaskGroup() as group:
            begun = {each.name: group.create_task(_begin(each, kubeconfig)) for each in TROUBLES}
        await asyncio.sleep(FIRST_SECONDS + LATER_SECONDS)
        log = list(proxy.log)
    times: dict[str, list[float]] = {}
    for each in TROUBLES:
        start = begun[each.name].result()
        ours = [seen for seen in log if f'/namespaces/{each.namespace}/' in seen.path and seen.at >= start]
        times[each.name] = [seen.at - ours[0].at for seen in ours] if ours else []
        kinds_of = Counter(
            f'{seen.method} {seen.path.split("/")[-1 if seen.method == "POST" else -2]}' for seen in ours
        )
        print(f'{each.name}: {json.dumps(kinds_of)}')
    return times


async def _begin(trouble: Trouble, kubeconfig: str) -> float:
    """Bring the object into its trouble; returns when that began."""
    shape = trouble.shape
    kind = kinds.Kind(
        name=trouble.name,
        parts={'a': shape.get('replicas', 3)},
        spec={'successPolicy': {'operator': 'Any'}} | (_CLAIMS if shape.get('claims') else {}),
    )
    async with connected(kubeconfig, trouble.namespace) as server:
        for index in range(shape.get('foreign', 0)):
            template = kind.manifest('js')['spec']['replicatedJobs'][0]['template']
            await server.create('jobs', template | {'metadata': {'name': f'js-a-{index}'}})
        began = time.monotonic()
        await server.create('jobsets', kind.manifest('js'))
        if shape.get('ends') or shape.get('suspends'):
            jobs = await _all(server, 3)
            began = time.monotonic()
            if shape.get('suspends'):
                await server.patch('jobsets', 'js', {'spec': {'suspend': True}})
            else:
                await server.patch('jobs', jobs[0]['metadata']['name'], {'status': roles.complete(jobs[0])}, 'status')
        return began


async def _all(server: Server, count: int) -> list[Object]:
    """The Jobs, once there are so many and the controller has told of them in the status."""
    async with asyncio.timeout(controller.READY_SECONDS):
        while True:
            jobs, jobset = await server.all('jobs'), await server.find('jobsets', 'js')
            if len(jobs) == count and jobset and 'status' in jobset:
                return jobs
            await asyncio.sleep(0.05)


_CLAIMS: Final = next(dict(kind.spec) for kind in kinds.KINDS if kind.name == 'claims')


@pytest.mark.parametrize('name', [each.name for each in TROUBLES])
async def test_object_in_trouble_is_tried_ever_more_slowly(requests: dict[str, list[float]], name: str) -> None:
    times = requests[name]
    first = sum(at < FIRST_SECONDS for at in times)
    later = sum(FIRST_SECONDS <= at < FIRST_SECONDS + LATER_SECONDS for at in times)
    print(f'{name}: {first} requests at first, {later} later')

    # Some are all there is to be done; the rest are repetitions.
    assert 2 <= first <= MOST_AT_FIRST
    assert later <= LATER_SECONDS
