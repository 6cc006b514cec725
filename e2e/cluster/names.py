"""What derives from the name of a cluster, so that two clusters on one machine share nothing.

Interfaces are not in the list: all of them live inside the cluster's own network namespace, where constant names
cannot collide, and so the kernel's limit of 15 characters never meets a name that somebody chose.
"""

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

LONGEST = 24
"""Characters a name may have: it becomes part of socket paths."""

LONGEST_SOCKET = 107
"""Bytes of a socket's path that the kernel takes."""

_ALLOWED = re.compile(r'[a-z0-9]([a-z0-9-]*[a-z0-9])?')


class ClusterNameError(ValueError):
    """A cluster cannot have this name; the message says what a name may be."""


@dataclass(frozen=True)
class Names:
    """Everything on the machine that belongs to one cluster and to no other."""

    cluster: str
    state: Path
    """Folder of all that the cluster writes. It goes with the cluster, but for its logs."""

    @property
    def namespace(self) -> str:
        """The network namespace, below ``/run/netns``."""
        return f'jobset-{self.cluster}'

    @property
    def cgroup(self) -> str:
        """The cgroup, below the root of each hierarchy, that holds every pod of the cluster."""
        return f'jobset-{self.cluster}'

    @property
    def cni_network(self) -> str:
        return f'jobset-{self.cluster}'

    @property
    def lock(self) -> Path:
        """Held while the cluster is started or stopped. Beside the state, which a stop removes."""
        return self.state.with_name(f'{self.cluster}.lock')

    @property
    def logs(self) -> Path:
        return self.state / 'logs'

    @property
    def pids(self) -> Path:
        return self.state / 'pids'

    @property
    def certificates(self) -> Path:
        return self.state / 'tls'

    @property
    def configuration(self) -> Path:
        return self.state / 'conf'

    @property
    def kubeconfig(self) -> Path:
        return self.state / 'kubeconfig'

    @property
    def record(self) -> Path:
        """What the running cluster was started with."""
        return self.state / 'cluster.json'

    @property
    def containerd_socket(self) -> Path:
        return self.state / 'containerd.sock'


def cache() -> Path:
    """The folder outside any checkout that holds binaries, image layers and the state of clusters."""
    base = os.environ.get('XDG_CACHE_HOME')
    return (Path(base) if base else Path.home() / '.cache') / 'jobset' / 'cluster'


def of(cluster: str, *, cache_folder: Path) -> Names:
    """The names of ``cluster``; raises :class:`ClusterNameError` for an unusable one."""
    if len(cluster) > LONGEST or not _ALLOWED.fullmatch(cluster):
        raise ClusterNameError(
            f'cluster name: "{cluster}" is not usable; '
            f'take at most {LONGEST} lower-case letters, digits and inner dashes'
        )
    return Names(cluster=cluster, state=cache_folder / 'clusters' / cluster)


def check_sockets(names: Names) -> None:
    """Raises :class:`ClusterNameError` where a node's sockets would not fit; it would fail late and obscurely."""
    longest = names.state / 'kubelet' / 'pod-resources' / 'kubelet.sock'
    if len(os.fsencode(longest)) > LONGEST_SOCKET:
        raise ClusterNameError(
            f'cluster name: the socket path {longest} is too long; set XDG_CACHE_HOME to a shorter folder'
        )


def default(checkout: Path, *, suffix: str = '') -> str:
    """A name for the cluster of a checkout: readable, and different for each path."""
    path = checkout.resolve()
    digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:6]
    tail = f'-{digest}{suffix}'
    head = re.sub(r'[^a-z0-9]+', '-', path.name.lower()).strip('-')[: LONGEST - len(tail)].strip('-')
    return f'{head or "checkout"}{tail}'
