"""The cases: what is written, until when it is timed, and what the goal is.

Each has a raw run, without controller, and one with the controller. Both are timed from the first write until the
load's own watch has seen the last of what is waited for.
"""

import abc
import dataclasses
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from benchmarks.controller import load, objects

FIRST: Final = '0'
SECOND: Final = '1'

Begin = Callable[[], float]
"""Called where the timed part begins; returns the time."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Goal:
    """What the controller may cost at most; None where nothing is asked."""

    ratio: float | None = None
    """Times the raw run of the same pair."""

    cpu_seconds: float | None = None
    rss_mib: float | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case(abc.ABC):
    """One case. The controller runs during :meth:`ours` only."""

    jobs: int
    """Jobs of each JobSet."""

    goal: Goal
    jobsets: int = 1

    @property
    def total(self) -> int:
        """Jobs of all JobSets."""
        return self.jobs * self.jobsets

    async def raw(self, api: load.Load, name: str) -> float:
        """Seconds that the API server takes for the Jobs alone."""
        bodies = await self._bodies(api, name)
        start = load.clock()
        await api.create(load.JOBS, bodies)
        return await api.jobs.until(lambda: api.jobs.attempts[FIRST] == self.total) - start

    @abc.abstractmethod
    async def ours(self, api: load.Load, name: str, begin: Begin) -> float:
        """The time at which the case was done, after ``begin`` was called once."""

    async def _bodies(self, api: load.Load, name: str) -> list[bytes]:
        """The Jobs of one JobSet that owns them all; it is created here, and managed by nobody."""
        owner = objects.jobset(name, jobs=self.total, managed_by=objects.SOMEBODY_ELSE)
        stored = await api.create(load.JOBSETS, [msgspec.json.encode(owner)])
        return objects.job_bodies(stored[0])

    async def _create(self, api: load.Load, name: str, begin: Begin) -> float:
        """Create the JobSets; returns when all Jobs were there."""
        names = [name] if self.jobsets == 1 else [f'{name}-{index}' for index in range(self.jobsets)]
        bodies = [msgspec.json.encode(objects.jobset(each, jobs=self.jobs)) for each in names]
        begin()
        await api.create(load.JOBSETS, bodies)
        return await api.jobs.until(lambda: api.jobs.attempts[FIRST] == self.total)


class Creation(Case):
    """JobSets are created, until all their Jobs are present."""

    async def ours(self, api: load.Load, name: str, begin: Begin) -> float:
        return await self._create(api, name, begin)


class Completion(Case):
    """All Jobs of a JobSet are set Complete, until the JobSet is Completed. Raw are the load's own writes."""

    async def raw(self, api: load.Load, name: str) -> float:
        await api.create(load.JOBS, await self._bodies(api, name))
        await api.jobs.until(lambda: api.jobs.attempts[FIRST] == self.total)
        start = load.clock()
        await api.set_status(list(api.jobs.objects), objects.completed())
        return load.clock() - start

    async def ours(self, api: load.Load, name: str, begin: Begin) -> float:
        await self._create(api, name, load.clock)
        begin()
        await api.set_status(list(api.jobs.objects), objects.completed())
        return await api.jobsets.until(lambda: _ended(api, name) == 'Completed')


class Restart(Case):
    """One Job of a JobSet fails, until all Jobs of the next attempt are present."""

    async def ours(self, api: load.Load, name: str, begin: Begin) -> float:
        await self._create(api, name, load.clock)
        begin()
        await api.set_status([f'{name}-{objects.REPLICATED_JOB}-0'], objects.failed())
        return await api.jobs.until(lambda: api.jobs.attempts[SECOND] == self.total)


def _ended(api: load.Load, name: str) -> str:
    status = api.jobsets.objects[name].status
    assert not isinstance(status, str)
    return status.terminal_state


CASES: Final[Mapping[str, Case]] = {
    'one-1000': Creation(jobs=1000, goal=Goal(ratio=1.25)),
    'one-5000': Creation(jobs=5000, goal=Goal(ratio=1.25, rss_mib=200)),
    'complete-1000': Completion(jobs=1000, goal=Goal()),
    'complete-5000': Completion(jobs=5000, goal=Goal(cpu_seconds=2.5, rss_mib=200)),
    'restart-1000': Restart(jobs=1000, goal=Goal(ratio=5)),
    'many-200x10': Creation(jobs=10, jobsets=200, goal=Goal(ratio=1.6)),
}
