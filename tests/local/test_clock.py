"""Virtual time: it jumps, it is exact, and nothing is lost in it."""

import asyncio
import datetime
import time

import pytest

from jobset.local import clock


def test_time_passes_only_while_all_wait() -> None:
    told: list[tuple[str, float]] = []

    async def wait(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        told.append((name, asyncio.get_running_loop().time()))

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for name, seconds in (('a year', 365 * 86400.0), ('a day', 86400.0), ('a blink', 0.25)):
                group.create_task(wait(name, seconds))

    clock.run(main())

    assert told == [('a blink', 0.25), ('a day', 86400.0), ('a year', 365 * 86400.0)]


def test_the_time_of_day_follows() -> None:
    async def main() -> tuple[datetime.datetime, float]:
        of_day = clock.Clock(datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC))
        await asyncio.sleep(90.5)
        return of_day.now(), of_day.seconds()

    assert clock.run(main()) == (datetime.datetime(2026, 3, 1, 0, 1, 30, 500_000, tzinfo=datetime.UTC), 90.5)


def test_threads_are_waited_for_while_time_stands_still() -> None:
    async def main() -> list[str]:
        told: list[str] = []
        loop = asyncio.get_running_loop()
        loop.call_later(1, told.append, 'a second')
        await asyncio.to_thread(time.sleep, 0.05)
        told.append(f'the thread, at {loop.time()}')
        await asyncio.sleep(2)
        return told

    assert clock.run(main()) == ['the thread, at 0.0', 'a second']


def test_waiting_for_nothing_is_told() -> None:
    async def main() -> None:
        await asyncio.Event().wait()

    with pytest.raises(clock.DeadlockError):
        clock.run(main())


def test_a_hundred_thousand_timers_go_off_in_order() -> None:
    async def main() -> list[float]:
        loop = asyncio.get_running_loop()
        rung: list[float] = []
        for number in range(100_000):
            # Neither in order nor in the reverse of it.
            loop.call_at(float(number * 7919 % 100_000), lambda: rung.append(loop.time()))
        await asyncio.sleep(100_000)
        return rung

    assert clock.run(main()) == [float(second) for second in range(100_000)]


def test_the_time_of_the_world() -> None:
    before = datetime.datetime.now(datetime.UTC)

    assert before <= clock.wall() <= datetime.datetime.now(datetime.UTC)
