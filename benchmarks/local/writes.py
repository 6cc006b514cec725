"""What one write of each sort costs the API server: CPU of the whole way within the process, without HTTPS.

::

    python -m benchmarks.local.writes [--rounds 5] [--untracked] [--profile NAME]

Each figure is the best of some rounds: CPU time does not count what others do on the machine, but what they do slows it
down all the same. So each is also told in loops of a thousand steps of plain Python that ran beside it.
"""

import argparse
import asyncio
import cProfile
import gc
import json
import pstats
import sys
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

from benchmarks.local import machine, server
from jobset.controller import world
from jobset.kube import requests
from jobset.local import plane
from jobset.local.patches import fields
from jobset.local.server.untracked import Untracked
from jobset.local.store import storage

COUNT: Final = 400
"""Objects of a round."""

NOW: Final = '2026-01-01T00:00:00Z'
CONFIG_MAPS: Final = requests.Resource('', 'v1', 'configmaps', 'ConfigMap')

GOALS: Final = {'create Job': 250, 'patch pod status': 250, 'patch Job status': 250}
"""Microseconds."""

Make = Callable[[int], requests.Request]


def jobset(name: str) -> dict[str, Any]:
    """A JobSet of two groups."""
    job = json.loads(server.body('jobs', name))['spec']
    groups = [{'name': group, 'replicas': 2, 'template': {'spec': job}} for group in ('leader', 'workers')]
    return {
        'apiVersion': world.JOBSETS.api_version,
        'kind': 'JobSet',
        'metadata': {'name': name},
        'spec': {'replicatedJobs': groups},
    }


def pod(name: str) -> dict[str, Any]:
    """A pod as a Job makes it."""
    template = json.loads(server.body('jobs', name))['spec']['template']
    owner = {'apiVersion': 'batch/v1', 'kind': 'Job', 'name': 'job', 'uid': 'of-job', 'controller': True}
    metadata = {
        'name': name,
        'labels': {'job-name': 'job', 'batch.kubernetes.io/job-name': 'job'},
        'finalizers': ['batch.kubernetes.io/job-tracking'],
        'ownerReferences': [owner | {'blockOwnerDeletion': True}],
    }
    return {'metadata': template['metadata'] | metadata, 'spec': template['spec']}


def running() -> dict[str, Any]:
    """The status that a kubelet writes when the container has started."""
    types = ('PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady')
    container = {
        'name': 'main',
        'image': 'registry.example.com/image:tag',
        'imageID': '',
        'ready': True,
        'started': True,
        'restartCount': 0,
        'state': {'running': {'startedAt': NOW}},
        'lastState': {},
    }
    return {
        'phase': 'Running',
        'startTime': NOW,
        'hostIP': '10.0.0.1',
        'hostIPs': [{'ip': '10.0.0.1'}],
        'podIP': '10.1.0.1',
        'podIPs': [{'ip': '10.1.0.1'}],
        'conditions': [
            {'type': name, 'status': 'True', 'lastProbeTime': None, 'lastTransitionTime': NOW} for name in types
        ],
        'containerStatuses': [container],
    }


def writes() -> dict[str, Make]:
    """The sorts of writes, in the order in which they can be made."""
    bodies = {kind: server.body(kind, '%s') for kind in ('configmaps', 'jobs')}
    bodies['pods'], bodies['jobsets'] = json.dumps(pod('%s')).encode(), json.dumps(jobset('%s')).encode()

    def creating(resource: requests.Resource) -> Make:
        body = bodies[resource.plural]
        return lambda n: requests.create(resource, 'default', body.replace(b'%s', f'object-{n}'.encode()))

    def patching(resource: requests.Resource, body: requests.Body, kind: requests.Patch, subresource: str = '') -> Make:
        data = requests.encode(body)
        return lambda n: requests.patch(resource, 'default', f'object-{n}', data, kind, subresource=subresource)

    def binding(n: int) -> requests.Request:
        body = {'metadata': {'name': f'object-{n}'}, 'target': {'kind': 'Node', 'name': 'node-1'}}
        path = requests.PODS.subresource('default', f'object-{n}', 'binding')
        return requests.Request('POST', path, body=requests.encode(body))

    started = {'startTime': NOW, 'active': 4, 'ready': 4, 'uncountedTerminatedPods': {}, 'terminating': 0}
    states = [{'name': one, 'ready': 2, 'succeeded': 0, 'failed': 0, 'active': 0, 'suspended': 0} for one in 'ab']
    release = {'metadata': {'$deleteFromPrimitiveList/finalizers': ['batch.kubernetes.io/job-tracking']}}
    strategic, merge = requests.Patch.STRATEGIC, requests.Patch.MERGE
    return {
        'create ConfigMap': creating(CONFIG_MAPS),
        'create Job': creating(requests.JOBS),
        'create Pod': creating(requests.PODS),
        'create JobSet': creating(world.JOBSETS),
        'bind pod': binding,
        'patch pod status': patching(requests.PODS, {'status': running()}, strategic, 'status'),
        'patch pod finalizers': patching(requests.PODS, release, strategic),
        'patch Job status': patching(requests.JOBS, {'status': started}, merge, 'status'),
        'patch Job spec': patching(requests.JOBS, {'spec': {'parallelism': 5}}, merge),
        'patch JobSet status': patching(
            world.JOBSETS, {'status': {'restarts': 0, 'replicatedJobsStatus': states}}, merge, 'status'
        ),
        'patch JobSet labels': patching(world.JOBSETS, {'metadata': {'labels': {'example.com/a': 'b'}}}, merge),
    }


async def rounds(count: int, profiled: str, *, tracks: bool) -> AsyncIterator[tuple[str, float, float]]:
    """Of each sort in each round the microseconds, and the loops that fit into them."""
    profile = cProfile.Profile()
    for _ in range(count):
        async with plane.serving(storage.Store(), ownership=fields if tracks else Untracked()) as served:
            await served.install()
            for name, make in writes().items():
                wanted = [make(n) for n in range(COUNT)]
                for one in wanted[:10]:
                    await served.carrier.send(one)
                gc.collect()
                if name == profiled:
                    profile.enable()
                loop = machine.loop()
                started = time.process_time()
                for one in wanted[10:]:
                    await served.carrier.send(one)
                used = (time.process_time() - started) / (COUNT - 10) * 1e6
                profile.disable()
                yield name, used, used / min(loop, machine.loop())
    if profiled:
        pstats.Stats(profile, stream=sys.stderr).sort_stats('tottime').print_stats(45)


async def measure(count: int, profiled: str, *, tracks: bool) -> dict[str, tuple[float, float]]:
    """The best round of each sort."""
    best: dict[str, tuple[float, float]] = {}
    async for name, used, ratio in rounds(count, profiled, tracks=tracks):
        before = best.get(name, (used, ratio))
        best[name] = min(used, before[0]), min(ratio, before[1])
    return best


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--untracked', action='store_true', help='without managed fields, as simulations do it')
    parser.add_argument('--profile', default='', metavar='NAME', help='where the time of one sort goes')
    chosen = parser.parse_args()
    best = asyncio.run(measure(chosen.rounds, chosen.profile, tracks=not chosen.untracked))
    for name, (used, ratio) in best.items():
        goal = f'   goal {GOALS[name]}' if name in GOALS else ''
        print(f'{name:28}{used:6.0f} µs{ratio:6.1f} loops{goal}')


if __name__ == '__main__':
    main()
