"""A scripted API server, and agents that speak with it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent import pods, server


@pytest.fixture(scope='session')
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The agent as it is shipped."""
    return pods.packed(tmp_path_factory.mktemp('agent'))


@pytest.fixture
def plane() -> Iterator[server.Server]:
    with server.started() as running:
        yield running


@pytest.fixture
def agents(plane: server.Server, packed: Path) -> Iterator[pods.Pods]:
    with pods.running(plane, packed) as running:
        yield running
