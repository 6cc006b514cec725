"""What this machine has, as a Node tells it."""

import os
import platform
import shutil
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_PODS: Final = 110
"""Pods on one node, as everywhere."""

ARCHITECTURES: Final = {'x86_64': 'amd64', 'amd64': 'amd64', 'aarch64': 'arm64', 'arm64': 'arm64', 'riscv64': 'riscv64'}


def capacity(folder: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """Resources of the machine; the disk is that of ``folder``. ``extra`` replaces and adds."""
    found = {
        'cpu': str(_cpus()),
        'ephemeral-storage': f'{shutil.disk_usage(folder).total >> 10}Ki',
        'memory': f'{_memory_kib()}Ki',
        'pods': str(_PODS),
    }
    return found | dict(extra)


def operating_system() -> str:
    """As in ``kubernetes.io/os``."""
    return sys.platform if sys.platform != 'win32' else 'windows'


def architecture() -> str:
    """As in ``kubernetes.io/arch``."""
    machine = platform.machine().lower()
    return ARCHITECTURES.get(machine, machine)


def info(version: str) -> dict[str, str]:
    """``status.nodeInfo``."""
    return {
        'architecture': architecture(),
        'bootID': _read('/proc/sys/kernel/random/boot_id'),
        'containerRuntimeVersion': f'local://{version}',
        'kernelVersion': platform.release(),
        'kubeProxyVersion': '',
        'kubeletVersion': f'v1.37.0-jobset.{version}',
        'machineID': _read('/etc/machine-id'),
        'operatingSystem': operating_system(),
        'osImage': _image(),
        'systemUUID': _read('/etc/machine-id'),
    }


def hostname() -> str:
    """The name of this machine."""
    return socket.gethostname().lower()


def _cpus() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _memory_kib() -> int:
    for line in _read('/proc/meminfo').splitlines():
        if line.startswith('MemTotal:'):
            return int(line.split()[1])
    return (os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES')) >> 10


def _image() -> str:
    for line in _read('/etc/os-release').splitlines():
        if line.startswith('PRETTY_NAME='):
            return line.partition('=')[2].strip('"')
    return platform.system()


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding='utf-8').strip()
    except OSError:
        return ''
