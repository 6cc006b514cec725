"""A control plane for the long checks, with the CRD; each module gets one of its own and ends it."""

import os
from collections.abc import Iterator
from typing import Final

import pytest

from e2e import golden
from e2e.kubectl import Kubectl, control_plane

IN_FULL: Final = bool(os.environ.get('JOBSET_SOAK'))
"""Whether all repetitions are wanted, and not a sample of them."""

SEED: Final = os.environ.get('JOBSET_SEED', 'jobset')


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.timeout(7200 if IN_FULL else 600))


@pytest.fixture(scope='package')
def kubectl() -> Iterator[Kubectl]:
    """kubectl of a control plane whose Job controller is missing: we play it."""
    with control_plane(os.environ.get('JOBSET_SOAK_CLUSTER', 'soak')) as bound:
        golden.prepare(bound)
        yield bound
