"""The example of docs/scheduling-quota.md."""

import pathlib
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


def row(quotas: Quotas, name: str) -> str:
    """Used, may take now, borrows."""
    node = quotas.path(name)[0]
    return f'| `{name}` | {node.usage[CPU]} | {quotas.available(name, CPU)} | {node.borrowed(CPU)} |'


def test_E_12_borrowing_and_reclaim_as_documented() -> None:
    page = PAGE.read_text()
    quotas = Quotas(*LAB)
    quotas.take('vision', {CPU: 65})
    now = {name: (quotas.available(name, CPU), quotas.potential(name, CPU)) for name in ('vision', 'speech')}

    assert now == {'vision': (5, 70), 'speech': (15, 80)}
    assert '| queue `vision` | 40 | 30 | | 65 | 5 | 70 |' in page
    assert '| queue `speech` | 30 | | 20 | 0 | 15 | 80 |' in page

    comes = {CPU: 25}
    assert quotas.shortfall('speech', comes) == {CPU: 10}
    assert quotas.path('vision')[0].borrowed(CPU) == 25
    assert 'a JobSet of 25 CPUs comes to `speech`. It is within the nominal amount, but finds 15 and misses 10.' in page

    quotas.give_back('vision', {CPU: 10})
    assert quotas.fits('speech', comes)
    assert quotas.borrowing('speech', comes) == 0
    quotas.take('speech', comes)
    after = [row(quotas, name) for name in ('vision', 'speech')]
    assert after == ['| `vision` | 55 | 0 | 15 |', '| `speech` | 25 | 0 | 0 |']
    assert '\n'.join(after) in page
