"""kubectl, bound to one cluster."""

import contextlib
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, Final

import yaml

SECONDS: Final = 120
"""How long a command may take."""


class KubectlError(Exception):
    """A command that failed; the message has what it said."""


class Kubectl:
    """Runs kubectl with a kubeconfig; ``prefix`` is a command that leads to where the cluster can be reached."""

    def __init__(self, kubeconfig: str, prefix: tuple[str, ...] = ()) -> None:
        self.kubeconfig = kubeconfig
        self._prefix = prefix

    def __call__(self, *arguments: str, stdin: str | None = None, check: bool = True, seconds: int = SECONDS) -> str:
        """What the command prints. Raises :class:`KubectlError` when it fails, unless told not to ``check``."""
        done = subprocess.run(
            [*self._prefix, 'kubectl', *arguments],
            input=stdin,
            text=True,
            capture_output=True,
            timeout=seconds,
            check=False,
            env=os.environ | {'KUBECONFIG': self.kubeconfig},
        )
        if check and done.returncode:
            raise KubectlError(f'kubectl {" ".join(arguments)}: {done.stderr.strip()}')
        return done.stdout

    def rendered(self, folder: pathlib.Path) -> list[dict[str, Any]]:
        """The objects that a kustomize folder makes."""
        return list(yaml.safe_load_all(self('kustomize', str(folder))))


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
