"""kubectl, bound to one cluster."""

import contextlib
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

import yaml

SECONDS: Final = 120
"""How long a command may take."""


class KubectlError(Exception):
    """A command that failed; the message has what it said."""


class Kubectl:
    """Runs kubectl with a kubeconfig; ``prefix`` is a command that leads to where the cluster can be reached."""

    def __init__(
        self,
        kubeconfig: str,
        prefix: tuple[str, ...] = (),
        surroundings: Mapping[str, str] = os.environ,
    ) -> None:
        self.kubeconfig = kubeconfig
        self._prefix = prefix
        self._surroundings = surroundings

    def __call__(self, *arguments: str, stdin: str | None = None, check: bool = True, seconds: int = SECONDS) -> str:
        """What the command prints. Raises :class:`KubectlError` when it fails, unless told not to ``check``."""
        done = self.run(*arguments, stdin=stdin, seconds=seconds)
        if check and done.returncode:
            raise KubectlError(f'kubectl {" ".join(arguments)}: {done.stderr.strip()}')
        return done.stdout

    def elsewhere(self, kubeconfig: str) -> 'Kubectl':
        """The same program, of another cluster that can be reached from here."""
        return Kubectl(kubeconfig, surroundings=self._surroundings)

    def run(
        self, *arguments: str, stdin: str | None = None, seconds: int = SECONDS
    ) -> subprocess.CompletedProcess[str]:
        """The command with its exit code and all that it says."""
        return subprocess.run(
            self._command(arguments),
            input=stdin,
            text=True,
            capture_output=True,
            timeout=seconds,
            check=False,
            env=self._environment(),
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """The command as a process of its own, which the caller ends; its output can be read."""
        return subprocess.Popen(
            self._command(arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self._environment(),
        )

    def rendered(self, folder: pathlib.Path) -> list[dict[str, Any]]:
        """The objects that a kustomize folder makes."""
        return list(yaml.safe_load_all(self('kustomize', str(folder))))

    def _command(self, arguments: tuple[str, ...]) -> list[str]:
        return [*self._prefix, 'kubectl', *arguments]

    def _environment(self) -> dict[str, str]:
        return {**self._surroundings, 'KUBECONFIG': self.kubeconfig}


def cluster(*arguments: str) -> str:
    """What a command of :mod:`e2e.cluster` prints; its progress goes to our standard error."""
    done = subprocess.run(
        [sys.executable, '-m', 'e2e.cluster', *arguments], stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.strip()


@contextlib.contextmanager
def control_plane(purpose: str, *options: str) -> Iterator[Kubectl]:
    """A control plane without Job controller, made for the length of the block."""
    which = ('--profile', 'control-plane', '--name', purpose)
    kubeconfig = cluster('up', *which, *options)
    try:
        yield Kubectl(kubeconfig, (sys.executable, '-m', 'e2e.cluster', 'exec', *which, '--'))
    finally:
        cluster('down', '--name', purpose)
