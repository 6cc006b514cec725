"""All that the scheduler knows at a moment: who waits, who runs, who was promised a place, and what is left.

Facts are told with the methods, in any order; telling one twice changes nothing. Whatever could let somebody start who
could not before opens the lines again, so that those in them are looked at: see :mod:`jobset.scheduler.waiting`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from jobset.scheduler import ledger, model, pools, waiting
from jobset.scheduler.quota import tree
from jobset.scheduler.topology import nodes


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What administrators have written."""

    queues: tuple[model.Queue, ...] = ()
    cohorts: tuple[model.Cohort, ...] = ()
    flavours: tuple[model.Flavour, ...] = ()
    topologies: tuple[model.Topology, ...] = ()


class Promise(msgspec.Struct, frozen=True, kw_only=True):
    """Room that others are made to leave, and whose it will be."""

    workload: model.Workload
    admission: model.Admission
    victims: frozenset[str]
    made: float

    @property
    def owner(self) -> str:
        """Under which name the room is held."""
        return f'promised to {self.workload.key}'


class Reservation(msgspec.Struct, frozen=True, kw_only=True):
    """When and where somebody will start who cannot now, if all end when they should."""

    workload: model.Workload
    at: float
    admission: model.Admission
    awaited: tuple[str, ...]
    """Who has to end first."""


class Books:
    """The state of the scheduler, without any decision."""

    def __init__(self, setup: Setup, known: Iterable[nodes.Node] = (), *, by_priority: bool = True) -> None:
        self._by_priority = by_priority
        self.setup = setup
        self.queues: Mapping[str, model.Queue] = {}
        self.flavours: Mapping[str, model.Flavour] = {}
        self.lines: Final[dict[str, waiting.Line]] = {}
        self.runs: Final[dict[str, model.Run]] = {}
        self.promises: Final[dict[str, Promise]] = {}
        self.reservations: Final[dict[str, Reservation]] = {}
        self.evictions: Final[list[tuple[float, str]]] = []
        """When whom was evicted, the latest last."""
        self._queue_of: dict[str, str] = {}
        self.ledger = ledger.Ledger(pools.Pools(setup.topologies, known), tree.Quotas(setup.queues, setup.cohorts))
        self._name(setup)

    def set_up(self, setup: Setup) -> None:
        """Administrators have changed something. Who runs keeps what it has."""
        if setup == self.setup:
            return
        pool = self.ledger.pools
        if setup.topologies != self.setup.topologies:
            fresh = pools.Pools(setup.topologies, pool.known.values())
            for owner, held in pool.owners.items():
                fresh.hold(owner, held)
            self.ledger.pools = fresh
        self.ledger.requota(tree.Quotas(setup.queues, setup.cohorts))
        self.setup = setup
        self._name(setup)
        self.wake()

    def set_node(self, node: nodes.Node) -> None:
        """A node is there, or has changed."""
        if self.ledger.pools.set_node(node):
            self.wake()

    def remove_node(self, name: str) -> None:
        """A node is gone."""
        if name in self.ledger.pools.known:
            self.ledger.pools.remove_node(name)
            self.wake()

    def submit(self, workload: model.Workload) -> None:
        """A JobSet waits, or something about one that waits has changed."""
        if workload.key in self.runs:
            return
        before = self._queue_of.get(workload.key)
        if before not in (None, workload.queue):
            self.withdraw(workload.key)
        self._queue_of[workload.key] = workload.queue
        self.line(workload.queue).add(workload)
        if before is not None:
            self._unreserve(workload.key)

    def withdraw(self, key: str) -> None:
        """A JobSet waits no longer, and will not start."""
        name = self._queue_of.pop(key, None)
        if name is not None:
            self.lines[name].remove(key)
            self._unreserve(key)
        self.break_promise(key)

    def run(self, run: model.Run) -> None:
        """A JobSet runs, or something about one that does has changed."""
        key = run.workload.key
        before = self.runs.get(key)
        if before == run:
            return
        self.withdraw(key)
        self.runs[key] = run
        if before is None or (before.admission, before.workload.queue) != (run.admission, run.workload.queue):
            self.ledger.give_back(key)
            self.ledger.take(key, run.workload.queue, run.admission)
            if before is not None:
                self.wake()

    def ended(self, key: str) -> None:
        """Nothing of a JobSet is left: it has let go of all it had, or it does not exist any more."""
        self.withdraw(key)
        if self.runs.pop(key, None) is not None:
            self.ledger.give_back(key)
            self.wake()

    def evicted(self, key: str) -> None:
        """The pods of an evicted JobSet are gone: it waits anew, at the time at which it came."""
        run = self.runs[key]
        self.ended(key)
        self.submit(msgspec.structs.replace(run.workload, evictions=run.workload.evictions + 1))

    def promise(self, promise: Promise) -> None:
        """Room that will be free belongs to somebody."""
        key = promise.workload.key
        self.break_promise(key)
        self.promises[key] = promise
        self.ledger.take(promise.owner, promise.workload.queue, promise.admission)

    def break_promise(self, key: str) -> None:
        """What was promised to a JobSet is for all again, if there was anything."""
        promise = self.promises.pop(key, None)
        if promise is not None:
            self.ledger.give_back(promise.owner)
            self.wake()

    def evict(self, key: str, eviction: model.Eviction) -> None:
        """A JobSet that runs is told to end."""
        self.runs[key] = msgspec.structs.replace(self.runs[key], eviction=eviction)
        self.evictions.append((eviction.at, key))

    def line(self, queue: str) -> waiting.Line:
        """Who waits in a queue, whether there is such a queue or not."""
        line = self.lines.get(queue)
        if line is None:
            line = self.lines[queue] = waiting.Line(self._order(queue))
        return line

    def waits(self, key: str) -> model.Workload | None:
        """The JobSet of that key where it waits."""
        name = self._queue_of.get(key)
        return None if name is None else self.lines[name].workload(key)

    @property
    def everyone(self) -> Iterator[model.Workload]:
        """All that wait, queue by queue."""
        return (each for name in sorted(self.lines) for each in self.lines[name])

    def ending_for(self, key: str) -> tuple[str, ...]:
        """Who has been told to make room for a JobSet and still holds it."""
        promise = self.promises.get(key)
        return tuple(sorted(victim for victim in promise.victims if victim in self.runs)) if promise else ()

    def wake(self) -> None:
        """Something has come free or has changed: everyone may be looked at again."""
        self.reservations.clear()
        for line in self.lines.values():
            line.wake()

    def _unreserve(self, key: str) -> None:
        if self.reservations.pop(key, None) is not None:
            self.wake()

    def _name(self, setup: Setup) -> None:
        self.queues = {each.name: each for each in setup.queues}
        self.flavours = {each.name: each for each in setup.flavours}
        for name, line in list(self.lines.items()):
            if self._order(name) != line.order:
                self.lines[name] = waiting.Line(self._order(name))
                for each in line:
                    self.lines[name].add(each)

    def _order(self, queue: str) -> waiting.Order:
        known = self.queues.get(queue)
        return waiting.Order(by_priority=self._by_priority, ageing_seconds=known.ageing_seconds if known else None)
