"""How long a simulated day takes: nodes on paper, the real JobSet controller, all controllers of the plane.

    python -m benchmarks.local.day [--nodes 1000] [--jobsets 10000] [--hours 24] [--events] [--profile FILE]

JobSets arrive evenly over the day; each has one Job of one to three pods that run between a minute and an hour, and one
in fifty fails once and is restarted. Told is the time on the wall and on the CPU, beside that of a loop of plain Python
in the same process, which says how busy the machine was.
"""

import argparse
import asyncio
import contextlib
import cProfile
import gc
import pstats
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from jobset.api import keys
from jobset.controller import world
from jobset.kube import client, requests
from jobset.local import clock
from jobset.local.controllers import suite
from jobset.local.simulated import nodes, outcomes, simulation
from jobset.local.store import storage

GOAL_SECONDS: Final = 60
"""For 10,000 JobSets on 1,000 nodes."""

LONGEST: Final = 3600
"""Seconds that a pod runs at most."""

STEPS: Final = 5_000_000


def main() -> None:
    """Run it."""
    arguments = _arguments()
    before = _calibrate()
    with _profiled(arguments.profile):
        cpu, wall = time.process_time(), time.perf_counter()
        ends = clock.run(_day(arguments))
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f'{arguments.jobsets} JobSets on {arguments.nodes} nodes in {arguments.hours:g} h: {dict(ends)}')
    print(
        f'wall {wall:.1f} s, CPU {cpu:.1f} s, {1000 * cpu / arguments.jobsets:.2f} ms a JobSet, peak RSS {peak:.0f} MiB'
    )
    print(f'{STEPS} steps of plain Python: {before:.2f} s before, {_calibrate():.2f} s after')
    if arguments.jobsets == 10_000 and arguments.nodes == 1000:
        print(f'goal {GOAL_SECONDS} s: {"met" if wall < GOAL_SECONDS else "missed"}')


async def _day(arguments: argparse.Namespace) -> Counter[str]:
    time_of_day = clock.Clock()
    store = storage.Store()
    async with simulation.serving(store, clock=time_of_day) as served:
        await served.install()
        cluster = simulation.Simulation(
            served.carrier,
            clock=time_of_day,
            pools=[nodes.Pool(count=arguments.nodes, levels={'example.com/rack': 16})],
            others=[suite.on_paper],
            settings=simulation.Settings(tells_events=arguments.events),
        )
        async with cluster:
            await asyncio.sleep(1)
            _spare_collector()
            await _arrive(cluster.api, arguments.jobsets, arguments.hours * 3600)
            await asyncio.sleep(2 * LONGEST + 60)
        found = (one.decode().get('status') or {} for one in store.walk(f'{keys.PLURAL}.{keys.GROUP}'))
        return Counter(status.get('terminalState', 'unfinished') for status in found)


def _spare_collector() -> None:
    """Have Python look for garbage less often, and not among what stays.

    What comes and goes in a day is no garbage in cycles, and what is kept is looked through again and again: together
    about a fiftieth of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


async def _arrive(api: client.Client, count: int, seconds: float) -> None:
    chance = random.Random(0)
    for number in range(count):
        await api.send(requests.create(world.JOBSETS, 'default', _jobset(number, chance)))
        await asyncio.sleep(seconds / count)


def _jobset(number: int, chance: random.Random) -> dict[str, Any]:
    pods = chance.randint(1, 3)
    script = {'duration': f'{chance.randint(60, LONGEST)}s', 'start-delay': '2s'}
    if number % 50 == 0:
        script['fail-attempts'] = '1'
    container = {'name': 'main', 'image': 'busybox', 'resources': {'requests': {'cpu': '1', 'memory': '1Gi'}}}
    template = {
        'metadata': {'annotations': {outcomes.PREFIX + key: value for key, value in script.items()}},
        'spec': {'restartPolicy': 'Never', 'containers': [container]},
    }
    job = {'parallelism': pods, 'completions': pods, 'backoffLimit': 0, 'template': template}
    return {
        'apiVersion': keys.API_VERSION,
        'kind': keys.KIND,
        'metadata': {'name': f'work-{number}', 'namespace': 'default'},
        'spec': {
            'failurePolicy': {'maxRestarts': 1},
            'replicatedJobs': [{'name': 'main', 'replicas': 1, 'template': {'spec': job}}],
        },
    }


def _calibrate() -> float:
    """Seconds that a loop takes which does nothing."""
    begin = time.perf_counter()
    for _ in range(STEPS):
        pass
    return time.perf_counter() - begin


@contextlib.contextmanager
def _profiled(file: str | None) -> Iterator[None]:
    if file is None:
        yield
        return
    profile = cProfile.Profile()
    profile.enable()
    yield
    profile.disable()
    profile.dump_stats(file)
    pstats.Stats(profile, stream=sys.stderr).sort_stats('tottime').print_stats(40)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='python -m benchmarks.local.day', description='A simulated day.')
    parser.add_argument('--nodes', type=int, default=1000)
    parser.add_argument('--jobsets', type=int, default=10_000)
    parser.add_argument('--hours', type=float, default=24)
    parser.add_argument('--events', action='store_true', help='store Events, too')
    parser.add_argument('--profile', metavar='FILE', help='where the time goes, as cProfile data; doubles the time')
    return parser.parse_args()


if __name__ == '__main__':
    main()
