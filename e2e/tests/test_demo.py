"""The demo trains its pipeline and goes, also when it is interrupted, and tells what it saw when it cannot."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from e2e import demo, deployment
from e2e.kubectl import Kubectl
from tests.scenarios.api import Api

SECONDS = 300


@pytest.fixture
def running(kubectl: Kubectl) -> Iterator[subprocess.Popen[str]]:
    """The demo in the cluster of this run, which it leaves running as it found it."""
    del kubectl
    with subprocess.Popen(
        [sys.executable, '-m', 'e2e.demo'],
        cwd=deployment.ROOT,
        env={**os.environ, 'CLUSTER_NAME': deployment.Cluster(os.environ.get('CLUSTER_NAME')).name},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        limit = threading.Timer(SECONDS, process.kill)
        limit.start()
        yield process
        limit.cancel()
        process.kill()


def _until(running: subprocess.Popen[str], pattern: str) -> None:
    """Read up to the first line that matches; the assertion that there is one shows all that was printed."""
    lines = []
    for line in running.stdout or ():
        lines.append(line)
        if re.fullmatch(pattern, line.strip()):
            return
    raise AssertionError(f'no line of the demo is like {pattern}:\n{"".join(lines)}')


def test_demo_prints_the_metric_that_was_trained(running: subprocess.Popen[str], server: Api) -> None:
    _until(running, r'\d+\.\d s  result +final accuracy=0\.9\d\d rows=400 steps=400')
    assert running.stdout
    rest = running.stdout.read()

    assert running.wait(SECONDS) == 0
    assert rest.splitlines()[-1].endswith('deleted, with its Jobs and its volume')
    assert _left(server) == []


def test_interrupted_demo_takes_its_pipeline_away(running: subprocess.Popen[str], server: Api) -> None:
    _until(running, r'.* rank 0 +step 50 .*')
    running.send_signal(signal.SIGINT)

    assert running.wait(SECONDS) == demo.GONE
    assert _left(server) == []


def _left(server: Api) -> list[str]:
    return sorted(server.snapshot(f'/apis/jobset.x-k8s.io/v1alpha2/namespaces/{demo.NAMESPACE}/jobsets')[0])
