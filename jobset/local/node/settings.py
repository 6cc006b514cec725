"""What may be chosen about a node, and why the defaults are what they are."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from jobset.local.node.images import Image

INHERITED: Final = (
    'PATH',
    'HOME',
    'USER',
    'LOGNAME',
    'SHELL',
    'LANG',
    'LANGUAGE',
    'LC_ALL',
    'LC_CTYPE',
    'TZ',
    'TMPDIR',
    'LD_LIBRARY_PATH',
    'VIRTUAL_ENV',
    'CONDA_PREFIX',
    'SSL_CERT_FILE',
    'SSL_CERT_DIR',
    'HTTP_PROXY',
    'HTTPS_PROXY',
    'NO_PROXY',
    'http_proxy',
    'https_proxy',
    'no_proxy',
)
"""Variables of the user that containers see. The rest is left out, because much of it is secret or about this shell."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a node behaves."""

    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of the Node beside those for host name, system and architecture."""

    capacity: Mapping[str, str] = field(default_factory=dict)
    """Resources that the Node offers instead of, or beside, what this machine has: ``{'cpu': '64'}``."""

    images: Mapping[str, Image] = field(default_factory=dict)
    """What stands for images here, by glob; the first that fits counts."""

    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that every container gets, below its own."""

    token: str = ''
    """What a pod finds as the token of its service account."""

    certificate: str = ''
    """The certificate authority of the API server that a pod finds beside it, as PEM."""

    namespaces: bool = True
    """Whether to use Linux namespaces, which make mount paths and names work for every program."""

    own_ports: bool = True
    """Whether every pod has all ports for itself, as pods do that have a network of their own.

    All pods share the network of this machine. So that two of them can listen on one port, the kernel asks the launcher
    of a container about each ``bind`` and ``connect``, which makes these some ten microseconds slower; see
    :mod:`.launching.ports`.
    """

    private_tmp: bool = True
    """Whether every container has a ``/tmp`` and a ``/dev/shm`` of its own, empty when it starts.

    Programs that were written for containers take files there for theirs alone: two pods that wait for ``/tmp/ready``
    would find each other's. Without namespaces the variable ``TMPDIR`` tells where it is.
    """

    crash_base: float = 10
    """Seconds before a container that ended is started a third time; doubled for each further one."""

    crash_cap: float = 300
    """Seconds to which that grows. A run of twice as long starts it anew."""

    retry_seconds: float = 2
    """Seconds after which it is tried again to make what a container needs, as a ConfigMap that is not there yet.

    A kubelet takes ten to a hundred; here nobody else suffers from asking again.
    """

    heartbeat_seconds: float = 10
    """Seconds between two renewals of the Lease."""

    lease_seconds: int = 40
    """How long the Lease is good."""

    refresh_seconds: float = 60
    """Seconds after which files of ConfigMaps, Secrets and the downward API are brought up to date."""

    log_bytes: int = 10 << 20
    """Size at which the log of a container is rotated."""

    log_files: int = 5
    """Files that are kept of one run of a container."""

    keep_logs: bool = False
    """Whether logs outlive their pods."""
