"""A controller as a process of its own, outside the cluster: for golden runs, kills, faults and benchmarks."""

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any, Final

import yaml

READY_SECONDS: Final = 60
"""How long a controller may take until it is ready."""

GRACE_SECONDS: Final = 20
"""How long it may take to end."""


class NotReadyError(Exception):
    """The controller ended or did not become ready; the message has the end of its log."""


def free_port() -> int:
    """A TCP port of the loopback interface that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return int(probe.getsockname()[1])


class Controller:
    """One process. ``folder`` takes its configuration and its log; it is started by :meth:`start`."""

    def __init__(
        self,
        kubeconfig: str,
        folder: pathlib.Path,
        *,
        changes: Mapping[str, Any] | None = None,
        arguments: tuple[str, ...] = (),
    ) -> None:
        self.health_port = free_port()
        self.log = folder / 'controller.log'
        self._kubeconfig = kubeconfig
        self._arguments = arguments
        self._file = folder / 'configuration.yaml'
        folder.mkdir(parents=True, exist_ok=True)
        self._file.write_text(yaml.safe_dump(_configuration(self.health_port) | dict(changes or {})))
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process without waiting for it."""
        command = [sys.executable, '-m', 'jobset.controller', '--config', str(self._file), '--kubeconfig']
        with self.log.open('ab') as log:
            self.process = subprocess.Popen(
                [*command, self._kubeconfig, *self._arguments], stdout=log, stderr=log, env=os.environ.copy()
            )

    def wait_until_ready(self) -> None:
        """Wait until ``/readyz`` says yes. Raises :class:`NotReadyError`."""
        url = f'http://127.0.0.1:{self.health_port}/readyz'
        end = time.monotonic() + READY_SECONDS
        last = 'nothing tried'
        while time.monotonic() < end:
            if self.process is None or self.process.poll() is not None:
                raise NotReadyError(f'the controller ended:\n{self.tail()}')
            try:
                with urllib.request.urlopen(url, timeout=2) as answer:
                    answer.read()
                return
            except urllib.error.HTTPError as error:
                last = error.read().decode(errors='replace')
            except OSError as error:
                last = repr(error)
            time.sleep(0.05)
        raise NotReadyError(f'the controller is not ready after {READY_SECONDS} s ({last}):\n{self.tail()}')

    def stop(self) -> int:
        """Ask it to end, and see that it does; returns its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def kill(self) -> None:
        """End it at once, as a crash would."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def tail(self, lines: int = 40) -> str:
        """The end of its log."""
        return '\n'.join(self.log.read_text(errors='replace').splitlines()[-lines:])


@contextlib.contextmanager
def running(
    kubeconfig: str,
    folder: pathlib.Path,
    *,
    changes: Mapping[str, Any] | None = None,
    arguments: tuple[str, ...] = (),
) -> Iterator[Controller]:
    """A ready controller for the length of the block."""
    controller = Controller(kubeconfig, folder, changes=changes, arguments=arguments)
    controller.start()
    try:
        controller.wait_until_ready()
        yield controller
    finally:
        if controller.process is not None and controller.process.poll() is None:
            controller.stop()


def _configuration(health_port: int) -> dict[str, Any]:
    """One replica on the loopback interface, without metrics."""
    return {
        'apiVersion': 'config.jobset.x-k8s.io/v1alpha1',
        'kind': 'Configuration',
        'health': {'healthProbeBindAddress': f'127.0.0.1:{health_port}'},
        'metrics': {'bindAddress': '0'},
        'leaderElection': {'leaderElect': False},
        'internalCertManagement': {'enable': False},
    }
