"""How much sooner all ranks run again when their pods restart in place, in real pods on a real cluster.

::

    python -m benchmarks.inplace [--rounds 3] [--pods 20] [--late 60]

A cluster of its own, with the controller in it. One rank fails, and all have to run again: with their pods made anew,
and in place, with the agent beside the worker and in front of it; in turn, each from a set of pods that has just been
started. Timed by the workers themselves, on the one clock of the one node: from the moment at which one fails until
the last one of the next attempt has begun. The ratio is that of a round; goal: 0.3.

Workers are what users have who say nothing about it: a Python loop as the first process of its container, which
ignores SIGTERM as each first process without a handler does, and the grace period of 30 s that pods have by default. A
Job that is made anew waits for that grace, because no pod of the new attempt may run beside one of the old. With
``--grace`` both sides have another grace period: with one of 1 s only the costs of the two ways themselves are left.

The spread is the time from the first worker that has begun to the last one. For the start barrier without restarts the
last of four pods comes ``--late`` seconds after the others; goal: 1 s.
"""

import argparse
import copy
import functools
import os
import pathlib
import secrets
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from e2e import agents, api, deployment
from e2e.kubectl import Kubectl
from e2e.tests.place import RealCluster
from tests.scenarios.api import SECONDS, Object, Objects
from tests.scenarios.space import Space, sample

GOAL: Final = 0.3
SPREAD_SECONDS: Final = 1.0
IMAGE: Final = 'python:3-slim'
BARRIER_PODS: Final = 4
"""Those of the sample. One node starts twenty containers one after the other, which says nothing about the barrier."""
MODES: Final = ('sidecar', 'wrapper')

TRAINING: Final = """
import os, time
print('began', time.time(), flush=True)
while not os.path.exists('/tmp/told'):
    time.sleep(0.1)
print('failed', time.time(), flush=True)
raise SystemExit(1)
"""
PROGRAM: Final = ('python3', '-I', '-S', '-c', TRAINING)


@dataclass(frozen=True)
class Sample:
    """One failure."""

    seconds: float
    """Until the last worker of the next attempt had begun."""
    spread: float
    """Between the first of them and the last."""


@dataclass(frozen=True)
class Bench:
    """The cluster, and what each namespace in it needs."""

    kubectl: Kubectl
    place: RealCluster
    agent: pathlib.Path
    pods: int
    grace_seconds: int | None

    @contextmanager
    def space(self) -> Iterator[Space]:
        """A namespace that pods with an agent can run in, empty again at the end."""
        made = Space(self.place, f'bench-{secrets.token_hex(3)}')
        agents.install(made, self.kubectl, self.agent)
        yield made
        for name in made.all('jobsets'):
            made.delete_foreground(name)
        made.until('pods', lambda seen: not seen, what='all pods to go')

    def anew(self) -> Sample:
        """The pods are made anew."""
        with self.space() as here:
            self._apply(here, agents.recreated('anew', pods=self.pods, program=PROGRAM, image=IMAGE))
            failed = fail(here, agents.all_run(here, 'anew', pods=self.pods))
            return sampled(here, failed, agents.all_run(here, 'anew', pods=self.pods, made=1))

    def in_place(self, mode: str) -> Sample:
        """The pods stay."""
        with self.space() as here:
            self._apply(here, agents.in_place(mode, mode, pods=self.pods, program=PROGRAM, image=IMAGE))
            failed = fail(here, agents.in_attempt(here, mode, 0, pods=self.pods))
            return sampled(here, failed, agents.in_attempt(here, mode, 1, pods=self.pods))

    def start_barrier(self, late_seconds: int) -> float:
        """The spread of a start whose last pod comes later than the others."""
        [one] = copy.deepcopy(sample('in-place/start-barrier.yaml'))
        pod = one['spec']['replicatedJobs'][0]['template']['spec']['template']['spec']
        late = pod['initContainers'][0]
        late['command'][2] = late['command'][2].replace('sleep 10', f'sleep {late_seconds}')
        pod['containers'] = [{'name': 'worker', 'image': IMAGE, 'command': [*PROGRAM]}]
        with self.space() as here:
            here.apply(one)
            times = began(here, agents.all_run(here, 'start-barrier', pods=BARRIER_PODS))
            return max(times) - min(times)

    def _apply(self, here: Space, one: Object) -> None:
        pod = one['spec']['replicatedJobs'][0]['template']['spec']['template']['spec']
        if self.grace_seconds is not None:
            pod['terminationGracePeriodSeconds'] = self.grace_seconds
        here.apply(one)


def fail(here: Space, pods: Objects) -> float:
    """Have the worker of one pod fail; returns its own time of that."""
    victim = agents.victim(pods)
    lines = log(here, victim)
    stamp(lines, 'began')
    # Followed from before: with the container its log goes, too.
    here.execute(victim, 'touch', '/tmp/told')  # noqa: S108 - in the pod
    return stamp(lines, 'failed')


def sampled(here: Space, failed: float, pods: Objects) -> Sample:
    """What the logs of the next attempt tell."""
    times = began(here, pods)
    return Sample(seconds=max(times) - failed, spread=max(times) - min(times))


def began(here: Space, pods: Objects) -> list[float]:
    """When the workers of pods have begun, by their own time."""
    return [stamp(log(here, name), 'began') for name in pods]


def log(here: Space, pod: str) -> Iterator[str]:
    """The lines of a worker, as they come."""
    return here.server.follow(f'{here.path("pods", pod)}/log', seconds=SECONDS)


def stamp(lines: Iterator[str], what: str) -> float:
    """The time at which a worker says that it has come so far."""
    for line in lines:
        if line.startswith(f'{what} '):
            return float(line.removeprefix(f'{what} '))
    raise RuntimeError(f'the log of a worker ended, or was silent for {SECONDS} s, without "{what}"')


@contextmanager
def bench(pods: int, grace_seconds: int | None) -> Iterator[Bench]:
    """A cluster with our controller for the length of the block."""
    cluster = deployment.Cluster(os.environ.get('CLUSTER_NAME', 'bench-inplace'))
    ran = cluster.runs()
    kubectl = cluster.up()
    try:
        if deployment.image() is None:
            cluster.load_controller()
        deployment.deploy(kubectl)
        deployment.wait_until_ready(kubectl)
        with (
            deployment.gated(kubectl, 'InPlaceRestart'),
            api.connected(kubectl) as server,
            tempfile.TemporaryDirectory() as folder,
        ):
            yield Bench(kubectl, RealCluster(server, kubectl), agents.packed(pathlib.Path(folder)), pods, grace_seconds)
    finally:
        if not ran:
            cluster.down()


def main() -> None:
    """Measure, and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--pods', type=int, default=20)
    parser.add_argument('--late', type=int, default=60, help='seconds by which the last pod of a start is late')
    parser.add_argument('--grace', type=int, help='of all pods, in seconds, in place of the default')
    chosen = parser.parse_args()
    with bench(chosen.pods, chosen.grace) as running:
        ways: dict[str, Callable[[], Sample]] = {'anew': running.anew}
        ways |= {mode: functools.partial(running.in_place, mode) for mode in MODES}
        samples: dict[str, list[Sample]] = {way: [] for way in ways}
        for number in range(1, chosen.rounds + 1):
            for way, act in ways.items():
                samples[way].append(act())
            told = ', '.join(f'{way} {found[-1].seconds:.2f} s' for way, found in samples.items())
            print(f'round {number}: {told}; load {os.getloadavg()[0]:.1f}', flush=True)
        spread = running.start_barrier(chosen.late)
    for mode in MODES:
        ratio = statistics.median(
            one.seconds / anew.seconds for one, anew in zip(samples[mode], samples['anew'], strict=True)
        )
        apart = max(one.spread for one in samples[mode])
        print(
            f'{chosen.pods} pods in place ({mode}): ratio {ratio:.2f} (goal {GOAL}: {_verdict(ratio <= GOAL)}), '
            f'started within {apart:.2f} s'
        )
    print(
        f'start barrier of {BARRIER_PODS} pods, the last one {chosen.late} s late: started within {spread:.2f} s '
        f'(goal {SPREAD_SECONDS:.0f} s: {_verdict(spread < SPREAD_SECONDS)})'
    )


def _verdict(is_met: bool) -> str:
    return 'met' if is_met else 'missed'


if __name__ == '__main__':
    main()
