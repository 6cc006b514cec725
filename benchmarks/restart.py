"""Restarts in place: what a round costs the controller, and how long the last rank waits for the barrier.

::

    python -m benchmarks.restart [--pods 1000 10000] [--rounds 3] [--real]

On an API server without Job controller and nodes, one script plays all agents, kubelets and the Job controller: a pod
fails, all follow, each announcing its attempt in a write of its own; Jobs become unready with their first pod and ready
again when the barrier has opened. The controller is a process of its own, with the gate InPlaceRestart on.

Writes are the versions that a watch sees of the JobSet, whose only writer is the controller. CPU is of its process,
user and system, from the failure until it is idle again. The barrier is timed from the answer to the last announcement
until a watch tells of the new attempt. Goals for 1,000 pods: at most 5 writes a round, 2 s, 1 s of CPU; CPU for 10,000
is to be about ten times that.
"""

import argparse
import asyncio
import contextlib
import pathlib
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp
import msgspec

from benchmarks.controller import process
from e2e import controller, embedded, golden
from e2e.kubectl import control_plane
from jobset.api import keys
from jobset.kube import auth

NAMESPACE: Final = 'bench'
PODS_PER_JOB: Final = 8
IN_FLIGHT: Final = 32
SECONDS: Final = 600
"""How long anything may take."""

JOBSETS: Final = f'/apis/{keys.API_VERSION}/namespaces/{NAMESPACE}/{keys.PLURAL}'
JOBS: Final = f'/apis/batch/v1/namespaces/{NAMESPACE}/jobs'
PODS: Final = f'/api/v1/namespaces/{NAMESPACE}/pods'

Object = dict[str, Any]


@dataclass(frozen=True)
class Sample:
    """One round."""

    writes: int
    barrier_seconds: float
    round_seconds: float
    cpu_seconds: float


@dataclass
class Seen:
    """The JobSet as a watch shows it: how often it was written, and its status now."""

    versions: int = 0
    status: Object = field(default_factory=dict)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def until(self, holds: Callable[[Object], bool]) -> float:
        """Wait for a status; returns when it was seen."""
        async with asyncio.timeout(SECONDS), self.changed:
            await self.changed.wait_for(lambda: holds(self.status))
        return time.perf_counter()


class Script:
    """Everything in the cluster but the controller."""

    def __init__(self, session: aiohttp.ClientSession, pods: int) -> None:
        self._session = session
        self.jobs = [f'js-w-{index}' for index in range(pods // PODS_PER_JOB)]
        self.pods = [f'{job}-{index}-abcde' for job in self.jobs for index in range(PODS_PER_JOB)]
        self.seen = Seen()

    async def send(self, method: str, path: str, body: Object, kind: str = 'application/merge-patch+json') -> Object:
        """One request; raises RuntimeError with the server's answer when it is refused."""
        data, headers = msgspec.json.encode(body), {'Content-Type': kind}
        async with self._session.request(method, path, data=data, headers=headers) as answer:
            text = await answer.read()
            if answer.status >= 300:
                raise RuntimeError(f'{method} {path}: {answer.status}: {text.decode(errors="replace")[:300]}')
            decoded: Object = msgspec.json.decode(text)
            return decoded

    async def create(self, path: str, body: Object) -> Object:
        """Make an object."""
        return await self.send('POST', path, body, 'application/json')

    async def follow(self) -> None:
        """Keep ``seen`` up to date until cancelled."""
        version = ''
        while True:
            parameters = {'watch': '1', 'resourceVersion': version, 'timeoutSeconds': '3000'}
            async with self._session.get(JOBSETS, params=parameters, read_bufsize=1 << 20) as answer:
                async for line in answer.content:
                    event = msgspec.json.decode(line)
                    version = event['object']['metadata']['resourceVersion']
                    async with self.seen.changed:
                        self.seen.versions += 1
                        self.seen.status = event['object'].get('status') or {}
                        self.seen.changed.notify_all()

    async def start(self) -> None:
        """Make the JobSet and its pods, and have them run for the first time."""
        await self.create('/api/v1/namespaces', {'metadata': {'name': NAMESPACE}})
        await self.create(JOBSETS, jobset(len(self.jobs)))
        await self.seen.until(lambda status: bool(status.get('replicatedJobsStatus')))
        async with self._session.get(JOBS) as answer:
            found = {job['metadata']['name']: job for job in msgspec.json.decode(await answer.read())['items']}
        await each(self.pods, lambda name: self.create(PODS, pod(found[name.rsplit('-', 2)[0]], name)))
        await each(self.pods, lambda name: self.restarted(name, 0))
        await each(self.pods, lambda name: self.announce(name, 0))
        await self.opened(0)

    async def restarted(self, name: str, times: int) -> Object:
        """The kubelet tells that the containers of a pod run, and how often they were restarted."""
        container = {'name': 'main', 'image': 'i', 'imageID': '', 'ready': True, 'restartCount': times}
        status = {'phase': 'Running', 'containerStatuses': [container]}
        return await self.send('PATCH', f'{PODS}/{name}/status', {'status': status})

    async def announce(self, name: str, attempt: int) -> Object:
        """The agent of a pod tells which attempt it is in."""
        annotations = {keys.IN_PLACE_RESTART_ATTEMPT: str(attempt)}
        return await self.send('PATCH', f'{PODS}/{name}', {'metadata': {'annotations': annotations}})

    async def ready(self, job: str, pods: int) -> Object:
        """The Job controller counts."""
        return await self.send('PATCH', f'{JOBS}/{job}/status', {'status': {'active': PODS_PER_JOB, 'ready': pods}})

    async def opened(self, attempt: int) -> float:
        """Wait for the barrier, and let all Jobs become ready; returns when the barrier was seen open."""
        at = await self.seen.until(lambda status: status.get('currentInPlaceRestartAttempt') == attempt)
        await each(self.jobs, lambda name: self.ready(name, PODS_PER_JOB))
        await self.seen.until(lambda status: status['replicatedJobsStatus'][0]['ready'] == len(self.jobs))
        return at

    async def round(self, attempt: int, ours: process.Process) -> Sample:
        """One pod fails, and all restart."""
        await ours.settled()
        before, began, versions = ours.cpu_seconds(), time.perf_counter(), self.seen.versions
        unready: set[str] = set()

        async def again(name: str) -> Object:
            job = name.rsplit('-', 2)[0]
            if job not in unready:
                unready.add(job)
                await self.ready(job, 0)
            await self.restarted(name, attempt)
            return await self.announce(name, attempt)

        await again(self.pods[0])
        await self.seen.until(lambda status: status.get('previousInPlaceRestartAttempt') == attempt - 1)
        await each(self.pods[1:], again)
        announced = time.perf_counter()
        opened = await self.opened(attempt)
        await ours.settled()
        return Sample(
            writes=self.seen.versions - versions,
            barrier_seconds=opened - announced,
            round_seconds=opened - began,
            cpu_seconds=ours.cpu_seconds() - before,
        )


def jobset(jobs: int) -> Object:
    """A set of so many Jobs that restarts in place."""
    template = {
        'spec': {
            'parallelism': PODS_PER_JOB,
            'completions': PODS_PER_JOB,
            'completionMode': 'Indexed',
            'backoffLimit': 2**31 - 1,
            'podReplacementPolicy': 'Failed',
            'template': {'spec': {'restartPolicy': 'OnFailure', 'containers': [{'name': 'main', 'image': 'i'}]}},
        }
    }
    spec = {
        'network': {'enableDNSHostnames': True},
        'failurePolicy': {'maxRestarts': 100, 'restartStrategy': 'InPlaceRestart'},
        'replicatedJobs': [{'name': 'w', 'replicas': jobs, 'template': template}],
    }
    return {'apiVersion': keys.API_VERSION, 'kind': keys.KIND, 'metadata': {'name': 'js'}, 'spec': spec}


def pod(job: Object, name: str) -> Object:
    """A pod as the Job controller would make it."""
    template = msgspec.json.decode(msgspec.json.encode(job['spec']['template']))
    metadata = template['metadata'] | {'name': name}
    metadata['annotations'] = metadata['annotations'] | {keys.COMPLETION_INDEX: name.rsplit('-', 2)[1]}
    owner = {'apiVersion': 'batch/v1', 'kind': 'Job', 'name': job['metadata']['name'], 'uid': job['metadata']['uid']}
    metadata['ownerReferences'] = [owner | {'controller': True}]
    return {'metadata': metadata, 'spec': template['spec'] | {'automountServiceAccountToken': False}}


async def each(names: Iterable[str], act: Callable[[str], Coroutine[Any, Any, Object]]) -> None:
    """Act for all names, some at a time; the first failure ends it."""
    queue = iter(list(names))

    async def work() -> None:
        for name in queue:
            await act(name)

    async with asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(work())


@contextlib.asynccontextmanager
async def connected(kubeconfig: str) -> AsyncIterator[aiohttp.ClientSession]:
    """A connection to the server."""
    credentials = await auth.load(kubeconfig)
    async with aiohttp.ClientSession(
        credentials.server,
        connector=aiohttp.TCPConnector(limit=0, ssl=credentials.ssl or True),
        headers={**credentials.headers(), 'Accept-Encoding': 'identity'},
    ) as session:
        yield session


async def measure(kubeconfig: str, ours: process.Process, pods: int, rounds: int) -> tuple[list[Sample], float]:
    """Rounds of a set of so many pods; and the most memory that the controller held, in MiB."""
    async with connected(kubeconfig) as session:
        script = Script(session, pods)
        following = asyncio.create_task(script.follow())
        try:
            await script.start()
            return [await script.round(number, ours) for number in range(1, rounds + 1)], ours.peak_rss_mib()
        finally:
            following.cancel()
            await asyncio.wait({following})


def run(pods: int, rounds: int, *, real: bool) -> None:
    """Measure, and print a line of medians."""
    plane = control_plane('restart') if real else embedded.control_plane()
    changes = {'featureGates': {'InPlaceRestart': True}}
    with plane as kubectl, tempfile.TemporaryDirectory() as folder:
        golden.prepare(kubectl)
        place, off = pathlib.Path(folder), ('--disable-webhooks',)
        with controller.running(kubectl.kubeconfig, place, changes=changes, arguments=off) as running:
            assert running.process is not None
            ours = process.Process(running.process.pid)
            samples, rss = asyncio.run(measure(kubectl.kubeconfig, ours, pods, rounds))
    columns = ('writes', 'barrier_seconds', 'round_seconds', 'cpu_seconds')
    median = {name: statistics.median(getattr(sample, name) for sample in samples) for name in columns}
    most = max(sample.writes for sample in samples)
    print(
        f'{pods:>6} pods: {most} writes a round at most, barrier {median["barrier_seconds"]:.3f} s after the last '
        f'announcement, round {median["round_seconds"]:.1f} s, CPU {median["cpu_seconds"]:.2f} s, RSS {rss:.0f} MiB',
        flush=True,
    )


def main() -> None:
    """Run the cases one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--pods', type=int, nargs='+', default=[1000, 10_000], help=f'multiples of {PODS_PER_JOB}')
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--real', action='store_true', help='on a real API server in place of the embedded one')
    chosen = parser.parse_args()
    for pods in chosen.pods:
        run(pods, chosen.rounds, real=chosen.real)


if __name__ == '__main__':
    main()
