"""A cluster with the controller in it, driven step by step by chance.

Every step is one thing: an event reaches one cache, a Job starts, a pass runs. During a pass anything else may happen
around each of its requests. After each change on the server the invariants are checked. The same seed gives the same
story, which is told when something is wrong.
"""

import asyncio
import math
import random
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from jobset.api import features
from jobset.controller import world
from jobset.core import plan
from tests.model import api, clock, environment, incarnation, invariants, kubelets, wire

Object = dict[str, Any]

_PASSES_AT_MOST: Final = 400
"""Passes in one settling, after which it is taken for a hot loop."""


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How a simulation goes. The default is calm: all news arrive at once, and nothing goes wrong."""

    is_calm: bool = True
    trouble: wire.Trouble = field(default_factory=wire.Trouble)
    relist: float = 0
    """How likely each delivery is a lost watch instead."""

    twice: float = 0
    """How likely an event comes twice."""

    ready_after: float = 0
    has_pods: bool = False
    """Whether Jobs make pods; in their place a Job says how its pods fare."""

    has_groups: bool = False
    """Whether the server knows Workloads and PodGroups."""

    is_modern: bool = True
    gates: features.FeatureGates = field(default_factory=features.FeatureGates)


class Simulation:
    """Everything there is."""

    def __init__(self, seed: int = 0, manner: Manner | None = None) -> None:
        self.manner = manner or Manner()
        self.story: list[str] = []
        self.told: list[incarnation.Told] = []
        self.passes = 0
        self.held: set[str] = set()
        """Kinds of which no news reach the controller."""

        self.time = clock.Clock()
        self.server = api.Server(self.time, is_modern=self.manner.is_modern)
        self.environment = environment.Environment(
            self.server, self.time, ready_after=self.manner.ready_after, has_pods=self.manner.has_pods
        )
        self.checks = invariants.Checks(self.server, self.time)
        self.server.watchers.append(self._note)
        self.chance = random.Random(seed)
        self.wire = wire.Wire(
            self.server,
            chance=self.chance,
            trouble=self.manner.trouble,
            around=self._around,
            check=self.checks.write,
            log=self._log,
        )
        self._new_life()

    def _new_life(self) -> None:
        self.controller = incarnation.Incarnation(
            self.server,
            self.wire,
            self.time,
            told=self.told.append,
            gates=self.manner.gates,
            has_groups=self.manner.has_groups,
        )

    def restart(self) -> None:
        """The controller ends and another one begins."""
        self._log('restart of the controller')
        self._new_life()

    def run(self, story: Coroutine[Any, Any, None]) -> None:
        """Run a story to its end; what went on is added to any failure."""
        try:
            asyncio.run(story)
        except Exception as error:
            error.add_note('\n'.join(self.story[-80:]))
            raise

    # What users and others do.

    def create(self, plural: str, obj: Object, *, manager: str = 'user') -> None:
        """Somebody makes an object."""
        self._log(f'{manager} creates {plural}/{obj["metadata"]["name"]}')
        self.server.create(plural, obj, manager=manager)

    def edit(self, plural: str, name: str, change: Callable[[Object], None], *, manager: str = 'user') -> None:
        """Somebody changes an object."""
        self._log(f'{manager} changes {plural}/{name}')
        self.server.change(plural, name, change, manager=manager)

    def delete(self, plural: str, name: str, *, foreground: bool = False) -> None:
        """Somebody deletes an object."""
        self._log(f'user deletes {plural}/{name}')
        self.server.delete(plural, name, {'propagationPolicy': 'Foreground'} if foreground else {})

    def suspend(self, name: str, *, to: bool) -> None:
        """The user suspends or resumes a JobSet."""
        self.edit('jobsets', name, lambda obj: obj['spec'].update(suspend=to))

    def finish(self, job: str, kind: str = 'Complete', *, reason: str = '', message: str = '') -> bool:
        """A Job that runs ends; returns whether it was there to do so."""
        found = self.server.get('jobs', job)
        if found is None or not found['status'].get('startTime') or 'deletionTimestamp' in found['metadata']:
            return False
        if any(c['type'] in ('Complete', 'Failed') for c in found['status'].get('conditions', [])):
            return False
        self._log(f'{job} ends: {kind} {reason}')
        self.environment.finish(job, kind, reason=reason, message=message)
        return True

    def fail(self, job: str, reason: str = 'BackoffLimitExceeded', message: str = 'gave up') -> bool:
        """A Job that runs fails."""
        return self.finish(job, 'Failed', reason=reason, message=message)

    def jobset(self, name: str = 'js') -> Object:
        """A JobSet as the server holds it."""
        found = self.server.get('jobsets', name)
        assert found is not None
        return found

    def condition(self, kind: str, name: str = 'js') -> str | None:
        """The status of a condition."""
        conditions = self.jobset(name).get('status', {}).get('conditions', [])
        return next((c['status'] for c in conditions if c['type'] == kind), None)

    def events(self) -> list[plan.Event]:
        """What was told so far."""
        return [told.event for told in self.told]

    # How time passes.

    async def settle_until(self, end: float) -> None:
        """Let everything happen that happens by itself until then, in seconds since the start."""
        await self.settle(end)
        self.time.advance(end)
        await self.settle(end)

    async def settle(self, end: float = math.inf) -> None:
        """Let everything happen that happens by itself, until nothing does. Waits for what the clock brings as well.

        What a failed pass waits for is given up once repeating it changes nothing.
        """
        self.passes = 0
        hopeless: dict[world.Key, int] = {}
        while True:
            if await self.step():
                continue
            due = [step.due for step in self.environment.steps() if step.due > self.time.seconds]
            failed = {
                key: at
                for key, at in self.controller.alarms.items()
                if key in self.controller.failures and hopeless.get(key) != self.server.version
            }
            later = min([*due, *failed.values()], default=math.inf)
            if later > end or later == math.inf:
                return
            self.time.advance(later)
            for key, at in failed.items():
                if at <= later:
                    version, left = self.server.version, self.wire.left
                    done = await self._pass(key)
                    if not done and self.server.version == version and self.wire.left == left:
                        hopeless[key] = version

    async def again(self, key: world.Key) -> None:
        """The controller sees how things are and makes a pass, needed or not."""
        self._catch_up()
        await self._pass(key)

    async def glimpse(self) -> None:
        """The controller sees how things are, makes one pass, and nothing else happens."""
        self._catch_up()
        for key in list(self.controller.dirty):
            await self._pass(key)

    async def advance(self, seconds: float) -> None:
        """Let that much time pass, and everything happen that it brings."""
        end = self.time.seconds + seconds
        await self.settle()
        while True:
            alarms = [(at, key) for key, at in self.controller.alarms.items() if at <= end]
            if not alarms:
                break
            at, key = min(alarms)
            self.time.advance(at)
            await self._pass(key)
            await self.settle()
        self.time.advance(end)
        await self.settle()

    async def step(self) -> bool:
        """One thing happens; False when there is nothing that could."""
        if self.manner.is_calm:
            self._catch_up()
        choices = list(self._small_steps())
        dirty = list(self.controller.dirty)
        early = self._early_repetition() if choices and not self.manner.is_calm else None
        if early is not None:
            await self._pass(early)
            return True
        if not choices and not dirty:
            return False
        if dirty and (not choices or self.chance.random() < 0.3):
            await self._pass(dirty[0] if self.manner.is_calm else self.chance.choice(dirty))
        elif self.manner.is_calm:
            choices[0]()
        else:
            self.chance.choice(choices)()
        return True

    def _early_repetition(self) -> world.Key | None:
        """A failed pass may be repeated before any news arrive."""
        failed = [key for key in self.controller.alarms if key in self.controller.failures]
        if not failed or self.chance.random() >= 0.2:
            return None
        self.time.advance(self.controller.alarms[failed[0]])
        return failed[0]

    def _small_steps(self) -> Iterator[Callable[[], None]]:
        """All that may happen now, passes aside."""
        for cache in self.controller.caches:
            if cache.behind and cache.plural not in self.held:
                yield lambda cache=cache: self._deliver(cache)  # type: ignore[misc]
        for step in self.environment.steps():
            if step.due <= self.time.seconds:
                yield lambda step=step: self._happen(step)  # type: ignore[misc]

    def _deliver(self, cache: incarnation.Cache) -> None:
        if self.chance.random() < self.manner.relist:
            self._log('a watch is lost')
            cache.relist()
        else:
            cache.deliver(twice=self.chance.random() < self.manner.twice)

    def _happen(self, step: kubelets.Step) -> None:
        self._log(step.what)
        step.act()

    def _around(self) -> None:
        """Before and after each request of the controller anything may happen, but no second pass."""
        if self.manner.is_calm:
            return
        while self.chance.random() < 0.4:
            choices = list(self._small_steps())
            if not choices:
                return
            self.chance.choice(choices)()

    def _catch_up(self) -> None:
        for cache in self.controller.caches:
            while cache.behind and cache.plural not in self.held:
                cache.deliver()

    async def _pass(self, key: world.Key) -> bool:
        self.passes += 1
        assert self.passes <= _PASSES_AT_MOST, f'{key} does not come to rest'
        self._log(f'pass over {key.name}')
        self.checks.begin(self.controller.jobset(key), prompt=self.manner.is_calm)
        done = False
        try:
            done = await self.controller.run(key)
        except wire.Crash:
            self.restart()
        except BaseExceptionGroup as group:
            if group.split(wire.Crash)[1] is not None:
                raise
            self.restart()
        finally:
            self.checks.end()
        if not done and key in self.controller.stopped:
            self._log(f'pass failed: {self.controller.stopped[key]}')
        return done

    def _note(self, change: api.Change) -> None:
        self.checks.see(change)

    def _log(self, text: str) -> None:
        self.story.append(f'{self.time.seconds:9.3f} {text}')
