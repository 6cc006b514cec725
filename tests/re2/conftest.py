"""Fixtures of the pattern tests."""

import pytest

from tests.re2 import golang


@pytest.fixture(scope='session')
def go(tmp_path_factory: pytest.TempPathFactory) -> golang.Golang:
    """Go's own opinion. Where it cannot be had, the tests that want it fail."""
    return golang.built(tmp_path_factory.mktemp('goparse'))
