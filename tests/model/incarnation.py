"""One life of the controller: its caches, its queue and its passes, all of them the real ones but for the queue.

The queue keeps the rules of :mod:`jobset.kube.workqueue` on the clock of the simulation.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, cast

import msgspec

from jobset.api import features, keys, pods, types
from jobset.controller import executor, failing, groups, metrics, passes, world
from jobset.core import family, plan
from jobset.core.groups import observed
from jobset.kube import client, errors, transport
from tests.model import api, clock, wire

_PAUSE: Final = (0.005, 3, 60)
"""Seconds before the first repetition of a failed pass, the factor for each further one, and the cap."""

_MEASURED: Final = metrics.Metrics()


class Told(NamedTuple):
    """An Event that was sent."""

    jobset: str
    event: plan.Event


class Cache:
    """A watch of one kind that is behind as far as somebody wants it to be."""

    def __init__(
        self,
        server: api.Server,
        plural: str,
        informer: Any,
        model: type[Any],
        *,
        label: str = '',
    ) -> None:
        self._server = server
        self._label = label
        self._log = server.log[plural]
        self.plural = plural
        self._store = informer._store
        self._decoder = msgspec.json.Decoder(model)
        self._next = 0
        self.relist()

    @property
    def behind(self) -> int:
        """How many events are still to come."""
        return len(self._log) - self._next

    def deliver(self, *, twice: bool = False) -> None:
        """The next event comes, or comes twice."""
        change = self._log[self._next]
        self._next += 1
        for _ in range(1 + twice):
            obj = self._decoder.decode(change.raw)
            if change.is_deletion or not self._heeds(change.raw):
                self._store.remove(obj.metadata)
            else:
                self._store.apply(obj)

    def relist(self) -> None:
        """The watch was lost: all is listed anew."""
        self._next = len(self._log)
        found = [self._decoder.decode(raw) for raw in self._server.raw(self.plural) if self._heeds(raw)]
        self._store.replace({(obj.metadata.namespace, obj.metadata.name): obj for obj in found}, self._server.version)

    def _heeds(self, raw: bytes) -> bool:
        """Whether the watch is about an object that looks so; one that leaves it is told of as deleted."""
        return not self._label or self._label in (msgspec.json.decode(raw)['metadata'].get('labels') or {})


class Incarnation:
    """Started from nothing but what the server holds."""

    def __init__(
        self,
        server: api.Server,
        line: wire.Wire,
        time: clock.Clock,
        *,
        told: Callable[[Told], None],
        gates: features.FeatureGates,
        has_groups: bool = False,
    ) -> None:
        self.dirty: dict[world.Key, None] = {}
        self.alarms: dict[world.Key, float] = {}
        self.failures: dict[world.Key, int] = {}
        self.stopped: dict[world.Key, BaseException] = {}
        """Why the last pass over a key failed."""

        self._time = time
        # One attempt a request: the client's own repetitions wait in real time, and a pass is repeated as a whole.
        connection = client.Client(cast(transport.Transport, line), settings=client.Retrying(attempts=1))
        self.seen = world.World(connection, self._add, watches_pods=gates.in_place_restart, now=time.now)
        self.caches = [
            Cache(
                server,
                each.resource.plural,
                each,
                each._model,  # type: ignore[attr-defined]
                label=keys.JOBSET_NAME if each.resource.plural == 'pods' else '',
            )
            for each in self.seen.caches
        ]
        if has_groups:
            self._follow_groups(server, connection, sees_pods=gates.in_place_restart)
        else:
            self.seen.groups._set(observed.State.ABSENT, None)
        self._passes = passes.Passes(
            self.seen,
            executor.Executor(
                connection, self.seen, lambda jobset, event: told(Told(jobset.metadata.name, event)), gates
            ),
            gates=gates,
            measured=_MEASURED,
            failures=lambda key: self.failures.get(key, 0),
            clock=time.now,
            monotonic=lambda: time.seconds,
        )

    def _follow_groups(self, server: api.Server, connection: client.Client, *, sees_pods: bool) -> None:
        """As after somebody has asked for a gang, and the version was found."""
        seen = self.seen.groups
        found = groups._Caches(seen, connection, groups.Served(observed.Version.V1BETA1), None)
        for each in found.own:
            each._synced.set()
            self.caches.append(Cache(server, each.resource.plural, each, each._model, label=groups.OWNED))
        found.pods._synced.set()
        if not sees_pods:
            self.caches.append(Cache(server, 'pods', found.pods, pods.Pod, label=keys.JOBSET_NAME))
        seen._begin()
        seen._set(observed.State.READY, found)

    def _add(self, key: world.Key) -> None:
        self.dirty[key] = None

    def jobset(self, key: world.Key) -> types.JobSet | None:
        """The JobSet as the caches know it."""
        return self.seen.jobsets.get(*key)

    def family(self, name: str) -> family.Family:
        """The child Jobs of a JobSet as the caches know them."""
        jobset = self.seen.jobsets.get('default', name)
        assert jobset is not None
        return self.seen.family(jobset)

    async def run(self, key: world.Key) -> bool:
        """One pass; returns whether it succeeded."""
        self.dirty.pop(key, None)
        self.alarms.pop(key, None)
        try:
            again = await self._passes.handle(key)
        except (failing.PassFailedError, errors.ApiError) as error:
            failures = self.failures[key] = self.failures.get(key, 0) + 1
            self.stopped[key] = error
            base, factor, cap = _PAUSE
            self.alarms[key] = self._time.seconds + min(cap, base * factor ** min(failures - 1, 20))
            return False
        # A set that has ended makes nothing any more; when to look again is no repetition then.
        if not self._passes.holds(key) or (again or 0) > passes.HOLD_CAP_SECONDS:
            self.failures.pop(key, None)
            self.stopped.pop(key, None)
        if again is not None:
            self.alarms[key] = self._time.seconds + again
        return True
