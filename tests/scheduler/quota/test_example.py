"""The example of docs/scheduling-quota.md."""

import pathlib
import re
from typing import Final

from jobset.scheduler.quota.tree import Quotas
from tests.scheduler.quota import build
from tests.scheduler.quota.build import CPU

PAGE: Final = pathlib.Path(__file__).parents[3] / 'docs/scheduling-quota.md'
LAB: Final = (
    [
        build.queue('vision', build.quota(40, borrow=30), 'lab'),
        build.queue('speech', build.quota(30, lend=20), 'lab'),
    ],
    [build.cohort('lab', 10)],
)


def rows(quotas: Quotas) -> dict[str, tuple[int, int, int]]:
    """Of each queue: used, may take now, borrows."""
    return {
        name: (quotas.path(name)[0].usage.get(CPU, 0), quotas.available(name, CPU), quotas.path(name)[0].borrowed(CPU))
        for name in ('vision', 'speech')
    }


def test_E_12_borrowing_and_reclaim_as_documented() -> None:
    quotas = Quotas(*LAB)
    quotas.take('vision', {CPU: 50})
    assert rows(quotas) == {'vision': (50, 20, 10), 'speech': (0, 30, 0)}
    assert [quotas.potential(name, CPU) for name in ('vision', 'speech')] == [70, 80]

    quotas.take('speech', {CPU: 20})
    assert rows(quotas) == {'vision': (50, 10, 10), 'speech': (20, 10, 0)}

    assert quotas.shortfall('speech', {CPU: 25}) == {CPU: 15}
    quotas.give_back('vision', {CPU: 10})
    assert quotas.shortfall('speech', {CPU: 25}) == {CPU: 5}
