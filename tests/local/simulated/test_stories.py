"""Simulated clusters, with exact times."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from jobset.api import keys
from jobset.controller import world
from jobset.local import clock
from jobset.local.simulated import nodes, outages, outcomes, simulation
from jobset.local.store import storage
from tests.local.simulated import diary

ONE = (nodes.Pool(count=1, cpu='1'),)


def test_a_pod_runs_for_its_time() -> None:
    async def story() -> tuple[list[str], int]:
        async with diary.open_(tells_events=False) as day:
            before = day.versions()
            await day.pod('a', start_delay='2s', ready_after='3s', duration='90s')
            await asyncio.sleep(200)
            return day.lines, day.versions() - before

    lines, writes = clock.run(story())

    assert lines == [
        '10 a Pending',
        '10 a Pending on node-0',
        '12 a Running',
        '15 a Running ready',
        '102 a Succeeded exit 0',
    ]
    # Creation, binding, start, readiness, end.
    assert writes == 5


def test_pods_wait_for_each_other() -> None:
    async def story() -> list[str]:
        async with diary.open_(pools=ONE) as day:
            await day.pod('a', duration='60s')
            await asyncio.sleep(1)
            await day.pod('b', duration='30s')
            await asyncio.sleep(200)
            return day.lines

    assert clock.run(story()) == [
        '10 a Pending',
        '10 a Pending on node-0',
        '10 a Running ready',
        '11 b Pending',
        '11 b Pending unschedulable',
        '70 a Succeeded exit 0',
        '70 b Pending on node-0',
        '70 b Running ready',
        '100 b Succeeded exit 0',
    ]


def test_a_pod_that_is_asked_to_end() -> None:
    async def story() -> list[str]:
        async with diary.open_() as day:
            await day.pod('quick', duration='forever')
            await day.pod('slow', duration='forever', stop_after='20s')
            await day.pod('stubborn', duration='forever', stop_after='1h')
            await asyncio.sleep(10)
            del day.lines[:]
            for name in ('quick', 'slow', 'stubborn'):
                await day.delete(name)
            await asyncio.sleep(100)
            return day.lines

    assert clock.run(story()) == [
        '20 quick Running ready terminating',
        '20 slow Running ready terminating',
        '20 stubborn Running ready terminating',
        '20 quick Failed exit 143 terminating',
        '20 quick gone',
        '40 slow Failed exit 143 terminating',
        '40 slow gone',
        '50 stubborn Failed exit 137 terminating',
        '50 stubborn gone',
    ]


def test_containers_that_fail_are_started_again_ever_later() -> None:
    def rule(facts: outcomes.Facts) -> outcomes.Outcome:
        return outcomes.Outcome(duration=5, exit_code=1 if facts.restarts < 2 else 0)

    async def story() -> list[str]:
        async with diary.open_(rules=[rule]) as day:
            await day.pod('a', policy='OnFailure')
            await asyncio.sleep(100)
            return day.lines

    assert clock.run(story()) == [
        '10 a Pending',
        '10 a Pending on node-0',
        '10 a Running ready',
        '15 a Running waiting',
        '25 a Running ready restarts 1',
        '30 a Running restarts 1 waiting',
        '50 a Running ready restarts 2',
        '55 a Succeeded restarts 2 exit 0',
    ]


def test_a_node_that_is_lost() -> None:
    failing = [outages.Outage(node='node-0', at=20, evict_after=300)]

    async def story() -> list[str]:
        async with diary.open_(failing=failing, pools=(nodes.Pool(count=1, cpu='2'),)) as day:
            await day.pod('a', duration='60s')
            await asyncio.sleep(20)
            await day.pod('b', duration='60s')
            await asyncio.sleep(600)
            return day.lines

    lines = clock.run(story())

    assert [line for line in lines if ' a ' in line] == [
        '10 a Pending',
        '10 a Pending on node-0',
        '10 a Running ready',
        '320 a Failed',
        '320 a gone',
    ]
    assert [line for line in lines if ' b ' in line] == ['30 b Pending', '30 b Pending unschedulable']


def test_a_node_that_comes_back() -> None:
    failing = [outages.Outage(node='node-0', at=20, seconds=100)]

    async def story() -> list[str]:
        async with diary.open_(failing=failing, pools=ONE) as day:
            await day.pod('a', duration='60s')
            await asyncio.sleep(20)
            await day.pod('b', duration='60s')
            await asyncio.sleep(600)
            return day.lines

    lines = clock.run(story())

    assert [line for line in lines if ' a ' in line][-1] == '120 a Failed exit 137'
    assert [line for line in lines if ' b ' in line][-2:] == ['120 b Running ready', '180 b Succeeded exit 0']


def test_a_script_that_cannot_be_read_fails_the_pod() -> None:
    async def story() -> list[str]:
        async with diary.open_() as day:
            await day.pod('a', duration='soon')
            await asyncio.sleep(10)
            return day.lines

    assert clock.run(story())[-1] == '10 a Failed exit 128'


def _jobset() -> dict[str, object]:
    script = {diary.PREFIX + key: value for key, value in (('duration', '90s'), ('fail-attempts', '1'))}
    container = {'name': 'main', 'image': 'x', 'resources': {'requests': {'cpu': '1'}}}
    template = {
        'metadata': {'annotations': script},
        'spec': {'restartPolicy': 'Never', 'terminationGracePeriodSeconds': 0, 'containers': [container]},
    }
    job = {'parallelism': 2, 'completions': 2, 'backoffLimit': 0, 'template': template}
    return {
        'apiVersion': keys.API_VERSION,
        'kind': keys.KIND,
        'metadata': {'name': 'train', 'namespace': 'default'},
        'spec': {
            'failurePolicy': {'maxRestarts': 1},
            'replicatedJobs': [{'name': 'w', 'replicas': 1, 'template': {'spec': job}}],
        },
    }


def test_a_jobset_from_its_first_attempt_to_its_end() -> None:
    """The real JobSet controller and the Job controller of the plane, on simulated nodes."""

    async def story() -> tuple[dict[str, object], float]:
        async with diary.open_(whole=True) as day:
            await day.create(world.JOBSETS, _jobset())
            while True:
                await asyncio.sleep(1)
                record = day.store.get(f'{keys.PLURAL}.{keys.GROUP}', 'default', 'train')
                assert record is not None
                status = record.decode().get('status') or {}
                if status.get('terminalState'):
                    return status, asyncio.get_running_loop().time()

    status, at = clock.run(story())

    assert (status['terminalState'], status['restarts']) == ('Completed', 1)
    # Two attempts of 90 seconds each, and less than 10 for all that lies between.
    assert 190 <= at < 200


def test_a_day_without_anything_is_nothing() -> None:
    """No part of it ticks: what is counted is how often the loop had to look for what is due."""

    async def story() -> int:
        looks = 0
        async with diary.open_(whole=True):
            loop = asyncio.get_running_loop()
            select = loop._selector.select  # type: ignore[attr-defined]

            def counted(timeout: float | None = None) -> object:
                nonlocal looks
                looks += 1
                return select(timeout)

            loop._selector.select = counted  # type: ignore[attr-defined]
            await asyncio.sleep(24 * 3600)
        return looks

    # Less than one a second; the sweeps of events are one a minute, for each of three who record some.
    assert clock.run(story()) < 3 * 24 * 3600 / 10


class Broken(Exception):  # noqa: N818 - what a block says
    """Of a block, or of a part."""


@contextlib.asynccontextmanager
async def cluster(*others: simulation.MakePart) -> AsyncIterator[None]:
    time = clock.Clock()
    async with (
        simulation.serving(storage.Store(), clock=time) as served,
        simulation.Simulation(served.carrier, clock=time, pools=ONE, others=others),
    ):
        yield


@pytest.mark.parametrize('error', [Broken('mine'), ExceptionGroup('mine', [Broken('a'), Broken('b')])])
def test_what_a_block_raises_comes_out_as_it_is(error: Exception) -> None:
    async def story() -> None:
        async with cluster():
            raise error

    with pytest.raises(type(error)) as found:
        clock.run(story())

    assert found.value is error


def test_what_a_part_raises_ends_the_block_and_comes_out_as_it_is() -> None:
    error = Broken('its own')

    class Part:
        async def run(self) -> None:
            await asyncio.sleep(5)
            raise error

    async def story() -> None:
        async with cluster(lambda _api, _clock: Part()):
            await asyncio.sleep(1000)

    with pytest.raises(Broken) as found:
        clock.run(story())

    assert found.value is error
