"""One cluster with our controller for all tests of a run.

A cluster that runs already is taken and kept, with the namespaces of earlier runs taken away; one that had to be
started is ended with the run, unless ``KEEP_CLUSTER`` is set. ``CLUSTER_NAME`` chooses it by name.
"""

import os
import re
import secrets
import sys
from collections.abc import Iterator
from typing import Final

import pytest

from e2e import api, deployment, fakenodes
from e2e.kubectl import Kubectl
from e2e.tests.place import RealCluster
from tests.scenarios import space, started
from tests.scenarios.api import Api
from tests.scenarios.space import Space

LATE: Final = ('test_samples.py', 'test_rights.py', 'test_in_place.py', 'test_replacement.py', 'test_demo.py')
"""Tests that look back at what ran in the background, at all others, or that disturb them; in this order."""

SECONDS: Final = 600
"""How long a test may take, with the wait for what runs in the background."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Bring the tests into the order that they need, and give them the time that real pods need."""
    items.sort(key=lambda item: LATE.index(item.path.name) if item.path.name in LATE else -1)
    for item in items:
        item.add_marker(pytest.mark.timeout(SECONDS))


@pytest.fixture(scope='session')
def kubectl() -> Iterator[Kubectl]:
    """kubectl of a full cluster in which our controller is ready."""
    cluster = deployment.Cluster(os.environ.get('CLUSTER_NAME'))
    ran = cluster.runs()
    bound = cluster.up()
    try:
        if deployment.image() is None:
            cluster.load_controller()
        bound('delete', 'namespaces', '-l', space.MARK, '--wait=false')
        deployment.deploy(bound)
        deployment.wait_until_ready(bound)
        yield bound
    finally:
        print(f'\n{deployment.diagnosis(bound)}', file=sys.stderr)
        if not ran and not os.environ.get('KEEP_CLUSTER'):
            cluster.down()


@pytest.fixture(scope='session')
def server(kubectl: Kubectl) -> Iterator[Api]:
    """Its API server."""
    with api.connected(kubectl) as connected:
        yield connected


@pytest.fixture(scope='session', autouse=True)
def samples(request: pytest.FixtureRequest, kubectl: Kubectl, server: Api) -> Iterator[started.Started]:
    """The samples that were asked for, begun in the background before anything else."""
    functions = [item for item in request.session.items if isinstance(item, pytest.Function)]
    files = [str(item.callspec.params['file']) for item in functions if item.originalname == started.TEST]
    with started.begun(files, lambda name: Space(RealCluster(server, kubectl), _unique(name))) as running:
        yield running


@pytest.fixture
def here(request: pytest.FixtureRequest, kubectl: Kubectl, server: Api) -> Space:
    """A namespace for this test alone."""
    return Space(RealCluster(server, kubectl), _unique(request.node.name))


@pytest.fixture
def pool(here: Space) -> Iterator[fakenodes.Pool]:
    """Nodes that are objects only."""
    with fakenodes.pool(here) as made:
        yield made


def _unique(text: str) -> str:
    words = re.sub(r'[^a-z0-9]+', '-', text.lower().removeprefix('test_')).strip('-')
    return f'{words[:40].strip("-")}-{secrets.token_hex(2)}'
