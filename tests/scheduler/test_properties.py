"""What holds of every plan in every world: F7, F10 to F13 and F16 of the fault kinds."""

from hypothesis import given, settings
from hypothesis import strategies as st

from jobset.scheduler import admitting, engine, model, plans, rules
from jobset.scheduler.books import Books, Setup
from jobset.scheduler.model import Cell
from jobset.scheduler.topology.requests import Mode
from jobset.scheduler.verdicts import Verdict
from tests.scheduler.facts import GPU, counted, node, pods, quota

RACK = 'rack'
TOPOLOGY = model.Topology(name='t', levels=(RACK,))
FLAVOUR = model.Flavour(name='f', topology='t')


@st.composite
def setups(draw: st.DrawFn) -> Setup:
    """Two queues that lend to each other, and one that counts nothing."""
    strict = draw(st.sampled_from(list(model.Strategy)))
    reclaim = draw(st.sampled_from((model.Reclaim.LOWER, model.Reclaim.NEVER)))
    policy = model.Preemption(reclaim=reclaim, borrows=draw(st.booleans()))
    queues = [
        counted(name, cohort='c', quotas=quota(gpu=draw(st.integers(2, 8))), strategy=strict, preemption=policy)
        for name in ('q0', 'q1')
    ]
    plain = model.Queue(name='q2', ageing_seconds=draw(st.none() | st.just(50.0)))
    return Setup(queues=(*queues, plain), flavours=(FLAVOUR,), topologies=(TOPOLOGY,))


@st.composite
def submissions(draw: st.DrawFn, number: int) -> engine.Submission:
    runtime = draw(st.integers(1, 60))
    count = draw(st.integers(1, 4))
    level = draw(st.sampled_from((None, None, RACK)))
    queue = draw(st.sampled_from(('q0', 'q1', 'q2')))
    if queue == 'q2':
        level = None  # Without a flavour there is no topology to ask for.
    one = pods(
        count,
        draw(st.integers(1, 3)),
        level=level,
        mode=Mode.UNCONSTRAINED if level is None else Mode.REQUIRED,
        least=draw(st.none() | st.integers(1, count)),
    )
    after = pods(draw(st.integers(1, 3)), name='after')
    workload = model.Workload(
        key=f'a/j{number:02}',
        queue=queue,
        submitted=float(draw(st.integers(0, 100))),
        stages=((one,), (after,)) if draw(st.booleans()) else ((one,),),
        priority=draw(st.integers(0, 3)),
        may_preempt=draw(st.booleans()),
        is_protected=draw(st.integers(0, 9)) == 0,
        duration=draw(st.none() | st.just(float(runtime))),
        least_runtime=draw(st.sampled_from((0.0, 10.0))),
        grace=draw(st.sampled_from((0.0, 5.0))),
    )
    return engine.Submission(workload=workload, runtime=runtime, keeps_work=draw(st.booleans()))


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Setup, list[tuple[float, engine.Stimulus]], rules.Rules]:
    known = [
        node(f'n{i}', draw(st.integers(1, 4)), labels={RACK: f'r{i // 2}'}) for i in range(draw(st.integers(1, 5)))
    ]
    happens: list[tuple[float, engine.Stimulus]] = [(0.0, engine.NodeUp(each)) for each in known]
    for i in range(draw(st.integers(1, 12))):
        one = draw(submissions(i))
        happens.append((one.workload.submitted, one))
    lost = draw(st.none() | st.sampled_from(known))
    if lost is not None:
        at = draw(st.integers(1, 80))
        # Not at one moment: which of the two comes last is no matter of order, but of what is true afterwards.
        happens += [(at, engine.NodeDown(lost.name)), (at + draw(st.integers(1, 40)), engine.NodeUp(lost))]
    chosen = rules.Rules(backfills=draw(st.booleans()), preempts=draw(st.booleans()), repair_waits=draw(st.booleans()))
    return draw(setups()), happens, chosen


def played(world: tuple[Setup, list[tuple[float, engine.Stimulus]], rules.Rules]) -> engine.Engine:
    setup, happens, chosen = world
    player = engine.Engine(Books(setup), chosen)
    for at, stimulus in happens:
        player.at(at, stimulus)
    return player


@given(worlds())
@settings(max_examples=150)
def test_F11_F12_at_each_moment(world: tuple[Setup, list[tuple[float, engine.Stimulus]], rules.Rules]) -> None:
    player = played(world)
    books = player.planner.books
    promised: dict[str, set[str]] = {}
    for steps, plan in enumerate(player.steps()):
        assert steps < 3000, 'a loop without an end'
        _nothing_is_given_twice(books)
        again = player.planner.cycle(player.now)
        assert again.decisions == (), 'the plan of an unchanged world is empty'
        for each in plan.decisions:
            if isinstance(each, plans.Evict) and each.eviction.beneficiary is not None:
                promised.setdefault(each.eviction.beneficiary, set()).add(each.key)
                victim, winner = books.runs[each.key].workload, books.promises[each.eviction.beneficiary].workload
                assert victim.priority < winner.priority
                assert not victim.is_protected
        _nobody_waits_who_fits(player)


def _nothing_is_given_twice(books: Books) -> None:
    """Sums over all that run or end, counted from nothing."""
    held: dict[str, int] = {}
    used: dict[str, int] = {}
    for run in books.runs.values():
        for name, amounts in run.admission.holds.items():
            held[name] = held.get(name, 0) + amounts.get(GPU, 0)
        used[run.workload.queue] = used.get(run.workload.queue, 0) + run.admission.usage.get(Cell('f', GPU), 0)
    for name, amount in held.items():
        known = books.ledger.pools.known.get(name)
        assert known is None or amount <= known.allocatable[GPU]
    own = {queue.name: queue.quotas[Cell('f', GPU)].nominal for queue in books.queues.values() if queue.groups}
    assert sum(used.get(name, 0) for name in own) <= sum(own.values())


def _nobody_waits_who_fits(player: engine.Engine) -> None:
    """Whoever waits has no room, or somebody before it has a reservation, a promise or the head of a strict queue."""
    books, planner = player.planner.books, player.planner
    if books.reservations or books.promises:
        return
    for workload in books.everyone:
        line = books.line(workload.queue)
        first = line.first()
        queue = books.queues[workload.queue]
        if queue.strategy is model.Strategy.STRICT and first is not None and first.key != workload.key:
            continue
        assert isinstance(admitting.admit(books, workload, planner.rules), Verdict)
        assert planner.verdict(workload.key) is not None


@given(worlds(), st.data())
@settings(max_examples=60)
def test_F16_the_order_of_facts_does_not_matter(
    world: tuple[Setup, list[tuple[float, engine.Stimulus]], rules.Rules], data: st.DataObject
) -> None:
    setup, happens, chosen = world
    shuffled = data.draw(st.permutations(happens))

    first, second = played(world), played((setup, shuffled, chosen))
    assert _decisions(first) == _decisions(second)


def _decisions(player: engine.Engine) -> list[tuple[float, tuple[plans.Decision, ...]]]:
    return [(player.now, plan.decisions) for plan in player.steps() if plan.decisions]


@given(worlds())
@settings(max_examples=60)
def test_F13_everyone_who_fits_alone_runs_in_the_end(
    world: tuple[Setup, list[tuple[float, engine.Stimulus]], rules.Rules],
) -> None:
    player = played(world)
    player.run()
    books = player.planner.books

    assert books.runs == {}
    for workload in books.everyone:
        empty = Books(books.setup, books.ledger.pools.known.values())
        assert isinstance(admitting.admit(empty, workload, rules.DEFAULT), Verdict), workload.key
