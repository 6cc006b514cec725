"""Planes that are killed. ``JOBSET_SOAK=1`` asks for all of the kills, ``JOBSET_SEED`` for other moments."""

import os
from typing import Final

import pytest

IN_FULL: Final = bool(os.environ.get('JOBSET_SOAK'))
"""Whether all repetitions are wanted, and not a sample of them."""

SEED: Final = os.environ.get('JOBSET_SEED', 'jobset')


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if 'recovery' in item.path.parts:
            item.add_marker(pytest.mark.timeout(7200 if IN_FULL else 300))
