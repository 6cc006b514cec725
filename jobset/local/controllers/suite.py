"""All controllers of this room together."""

import asyncio
import datetime
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

from jobset.kube import client, informer
from jobset.local import clock
from jobset.local.controllers import catalogue, defaults, expiry, finished, namespaces, shared
from jobset.local.controllers.collecting import collector
from jobset.local.controllers.endpoints import controller as endpoints
from jobset.local.controllers.nodes import lifecycle, podgc
from jobset.local.controllers.volumes import controller as volumes
from jobset.local.controllers.volumes import folders


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What the controllers are told."""

    authority: str = ''
    """Certificate (PEM) of the server's authority, for the pods of each namespace; none makes no ConfigMap."""

    place: folders.Folders = field(default_factory=folders.NoFolders)
    """Where the folders of volumes are."""

    recorder: volumes.Recorder | None = None
    serves_names: bool = True
    """Whether EndpointSlices are kept, of which the addresses behind the names of Services come."""

    watching: informer.Watching | None = None
    collecting: collector.Collecting | None = None
    patience: lifecycle.Patience | None = None
    limits: podgc.Limits | None = None
    event_seconds: float = expiry.TTL_SECONDS


class Suite:
    """The controllers, ready to run. They share their informers, which others may share, too: see ``informers``."""

    def __init__(
        self,
        source: client.Client,
        now: Callable[[], datetime.datetime],
        *,
        choices: Choices | None = None,
    ) -> None:
        choices = choices or Choices()
        self._source = source
        self.informers = shared.Informers(source, settings=choices.watching)
        self.kinds = catalogue.Catalogue(source)
        informers = self.informers
        names = (endpoints.Endpoints(informers),) if choices.serves_names else ()
        self._parts = (
            namespaces.Namespaces(informers, self.kinds, now),
            defaults.Defaults(informers, authority=choices.authority),
            *names,
            volumes.Volumes(informers, choices.place, recorder=choices.recorder),
            finished.Finished(informers, now),
            expiry.Expiry(informers, now, ttl_seconds=choices.event_seconds),
            lifecycle.Lifecycle(informers, now, settings=choices.patience),
            podgc.PodCollector(informers, now, settings=choices.limits),
            collector.Collector(informers, self.kinds, settings=choices.collecting),
        )

    async def run(self) -> NoReturn:
        """Works until cancelled, once the first objects are there (see :func:`defaults.create_first`)."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.informers.run())
            group.create_task(self.kinds.run())
            for part in self._parts:
                group.create_task(part.run())
        raise AssertionError('nobody stops them')


def on_paper(source: client.Client, time: clock.Clock) -> Suite:
    """The controllers for a simulation (its ``others``): pods that only exist on paper look up no names.

    Keeping EndpointSlices would be a tenth of all work there.
    """
    return Suite(source, time.now, choices=Choices(serves_names=False))
