"""What the machine must have before a node can run on it, and how it gets that."""

import os
import subprocess
import sys
from collections.abc import Sequence

PACKAGES = (
    'bash-static',
    'busybox-static',
    'conntrack',
    'containernetworking-plugins',
    'iproute2',
    'iptables',
    'nftables',
    'python3',
    'runc',
    'util-linux',
)
"""Debian packages: the container runtime, the pod network, the packet filter, and what images are made of."""

CNI_PLUGINS = '/usr/lib/cni'

_INSTALL_SECONDS = 900


class MachineError(RuntimeError):
    """A full cluster cannot run here; the message says what is missing."""


def prepare() -> None:
    """Install the packages that are missing. Raises :class:`MachineError` where that cannot be."""
    if os.geteuid() != 0:
        raise MachineError('cluster: the profile "full" makes network namespaces and cgroups, run it as root')
    if absent := missing(PACKAGES):
        print(f'installing {" ".join(absent)}', file=sys.stderr, flush=True)
        _apt('update')
        _apt('install', '--yes', '--no-install-recommends', *absent)


def missing(packages: Sequence[str]) -> list[str]:
    """Those of ``packages`` that are not installed. Raises :class:`MachineError` on a machine that is not Debian's."""
    try:
        said = subprocess.run(
            ['dpkg-query', '--show', '--showformat=${Package} ${db:Status-Status}\n', *packages],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,  # it fails as soon as one package is unknown, and lists the others
        ).stdout
    except FileNotFoundError:
        raise MachineError('cluster: the profile "full" needs a Debian machine, there is no dpkg-query here') from None
    installed = {line.split()[0] for line in said.splitlines() if line.endswith(' installed')}
    return [package for package in packages if package not in installed]


def _apt(*arguments: str) -> None:
    done = subprocess.run(
        ['apt-get', '--quiet', *arguments],
        env={**os.environ, 'DEBIAN_FRONTEND': 'noninteractive'},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=_INSTALL_SECONDS,
        check=False,
    )
    if done.returncode:
        raise MachineError(f'apt-get {" ".join(arguments)}: {done.stderr.strip()[-1000:]}')
