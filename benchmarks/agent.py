"""How long the agent takes to start, which every restart waits for: ``python -m benchmarks.agent [--runs 30]``.

Timed from the start of the process until the API server has its first request, and beside it the bare interpreter
(``python3 -c pass``), in turn, so that both see the same machine.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.agent import pods, server

GOAL_MS = 100.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--runs', type=int, default=30, help='how often each is started')
    parser.add_argument('--python', default='/usr/bin/python3', help='the interpreter, as an image has it')
    arguments = parser.parse_args()
    python: str = arguments.python
    with tempfile.TemporaryDirectory() as folder, server.started() as plane:
        packed = pods.packed(Path(folder))
        plane.put('pods', 'pod-0', pods.pod())
        bare: list[float] = []
        started: list[float] = []
        spent: list[float] = []
        with pods.running(plane, packed) as agents:
            for _ in range(arguments.runs):
                bare.append(_timed(lambda: subprocess.run([python, '-I', '-S', '-c', 'pass'], check=True)))
                spent.append(_cpu([python, '-I', '-S', str(packed)]))
                started.append(_until_asked(plane, agents, python))
    print(f'python -c pass            {_told(bare)}')
    print(f'agent, to its first request {_told(started)}')
    print(f'agent, CPU to its settings  {_told(spent)}')
    best = min(started) * 1000
    verdict = 'met' if best < GOAL_MS else 'missed'
    ratio = statistics.median(started) / statistics.median(bare)
    print(
        f'ratio {ratio:.1f}; goal {GOAL_MS:.0f} ms, best {best:.0f} ms: {verdict}; {sys.version.split()[0]} runs this'
    )


def _until_asked(plane: server.Server, agents: pods.Pods, python: str) -> float:
    before = len(plane.asked)
    begun = time.perf_counter()
    agent = agents.start(python=python)
    plane.until(lambda: len(plane.asked) > before, 'a first request')
    took = time.perf_counter() - begun
    agent.process.kill()
    agent.ended()
    return took


def _timed(act: Callable[[], object]) -> float:
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun


def _cpu(command: list[str]) -> float:
    """User and system time of the start alone: without a service account the agent ends where it would connect."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {'PATH': os.environ['PATH'], 'JOBSET_SERVICE_ACCOUNT_DIR': '/nowhere'}
    subprocess.run(command, env=environment, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _told(samples: list[float]) -> str:
    return f'best {min(samples) * 1000:4.0f} ms, median {statistics.median(samples) * 1000:4.0f} ms'


if __name__ == '__main__':
    main()
