"""Quota, against the formulas written down once more as plainly as can be."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobset.scheduler import model
from jobset.scheduler.model import Cell
from jobset.scheduler.quota.tree import Quotas
from tests.scheduler.facts import GPU, counted, quota

CELL = Cell('f', GPU)


@dataclasses.dataclass
class Plain:
    """A tree by its formulas, counted anew at each question."""

    quota: model.Quota
    children: 'list[Plain]'
    parent: 'Plain | None' = None
    own: int = 0

    def subtree(self) -> int:
        return self.quota.nominal + sum(child.subtree() - child.kept() for child in self.children)

    def kept(self) -> int:
        limit = self.quota.lending_limit
        return 0 if limit is None or self.parent is None else max(0, self.subtree() - limit)

    def usage(self) -> int:
        return self.own + sum(max(0, child.usage() - child.kept()) for child in self.children)

    def available(self) -> int:
        if self.parent is None:
            return self.subtree() - self.usage()
        above = self.parent.available()
        if self.quota.borrowing_limit is not None:
            lent = self.subtree() - self.kept()
            above = min(above, self.quota.borrowing_limit + lent - max(0, self.usage() - self.kept()))
        return max(0, self.kept() - self.usage()) + above

    def potential(self) -> int:
        if self.parent is None:
            return self.subtree()
        most = self.kept() + self.parent.potential()
        limit = self.quota.borrowing_limit
        return most if limit is None else min(most, self.subtree() + limit)


@st.composite
def quotas_of(draw: st.DrawFn, *, has_parent: bool) -> model.Quota:
    nominal = draw(st.integers(0, 9))
    if not has_parent:
        return model.Quota(nominal=nominal)
    return model.Quota(
        nominal=nominal,
        borrowing_limit=draw(st.none() | st.integers(0, 9)),
        lending_limit=draw(st.none() | st.integers(0, nominal)),
    )


@st.composite
def trees(draw: st.DrawFn) -> tuple[Quotas, dict[str, Plain]]:
    """Two levels of cohorts with queues in both."""
    root = Plain(draw(quotas_of(has_parent=False)), [])
    inner = Plain(draw(quotas_of(has_parent=True)), [], root)
    root.children.append(inner)
    cohorts = (
        model.Cohort(name='root', quotas={CELL: root.quota}),
        model.Cohort(name='inner', parent='root', quotas={CELL: inner.quota}),
    )
    plain, queues = {}, []
    for i in range(draw(st.integers(1, 4))):
        above = draw(st.sampled_from(('root', 'inner')))
        parent = root if above == 'root' else inner
        one = Plain(draw(quotas_of(has_parent=True)), [], parent)
        parent.children.append(one)
        plain[f'q{i}'] = one
        queues.append(counted(f'q{i}', cohort=above, quotas={CELL: one.quota}))
    return Quotas(draw(st.permutations(queues)), cohorts), plain


@given(trees(), st.lists(st.tuples(st.integers(0, 3), st.integers(1, 6), st.booleans()), max_size=25))
def test_F11_as_the_formulas_say(tree: tuple[Quotas, dict[str, Plain]], steps: list[tuple[int, int, bool]]) -> None:
    quotas, plain = tree
    assert quotas.problems == {}
    held: list[tuple[str, int]] = []
    for number, amount, takes in steps:
        name = f'q{number % len(plain)}'
        if takes and quotas.fits(name, {CELL: amount}):
            quotas.take(name, {CELL: amount})
            plain[name].own += amount
            held.append((name, amount))
        elif not takes and held:
            holder, back = held.pop(number % len(held))
            quotas.give_back(holder, {CELL: back})
            plain[holder].own -= back
        for each, one in plain.items():
            assert quotas.available(each, CELL) == one.available()
            assert quotas.potential(each, CELL) == one.potential()
            assert quotas.used(each, CELL) == one.own
        # What was only taken where it fitted is never more than there is.
        assert all(one.available() >= 0 for one in plain.values())


def test_E_12_borrowing_and_reclaiming() -> None:
    quotas = Quotas(
        [
            counted('a', cohort='c', quotas=quota(gpu=4)),
            counted('b', cohort='c', quotas=quota(gpu=(4, 2, None))),
            counted('k', cohort='c', quotas=quota(gpu=(4, None, 1))),
        ]
    )
    assert quotas.available('a', CELL) == 4 + 4 + 1, 'its own, all of b, and what k lends'
    assert quotas.available('b', CELL) == 4 + 2, 'no more than its limit'
    assert quotas.available('k', CELL) == 4 + 4 + 4

    quotas.take('a', {CELL: 9})

    assert quotas.is_borrowing('a', [CELL])
    assert (quotas.available('b', CELL), quotas.available('k', CELL)) == (0, 3)
    assert quotas.borrowing('b', {CELL: 4}) == 0, 'what is its own it may have back'
    quotas.give_back('a', {CELL: 9})
    assert quotas.borrowing('b', {CELL: 5}) == 1


def test_E_12_dominant_shares() -> None:
    queues = [
        counted(name, cohort='c', quotas=quota(gpu=4), weight=weight) for name, weight in (('a', 1), ('b', 2), ('z', 0))
    ]
    quotas = Quotas(queues)
    for name in 'abz':
        assert quotas.share(name, {CELL: 4}) == 0
    assert quotas.share('a', {CELL: 7}) == 3 * 1000 / 12
    assert quotas.share('b', {CELL: 7}) == 3 * 1000 / 12 / 2
    assert quotas.share('z', {CELL: 5}) == float('inf')


@pytest.mark.parametrize(
    ('queue', 'cohorts', 'problem'),
    [
        pytest.param(
            counted('q', quotas=quota(gpu=-1)),
            (),
            'quota for gpu of f: nominalQuota -1 is negative; give 0 or more',
            id='negative',
        ),
        pytest.param(
            counted('q', quotas=quota(gpu=(1, 1, None))),
            (),
            'quota for gpu of f: there is no cohort to borrow from or lend to; leave out the limits',
            id='nobody to borrow from',
        ),
        pytest.param(
            counted('q', cohort='c', quotas=quota(gpu=(1, None, 2))),
            (),
            'quota for gpu of f: lendingLimit 2 is more than nominalQuota 1',
            id='lends more than it has',
        ),
        pytest.param(
            counted('q', cohort='c'),
            (model.Cohort(name='c', parent='d'), model.Cohort(name='d', parent='c')),
            'spec.cohort: cohorts are inside each other: c -> d -> c; let one of them have no parent',
            id='a circle',
        ),
        pytest.param(
            model.Queue(
                name='q',
                groups=(
                    model.ResourceGroup(resources=('cpu', GPU), flavours=('f',)),
                    model.ResourceGroup(resources=(GPU,), flavours=('g',)),
                ),
            ),
            (),
            'spec.resourceGroups[1].resources: "gpu" is in an earlier group, too; name it in one',
            id='overlapping',
        ),
        pytest.param(
            counted('q', flavours=('f', 'f')),
            (),
            'spec.resourceGroups[0].flavours: a flavour is named twice; name each once',
            id='a flavour twice',
        ),
        pytest.param(
            counted('q', quotas=quota('other', gpu=1)),
            (),
            'spec.resourceGroups: there is a quota for gpu of other, but no such group',
            id='a quota for nothing',
        ),
    ],
)
def test_a_wrong_queue_does_not_stop_others(
    queue: model.Queue, cohorts: tuple[model.Cohort, ...], problem: str
) -> None:
    quotas = Quotas([queue, counted('fine', quotas=quota(gpu=2))], cohorts)

    assert quotas.problems == {'q': problem}
    assert quotas.available('fine', CELL) == 2
