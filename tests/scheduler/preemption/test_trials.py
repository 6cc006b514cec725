"""Worlds in which some are gone."""

import pytest

from jobset.scheduler import model
from jobset.scheduler.model import Cell
from jobset.scheduler.preemption import reasons, search, trials
from jobset.scheduler.preemption.trials import Joint, NodeTrial, QuotaTrial
from jobset.scheduler.topology import placing, requests
from jobset.scheduler.topology.requests import Mode
from tests.scheduler.preemption.crowds import GPU, NOW, forest, names, pods, run

CELL = Cell('f', GPU)


def counted(name: str, gpus: int, priority: int = 0, on: dict[str, int] | None = None) -> model.Run:
    return run(name, priority, on or {}, usage={CELL: gpus})


class Quota:
    """One cell of one queue."""

    def __init__(self, size: int, runs: list[model.Run]) -> None:
        self.free = size - sum(each.admission.usage[CELL] for each in runs)

    def take(self, queue: str, usage: model.Usage) -> None:
        self.free -= usage.get(CELL, 0)

    def give_back(self, queue: str, usage: model.Usage) -> None:
        self.free += usage.get(CELL, 0)

    def trial(self, need: int) -> QuotaTrial:
        return QuotaTrial(
            take=self.take,
            give_back=self.give_back,
            fits=lambda: self.free >= need,
            needs={CELL: need},
            missing={CELL: need - self.free},
        )


def test_nodes_are_as_before_in_the_end() -> None:
    runs = [run('a', on={'n': 3, 'm': 1}), run('b', on={'n': 1}), run('gone', on={'x': 1})]
    where = forest({'n': 4, 'm': 1, 'x': 1}, runs)
    where.remove_node('x')
    before = where.free.copy()
    trial = NodeTrial.of_gang(placing.Placer(where), [pods(5, 1)], runs)

    assert trial.missing() == {GPU: 5}
    assert trial.frees(runs) == {GPU: [4, 1, 0], 'pods': [2, 1, 0]}
    assert [trial.is_useful(each) for each in runs] == [True, True, False]
    assert trial.clears(runs) == pytest.approx([3 / 4 + 1, 1 / 4, 0])
    assert trial.place() is None
    trial.remove(*runs[1:])
    assert not trial.may_fit()
    trial.remove(runs[0])
    assert trial.place() == frozenset({'m', 'n'})
    trial.restore(*runs)

    assert (where.free == before).all()


def test_a_search_that_fails_leaves_everything_as_it_was() -> None:
    runs = [run(f'x{i}', on={'n': 1}) for i in range(3)]
    where = forest({'n': 3}, runs)
    before = where.free.copy()

    def place() -> trials.Names | None:
        raise LookupError

    broken = NodeTrial([where], runs, {GPU: 2}, place=place)
    with pytest.raises(LookupError):
        search.fewest(runs, broken, now=NOW)

    assert (where.free == before).all()


def test_several_trees_of_the_same_nodes() -> None:
    runs = [run('a', on={'n': 2}), run('b', on={'m': 1})]
    trees = [forest({'n': 2, 'm': 1}, runs), forest({'n': 2}, runs[:1])]

    def place() -> trials.Names | None:
        return frozenset({'n'}) if all(tree.free[0, tree.order].sum() >= 2 for tree in trees) else None

    trial = NodeTrial(trees, runs, {GPU: 2}, place=place)

    assert names(search.fewest(runs, trial, now=NOW)) == ['a']


def test_the_leader_is_part_of_what_is_wanted() -> None:
    leader = requests.PodShape(amounts={'cpu': 2})
    gang = [requests.Request(name='w', count=3, pod=requests.PodShape(amounts={GPU: 1}), leader=leader)]

    assert trials.needs_of(gang) == {GPU: 3, 'cpu': 2, 'pods': 4}
    runs = [run('a', on={'n': {GPU: 2, 'cpu': 1}}), run('b', on={'m': {GPU: 1, 'cpu': 2}})]
    where = forest({'n': 2, 'm': 1}, runs, cpu=2)
    trial = NodeTrial.of_gang(placing.Placer(where), gang, runs)
    assert names(search.fewest(runs, trial, now=NOW)) == ['a', 'b']
    assert trial.place() is None


def test_an_invalid_gang_evicts_nobody() -> None:
    runs = [run('a')]
    trial = NodeTrial.of_gang(placing.Placer(forest({'n': 1}, runs)), [pods(mode=Mode.REQUIRED, level='moon')], runs)

    assert search.fewest(runs, trial, now=NOW) is None


@pytest.mark.parametrize('many', [0, 12])
def test_quota_alone(many: int) -> None:
    runs = [counted('a', 1), counted('b', 1), counted('c', 2, 1), *(counted(f'x{i:02}', 1, 2) for i in range(many))]
    quota = Quota(4 + many, runs)

    assert names(search.fewest(runs, quota.trial(2), now=NOW)) == ['c']
    lowest = search.Strategy.LOWEST_PRIORITY_FIRST
    assert names(search.fewest(runs, quota.trial(2), now=NOW, strategy=lowest)) == ['a', 'b']
    assert quota.free == 0


def test_B_05a_quota_with_numbers() -> None:
    runs = [counted('a', 1), counted('b', 2)]
    trial = Quota(3, runs).trial(4)

    assert search.fewest(runs, trial, now=NOW) is None
    assert reasons.hopeless(runs, trial) == '4 gpu of f missing, and the 2 that may be evicted hold 3'


@pytest.mark.parametrize('many', [0, 15])
def test_quota_and_nodes_together(many: int) -> None:
    # Quota is held by those on a node that is not wanted, the wanted node by those that hold little quota.
    dear = [counted(f'x{i:02}', 1, 9, {'far': 1}) for i in range(many)]
    runs = [counted('quota', 3, 0, {'far': 3}), counted('room', 1, 1, {'big': 4}), *dear]
    where = forest({'far': 3 + many, 'big': 4}, runs)
    quota = Quota(4 + many, runs)
    nodes = NodeTrial.of_gang(placing.Placer(where), [pods(1, 4)], runs)

    found = search.fewest(runs, Joint(nodes, quota.trial(4)), now=NOW)

    assert names(found) == ['quota', 'room']
    assert quota.free == 0


def test_how_much_is_enough_within_the_hour() -> None:
    assert reasons.too_many(4, 1) == '4 would have to go, and only 1 more may be evicted within the hour'
