"""How much longer it takes until all pods run when each Job has a rack to itself, on the real kube-scheduler.

::

    python -m benchmarks.placement [--pairs 4] [--jobs 100] [--pods 4]

A control plane of its own with Job controller and kube-scheduler, our controller with its webhooks as processes beside
it, a hundred racks of simulated nodes. A pair is a JobSet of so many Jobs without placement, and the same with a rack
for each Job, each in a namespace of its own that is empty again at the end; every other pair begins with the second, so
that a machine that gets busier does not speak against one of them. Timed from the creation of the JobSet until all of
its pods are bound, and until they run. The ratio is the median of the ratios of the pairs. All of this shares the
machine's cores, so that others on it show: the load is told beside each pair.
"""

import argparse
import asyncio
import os
import pathlib
import statistics
import tempfile
import time

from e2e import racks
from jobset.controller import world
from jobset.kube import requests
from jobset.local.simulated import nodes

GOAL = 1.3
NODES_OF_RACK = 2


async def sample(kubeconfig: str, namespace: str, *, jobs: int, pods: int, exclusive: bool) -> tuple[float, float]:
    """Seconds until all pods are bound, and until they run."""
    pools = [nodes.Pool(count=jobs * NODES_OF_RACK, cpu='64', levels={racks.RACK: NODES_OF_RACK})]
    async with racks.racks(kubeconfig, namespace, pools) as seen:
        one = racks.jobset('placed', jobs=jobs, pods=pods, exclusive=exclusive)
        began = time.perf_counter()
        await seen.api.send(requests.create(world.JOBSETS, namespace, one))
        wanted = jobs * pods
        await seen.until(lambda: sum(pod.spec.node_name != '' for pod in seen.pods.values()) >= wanted, what='bound')
        bound = time.perf_counter() - began
        await seen.until(lambda: sum(seen.running().values()) >= wanted, what='all pods to run')
        ran = time.perf_counter() - began
        if exclusive:
            places = seen.racks().values()
            assert [len(place) for place in places] == [1] * jobs
            assert len(set.union(*places)) == jobs
        await seen.api.send(requests.delete(world.JOBSETS, namespace, 'placed'))
        await seen.until(lambda: not seen.pods.values(), what='all pods to go')
    return bound, ran


def main() -> None:
    """Measure, and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--pairs', type=int, default=4)
    parser.add_argument('--jobs', type=int, default=100)
    parser.add_argument('--pods', type=int, default=4, help='of each Job')
    chosen = parser.parse_args()
    ratios = []
    with (
        tempfile.TemporaryDirectory(prefix='jobset-placement-') as folder,
        racks.cluster('placement', pathlib.Path(folder)) as (kubectl, _),
    ):
        for pair in range(chosen.pairs):
            taken = {}
            for exclusive in (False, True) if pair % 2 == 0 else (True, False):
                namespace = f'pair-{pair}-{"placed" if exclusive else "free"}'
                taken[exclusive] = asyncio.run(
                    sample(kubectl.kubeconfig, namespace, jobs=chosen.jobs, pods=chosen.pods, exclusive=exclusive)
                )
            (free_bound, free), (placed_bound, placed) = taken[False], taken[True]
            ratios.append(placed / free)
            print(
                f'pair {pair + 1}: free {free_bound:.2f} s bound, {free:.2f} s running; '
                f'placed {placed_bound:.2f} s bound, {placed:.2f} s running; ratio {ratios[-1]:.2f}; '
                f'load {os.getloadavg()[0]:.1f}',
                flush=True,
            )
    ratio = statistics.median(ratios)
    verdict = 'met' if ratio <= GOAL else 'missed'
    print(f'{chosen.jobs} Jobs of {chosen.pods} pods: ratio {ratio:.2f} (goal {GOAL}: {verdict})')


if __name__ == '__main__':
    main()
