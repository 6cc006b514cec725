"""A whole cluster on paper: simulated nodes, a scheduler, and the real controllers, against one server.

In a :class:`jobset.local.clock.Loop` all of it runs in virtual time::

    async def day() -> None:
        time = clock.Clock()
        async with simulation.serving(storage.Store(), clock=time) as served:
            await served.install()
            pools = [nodes.Pool(count=1000)]
            async with simulation.Simulation(served.carrier, clock=time, pools=pools) as cluster:
                await cluster.api.send(requests.create(world.JOBSETS, 'default', jobset))
                await asyncio.sleep(24 * 3600)

    clock.run(day())

Nothing in it ticks: while nothing happens, hours pass at once.
"""

import contextlib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Protocol, Self

import msgspec

from jobset.api import features
from jobset.client import together
from jobset.controller import manager, metrics
from jobset.kube import client, events, requests
from jobset.local import clock as clocks
from jobset.local import plane
from jobset.local.jobs import controller as jobs
from jobset.local.patches import fields
from jobset.local.scheduling import scheduler
from jobset.local.server import feeds, planes, untracked
from jobset.local.simulated import kubelet, nodes, outages, outcomes
from jobset.local.store import storage


def serving(
    store: storage.Store,
    *,
    clock: clocks.Clock,
    gates: features.FeatureGates = plane.GATES,
    tracks_fields: bool = False,
) -> contextlib.AbstractAsyncContextManager[plane.Plane]:
    """A server for simulations, for the length of the block: :func:`jobset.local.plane.serving` without what is costly
    and only of use to people and to clients that may be cut off.
    """
    ownership: planes.Ownership = fields if tracks_fields else untracked.Untracked()
    return plane.serving(
        store,
        now=clock.now,
        gates=gates,
        watches=feeds.Watching(bookmark_seconds=1e9, timeout_seconds=1e9),
        ownership=ownership,
    )


class Calm:
    """A carrier to a server in this process, for days of which every second counts.

    Such a server does not die of its own, so that nobody has to look after a watch on which nothing comes.
    """

    def __init__(self, carrier: client.Carrier) -> None:
        self._carrier = carrier
        self.send = carrier.send

    def stream(
        self, request: requests.Request, *, idle_timeout: float
    ) -> contextlib.AbstractAsyncContextManager[client.Pieces]:
        """A body that goes on, for as long as anybody wants it."""
        del idle_timeout
        endless = msgspec.structs.replace(request, query=_TIMEOUT.sub('', request.query))
        return self._carrier.stream(endless, idle_timeout=math.inf)


_TIMEOUT: Final = re.compile(r'&?timeoutSeconds=[0-9]+')

BATCH_SECONDS: Final = 0.001
"""How long the JobSet controller gathers changes of Jobs: those that follow each other without time passing at all."""


class Part(Protocol):
    """Something that runs beside the rest until it is cancelled."""

    async def run(self) -> Any:
        """Runs."""


MakePart = Callable[[client.Client, clocks.Clock], Part]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a simulated cluster consists of."""

    gates: features.FeatureGates = field(default_factory=features.FeatureGates)
    """Of the JobSet controller."""

    has_jobsets: bool = True
    """Whether the JobSet controller runs."""

    has_jobs: bool = True
    """Whether the Job controller of the plane runs: not, where the server has one."""

    tells_events: bool = True
    """Whether the controllers record Events; each is a write, and in a long simulation nobody reads them."""

    outcome: outcomes.Outcome = field(default_factory=lambda: outcomes.Outcome(duration=60))
    """How it goes for pods of which nothing else is said."""

    seed: object = 0


class Simulation:
    """Runs from ``async with`` to its end. What fails ends all, with its exception."""

    def __init__(
        self,
        carrier: client.Carrier,
        *,
        clock: clocks.Clock,
        pools: Sequence[nodes.Pool],
        rules: Sequence[outcomes.Rule] = (),
        failing: Sequence[outages.Outage] = (),
        others: Sequence[MakePart] = (),
        settings: Settings | None = None,
    ) -> None:
        settings = settings or Settings()
        carrier = Calm(carrier)
        recording = events.Recording(is_on=settings.tells_events)
        self.api = client.Client(carrier)
        self.clock = clock
        self._pools = tuple(pools)
        self._failing = tuple(failing)
        names = frozenset(name for pool in pools for name in pool.names())
        self.scheduler = scheduler.Scheduler(
            self.api,
            now=clock.now,
            settings=scheduler.Settings(tells_events=settings.tells_events),
        )
        self.kubelet = kubelet.Kubelet(
            self.api,
            serves=names.__contains__,
            now=clock.now,
            rules=rules,
            settings=kubelet.Settings(default=settings.outcome, seed=settings.seed),
        )
        self._parts: list[Part] = [self.scheduler, self.kubelet]
        if settings.has_jobs:
            self._parts.append(jobs.Controller(self.api, now=clock.now, recording=recording))
        if settings.has_jobsets:
            wanted = manager.Settings(
                gates=settings.gates,
                leadership=None,
                instance='jobset-simulated',
                batch_seconds=BATCH_SECONDS,
                recording=recording,
            )
            self._parts.append(self._manager(carrier, wanted))
        self._parts.extend(make(self.api, clock) for make in others)
        self._stack = contextlib.AsyncExitStack()

    def _manager(self, carrier: client.Carrier, wanted: manager.Settings) -> manager.Manager:
        return manager.Manager(
            carrier,
            wanted,
            metrics.Metrics(),
            now=self.clock.now,
            monotonic=self.clock.seconds,
        )

    async def __aenter__(self) -> Self:
        for pool in self._pools:
            await nodes.create(self.api, pool, now=self.clock.now)
        running = [part.run() for part in self._parts]
        running += [outages.carry_out(self.api, self.kubelet, each, self.clock.now) for each in self._failing]
        await self._stack.enter_async_context(together.beside(running))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)
