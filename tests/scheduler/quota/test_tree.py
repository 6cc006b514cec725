"""What queues may take, against the published formulas."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobset.scheduler.model import Cell, Cohort, Queue, Quota, Usage
from jobset.scheduler.quota.tree import NotTakenError, Quotas
from tests.scheduler.quota import build
from tests.scheduler.quota.build import CPU

CASES = settings(max_examples=120, deadline=None)
CELLS = (CPU, Cell('spot', 'cpu'), Cell('default', 'gpu'))


class Oracle:
    """The formulas, word for word, without any memory but what was taken."""

    def __init__(self, queues: list[Queue], cohorts: list[Cohort]) -> None:
        self.queues = {each.name: each for each in queues}
        self.cohorts = {each.name: each for each in cohorts}
        for name in [each.cohort for each in queues] + [each.parent for each in cohorts]:
            if name is not None:
                self.cohorts.setdefault(name, Cohort(name=name))
        self.taken: dict[tuple[str, Cell], int] = {}

    def quota(self, x: Queue | Cohort, cell: Cell) -> Quota:
        return x.quotas.get(cell, Quota(nominal=0))

    def parent(self, x: Queue | Cohort) -> Cohort | None:
        name = x.cohort if isinstance(x, Queue) else x.parent
        return None if name is None else self.cohorts[name]

    def children(self, x: Queue | Cohort) -> list[Queue | Cohort]:
        everything: list[Queue | Cohort] = [*self.queues.values(), *self.cohorts.values()]
        return [each for each in everything if isinstance(x, Cohort) and self.parent(each) is x]

    def subtree(self, x: Queue | Cohort, cell: Cell) -> int:
        lent = sum(self.subtree(each, cell) - self.local(each, cell) for each in self.children(x))
        return self.quota(x, cell).nominal + lent

    def local(self, x: Queue | Cohort, cell: Cell) -> int:
        limit = self.quota(x, cell).lending_limit
        return 0 if limit is None else max(0, self.subtree(x, cell) - limit)

    def usage(self, x: Queue | Cohort, cell: Cell) -> int:
        if isinstance(x, Queue):
            return self.taken.get((x.name, cell), 0)
        return sum(max(0, self.usage(each, cell) - self.local(each, cell)) for each in self.children(x))

    def available(self, x: Queue | Cohort, cell: Cell) -> int:
        subtree, local, used = self.subtree(x, cell), self.local(x, cell), self.usage(x, cell)
        parent, limit = self.parent(x), self.quota(x, cell).borrowing_limit
        if parent is None:
            return subtree - used
        shared = self.available(parent, cell)
        if limit is not None:
            shared = min(shared, limit + (subtree - local) - max(0, used - local))
        return max(0, local - used) + shared

    def potential(self, x: Queue | Cohort, cell: Cell) -> int:
        parent, limit = self.parent(x), self.quota(x, cell).borrowing_limit
        if parent is None:
            return self.subtree(x, cell)
        most = self.local(x, cell) + self.potential(parent, cell)
        return most if limit is None else min(most, self.subtree(x, cell) + limit)

    def height(self, x: Queue | Cohort) -> int:
        return max((1 + self.height(each) for each in self.children(x)), default=0)

    def borrowing(self, x: Queue | Cohort, cell: Cell, amount: int) -> int:
        parent = self.parent(x)
        if self.usage(x, cell) + amount <= self.subtree(x, cell) or parent is None:
            return self.height(x)
        return self.borrowing(parent, cell, amount - max(0, self.local(x, cell) - self.usage(x, cell)))


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[Queue], list[Cohort]]:
    """Up to five cohorts under each other, one that nobody defines, and up to six queues."""
    amounts = st.integers(0, 12)

    def quotas(*, shared: bool, of_queue: bool) -> dict[Cell, Quota]:
        found = {}
        for cell in CELLS[: draw(st.integers(1, 3))]:
            nominal = draw(amounts)
            limits = st.none() | st.integers(0, nominal if of_queue else 20)
            found[cell] = Quota(
                nominal=nominal,
                borrowing_limit=draw(st.none() | amounts) if shared else None,
                lending_limit=draw(limits) if shared else None,
            )
        return found

    cohorts: list[Cohort] = []
    for i in range(draw(st.integers(0, 5))):
        parent = draw(st.sampled_from([None, 'implicit', *(each.name for each in cohorts)]))
        own = quotas(shared=parent is not None, of_queue=False) if draw(st.booleans()) else {}
        cohorts.append(Cohort(name=f'c{i}', parent=parent, quotas=own))
    queues: list[Queue] = []
    for i in range(draw(st.integers(1, 6))):
        above = draw(st.sampled_from(['implicit', None, *(each.name for each in cohorts)]))
        own = quotas(shared=above is not None, of_queue=True)
        groups = build.groups(own)
        queues.append(Queue(name=f'q{i}', cohort=above, quotas=own, groups=groups))
    return queues, cohorts


usages = st.dictionaries(st.sampled_from(CELLS), st.integers(0, 15), min_size=1)
takes = st.lists(st.tuples(st.integers(0, 5), usages), max_size=12)


@CASES
@given(tree=trees(), steps=takes, data=st.data())
def test_each_step_is_as_the_formulas_say(
    tree: tuple[list[Queue], list[Cohort]], steps: list[tuple[int, Usage]], data: st.DataObject
) -> None:
    queues, cohorts = tree
    quotas, oracle = Quotas(queues, cohorts), Oracle(queues, cohorts)
    held: list[tuple[str, Usage]] = []
    amount = data.draw(st.integers(1, 20))
    assert quotas.problems == ()
    for number, asked in steps:
        gives_back = data.draw(st.booleans())
        if held and gives_back:
            name, usage = held.pop(data.draw(st.integers(0, len(held) - 1)))
            quotas.give_back(name, usage)
            sign = -1
        else:
            name, usage = queues[number % len(queues)].name, asked
            quotas.take(name, usage)
            held.append((name, usage))
            sign = 1
        for cell, part in usage.items():
            oracle.taken[name, cell] = oracle.taken.get((name, cell), 0) + sign * part
        for queue in queues:
            for cell in CELLS:
                available = oracle.available(queue, cell)
                missing = amount - available
                assert quotas.available(queue.name, cell) == available
                assert quotas.potential(queue.name, cell) == oracle.potential(queue, cell)
                assert quotas.shortfall(queue.name, {cell: amount}) == ({cell: missing} if missing > 0 else {})
                assert quotas.fits(queue.name, {cell: amount}) == (available >= amount)
                assert quotas.borrowing(queue.name, {cell: amount}) == oracle.borrowing(queue, cell, amount)
                assert quotas.is_over_nominal(queue.name, [cell]) == (
                    oracle.usage(queue, cell) > oracle.quota(queue, cell).nominal
                )


@CASES
@given(tree=trees(), steps=takes)
def test_what_fits_never_is_more_than_there_is(
    tree: tuple[list[Queue], list[Cohort]], steps: list[tuple[int, Usage]]
) -> None:
    queues, cohorts = tree
    quotas = Quotas(queues, cohorts)
    for number, usage in steps:
        name = queues[number % len(queues)].name
        if quotas.fits(name, usage):
            quotas.take(name, usage)
        for queue in queues:
            node, *_, root = quotas.path(queue.name) * 2
            for cell in CELLS:
                assert root.usage.get(cell, 0) <= root.subtree.get(cell, 0)
                limit = queue.quotas[cell].borrowing_limit if cell in queue.quotas else None
                if limit is not None:
                    assert node.usage.get(cell, 0) <= node.subtree[cell] + limit


@CASES
@given(tree=trees(), steps=takes, seed=st.integers(0, 1 << 16))
def test_order_never_matters(tree: tuple[list[Queue], list[Cohort]], steps: list[tuple[int, Usage]], seed: int) -> None:
    """Neither that of queues and cohorts, nor that of taking and giving back."""
    queues, cohorts = tree
    chance = random.Random(seed)
    quotas = Quotas(queues, cohorts)
    shuffled = Quotas(chance.sample(queues, len(queues)), chance.sample(cohorts, len(cohorts)))
    for number, usage in steps:
        quotas.take(queues[number % len(queues)].name, usage)
    others = [*steps, *((number, {CPU: 7}) for number, _ in steps)]
    for number, usage in chance.sample(others, len(others)):
        shuffled.take(queues[number % len(queues)].name, usage)
    for number, _ in steps:
        shuffled.give_back(queues[number % len(queues)].name, {CPU: 7})
    for queue in queues:
        for one, other in zip(quotas.path(queue.name), shuffled.path(queue.name), strict=True):
            assert one.key == other.key
            assert {cell: one.usage.get(cell, 0) for cell in CELLS} == {
                cell: other.usage.get(cell, 0) for cell in CELLS
            }
            assert (one.subtree, one.local, one.height) == (other.subtree, other.local, other.height)


@CASES
@given(tree=trees(), steps=takes, data=st.data())
def test_F11_usage_is_the_sum_of_live_reservations(
    tree: tuple[list[Queue], list[Cohort]], steps: list[tuple[int, Usage]], data: st.DataObject
) -> None:
    """What is used is told by what is held now, whatever came and went before; and nobody gives back more."""
    queues, cohorts = tree
    quotas = Quotas(queues, cohorts)
    held: list[tuple[str, Usage]] = []
    for number, usage in steps:
        name = queues[number % len(queues)].name
        quotas.take(name, usage)
        held.append((name, usage))
        if data.draw(st.booleans()):
            quotas.give_back(*held.pop(data.draw(st.integers(0, len(held) - 1))))
    again = Quotas(queues, cohorts)
    for name, usage in held:
        again.take(name, usage)
    for queue in queues:
        of_queue = [usage for name, usage in held if name == queue.name]
        node = quotas.path(queue.name)[0]
        for cell in CELLS:
            assert node.usage.get(cell, 0) == sum(usage.get(cell, 0) for usage in of_queue)
            assert quotas.available(queue.name, cell) == again.available(queue.name, cell)
        with pytest.raises(NotTakenError):
            quotas.give_back(queue.name, {CPU: 1 + node.usage.get(CPU, 0)})
    while held:
        quotas.give_back(*held.pop())
    assert not any(any(node.usage.values()) for queue in queues for node in quotas.path(queue.name))


def test_nothing_is_given_back_where_a_part_was_never_taken() -> None:
    quotas = Quotas([build.queue('a', {'default': 5, 'spot': 5})])
    quotas.take('a', {CPU: 2})

    with pytest.raises(NotTakenError, match='queue "a" uses 0 of spot/cpu, not 1'):
        quotas.give_back('a', {CPU: 2, Cell('spot', 'cpu'): 1})

    assert quotas.available('a', CPU) == 3


def test_what_a_queue_keeps_to_itself_does_not_come_from_its_cohort() -> None:
    quotas = Quotas(
        [build.queue('a', build.quota(4, lend=0), 'team'), build.queue('b', 9, 'all')],
        [build.cohort('team', 2, 'all'), build.cohort('all')],
    )

    assert {amount: quotas.borrowing('a', {CPU: amount}) for amount in (4, 6, 7)} == {4: 0, 6: 1, 7: 2}


def test_how_far_away_it_borrows() -> None:
    """A queue, its team, the department of that, and the whole."""
    quotas = Quotas(
        [build.queue('a', 2, 'team'), build.queue('b', 3, 'team'), build.queue('c', 5, 'all')],
        [build.cohort('team', 0, 'department'), build.cohort('department', 4, 'all')],
    )

    assert [node.key[1] for node in quotas.path('a')] == ['a', 'team', 'department', 'all']
    assert {amount: quotas.borrowing('a', {CPU: amount}) for amount in (0, 2, 3, 5, 6, 9, 10, 14, 15)} == {
        0: 0, 2: 0, 3: 1, 5: 1, 6: 2, 9: 2, 10: 3, 14: 3, 15: 3,
    }  # fmt: skip
    assert (quotas.fits('a', {CPU: 14}), quotas.shortfall('a', {CPU: 15})) == (True, {CPU: 1})


def test_a_very_deep_tree_is_no_problem() -> None:
    depth = 3000
    cohorts = [build.cohort(f'{i}', 0, f'{i + 1}') for i in range(depth)]
    quotas = Quotas([build.queue('a', 1, '0'), build.queue('b', 2, f'{depth}')], cohorts)
    quotas.take('a', {CPU: 2})

    assert quotas.borrowing('a', {CPU: 1}) == depth + 1
    assert (quotas.available('a', CPU), quotas.available('b', CPU), len(quotas.path('a'))) == (1, 1, depth + 2)
