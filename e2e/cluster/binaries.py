"""The programs of the cluster: which versions, how they are built, and where they are kept.

Each component is built once a machine, into a folder of the user's cache whose name holds its version and a digest of
all that decides the result. The ``go.mod`` and ``go.sum`` beside this file pin every dependency.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster import golang, locks

MODULES = Path(__file__).parent / 'modules'

BUILD_SECONDS = 3600
"""Bound of one build. A cold one of the API server takes seven minutes on two cores."""


class BuildError(RuntimeError):
    """The Go compiler refused; its words are in the message."""


@dataclass(frozen=True, kw_only=True)
class Component:
    """Programs that come from one Go module and share a version."""

    name: str
    version: str
    packages: Mapping[str, str]
    """Program name to Go package."""
    variables: Mapping[str, str]
    """Go variables that the linker sets. A Kubernetes without its version says v0.0.0, and its gates misbehave."""

    @property
    def module(self) -> Path:
        return MODULES / self.name

    @property
    def flags(self) -> tuple[str, ...]:
        sets = [f'-X {variable}={value}' for variable, value in self.variables.items()]
        return ('-mod=readonly', '-trimpath', '-ldflags', ' '.join(['-s', '-w', *sets]))


def _kubernetes(version: str) -> Component:
    major, minor, _ = version.removeprefix('v').split('.')
    said = {'gitVersion': version, 'gitMajor': major, 'gitMinor': minor}
    commands = ('kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl', 'kubelet', 'kube-proxy')
    return Component(
        name='kubernetes',
        version=version,
        packages={command: f'k8s.io/kubernetes/cmd/{command}' for command in commands},
        variables={
            f'k8s.io/{package}.{variable}': value
            for package in ('component-base/version', 'client-go/pkg/version')
            for variable, value in said.items()
        },
    )


def _containerd(version: str) -> Component:
    module = 'github.com/containerd/containerd/v2'
    commands = ('containerd', 'containerd-shim-runc-v2', 'ctr')
    return Component(
        name='containerd',
        version=version,
        packages={command: f'{module}/cmd/{command}' for command in commands},
        variables={f'{module}/version.Version': version},
    )


KUBERNETES = _kubernetes('v1.37.2')
ETCD = Component(name='etcd', version='v3.7.3', packages={'etcd': 'go.etcd.io/etcd/server/v3'}, variables={})
CONTAINERD = _containerd('v2.4.2')
COREDNS = Component(name='coredns', version='v1.15.0', packages={'coredns': 'github.com/coredns/coredns'}, variables={})
PAUSE = Component(name='pause', version='v1', packages={'pause': '.'}, variables={})

CONTROL_PLANE = (KUBERNETES, ETCD)
ALL = (KUBERNETES, ETCD, CONTAINERD, COREDNS, PAUSE)


@dataclass(frozen=True)
class Binaries:
    """Where each built program is."""

    paths: Mapping[str, Path]

    def __getitem__(self, program: str) -> Path:
        return self.paths[program]


def key(component: Component) -> str:
    """Name of the component's folder in the cache: equal for equal results, whichever checkout builds.

    The version of Go is no part of it: a newer compiler makes no other cluster, and would cost every user a build.
    """
    digest = hashlib.sha256()
    for path in sorted(one for one in component.module.iterdir() if one.is_file()):
        digest.update(f'{path.name}\0'.encode() + path.read_bytes() + b'\0')
    digest.update('\0'.join([*component.flags, *component.packages.values(), platform.machine()]).encode())
    return f'{component.name}-{component.version}-{digest.hexdigest()[:10]}'


def folder(component: Component, *, cache: Path) -> Path:
    return cache / 'bin' / key(component)


def present(components: tuple[Component, ...], *, cache: Path) -> Binaries:
    """The programs of ``components``, built where the cache lacks them. Raises :class:`BuildError`."""
    paths: dict[str, Path] = {}
    for component in components:
        home = folder(component, cache=cache)
        if not home.is_dir():
            with locks.held(home.with_name(f'{home.name}.lock'), seconds=BUILD_SECONDS):
                # Another checkout may have built it while this one waited for its turn.
                if not home.is_dir():
                    _build(component, home)
        paths |= {program: home / program for program in component.packages}
    return Binaries(paths)


def _build(component: Component, home: Path) -> None:
    go = golang.find(oldest=golang.wanted_by((component.module / 'go.mod').read_text()))
    for abandoned in home.parent.glob(f'{home.name}.*/'):
        shutil.rmtree(abandoned)
    partial = Path(tempfile.mkdtemp(prefix=f'{home.name}.', dir=home.parent))
    try:
        for program, package in component.packages.items():
            print(f'building {program} {component.version} with {go}', file=sys.stderr, flush=True)
            _run([str(go), 'build', *component.flags, '-o', str(partial / program), package], folder=component.module)
        partial.chmod(0o755)
        # The folder appears whole or not at all: its presence is what tells that the build is done.
        partial.rename(home)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _run(argv: list[str], *, folder: Path) -> None:
    surroundings = {**os.environ, 'CGO_ENABLED': '0', 'GOFLAGS': '', 'GOWORK': 'off'}
    # The compiler of the wheel is also found through its own program files, never through those of another Go.
    surroundings.pop('GOROOT', None)
    done = subprocess.run(
        argv, cwd=folder, env=surroundings, stderr=subprocess.PIPE, text=True, timeout=BUILD_SECONDS, check=False
    )
    if done.returncode:
        raise BuildError(f'go build of {argv[-1]} in {folder}: {done.stderr.strip()[-2000:]}')
