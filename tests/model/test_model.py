"""The controller against a simulated cluster, in random orders of everything.

A seed makes a JobSet and a sequence of facts: Jobs that end, a user who suspends, a queue that edits. Where the facts
come one after the other, every order of all the rest must lead to the same end: news that are late, come twice or are
lost, refused requests, lost answers, the controller's death between any two of its writes. Where facts race, it must
lead to an end that some order of them has when nothing goes wrong.

``JOBSET_SOAK=1`` runs many more seeds, and ``JOBSET_SEED=…`` a single one.
"""

import dataclasses
import enum
import itertools
import os
import random
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pytest

from jobset.api import features
from jobset.controller import world
from tests.model import rest, scenarios, simulation, wire

_BATCH: Final = 20
_BATCHES: Final = 1000 if os.environ.get('JOBSET_SOAK') == '1' else 15
_PASSES_PER_FACT: Final = 60
"""More than a settling should ever take, with all the faults of its budget."""

_STAGES_AT_MOST: Final = 12
"""Rounds of finishing what runs, after which everything has had its turn: stages, restarts, ranks that come late."""

_RETRIED_SECONDS: Final = 61
"""After which the controller has looked again at what it is not told of."""

_Facts = Sequence[scenarios.Fact]


def _seeds(batch: int) -> Iterator[int]:
    only = os.environ.get('JOBSET_SEED')
    yield from range(batch * _BATCH, (batch + 1) * _BATCH) if only is None else (int(only),)


def _troubled(seed: int) -> simulation.Manner:
    """How a story with this seed goes wrong."""
    chance = random.Random(f'manner {seed}')
    level = chance.choice((0, 0.02, 0.1, 0.3))
    return simulation.Manner(
        is_calm=False,
        trouble=wire.Trouble(crash=level, refused=level, lost=level, budget=chance.choice((3, 10, 25))),
        relist=chance.choice((0, 0.1, 0.5)),
        twice=chance.choice((0, 0.2)),
        is_modern=_is_modern(seed),
        gates=_gates(seed),
        has_pods=_has_pods(seed),
        has_groups=_has_pods(seed),
    )


def _is_modern(seed: int) -> bool:
    return seed % 3 > 0


def _calm(seed: int) -> simulation.Manner:
    return simulation.Manner(
        is_modern=_is_modern(seed), gates=_gates(seed), has_pods=_has_pods(seed), has_groups=_has_pods(seed)
    )


def _has_pods(seed: int) -> bool:
    """Pods make a story twice as long."""
    return seed % 5 in (1, 2)


def _gates(seed: int) -> features.FeatureGates:
    return features.FeatureGates(
        restart_job=seed % 2 > 0,
        elastic_jobset=seed % 2 > 0,
        in_place_restart=_has_pods(seed),
        execution_attempts=seed % 7 == 0,
    )


async def _tell(sim: simulation.Simulation, fact: scenarios.Fact) -> None:
    """A fact that is alone: long after the last one, and everything that follows from it has time to happen."""
    await sim.advance(2)
    sim.wire.left = sim.manner.trouble.budget
    fact.happen(sim)
    await sim.settle()
    assert sim.passes <= _PASSES_PER_FACT, f'{fact}: {sim.passes} passes'
    await sim.advance(_RETRIED_SECONDS)
    rest.check(sim.server)
    await _check_quiet(sim)


async def _check_quiet(sim: simulation.Simulation) -> None:
    """Nothing is written when nothing has changed, neither by the controller that was at work nor by a new one."""
    if sim.server.get('jobsets', 'js') is None:
        return
    for fresh in (False, True):
        if fresh:
            sim.restart()
        sim.wire.left, version = 0, sim.server.version
        await sim.again(world.Key('default', 'js'))
        assert sim.server.version == version, f'something is written at rest: {sim.wire.sent[-3:]}'


async def _end(sim: simulation.Simulation) -> None:
    """Whatever has happened, the set comes to an end once nobody holds it up any more."""
    for fact in scenarios.release(sim):
        await sim.advance(2)
        fact.happen(sim)
    for _ in range(_STAGES_AT_MOST):
        await sim.settle()
        await sim.advance(_RETRIED_SECONDS)
        if scenarios.is_over(sim):
            return
        scenarios.finish_all(sim)
    raise AssertionError('the set does not come to an end')


def _invent(seed: int) -> tuple[list[scenarios.Fact], list[Any], list[scenarios.Fact]]:
    """Facts that come one after the other, what the cluster looks like after each, and facts that race at the end."""
    chance = random.Random(seed)
    facts: list[scenarios.Fact] = []
    pictures: list[Any] = []
    racing: list[scenarios.Fact] = []
    sim = simulation.Simulation(seed, _calm(seed))

    async def story() -> None:
        planned = scenarios.beginning(chance, sim.manner.gates)
        for _ in range(chance.randint(3, 9)):
            if not planned:
                planned = [chance.choice(options)] if (options := scenarios.possible(sim, chance)) else []
            if not planned:
                break
            fact = planned.pop(0)
            await _tell(sim, fact)
            facts.append(fact)
            pictures.append(scenarios.picture(sim))
        options = scenarios.possible(sim, chance)
        if chance.random() < 0.4:
            racing.extend(chance.sample(options, min(len(options), chance.choice((2, 2, 3)))))

    sim.run(story())
    return facts, pictures, racing


@pytest.mark.parametrize('batch', range(1 if os.environ.get('JOBSET_SEED') else _BATCHES))
def test_every_order_leads_to_the_same_end(batch: int) -> None:
    for seed in _seeds(batch):
        try:
            _compare(seed)
        except Exception as error:
            error.add_note(f'replay with JOBSET_SEED={seed}')
            raise


def _compare(seed: int) -> None:
    facts, pictures, racing = _invent(seed)
    sim = simulation.Simulation(seed, _troubled(seed))

    async def story() -> None:
        for fact, expected in zip(facts, pictures, strict=True):
            await _tell(sim, fact)
            found = scenarios.picture(sim)
            assert found == expected, f'after {fact}'
        if racing:
            await _race(sim, racing)

    sim.run(story())
    found = scenarios.picture(sim)
    sim.run(_end(sim))
    if racing and all(_calm_end(seed, facts, order) != found for order in _orders(racing)):
        text = '\n'.join(sim.story[-80:])
        raise AssertionError(f'{racing} led to {found}, which no order explains\n{text}')


async def _race(sim: simulation.Simulation, racing: _Facts) -> None:
    """The facts happen with little between them, and with trouble around all of them."""
    await sim.advance(2)
    sim.wire.left = sim.manner.trouble.budget
    for fact in racing:
        fact.happen(sim)
        for _ in range(sim.chance.choice((0, 0, 1, 3, 10, 30))):
            await sim.step()
    await sim.settle()
    assert sim.passes <= _PASSES_PER_FACT * len(racing)
    await sim.advance(_RETRIED_SECONDS)
    rest.check(sim.server)


class _Then(enum.Enum):
    """What comes after a fact, before the next one."""

    REST = enum.auto()
    ONE_PASS = enum.auto()
    NOTHING = enum.auto()


_Order = tuple[tuple[scenarios.Fact, _Then], ...]


def _orders(racing: _Facts) -> Iterator[_Order]:
    """All orders of the facts, with the controller seeing all of what follows from each, the fact alone, or neither."""
    for order in itertools.permutations(racing):
        for pauses in itertools.product(_Then, repeat=len(racing) - 1):
            yield tuple(zip(order, (*pauses, _Then.REST), strict=True))


def _calm_end(seed: int, facts: _Facts, order: _Order) -> Any:
    sim = simulation.Simulation(seed, _calm(seed))

    async def story() -> None:
        for fact in facts:
            await _tell(sim, fact)
        await sim.advance(2)
        for fact, then in order:
            fact.happen(sim)
            match then:
                case _Then.REST:
                    await sim.settle()
                case _Then.ONE_PASS:
                    await sim.glimpse()
        await sim.advance(_RETRIED_SECONDS)

    sim.run(story())
    return scenarios.picture(sim)


def test_a_seed_tells_the_same_story_twice() -> None:
    stories = []
    for _ in range(2):
        sim = simulation.Simulation(7, dataclasses.replace(_troubled(7), is_calm=False))

        async def story(sim: simulation.Simulation = sim) -> None:
            for fact in scenarios.beginning(random.Random(7), sim.manner.gates):
                await _tell(sim, fact)

        sim.run(story())
        stories.append(sim.story)

    assert stories[0] == stories[1]
    assert any('pass over js' in line for line in stories[0])
