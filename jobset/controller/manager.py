"""The controller as a whole: caches on every replica, passes only on the one that leads.

All parts run in one task group; when one of them ends, all end, and the process with them: something outside starts it
again, and it begins from the facts.
"""

import asyncio
import datetime
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from jobset.api import features, keys, types
from jobset.controller import executor, metrics, passes, placement, world
from jobset.core import plan
from jobset.kube import client, discovery, events, informer, lease, requests, times, workqueue

logger = logging.getLogger(__name__)

NEEDED: Final = (world.JOBSETS, requests.JOBS, requests.SERVICES, requests.CLAIMS)
"""Without these kinds nothing can be done."""

GRACE_SECONDS: Final = 5
"""How long running passes may take at the end; less than the pod's own grace of ten seconds."""


@dataclass(frozen=True, kw_only=True)
class Leadership:
    """How replicas agree on who writes."""

    namespace: str
    name: str
    identity: str
    settings: lease.Leasing


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a manager is told."""

    gates: features.FeatureGates
    leadership: Leadership | None
    """None where there is only one replica, and it leads without asking."""

    instance: str
    """Who reports events: ``jobset-<host name>``."""

    workers: int = 16
    """JobSets that are worked on at the same time."""

    pod_batch_seconds: float = 0.02
    """The same for pods, where they are watched: a thousand of them announce themselves at about the same time."""

    batch_seconds: float = 0
    """How long changes of what belongs to a JobSet are gathered before a pass; its own bring one at once.

    More than 0: a pass that makes Jobs leaves a status that differs in counters only to the pass that these bring.
    """

    recording: events.Recording = field(default_factory=events.Recording)
    """How Events are sent."""


class Manager:
    """Runs the controller over an API client until cancelled, or until the leadership is lost."""

    def __init__(
        self,
        carrier: client.Carrier,
        settings: Settings,
        measured: metrics.Metrics,
        *,
        now: Callable[[], datetime.datetime] = times.now,
        monotonic: Callable[[], float] = time.monotonic,
        watching: informer.Watching | None = None,
    ) -> None:
        api = client.Client(carrier)
        self._api = api
        self._settings = settings
        self._measured = measured
        self._stopping = asyncio.Event()
        self._has_led = False
        self._has_begun = False
        self._elector = self._make_elector(api, settings.leadership)
        writer = client.Client(
            carrier,
            # A pass is repeated as a whole, ever more slowly; repetitions of its requests would multiply that.
            settings=client.Retrying(attempts=1),
            guard=self._elector.check if self._elector is not None else None,
        )
        self.queue: workqueue.WorkQueue[world.Key] = workqueue.WorkQueue(metrics=measured, on_error=self._report)
        measured.follow(self.queue.unfinished_seconds, self.queue.longest_running_seconds)
        self.world = world.World(
            api,
            self.queue.add,
            children_changed=self._children_changed,
            pods_changed=self._pods_changed,
            watches_pods=settings.gates.in_place_restart,
            watching=watching,
            now=now,
        )
        self.placement = placement.Repairs(api, writer, self.world.places, now=now)
        self.recorder = events.Recorder(
            api,
            controller='jobset',
            instance=settings.instance,
            settings=settings.recording,
            on_drop=measured.event_dropped,
            clock=monotonic,
            now=now,
        )
        self._passes = passes.Passes(
            self.world,
            executor.Executor(writer, self.world, self.tell, settings.gates),
            gates=settings.gates,
            measured=measured,
            failures=self.queue.failures,
            clock=now,
            monotonic=monotonic,
            gathers=settings.batch_seconds > 0,
        )

    def _make_elector(self, api: client.Client, wanted: Leadership | None) -> lease.Elector | None:
        if wanted is None:
            return None
        return lease.Elector(
            api,
            namespace=wanted.namespace,
            name=wanted.name,
            identity=wanted.identity,
            settings=wanted.settings,
            on_change=lambda leads: self._measured.leads(wanted.name, leads),
        )

    @property
    def is_synced(self) -> bool:
        """Whether every cache has been filled."""
        return all(each.is_synced for each in self.world.caches)

    @property
    def has_lost(self) -> bool:
        """Whether this replica led once and does so no more: it should have ended by itself then."""
        return self._has_led and not self.leads

    @property
    def leads(self) -> bool:
        """Whether this replica may write."""
        return self._elector is None or self._elector.holds()

    async def run(self) -> None:
        """Run until :meth:`stop`, then end gracefully: finish running passes, send events, hand over the leadership.

        Ends by itself, with an exception, when the leadership is lost.
        """
        async with asyncio.TaskGroup() as group:
            helpers = [group.create_task(self._start(), name='start')]
            helpers.append(group.create_task(self.world.run(), name='caches'))
            helpers.append(group.create_task(self.recorder.run(), name='events'))
            if self._elector is not None:
                helpers.append(group.create_task(self._elector.run(), name='leadership'))
            await self._stopping.wait()
            if self._has_begun:
                self.queue.stop()
                self.placement.stop()
                await asyncio.wait(helpers[:1])
            await self.recorder.flush()
            for helper in helpers:
                helper.cancel()
        if self._elector is not None:
            await self._elector.release()

    async def _start(self) -> None:
        """Make passes, from the time that everything is known and this replica leads, until told to stop."""
        await discovery.wait_for(self._api, NEEDED)
        await self.world.synced()
        if self._elector is not None:
            await self._elector.held()
        self._has_led = True
        logger.info('caches are filled and this replica leads; passes begin')
        self._has_begun = True
        async with asyncio.TaskGroup() as group:
            group.create_task(self.queue.run(self._passes.handle, workers=self._settings.workers, grace=GRACE_SECONDS))
            group.create_task(self.placement.work(grace=GRACE_SECONDS))

    def stop(self) -> None:
        """Let :meth:`run` come to its end."""
        self._stopping.set()

    def _children_changed(self, key: world.Key) -> None:
        self.queue.add_after(key, self._settings.batch_seconds)

    def _pods_changed(self, key: world.Key) -> None:
        self.queue.add_after(key, self._settings.pod_batch_seconds)

    def tell(self, jobset: types.JobSet, event: plan.Event) -> None:
        """Send an Event about a JobSet."""
        version = jobset.metadata.resource_version
        regarding = events.ObjectRef.of(
            jobset.metadata, api_version=keys.API_VERSION, kind=keys.KIND, resource_version=version
        )
        kind = events.EventType.WARNING if event.type == plan.EventType.WARNING else events.EventType.NORMAL
        self.recorder.record(regarding, type=kind, reason=event.reason, note=event.note)

    def _report(self, key: world.Key, error: BaseException) -> None:
        """A pass failed and will be repeated."""
        trace = error if passes.is_worth_a_trace(error) else None
        failures = self.queue.failures(key)
        logger.warning(
            '%s/%s: pass failed, trying again: %s', *key, error, exc_info=trace, extra={'failures': failures}
        )
