"""Who gets a pass when; on a clock that jumps."""

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobset.kube import errors, workqueue
from tests.kube import virtual

EXACT = workqueue.Pacing(jitter=0)


@dataclass
class Passes:
    """A handler that takes its time, and remembers when it was called for what."""

    seconds: float = 0
    outcome: Callable[[str, int], float | None] = lambda _key, _count: None
    log: list[tuple[float, str]] = field(default_factory=list)
    ended: list[tuple[float, str]] = field(default_factory=list)
    running: set[str] = field(default_factory=set)
    most: int = 0

    async def __call__(self, key: str) -> float | None:
        assert key not in self.running
        self.running.add(key)
        self.most = max(self.most, len(self.running))
        self.log.append((round(virtual.now(), 6), key))
        try:
            await asyncio.sleep(self.seconds)
            return self.outcome(key, sum(one == key for _, one in self.log))
        finally:
            self.running.discard(key)
            self.ended.append((round(virtual.now(), 6), key))


async def run_for(
    queue: workqueue.WorkQueue[str],
    passes: Passes,
    seconds: float,
    *,
    workers: int = 2,
    grace: float = 10,
) -> None:
    """Runs the queue, and stops it after so long."""
    asyncio.get_running_loop().call_later(seconds, queue.stop)
    await queue.run(passes, workers=workers, grace=grace)


@virtual.timed
async def test_a_key_that_is_added_often_is_passed_once() -> None:
    queue = workqueue.WorkQueue[str]()
    for key in ['a', 'b', 'a', 'a', 'b']:
        queue.add(key)
    passes = Passes()

    assert len(queue) == 2
    await run_for(queue, passes, 1)

    assert passes.log == [(0, 'a'), (0, 'b')]


@virtual.timed
async def test_a_key_that_is_added_during_its_pass_is_passed_again_afterwards() -> None:
    queue = workqueue.WorkQueue[str]()
    queue.add('a')
    passes = Passes(seconds=5)
    for delay in (1, 2, 3):
        asyncio.get_running_loop().call_later(delay, queue.add, 'a')

    await run_for(queue, passes, 30)

    assert passes.log == [(0, 'a'), (5, 'a')]


@virtual.timed
async def test_no_more_passes_at_once_than_workers() -> None:
    queue = workqueue.WorkQueue[str]()
    for number in range(7):
        queue.add(f'key-{number}')
    passes = Passes(seconds=1)

    await run_for(queue, passes, 30, workers=3)

    assert passes.most == 3
    assert [at for at, _ in passes.log] == [0, 0, 0, 1, 1, 1, 2]


def failing(_key: str, _count: int) -> float | None:
    raise ValueError('no')


@virtual.timed
async def test_failures_come_again_ever_later() -> None:
    queue = workqueue.WorkQueue[str](pacing=EXACT, on_error=lambda _key, _error: None)
    queue.add('a')
    passes = Passes(outcome=failing)

    await run_for(queue, passes, 200)

    gaps = [round(later[0] - earlier[0], 6) for earlier, later in itertools.pairwise(passes.log)]
    assert gaps == [0.005, 0.015, 0.045, 0.135, 0.405, 1.215, 3.645, 10.935, 32.805, 60, 60]
    assert queue.failures('a') == 12


@virtual.timed
async def test_an_object_in_trouble_costs_few_requests() -> None:
    """At most 20 in the first ten seconds and one a second after it, when each pass makes two."""
    queue = workqueue.WorkQueue[str](on_error=lambda _key, _error: None)
    queue.add('a')
    passes = Passes(outcome=failing)

    await run_for(queue, passes, 3600)

    times = [at for at, _ in passes.log]
    assert sum(at < 10 for at in times) * 2 <= 20
    assert all(later - earlier >= 2 for earlier, later in itertools.pairwise(times) if later > 10)
    assert len(times) >= 60  # and it is never given up


@virtual.timed
async def test_success_forgets_failures() -> None:
    def twice(_key: str, count: int) -> float | None:
        if count in {1, 2, 4}:
            raise errors.Conflict(409, 'Conflict', 'changed')
        return 10 if count == 3 else None

    queue = workqueue.WorkQueue[str](pacing=EXACT, on_error=lambda _key, _error: None)
    queue.add('a')
    passes = Passes(outcome=twice)

    await run_for(queue, passes, 60)

    assert [at for at, _ in passes.log] == [0, 0.005, 0.02, 10.02, 10.025]


@virtual.timed
async def test_the_server_says_when_to_come_again() -> None:
    def busy(_key: str, count: int) -> float | None:
        if count == 1:
            raise errors.TooManyRequests(429, 'TooManyRequests', 'later', retry_after=7)
        return None

    queue = workqueue.WorkQueue[str](pacing=EXACT, on_error=lambda _key, _error: None)
    queue.add('a')
    passes = Passes(outcome=busy)

    await run_for(queue, passes, 60)

    assert [at for at, _ in passes.log] == [0, 7]


@pytest.mark.parametrize(
    ('delays', 'at'),
    [
        pytest.param([5.0, 3.0, 9.0], [3], id='the earliest of several is kept'),
        pytest.param([0.0, 5.0], [0, 5], id='none at all does not wait for a later one'),
        pytest.param([5.0, -1.0], [0, 5], id='a time that has passed is now'),
    ],
)
@virtual.timed
async def test_delayed(delays: list[float], at: list[float]) -> None:
    queue = workqueue.WorkQueue[str]()
    for delay in delays:
        queue.add_after('a', delay)
    passes = Passes()

    await run_for(queue, passes, 60)

    assert [when for when, _ in passes.log] == at


@virtual.timed
async def test_stop_lets_running_passes_end_and_begins_none() -> None:
    queue = workqueue.WorkQueue[str]()
    for key in 'abcd':
        queue.add(key)
    passes = Passes(seconds=4)

    await run_for(queue, passes, 1)

    assert virtual.now() == 4
    assert passes.ended == [(4, 'a'), (4, 'b')]
    assert len(queue) == 2


@virtual.timed
async def test_stop_is_bounded_and_loses_no_key() -> None:
    queue = workqueue.WorkQueue[str]()
    for key in 'abc':
        queue.add(key)
    passes = Passes(seconds=100)

    await run_for(queue, passes, 1, grace=3)
    assert virtual.now() == 4
    again = Passes()
    await run_for(queue, again, 1)

    assert sorted(key for _, key in again.log) == ['a', 'b', 'c']


@virtual.timed
async def test_ages_of_passes_under_way() -> None:
    queue = workqueue.WorkQueue[str]()
    queue.add('a')
    seen: list[tuple[float, float]] = []
    loop = asyncio.get_running_loop()
    loop.call_later(2, queue.add, 'b')
    loop.call_later(5, lambda: seen.append((queue.unfinished_seconds(), queue.longest_running_seconds())))

    await run_for(queue, Passes(seconds=6), 10)

    assert seen == [(8, 5)]
    assert (queue.unfinished_seconds(), queue.longest_running_seconds()) == (0, 0)


class Metrics(workqueue.NoMetrics):
    def __init__(self) -> None:
        self.story: list[tuple[str, float]] = []

    def depth(self, keys: int) -> None:
        self.story.append(('depth', keys))

    def added(self) -> None:
        self.story.append(('added', 1))

    def waited(self, seconds: float) -> None:
        self.story.append(('waited', seconds))

    def worked(self, seconds: float) -> None:
        self.story.append(('worked', seconds))

    def retried(self) -> None:
        self.story.append(('retried', 1))


@virtual.timed
async def test_metrics_tell_the_story_of_a_key() -> None:
    metrics = Metrics()
    queue = workqueue.WorkQueue[str](pacing=EXACT, metrics=metrics, on_error=lambda _key, _error: None)
    queue.add('a')
    await asyncio.sleep(3)

    def once(_key: str, count: int) -> float | None:
        return failing(_key, count) if count == 1 else None

    await run_for(queue, Passes(seconds=2, outcome=once), 10)

    first = [('added', 1), ('depth', 1), ('depth', 0), ('waited', 3), ('retried', 1), ('worked', 2)]
    second = [('added', 1), ('depth', 1), ('depth', 0), ('waited', 0), ('worked', 2)]
    assert metrics.story == first + second


Step = tuple[str, str, float]
STEPS = st.lists(
    st.tuples(st.sampled_from(['add', 'after']), st.sampled_from('abc'), st.floats(0, 3)),
    min_size=1,
    max_size=20,
)


@settings(max_examples=200, deadline=None)
@given(steps=STEPS, workers=st.integers(1, 3), seconds=st.floats(0, 2))
def test_whatever_is_added_is_passed_after_it_was_added(steps: list[Step], workers: int, seconds: float) -> None:
    @virtual.timed
    async def story() -> None:
        queue = workqueue.WorkQueue[str]()
        passes = Passes(seconds=seconds)  # which also sees to it that no key is passed twice at once
        added: dict[str, float] = {}

        async def add() -> None:
            for what, key, delay in steps:
                if what == 'add':
                    queue.add(key)
                    added[key] = virtual.now()
                else:
                    queue.add_after(key, delay)
                    added[key] = max(added.get(key, 0), virtual.now())
                await asyncio.sleep(delay / 2)

        async with asyncio.TaskGroup() as group:
            group.create_task(add())
            group.create_task(run_for(queue, passes, 1000, workers=workers))
        last = {key: at for at, key in passes.log}
        assert all(last[key] >= round(at, 6) for key, at in added.items())
        assert passes.most <= workers
        assert len(queue) == 0

    story()
