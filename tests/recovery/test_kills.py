"""A plane that is killed at random moments of its life: what was acknowledged stays, and what was begun is finished."""

import asyncio
import contextlib
import random
import re
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from tests.recovery import processes
from tests.recovery.conftest import IN_FULL, SEED
from tests.recovery.diary import Diary
from tests.recovery.processes import Plane, Process
from tests.recovery.server import connected
from tests.recovery.working import KINDS, NAMESPACE, Maker, Run, Trail, Work
from tests.recovery.writing import Writer

KILLS: Final = 200 if IN_FULL else 6
WRITERS: Final = 4

EARLY: Final = 0.35
"""How many of the kills come while the plane still starts."""

EARLY_SECONDS: Final = 1.5
LATE_SECONDS: Final = 3
"""A plane that sees nothing happen is killed after so long."""

CHANGES: Final = 300

CLEARED_SECONDS: Final = 30
LOOK_SECONDS: Final = 0.1

KINDS_FOLLOWED: Final = ('configmaps', 'jobsets', 'jobs', 'pods', 'persistentvolumeclaims')


class Killer:
    """Ends the plane when it hurts: while it starts, and after some change of something."""

    def __init__(self, plane: Plane, diary: Diary, mark: str) -> None:
        self.earlier: set[Process] = set()
        """Processes that were there after a kill."""

        self.starts: list[float] = []
        self.early = 0
        self._plane = plane
        self._diary = diary
        self._mark = mark
        self._chance = random.Random(SEED)

    async def run(self, times: int) -> None:
        """Kill it so many times; the last life goes on."""
        for _ in range(times):
            await self._wait_for_the_moment()
            before = processes.marked(self._mark)
            await self._plane.kill()
            self.earlier |= before
            self._plane.start()
        await self._ready()

    async def _wait_for_the_moment(self) -> None:
        if self._chance.random() < EARLY:
            await asyncio.sleep(self._chance.uniform(0, EARLY_SECONDS))
            self.early += 1
            return
        await self._ready()
        wanted = self._diary.changes + self._chance.randrange(CHANGES)
        with contextlib.suppress(AssertionError):
            await self._diary.until(lambda: self._diary.changes >= wanted, what='changes', seconds=LATE_SECONDS)

    async def _ready(self) -> None:
        began = time.monotonic()
        await self._plane.ready()
        self.starts.append(time.monotonic() - began)
        assert processes.alive(self.earlier) == {}, 'processes of an earlier life still run'
        self.earlier.clear()


@contextlib.asynccontextmanager
async def following(diary: Diary) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(diary.follow(plural)) for plural in KINDS_FOLLOWED]
        yield
        for task in tasks:
            task.cancel()


async def test_kills_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    mark, trail = secrets.token_hex(8), Trail(tmp_path / 'trail')
    plane = Plane(tmp_path / 'plane', '--snapshot-bytes', '200000', mark=mark)
    plane.start()
    try:
        await plane.ready()
        async with connected(plane.kubeconfig, NAMESPACE) as server:
            await server.once('POST', '/api/v1/namespaces', {'metadata': {'name': NAMESPACE}})
            diary = Diary(server, mark=trail.size)
            killer = Killer(plane, diary, mark)
            work = Work(server, diary, Maker(trail.file, mark))
            writers = [Writer(server, diary, f'writer-{number}', SEED) for number in range(WRITERS)]
            async with following(diary), asyncio.TaskGroup() as group:
                everybody: list[Work | Writer] = [work, *writers]
                for busy in everybody:
                    group.create_task(busy.run())
                await killer.run(KILLS)
                for busy in everybody:
                    busy.enough = True
            for writer in writers:
                await writer.check_all()
            left = {plural: (await server.ask('GET', server.path(plural)))['items'] for plural in KINDS_FOLLOWED[1:]}
            assert left == {plural: [] for plural in left}
            try:
                async with asyncio.timeout(CLEARED_SECONDS):
                    # A pod's folder goes a moment after the pod.
                    while leftovers(plane.folder) - {'process.json'}:
                        await asyncio.sleep(LOOK_SECONDS)
            except TimeoutError:
                assert leftovers(plane.folder) == {'process.json'}
                raise
        assert await plane.stop() == 0
    finally:
        await plane.clear()
    runs = trail.runs()
    print(  # noqa: T201 - the figures of a long run are half of what it is for
        f'{KILLS} kills, {killer.early} of them while it started: {work.ended.total()} JobSets ended as they must, '
        f'with {work.restarts} restarts and {sum(run.word == "start" for run in runs)} runs of pods; '
        f'{sum(writer.acknowledged for writer in writers)} writes acknowledged, all found again; '
        f'{sum(writer.unanswered for writer in writers)} without an answer, done or not done; {dict(diary.counts)}; '
        f'{len(killer.starts)} starts, {sorted(killer.starts)[len(killer.starts) // 2]:.2f} s in the middle'
    )
    assert work.ended.keys() == {kind.name for kind in KINDS}
    assert run_again(runs, diary) == []
    assert processes.alive(processes.marked(mark)) == {}
    assert processes.address_ranges() & diary.address_ranges() == set()
    assert leftovers(plane.folder) == set()


def run_again(runs: list[Run], diary: Diary) -> list[Run]:
    """Runs of a pod that had run, and of a Job that was complete."""
    starts = [run for run in runs if run.word == 'start']
    times = Counter(run.pod for run in starts)
    return [
        run
        for run in starts
        if (times[run.pod] > 1 and not run.may_repeat) or diary.completed.get(run.job, run.place) < run.place
    ]


def leftovers(folder: Path) -> set[str]:
    """Files of a plane that has ended, but for those that the next life needs, and the logs."""
    kept = re.compile(r'(plane\.log|data/(lock|synced|(snapshot|journal)-\d{8})|identity/\w+\.?\w+|kubeconfig|logs/.*)')
    empty = {'data', 'identity', 'logs', 'pods', 'pods/.try', 'volumes'}
    found = {str(path.relative_to(folder)) for path in folder.rglob('*')}
    return {name for name in found if not kept.fullmatch(name)} - empty
