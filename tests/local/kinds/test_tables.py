"""Rows and columns are those of a real API server."""

from typing import Any, Final

import pytest

from jobset.local import objects
from tests.local.kinds import answers, tables

RECORDED: Final = tables.load()
KINDS: Final = {given.name: answers.KINDS[given.kind] for given in tables.cases()}


@pytest.mark.parametrize('name', RECORDED)
def test_row(name: str) -> None:
    recorded: Any = RECORDED[name]

    assert tables.definitions(KINDS[name]) == recorded['columns']
    assert tables.row(KINDS[name], recorded['object'], objects.moment(recorded['now'])) == recorded['cells']
