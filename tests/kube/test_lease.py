"""One leader at a time, through crashes, freezes and lost answers; on a clock that jumps."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobset.kube import client, errors, lease, requests
from tests.kube import fakes, virtual

PATH = requests.LEASES.item('system', 'leader')


@dataclass
class Replica:
    """One process that competes, with a network of its own."""

    name: str
    carrier: fakes.Carrier
    elector: lease.Elector
    turns: list[tuple[float, bool]]

    async def run(self) -> None:
        """As a process does that starts again when it has lost."""
        while True:
            with contextlib.suppress(lease.Lost):
                await self.elector.run()


def replica(server: fakes.Server, name: str, *, delay: float = 0.01) -> Replica:
    turns: list[tuple[float, bool]] = []
    carrier = fakes.Carrier(server, delay=delay)
    elector = lease.Elector(
        client.Client(carrier),
        namespace='system',
        name='leader',
        identity=name,
        on_change=lambda leads: turns.append((round(virtual.now(), 2), leads)),
        clock=virtual.now,
    )
    return Replica(name, carrier, elector, turns)


def spec(server: fakes.Server) -> lease.LeaseSpec:
    return msgspec.convert(server.objects[PATH]['spec'], lease.LeaseSpec)


@contextlib.asynccontextmanager
async def running(*replicas: Replica) -> AsyncIterator[list[asyncio.Task[None]]]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one.run()) for one in replicas]
        yield tasks
        for task in tasks:
            task.cancel()


@virtual.timed
async def test_first_one_leads_and_renews() -> None:
    server = fakes.Server()
    one = replica(server, 'one')
    async with running(one):
        await one.elector.held()
        first = spec(server)
        assert one.elector.holds()
        one.elector.check()
        await asyncio.sleep(60)

        last = spec(server)
        assert one.turns == [(0.04, True)]
        assert one.elector.holds()
    assert (first.holder_identity, first.lease_duration_seconds, first.lease_transitions) == ('one', 15, 0)
    assert last.acquire_time == first.acquire_time
    assert last.lease_transitions == 0
    assert re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z', str(last.renew_time))
    # One write for each renewal, and no read: what was written last is known.
    assert server.counted(f'GET {PATH}') == 1
    assert server.counted(f'PUT {PATH}') == 29


@virtual.timed
async def test_second_one_waits_for_its_turn() -> None:
    server = fakes.Server()
    one, two = replica(server, 'one'), replica(server, 'two')
    async with running(one, two):
        await one.elector.held()
        await asyncio.sleep(300)

        assert not two.elector.holds()
        with pytest.raises(errors.NotLeading, match='two does not hold the lease system/leader'):
            two.elector.check()
        assert two.turns == []


@virtual.timed
async def test_after_a_crash_another_takes_over_within_the_lease_and_a_retry() -> None:
    server = fakes.Server()
    one, two = replica(server, 'one'), replica(server, 'two')
    async with running(one, two) as tasks:
        await one.elector.held()
        await asyncio.sleep(20)
        crashed = virtual.now()
        tasks[0].cancel()
        await two.elector.held()

        took = virtual.now() - crashed
        assert 15 - 2 <= took <= 15 + 2 * 2.2 + 1
        assert (spec(server).holder_identity, spec(server).lease_transitions) == ('two', 1)


@virtual.timed
async def test_hand_over_at_the_end_is_quick() -> None:
    server = fakes.Server()
    one, two = replica(server, 'one'), replica(server, 'two')
    async with running(one, two) as tasks:
        await one.elector.held()
        await asyncio.sleep(20)
        ended = virtual.now()
        tasks[0].cancel()
        await asyncio.wait([tasks[0]])
        await one.elector.release()
        assert spec(server).holder_identity is None
        await two.elector.held()

        assert virtual.now() - ended <= 2 * 2.2 + 1


@virtual.timed
async def test_release_leaves_the_lease_of_another_alone() -> None:
    server = fakes.Server()
    one, two = replica(server, 'one'), replica(server, 'two')
    async with running(one):
        await one.elector.held()
        await two.elector.release()

        assert spec(server).holder_identity == 'one'


@virtual.timed
async def test_release_is_bounded() -> None:
    server = fakes.Server()
    one = replica(server, 'one')
    async with running(one) as tasks:
        await one.elector.held()
        tasks[0].cancel()
        await asyncio.wait([tasks[0]])
    one.carrier.delay = 1000
    started = virtual.now()

    await one.elector.release()

    assert virtual.now() - started == 5


@virtual.timed
async def test_frozen_leader_wakes_up_without_leadership() -> None:
    server = fakes.Server()
    one, two = replica(server, 'one'), replica(server, 'two')
    async with running(one, two):
        await one.elector.held()
        await asyncio.sleep(1)

        virtual.freeze(11)

        # At once, before anything else has run in this process.
        assert not one.elector.holds()
        with pytest.raises(errors.NotLeading):
            one.elector.check()
        await asyncio.sleep(60)
        assert [leads for _, leads in one.turns][:2] == [True, False]
        assert one.elector.holds() + two.elector.holds() == 1


@virtual.timed
async def test_leader_without_a_server_stops_before_others_may_start() -> None:
    server = fakes.Server()
    one, two = replica(server, 'one'), replica(server, 'two')
    async with running(one, two):
        await one.elector.held()
        await asyncio.sleep(20)
        gone = virtual.now()
        one.carrier.is_up = False
        await two.elector.held()

    stopped = next(at for at, leads in one.turns if not leads)
    assert stopped - gone <= 10 + 2
    assert two.turns[0][0] - stopped >= 15 - 10 - 2


@virtual.timed
async def test_a_renewal_whose_answer_was_lost_does_not_end_leadership() -> None:
    server = fakes.Server()
    one = replica(server, 'one')
    async with running(one):
        await one.elector.held()
        # The write happens, and then the connection is cut.
        server.faults.append(None)
        server.faults.append(fakes.Answer(cut=True))
        server.faults.append(fakes.refusal(500, 'InternalError'))
        await asyncio.sleep(60)

        assert one.turns == [(0.04, True)]
        assert one.elector.holds()


@virtual.timed
async def test_leadership_that_was_taken_by_force_is_given_up_at_the_next_renewal() -> None:
    server = fakes.Server()
    one = replica(server, 'one')
    run = asyncio.ensure_future(one.elector.run())
    await one.elector.held()
    foreign = {'holderIdentity': 'two', 'leaseDurationSeconds': 15, 'renewTime': '2026-01-01T00:00:00.000000Z'}
    server.put(requests.LEASES, 'system', 'leader', spec=foreign)

    with pytest.raises(lease.Lost, match='lease system/leader: taken by two'):
        await run

    assert spec(server).holder_identity == 'two'
    assert not one.elector.holds()


@virtual.timed
async def test_a_clock_of_another_machine_means_nothing() -> None:
    """A foreign record with a time long ago, or far ahead, is valid for its duration after we first saw it."""
    server = fakes.Server()
    one = replica(server, 'one')
    foreign = {'holderIdentity': 'two', 'leaseDurationSeconds': 30, 'renewTime': '1999-01-01T00:00:00.000000Z'}
    server.put(requests.LEASES, 'system', 'leader', spec=foreign)
    async with running(one):
        await one.elector.held()

    assert 30 <= one.turns[0][0] <= 30 + 2 * 2.2 + 1


@virtual.timed
async def test_what_others_wrote_into_the_lease_stays() -> None:
    server = fakes.Server()
    one = replica(server, 'one')
    server.put(requests.LEASES, 'system', 'leader', spec={'preferredHolder': 'three', 'leaseTransitions': 4})
    server.objects[PATH]['metadata']['labels'] = {'team': 'batch'}
    async with running(one):
        await one.elector.held()

    assert (spec(server).preferred_holder, spec(server).lease_transitions) == ('three', 5)
    assert server.objects[PATH]['metadata']['labels'] == {'team': 'batch'}


@pytest.mark.parametrize(
    ('duration', 'deadline', 'period'),
    [
        pytest.param(10, 15, 2, id='the deadline is after the lease'),
        pytest.param(15, 10, 9, id='there is no time for a second attempt'),
        pytest.param(15, 10, 0, id='no period at all'),
    ],
)
def test_rhythm_that_cannot_work(duration: float, deadline: float, period: float) -> None:
    with pytest.raises(ValueError, match=r'leader election: .* must grow in this order'):
        lease.Leasing(lease_duration=duration, renew_deadline=deadline, retry_period=period)


TROUBLE = st.lists(
    st.tuples(
        st.sampled_from(['down', 'up', 'slow', 'fast', 'freeze', 'crash']), st.integers(0, 2), st.floats(0.1, 30)
    ),
    max_size=25,
)


@settings(max_examples=50, deadline=None)
@given(trouble=TROUBLE)
def test_whatever_happens_never_two_lead(trouble: list[tuple[str, int, float]]) -> None:
    @virtual.timed
    async def story() -> None:
        server = fakes.Server()
        replicas = [replica(server, name) for name in ('one', 'two', 'three')]

        async def watch() -> None:
            while True:
                assert sum(one.elector.holds() for one in replicas) <= 1
                await asyncio.sleep(0.05)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one.run()) for one in replicas]
            watcher = group.create_task(watch())
            for what, which, seconds in trouble:
                one = replicas[which]
                match what:
                    case 'down' | 'up':
                        one.carrier.is_up = what == 'up'
                    case 'slow' | 'fast':
                        one.carrier.delay = 4 if what == 'slow' else 0.01
                    case 'freeze':
                        virtual.freeze(seconds)
                    case 'crash':
                        tasks[which].cancel()
                        tasks[which] = group.create_task(one.run())
                await asyncio.sleep(seconds)
            for one in replicas:
                one.carrier.is_up, one.carrier.delay = True, 0.01
            await asyncio.sleep(60)
            assert sum(one.elector.holds() for one in replicas) == 1
            for task in (*tasks, watcher):
                task.cancel()

    story()
