"""One sample: a raw run, then one with a controller that was started for it, each from clean to clean."""

import contextlib
import dataclasses
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

import uvloop

from benchmarks.controller import cases, load, process
from e2e import controller

T = TypeVar('T')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cost:
    """What a run took with the controller: wall-clock seconds, and the controller's CPU seconds and memory."""

    seconds: float
    cpu_seconds: float
    peak_rss_mib: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pair:
    """What one pair of runs took. Times are wall-clock seconds; CPU and memory are the controller's."""

    raw_seconds: float
    ours_seconds: float
    cpu_seconds: float
    peak_rss_mib: float

    @property
    def ratio(self) -> float:
        """How many times the raw run the controller took."""
        return self.ours_seconds / self.raw_seconds


class Profiled(controller.Controller):
    """A controller whose stacks are sampled, see :mod:`benchmarks.controller.sampler`."""

    output: pathlib.Path

    def start(self) -> None:
        command = [sys.executable, '-m', 'benchmarks.controller.sampler', str(self.output)]
        command += ['--config', str(self._file), '--kubeconfig', self._kubeconfig, *self._arguments]
        with self.log.open('ab') as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bench:
    """Takes samples on one cluster."""

    kubeconfig: str
    profiles: pathlib.Path | None = None
    """Folder for stacks of the controller; None to measure it as it is."""

    def pair(self, name: str, case: cases.Case, number: int) -> Pair:
        """One pair of a case."""
        raw = self.raw(case, f'raw-{number}')
        cost = self.ours(name, case, number)
        return Pair(
            raw_seconds=raw,
            ours_seconds=cost.seconds,
            cpu_seconds=cost.cpu_seconds,
            peak_rss_mib=cost.peak_rss_mib,
        )

    def ours(self, name: str, case: cases.Case, number: int) -> Cost:
        """A run with the controller alone."""
        with self._controller(f'{name}-{number}') as running:
            assert running.process is not None
            watched = process.Process(running.process.pid)
            cost = self._run(lambda api: _measured(api, case, f'ours-{number}', watched), then_clear=False)
        self.clear()
        return cost

    def raw(self, case: cases.Case, name: str) -> float:
        """A raw run alone."""
        return self._run(lambda api: case.raw(api, name))

    def version(self) -> str:
        """The Kubernetes version of the cluster."""
        return self._run(lambda api: api.version())

    def clear(self) -> None:
        """Remove what a run left."""
        self._run(lambda api: api.clear(), then_clear=False)

    def _run(self, act: Callable[[load.Load], Awaitable[T]], *, then_clear: bool = True) -> T:
        async def run() -> T:
            async with load.connected(self.kubeconfig) as api:
                result = await act(api)
                if then_clear:
                    await api.clear()
                return result

        return uvloop.run(run())

    @contextlib.contextmanager
    def _controller(self, name: str) -> Iterator[controller.Controller]:
        """A fresh controller, so that CPU and memory are those of this run and its connections are as new as raw's."""
        with tempfile.TemporaryDirectory() as scratch:
            folder, arguments = pathlib.Path(scratch), ('--disable-webhooks',)
            if self.profiles is None:
                with controller.running(self.kubeconfig, folder, arguments=arguments) as running:
                    yield running
                return
            profiled = Profiled(self.kubeconfig, folder, arguments=arguments)
            profiled.output = self.profiles / f'{name}.stacks'
            profiled.start()
            try:
                profiled.wait_until_ready()
                yield profiled
            finally:
                profiled.stop()


async def _measured(api: load.Load, case: cases.Case, name: str, watched: process.Process) -> Cost:
    """Time the case, and count CPU until the controller is idle again."""
    began: list[tuple[float, float]] = []

    def begin() -> float:
        began.append((load.clock(), watched.cpu_seconds()))
        return began[-1][0]

    await watched.settled()
    end = await case.ours(api, name, begin)
    await watched.settled()
    [(start, cpu)] = began
    return Cost(
        seconds=end - start,
        cpu_seconds=watched.cpu_seconds() - cpu,
        peak_rss_mib=watched.peak_rss_mib(),
    )


def warm(bench: Bench) -> None:
    """Let the API server grow to its working size, which would else make the first raw run slow."""
    bench.clear()
    bench.raw(cases.Creation(jobs=1000, goal=cases.Goal()), 'warm-up')
