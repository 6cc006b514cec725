"""Clusters to tell a story in: a calm one, and several in which all kinds of things go wrong."""

from typing import Final

import pytest

from tests.model import simulation, wire

_CALM: Final = simulation.Manner()
_LATE: Final = simulation.Manner(is_calm=False, relist=0.1, twice=0.1)
_FRAIL: Final = simulation.Manner(
    is_calm=False, trouble=wire.Trouble(refused=0.2, lost=0.2, budget=15), is_modern=False
)
_DEADLY: Final = simulation.Manner(is_calm=False, trouble=wire.Trouble(crash=0.2, lost=0.1, budget=15), relist=0.3)


@pytest.fixture(
    params=[
        pytest.param((0, _CALM), id='calm'),
        pytest.param((1, _LATE), id='news are late'),
        pytest.param((2, _FRAIL), id='requests are refused and answers lost'),
        pytest.param((3, _DEADLY), id='the controller dies'),
        pytest.param((4, _DEADLY), id='the controller dies elsewhere'),
    ]
)
def cluster(request: pytest.FixtureRequest) -> simulation.Simulation:
    """An empty cluster in which a story comes to the same end whatever goes wrong."""
    seed, manner = request.param
    return simulation.Simulation(seed, manner)


@pytest.fixture
def calm() -> simulation.Simulation:
    """An empty cluster in which nothing goes wrong, for stories that count requests or watch the clock."""
    return simulation.Simulation()
