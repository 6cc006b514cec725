"""Where one cluster runs: its names, programs, addresses, and how to get at them."""

import hashlib
import os
import socket
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from e2e.cluster import network, processes, settings
from e2e.cluster.binaries import Binaries
from e2e.cluster.certificates import Pair
from e2e.cluster.names import Names

LOOPBACK = '127.0.0.1'


class CommandError(RuntimeError):
    """A helper program refused; its words are in the message."""


@dataclass(frozen=True, kw_only=True)
class Ports:
    """TCP ports of the control plane."""

    api: int
    etcd: int
    etcd_peer: int


@dataclass(frozen=True, kw_only=True)
class Site:
    """One cluster's place on the machine."""

    names: Names
    settings: settings.Settings
    binaries: Binaries
    address: str
    """Where the API server listens, and the address of the node."""
    ports: Ports

    @property
    def full(self) -> bool:
        return self.settings.profile is settings.Profile.FULL

    @property
    def server(self) -> str:
        return f'https://{self.address}:{self.ports.api}'

    @property
    def authority(self) -> Pair:
        return Pair(self.names.certificates / 'ca.crt', self.names.certificates / 'ca.key')

    @property
    def surroundings(self) -> Mapping[str, str]:
        """Environment of everything that runs in or against the cluster."""
        folders = sorted({str(path.parent) for path in self.binaries.paths.values()})
        path = os.pathsep.join([*folders, os.environ.get('PATH', ''), '/usr/sbin', '/usr/bin', '/sbin', '/bin'])
        return {**os.environ, 'PATH': path, 'KUBECONFIG': str(self.names.kubeconfig)}

    def enter(self, argv: Sequence[str]) -> list[str]:
        """``argv`` as it has to be called from outside the cluster's network."""
        return network.inside(self.names, argv) if self.full else list(argv)

    def program(self, name: str) -> processes.Program:
        return program(self.names, name)

    def start(self, name: str, argv: Sequence[str]) -> processes.Program:
        """Start a program of the cluster into the background, inside the cluster's network."""
        started = self.program(name)
        started.start(self.enter(argv), surroundings=self.surroundings)
        return started

    def run(self, argv: Sequence[str], *, stdin: str | None = None, seconds: float = 60) -> str:
        """What a command inside the cluster's network prints. Raises :class:`CommandError`."""
        done = subprocess.run(
            self.enter(argv),
            env=dict(self.surroundings),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        if done.returncode:
            raise CommandError(f'{" ".join(argv)[:200]}: exit code {done.returncode}: {done.stderr.strip()[-2000:]}')
        return done.stdout

    def kubectl(self, *arguments: str, stdin: str | None = None, seconds: float = 60) -> str:
        """What kubectl prints, as administrator. Raises :class:`CommandError`."""
        return self.run([str(self.binaries['kubectl']), *arguments], stdin=stdin, seconds=seconds)

    def answers(self, *arguments: str) -> bool:
        """True when kubectl succeeds."""
        try:
            self.kubectl(*arguments, '--request-timeout=5s', seconds=20)
        except (CommandError, subprocess.TimeoutExpired):
            return False
        return True


def program(names: Names, name: str) -> processes.Program:
    return processes.Program(name=name, record=names.pids / name, log=names.logs / f'{name}.log')


def free_ports(cluster: str) -> Ports:
    """Three free loopback ports, below those that the kernel gives to clients, and other ones for each name.

    Raises :class:`CommandError` when the machine has none left.
    """
    low, high = 20000, 30000
    first = int.from_bytes(hashlib.sha256(cluster.encode()).digest()[:4], 'big') % (high - low)
    found: list[int] = []
    for step in range(high - low):
        port = low + (first + step) % (high - low)
        if _free(port):
            found.append(port)
        if len(found) == 3:
            return Ports(api=found[0], etcd=found[1], etcd_peer=found[2])
    raise CommandError(f'ports: none free between {low} and {high} on {LOOPBACK}')


def _free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As Go's servers do: a connection of an earlier cluster in TIME_WAIT takes no port away.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True
