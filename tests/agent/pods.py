"""Agents as processes, with the little that a kubelet does for them: it starts again what a rule restarts."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.agent.server import SECONDS, Json, Server

ROOT: Final = Path(__file__).resolve().parents[2]
JOBSET: Final = 'train'
ASK_SECONDS: Final = 0.02
"""Between probes of an agent that does not listen yet."""


def packed(folder: Path) -> Path:
    """The agent as it is shipped."""
    file = folder / 'jobset-agent.pyz'
    subprocess.run([sys.executable, str(ROOT / 'tools' / 'agent'), str(file)], check=True, capture_output=True)
    return file


def free_port() -> int:
    with socket.create_server(('127.0.0.1', 0)) as probe:
        return int(probe.getsockname()[1])


def jobset(*, strategy: str | None = 'InPlaceRestart', annotations: Mapping[str, str] = {}, **spec: Any) -> Json:
    policy = {'failurePolicy': {'restartStrategy': strategy, 'maxRestarts': 9}} if strategy else {}
    return {'metadata': {'annotations': dict(annotations)}, 'spec': policy | spec, 'status': {}}


RULE: Final = {'action': 'RestartAllContainers', 'exitCodes': {'operator': 'NotIn', 'values': [0]}}


def pod(*, rules: list[Json] | None = None, **labels: str) -> Json:
    agent = {
        'name': 'agent',
        'env': [{'name': 'JOBSET_NAME', 'value': JOBSET}],
        'restartPolicyRules': [RULE] if rules is None else rules,
    }
    marks = {key.replace('_', '-'): value for key, value in labels.items()}
    own = {'jobset.sigs.k8s.io/jobset-name': JOBSET} | {f'jobset.sigs.k8s.io/{key}': marks[key] for key in marks}
    return {'metadata': {'labels': own}, 'spec': {'initContainers': [agent]}}


class Agent:
    """One run of the agent."""

    def __init__(self, process: subprocess.Popen[str], port: int, said: Callable[[str], None]) -> None:
        self.process = process
        self._said = said
        self.port = port
        self.lines: list[str] = []
        self._changed = threading.Condition()
        self._is_over = False
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            with self._changed:
                self.lines.append(line.rstrip('\n'))
                self._changed.notify_all()
            self._said(line.rstrip('\n'))
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def until_line(self, part: str, count: int = 1) -> str:
        """Wait for so many lines that have this in them; returns the last one."""

        def found() -> list[str]:
            return [line for line in self.lines if part in line]

        with self._changed:
            self._changed.wait_for(lambda: len(found()) >= count or self._is_over, SECONDS)
            assert len(found()) >= count, f'no {part!r} in {self.lines}'
            return found()[count - 1]

    def ended(self) -> int:
        """Its exit code, once it has ended and all that it printed is read."""
        code = self.process.wait(SECONDS)
        with self._changed:
            assert self._changed.wait_for(lambda: self._is_over, SECONDS)
        return code

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def probe(self, path: str = '/barrier-is-down', *, seconds: float = SECONDS) -> int:
        """The status of one probe. Raises :class:`TimeoutError` when it is not answered in time."""
        with socket.create_connection(('127.0.0.1', self.port), seconds) as asking:
            asking.settimeout(seconds)
            asking.sendall(f'GET {path} HTTP/1.1\r\nHost: x\r\n\r\n'.encode())
            answer = asking.makefile('rb').read().decode()
        assert answer.startswith('HTTP/1.1 '), answer
        return int(answer.split()[1])


class Pods:
    """Starts agents, and ends all of them with the test."""

    def __init__(self, server: Server, agent: Path) -> None:
        self.server = server
        self._agent = agent
        self._started: list[Agent] = []

    def start(
        self,
        name: str = 'pod-0',
        *arguments: str,
        python: str = sys.executable,
        environment: Mapping[str, str | None] = {},
        said: Callable[[str], None] = lambda line: None,
    ) -> Agent:
        port = free_port()
        own = not arguments and 'WORKER_COMMAND' not in environment
        wanted: dict[str, str | None] = {
            'PATH': os.environ['PATH'],
            'KUBERNETES_SERVICE_HOST': '127.0.0.1',
            'KUBERNETES_SERVICE_PORT': str(self.server.port),
            'JOBSET_SERVICE_ACCOUNT_DIR': str(self.server.account),
            'JOBSET_NAME': JOBSET,
            'POD_NAME': name,
            'STARTUP_PROBE_PORT': str(port) if own else None,
            **environment,
        }
        process = subprocess.Popen(
            [python, '-I', '-S', str(self._agent), *arguments],
            env={key: value for key, value in wanted.items() if value is not None},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._started.append(Agent(process, port, said))
        if own:
            path = environment.get('STARTUP_PROBE_PATH') or '/barrier-is-down'
            threading.Thread(target=_ask, args=(process, port, path), daemon=True).start()
        return self._started[-1]

    def end(self) -> None:
        for agent in self._started:
            with contextlib.suppress(ProcessLookupError):
                agent.process.terminate()
        for agent in self._started:
            try:
                agent.process.wait(5)
            except subprocess.TimeoutExpired:
                agent.process.kill()
                agent.process.wait(SECONDS)
            if agent.process.stdout:
                agent.process.stdout.close()


def _ask(process: subprocess.Popen[str], port: int, path: str) -> None:
    """The first probe, which waits for as long as the agent lives."""
    while process.poll() is None:
        # From another address: whoever asks a port where nobody listens again and again may be given that very port.
        with (
            contextlib.suppress(OSError),
            socket.create_connection(('127.0.0.1', port), source_address=('127.0.0.2', 0)) as asking,
        ):
            asking.sendall(f'GET {path} HTTP/1.1\r\nHost: x\r\n\r\n'.encode())
            asking.recv(1)
            return
        time.sleep(ASK_SECONDS)


@contextlib.contextmanager
def running(server: Server, agent: Path) -> Iterator[Pods]:
    pods = Pods(server, agent)
    try:
        yield pods
    finally:
        pods.end()


def interpreters() -> list[Any]:
    """Each version of Python that this machine has, from 3.8 on; at least the one that runs the tests."""
    found = {'.'.join(map(str, sys.version_info[:2])): sys.executable}
    homes = [Path(each) for each in (Path.home() / '.pyenv' / 'versions').glob('3.*')]
    for minor in range(8, 20):
        for path in [Path('/usr/bin') / f'python3.{minor}', *(home / 'bin' / f'python3.{minor}' for home in homes)]:
            if path.is_file():
                found.setdefault(f'3.{minor}', str(path))
    return [pytest.param(path, id=version) for version, path in found.items()]
