"""A way to a cluster: which one, as whom, in which namespace."""

import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jobset.client import homes
from jobset.kube import client

USER_AGENT: Final = 'jobset-client'


@dataclass(frozen=True)
class Connection:
    """An open way to a cluster."""

    source: client.Client
    namespace: str = 'default'
    """The namespace that is meant when none is named."""

    server: str = ''
    """The URL, for messages."""


@contextlib.asynccontextmanager
async def connect(
    kubeconfig: str | None = None,
    *,
    context: str | None = None,
    cluster: str | None = None,
) -> AsyncIterator[Connection]:
    """Opens a connection for the length of the block.

    To the named file, else the local ``cluster``, else to what KUBECONFIG, the pod or ``~/.kube/config`` say, else to
    the local cluster that runs. Raises :class:`~jobset.kube.auth.Misconfigured`, OSError when a login did not work this
    time, and :class:`~jobset.client.homes.UnknownCluster`.
    """
    # Imported here: they take a quarter of a second, which whoever brings a connection along does not need.
    from jobset.kube import auth, transport  # noqa: PLC0415

    file = kubeconfig or _local(context, cluster)
    credentials = await auth.load(file, context=context)
    async with transport.Transport(credentials, user_agent=USER_AGENT) as carrier:
        yield Connection(client.Client(carrier), credentials.namespace, credentials.server)


def _local(context: str | None, cluster: str | None) -> str | None:
    """The file of a local cluster, where one is meant."""
    if cluster is not None:
        return str(homes.named(cluster))
    elsewhere = context or os.environ.get('KUBECONFIG') or os.environ.get('KUBERNETES_SERVICE_HOST')
    if elsewhere or Path('~/.kube/config').expanduser().is_file():
        return None
    file = homes.only()
    return str(file) if file else None
