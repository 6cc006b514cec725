"""The API server of an embedded cluster with its admission, and the way to it within this process.

What runs on it is put together by :mod:`jobset.local.cluster` (pods as processes) and by
:mod:`jobset.local.simulated` (pods on paper).
"""

import contextlib
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Final

from jobset.admission import claims, leaders
from jobset.api import features
from jobset.kube import client, requests
from jobset.local import clock, installation, kinds
from jobset.local.admission import calling, dispatch, jobsets
from jobset.local.controllers import defaults
from jobset.local.patches import fields
from jobset.local.schemas import documents
from jobset.local.server import feeds, logs, planes
from jobset.local.server.direct import Direct
from jobset.local.server.server import Server
from jobset.local.store import storage

GATES: Final = features.FeatureGates()


class Plane:
    """A server, and a client of it."""

    def __init__(self, server: Server, api: client.Client, carrier: Direct) -> None:
        self.server = server
        self.api = api
        self.carrier = carrier

    async def install(self, *, has_webhooks: bool = True) -> None:
        """Make what every cluster has: the first namespaces and classes, JobSets and, if wanted, their webhooks."""
        await defaults.create_first(self.api)
        await installation.install(self.api, has_webhooks=has_webhooks)


class _Reached:
    """The way to the server for what it needs itself, from when it is there on."""

    server: Direct

    async def send(self, request: requests.Request) -> bytes:
        return await self.server.send(request)

    def stream(self, request: requests.Request, *, idle_timeout: float) -> AbstractAsyncContextManager[client.Pieces]:
        return self.server.stream(request, idle_timeout=idle_timeout)


@contextlib.asynccontextmanager
async def serving(
    store: storage.Store,
    *,
    now: clock.Now = clock.wall,
    gates: features.FeatureGates = GATES,
    log_source: logs.LogSource | None = None,
    watches: feeds.Watching | None = None,
    ownership: planes.Ownership = fields,
) -> AsyncIterator[Plane]:
    """A server of the objects in ``store`` for the length of the block; its webhooks of JobSets are in this process.

    ``watches`` says how watches are served, where not as a real server does it: bookmarks cost a simulated day dear.
    So does telling who owns which field (``ownership``).
    """
    reached = _Reached()
    api = client.Client(reached)
    registry = jobsets.registry(gates=gates, look_up=claims.Claims(api).look_up, leaders=leaders.Leaders(api))
    async with calling.Caller(registry) as caller:
        dispatcher = dispatch.Dispatcher(caller, lambda key, namespace, name: _find(store, key, namespace, name))
        server = Server(
            store,
            kinds.all_(),
            now=now,
            admission=dispatcher,
            log_source=log_source,
            openapi=lambda: documents.served(server.registry.kinds),
            watch_settings=watches or feeds.Watching(),
            ownership=ownership,
        )
        reached.server = carrier = Direct(server)
        try:
            yield Plane(server, api, carrier)
        finally:
            server.close()


def _find(store: storage.Store, key: str, namespace: str, name: str) -> dict[str, object] | None:
    record = store.get(key, namespace, name)
    return record.decode() if record is not None else None
