"""Where tests get their cluster from: ours, one that exists, or one that ``kind`` makes.

The variable ``CLUSTER`` chooses: ``own`` (also when unset), ``existing`` or ``kind``.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from e2e.cluster import addons, cluster, names, settings, site
from e2e.cluster.names import Names

KIND_SECONDS = 900


class ProviderError(RuntimeError):
    """There is no cluster to be had in the chosen way; the message says why."""


class Provider(Protocol):
    """One way to a cluster. ``up`` and ``down`` may be repeated; the others need a cluster that is up."""

    @property
    def kubeconfig(self) -> Path: ...

    def up(self) -> None: ...

    def down(self) -> None: ...

    def load(self, archive: Path) -> None:
        """Bring the images of an archive to the nodes."""

    def enter(self, argv: Sequence[str]) -> list[str]:
        """``argv`` as it must be called so that it reaches the cluster."""

    def surroundings(self) -> dict[str, str]:
        """The environment in which ``kubectl`` and our programs find the cluster."""


@dataclass(frozen=True, kw_only=True)
class Own:
    """The cluster that this package builds."""

    names: Names
    settings: settings.Settings
    cache: Path

    @property
    def kubeconfig(self) -> Path:
        return self.names.kubeconfig

    def up(self) -> None:
        cluster.up(self.names, self.settings, cache=self.cache)

    def down(self) -> None:
        cluster.down(self.names)

    def load(self, archive: Path) -> None:
        addons.load(self.site(), archive)

    def enter(self, argv: Sequence[str]) -> list[str]:
        return self.site().enter(argv)

    def surroundings(self) -> dict[str, str]:
        return dict(self.site().surroundings)

    def site(self) -> site.Site:
        """The running cluster. Raises :class:`ProviderError` when it was not started."""
        found = cluster.recorded(self.names, cache=self.cache)
        if not found:
            raise ProviderError(
                f'cluster {self.names.cluster}: not up; '
                f'start it with: python -m e2e.cluster up --name {self.names.cluster}'
            )
        return found


@dataclass(frozen=True, kw_only=True)
class Existing:
    """A cluster that somebody else keeps. It is never started, stopped, or given images."""

    kubeconfig: Path

    def up(self) -> None:
        if not self.kubeconfig.is_file():
            raise ProviderError(f'KUBECONFIG: {self.kubeconfig} is not a file; name the kubeconfig of the cluster')

    def down(self) -> None:
        """Leave it as it is."""

    def load(self, archive: Path) -> None:
        raise ProviderError(
            f'CLUSTER=existing: push the images of {archive} to a registry that its nodes reach; they cannot be loaded'
        )

    def enter(self, argv: Sequence[str]) -> list[str]:
        return list(argv)

    def surroundings(self) -> dict[str, str]:
        return {**os.environ, 'KUBECONFIG': str(self.kubeconfig)}


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A cluster in containers, where there is a container engine."""

    name: str
    kubeconfig: Path
    surrounding: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def up(self) -> None:
        self.kubeconfig.parent.mkdir(parents=True, exist_ok=True)
        if self.name in self._kind('get', 'clusters').split():
            # An earlier run's cluster: the file may be gone, or of a cluster before that one.
            self._kind('export', 'kubeconfig', '--name', self.name, '--kubeconfig', str(self.kubeconfig))
            return
        arguments = ('--name', self.name, '--kubeconfig', str(self.kubeconfig), '--wait', '5m')
        self._kind('create', 'cluster', *arguments)

    def down(self) -> None:
        # kind takes the deletion of a cluster that is not there for done.
        self._kind('delete', 'cluster', '--name', self.name, '--kubeconfig', str(self.kubeconfig))

    def load(self, archive: Path) -> None:
        self._kind('load', 'image-archive', str(archive), '--name', self.name)

    def enter(self, argv: Sequence[str]) -> list[str]:
        return list(argv)

    def surroundings(self) -> dict[str, str]:
        return {**self.surrounding, 'KUBECONFIG': str(self.kubeconfig)}

    def _kind(self, *arguments: str) -> str:
        program = shutil.which('kind', path=self.surrounding.get('PATH'))
        if not program:
            raise ProviderError(
                'CLUSTER=kind: there is no "kind" on PATH; install it, and Docker, or leave CLUSTER unset'
            )
        done = subprocess.run(
            [program, *arguments],
            env=dict(self.surrounding),
            capture_output=True,
            text=True,
            timeout=KIND_SECONDS,
            check=False,
        )
        if done.returncode:
            raise ProviderError(f'kind {" ".join(arguments)}: {done.stderr.strip()[-2000:]}')
        return done.stdout


def chosen(surroundings: Mapping[str, str], *, name: str, wanted: settings.Settings) -> Provider:
    """The provider that ``CLUSTER`` names. Raises :class:`ProviderError` for a word that names none."""
    cache = names.cache()
    match surroundings.get('CLUSTER') or 'own':
        case 'own':
            return Own(names=names.of(name, cache_folder=cache), settings=wanted, cache=cache)
        case 'existing':
            return Existing(kubeconfig=Path(surroundings.get('KUBECONFIG') or Path.home() / '.kube' / 'config'))
        case 'kind':
            kubeconfig = cache / 'kind' / f'{name}.kubeconfig'
            return Kind(name=name, kubeconfig=kubeconfig, surrounding=surroundings)
        case other:
            raise ProviderError(f'CLUSTER: "{other}" is none of own, existing, kind')
