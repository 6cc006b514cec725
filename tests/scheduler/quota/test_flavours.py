"""Which flavours pod sets get."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobset.scheduler.model import Cell, Flavour, Preemption, Queue, Reclaim, ResourceGroup, Stage, Topology, Usage
from jobset.scheduler.quota import peaks
from jobset.scheduler.quota.flavours import Choice, Count, Misfit, Mode, Prospect, assign
from jobset.scheduler.quota.matching import Kinds
from jobset.scheduler.quota.tree import Quotas
from jobset.scheduler.topology import nodes, requests
from jobset.scheduler.topology.requests import PodShape, Request
from tests.scheduler.quota import build

SPOT_TAINT = nodes.Taint(key='spot')
KINDS = Kinds(
    [
        Flavour(name='reserved', node_labels={'tier': 'reserved'}, topology='racks'),
        Flavour(name='spot', node_labels={'tier': 'spot'}, tolerations=(nodes.Toleration(operator='Exists'),)),
        Flavour(name='tainted', node_labels={'tier': 'spot'}, taints=(SPOT_TAINT,)),
        Flavour(name='lost', topology='gone'),
        Flavour(name='bare'),
    ],
    [Topology(name='racks', levels=('rack',))],
)
SPOT, RESERVED = Cell('spot', 'cpu'), Cell('reserved', 'cpu')
OTHER = {'reserved': 6, 'spot': 6}


def never(_cell: Cell, _amount: int) -> None:
    """Evictions help nobody."""


def always(mode: Mode, borrowing: int = 0) -> Prospect:
    return Prospect(mode, borrowing)


def searched(result: Choice | Misfit) -> str:
    """``podset: flavour mode, …`` with what was not tried in brackets."""
    return '; '.join(
        f'{each.pod_set}: '
        + ', '.join(f'{trial.flavour} {trial.mode.name}' for trial in each.trials)
        + ''.join(f' [{name}]' for name in each.untried)
        for each in result.searches
    )


@pytest.mark.parametrize(
    ('asks', 'used', 'expected', 'search'),
    [
        pytest.param(4, {}, {RESERVED: 4}, 'w: reserved FIT [spot]', id='reserved first'),
        pytest.param(10, {}, {RESERVED: 10}, 'w: reserved FIT [spot]', id='borrows reserved before it tries spot'),
        pytest.param(4, {RESERVED: 12}, {SPOT: 4}, 'w: reserved WAIT, spot FIT', id='spot when reserved is used'),
        pytest.param(11, {RESERVED: 2}, {SPOT: 11}, 'w: reserved WAIT, spot FIT', id='all or nothing of a flavour'),
        pytest.param(13, {}, Mode.TOO_MUCH, 'w: reserved TOO_MUCH, spot TOO_MUCH', id='never'),
        pytest.param(5, {RESERVED: 8, SPOT: 8}, Mode.WAIT, 'w: reserved WAIT, spot WAIT', id='not now'),
    ],
)
def test_E_12_flavours_in_order(asks: int, used: Usage, expected: Usage | Mode, search: str) -> None:
    queues = [build.queue('a', {'reserved': 6, 'spot': 6}, 'c'), build.queue('b', OTHER, 'c')]
    quotas = Quotas(queues)
    quotas.take('b', used)

    result = assign(quotas, queues[0], [(build.pod_set('w', asks),)], KINDS, oracle=never)

    assert (result.usage if isinstance(result, Choice) else result.mode) == expected
    assert searched(result) == search


def test_E_12_all_pod_sets_or_none() -> None:
    """The second pod set finds too little beside the first: then the first gets nothing either, and numbers say why."""
    queue = build.queue('a', {'reserved': 6, 'spot': 3})
    quotas = Quotas([queue])
    gang = build.stage(build.pod_set('leader', 1, 2), build.pod_set('workers', 5))

    result = assign(quotas, queue, [gang], KINDS, oracle=never)

    assert isinstance(result, Misfit)
    assert result.mode is Mode.TOO_MUCH
    counts = {trial.flavour: trial.counts['cpu'] for trial in result.searches[-1].trials}
    assert counts == {
        'reserved': Count(asked=7, available=6, potential=6),
        'spot': Count(asked=5, available=3, potential=3),
    }
    assert (counts['reserved'].missing, counts['spot'].missing) == (1, 2)
    assert quotas.available('a', RESERVED) == 6


@pytest.mark.parametrize(
    ('preemption', 'oracle', 'flavour', 'mode', 'search'),
    [
        pytest.param(
            Preemption(),
            'preempt',
            'spot',
            Mode.FIT,
            'reserved PREEMPT, spot FIT',
            id='rather another flavour than evict',
        ),
        pytest.param(
            Preemption(prefers_preemption=True),
            'preempt',
            'reserved',
            Mode.PREEMPT,
            'reserved PREEMPT [spot]',
            id='rather evict than another flavour',
        ),
        pytest.param(
            Preemption(prefers_preemption=True),
            'never',
            'spot',
            Mode.FIT,
            'reserved WAIT, spot FIT',
            id='nobody to evict',
        ),
        pytest.param(
            Preemption(prefers_preemption=True, prefers_next_flavour_to_borrowing=True),
            'reclaim and borrow',
            'spot',
            Mode.FIT,
            'reserved RECLAIM, spot FIT',
            id='another flavour rather than evict and then borrow',
        ),
    ],
)
def test_E_12_evict_or_next_flavour(preemption: Preemption, oracle: str, flavour: str, mode: Mode, search: str) -> None:
    prospects = {
        'preempt': always(Mode.PREEMPT),
        'reclaim and borrow': always(Mode.RECLAIM, 1),
        'never': None,
    }
    queue = build.queue('a', OTHER, 'c', preemption=preemption)
    quotas = Quotas([queue])
    quotas.take('a', {RESERVED: 6})

    result = assign(quotas, queue, [(build.pod_set('w', 4),)], KINDS, oracle=lambda *_: prospects[oracle])

    assert isinstance(result, Choice)
    assert (result.flavours, result.mode) == ({'w': {'cpu': flavour}}, mode)
    assert result.shortfall == ({RESERVED: 4} if flavour == 'reserved' else {})
    assert searched(result) == f'w: {search}'


@pytest.mark.parametrize(
    ('prefers_next', 'asks', 'flavour', 'borrowing'),
    [
        pytest.param(False, 8, 'reserved', 1, id='borrows'),
        pytest.param(True, 8, 'spot', 0, id='goes on to where it need not borrow'),
        pytest.param(True, 10, 'reserved', 1, id='must borrow anyway: the first'),
    ],
)
def test_E_12_borrow_or_next_flavour(*, prefers_next: bool, asks: int, flavour: str, borrowing: int) -> None:
    preemption = Preemption(prefers_next_flavour_to_borrowing=prefers_next)
    queues = [
        build.queue('a', {'reserved': 6, 'spot': 9}, 'c', preemption=preemption),
        build.queue('b', OTHER, 'c'),
    ]

    result = assign(Quotas(queues), queues[0], [(build.pod_set('w', asks),)], KINDS, oracle=never)

    assert isinstance(result, Choice)
    assert (result.flavours['w'], result.borrowing, result.mode) == ({'cpu': flavour}, borrowing, Mode.FIT)


def test_E_12_rather_borrow_from_nearby() -> None:
    """Where each flavour has to be borrowed, the one comes first that the own team has."""
    preemption = Preemption(prefers_next_flavour_to_borrowing=True)
    queue = build.queue('a', {'reserved': 1, 'spot': 1}, 'team', preemption=preemption)
    cohorts = [build.cohort('team', {'spot': 5}, 'all'), build.cohort('all', {'reserved': 5})]

    result = assign(Quotas([queue], cohorts), queue, [(build.pod_set('w', 4),)], KINDS, oracle=never)

    assert isinstance(result, Choice)
    assert (result.flavours, result.borrowing) == ({'w': {'cpu': 'spot'}}, 1)


def test_a_flavour_is_judged_by_its_worst_resource() -> None:
    """CPUs are borrowed, GPUs are its own; and of memory there is not enough now."""
    amounts = {'cpu': 1, 'gpu': 9, 'memory': 9}
    queue = Queue(
        name='a',
        cohort='c',
        groups=(ResourceGroup(resources=('memory', 'cpu', 'gpu'), flavours=('spot',)),),
        quotas={Cell('spot', resource): build.quota(amount) for resource, amount in amounts.items()},
    )
    quotas = Quotas([queue], [build.cohort('c', {'spot': 4})])
    shape = PodShape(amounts={'cpu': 1, 'gpu': 1, 'memory': 1})

    def result() -> tuple[Mode, int]:
        found = assign(quotas, queue, [(build.pod_set('w', 3, shape=shape),)], KINDS, oracle=never)
        return found.mode, found.borrowing if isinstance(found, Choice) else -1

    assert result() == (Mode.FIT, 1)
    quotas.take('a', {Cell('spot', 'memory'): 7})
    assert result() == (Mode.WAIT, -1)


@pytest.mark.parametrize(
    ('asks', 'preemption', 'fair_sharing', 'mode'),
    [
        pytest.param(6, Preemption(), False, Mode.RECLAIM, id='within the nominal amount'),
        pytest.param(7, Preemption(), False, Mode.RECLAIM, id='within that of a part of the tree'),
        pytest.param(12, Preemption(), False, Mode.WAIT, id='only the whole tree has so much'),
        pytest.param(12, Preemption(borrows=True), False, Mode.RECLAIM, id='may evict to borrow'),
        pytest.param(12, Preemption(), True, Mode.RECLAIM, id='may evict for its fair share'),
        pytest.param(12, Preemption(reclaim=Reclaim.NEVER), True, Mode.WAIT, id='fair share, but may never reclaim'),
        pytest.param(17, Preemption(borrows=True), True, Mode.TOO_MUCH, id='more than there is'),
    ],
)
def test_E_12_when_others_are_asked_to_give_back(
    asks: int, preemption: Preemption, *, fair_sharing: bool, mode: Mode
) -> None:
    """Queue a has 6 of its team's 9, and the team is one of two with 16 in all; the other one has 14 in use."""
    queue = build.queue('a', {'spot': 6}, 'team', preemption=preemption)
    quotas = Quotas(
        [queue, build.queue('b', {'spot': 7}, 'all')], [build.cohort('team', {'spot': 3}, 'all'), build.cohort('all')]
    )
    quotas.take('b', {SPOT: 14})

    result = assign(
        quotas,
        queue,
        [(build.pod_set('w', asks),)],
        KINDS,
        oracle=lambda cell, amount: always(Mode.RECLAIM) if (cell, amount) == (SPOT, asks) else None,
        fair_sharing=fair_sharing,
    )

    assert result.mode is mode
    assert isinstance(result, Choice) == (mode is Mode.RECLAIM)
    if isinstance(result, Choice):
        assert result.shortfall == {SPOT: asks - 2}


def requirement(key: str, *values: str, operator: str = 'In') -> nodes.Requirement:
    return nodes.Requirement(key=key, operator=operator, values=values)


ANY = nodes.Toleration(operator='Exists')


@pytest.mark.parametrize(
    ('shape', 'flavour', 'reason'),
    [
        pytest.param({}, 'reserved', None, id='plain pods'),
        pytest.param({}, 'tainted', 'taint "spot=:NoSchedule" is not tolerated', id='taint'),
        pytest.param({'tolerations': (ANY,)}, 'tainted', None, id='tolerated taint'),
        pytest.param(
            {'node_selector': {'tier': 'spot'}}, 'reserved', 'the node selector wants tier=spot', id='selector'
        ),
        pytest.param({'node_selector': {'tier': 'spot'}}, 'spot', None, id='selector that agrees'),
        pytest.param(
            {'node_selector': {'tier': 'spot'}}, 'bare', 'the node selector wants tier=spot', id='no such label'
        ),
        pytest.param({'node_selector': {'zone': 'z'}}, 'reserved', None, id='a label that is for nodes to have'),
        pytest.param(
            {'node_affinity': ((requirement('tier', 'spot'),),)},
            'reserved',
            'the node affinity wants other nodes',
            id='affinity',
        ),
        pytest.param(
            {'node_affinity': ((requirement('tier', 'spot'),), (requirement('tier', 'spot', operator='NotIn'),))},
            'reserved',
            None,
            id='one term of two',
        ),
        pytest.param({'node_affinity': ((requirement('zone', 'z'),),)}, 'spot', None, id='affinity for nodes to have'),
        pytest.param({'node_affinity': ((),)}, 'spot', 'the node affinity wants other nodes', id='empty term'),
        pytest.param({}, 'lost', 'there is no topology "gone"', id='topology that is not there'),
        pytest.param({}, 'none', 'there is no flavour "none"', id='flavour that is not there'),
    ],
)
@pytest.mark.parametrize('of_leader', [False, True], ids=['pods', 'leader'])
def test_flavours_that_do_not_suit(
    shape: dict[str, object], flavour: str, reason: str | None, *, of_leader: bool
) -> None:
    plain = PodShape(amounts={'cpu': 1}, tolerations=(ANY,))
    special = PodShape(amounts={'cpu': 1}, **shape)  # type: ignore[arg-type]
    request = Request(name='w', count=2, pod=plain if of_leader else special, leader=special if of_leader else None)

    assert KINDS.misfit(request, flavour, ('reserved', 'spot', 'tainted', 'bare')) == reason


@pytest.mark.parametrize(
    ('level', 'slices', 'flavour', 'reason'),
    [
        pytest.param('rack', (), 'reserved', None, id='there'),
        pytest.param('rack', (), 'spot', 'it has no topology level "rack"', id='not there'),
        pytest.param(
            'rack', (requests.Layer('row', 2),), 'reserved', 'it has no topology level "row"', id='of a slice'
        ),
        pytest.param(nodes.HOSTNAME, (), 'spot', None, id='nodes are always there'),
    ],
)
def test_levels_that_a_flavour_has(
    level: str, slices: tuple[requests.Layer, ...], flavour: str, reason: str | None
) -> None:
    request = Request(
        name='w', count=2, pod=PodShape(amounts={}), mode=requests.Mode.REQUIRED, level=level, slices=slices
    )

    assert KINDS.misfit(request, flavour, (flavour,)) == reason


def test_each_reason_is_kept_and_the_mildest_counts() -> None:
    queue = build.queue('a', {'tainted': 9, 'reserved': 2, 'spot': 9})
    quotas = Quotas([queue])

    result = assign(
        quotas, queue, [(build.pod_set('w', 3),)], KINDS, oracle=never, refused={'w': {'spot': 'no rack with 3 nodes'}}
    )

    assert isinstance(result, Misfit)
    assert result.mode is Mode.NO_ROOM
    assert [(each.flavour, each.mode, each.reason) for each in result.searches[0].trials] == [
        ('tainted', Mode.UNSUITABLE, 'taint "spot=:NoSchedule" is not tolerated'),
        ('reserved', Mode.TOO_MUCH, ''),
        ('spot', Mode.NO_ROOM, 'no rack with 3 nodes'),
    ]


def test_the_next_flavour_when_the_nodes_of_the_first_have_no_room() -> None:
    queue = build.queue('a', {'reserved': 6, 'spot': 6})
    stages = [(build.pod_set('w', 3), build.pod_set('v', 3))]

    def flavours(refused: dict[str, dict[str, str]]) -> dict[str, dict[str, str]] | Mode:
        result = assign(Quotas([queue]), queue, stages, KINDS, oracle=never, refused=refused)
        return result.flavours if isinstance(result, Choice) else result.mode

    assert flavours({}) == {'w': {'cpu': 'reserved'}, 'v': {'cpu': 'reserved'}}
    assert flavours({'w': {'reserved': 'full'}}) == {'w': {'cpu': 'spot'}, 'v': {'cpu': 'reserved'}}
    assert flavours({'w': {'reserved': 'full', 'spot': 'full'}}) is Mode.NO_ROOM


def test_groups_of_resources_have_flavours_of_their_own_and_the_hardest_counts() -> None:
    """The leader asks for no GPU; pods are counted, and memory is not."""
    amounts = {Cell('bare', 'cpu'): 9, Cell('bare', 'pods'): 5, RESERVED_GPU: 2, SPOT_GPU: 9}
    queue = Queue(
        name='a',
        groups=(
            ResourceGroup(resources=('cpu', 'pods'), flavours=('bare',)),
            ResourceGroup(resources=('gpu',), flavours=('reserved', 'spot')),
        ),
        quotas={cell: build.quota(amount) for cell, amount in amounts.items()},
    )
    shape = PodShape(amounts={'cpu': 2, 'gpu': 1, 'memory': 7})

    def result(count: int) -> Choice | Misfit:
        workers = build.pod_set('workers', count, shape=shape, leader=1)
        return assign(Quotas([queue]), queue, [(workers,)], KINDS, oracle=never)

    choice = result(4)
    assert isinstance(choice, Choice)
    assert choice.flavours == {'workers': {'cpu': 'bare', 'pods': 'bare', 'gpu': 'spot'}}
    assert choice.usage == {Cell('bare', 'cpu'): 9, Cell('bare', 'pods'): 5, SPOT_GPU: 4}
    assert (result(5).mode, result(2).mode) == (Mode.TOO_MUCH, Mode.FIT)


RESERVED_GPU, SPOT_GPU = Cell('reserved', 'gpu'), Cell('spot', 'gpu')


def test_stages_use_their_peak() -> None:
    """First data (4), then training (6) beside the driver (1), which stays."""
    data, driver, training = build.pod_set('data', 4), build.pod_set('driver', 1), build.pod_set('training', 6)
    queue = build.queue('a', {'reserved': 7, 'spot': 7})
    stages: list[Stage] = [(data, driver), (driver, training)]

    result = assign(Quotas([queue]), queue, stages, KINDS, oracle=never)

    assert isinstance(result, Choice)
    assert {name: each['cpu'] for name, each in result.flavours.items()} == dict.fromkeys(
        ('data', 'driver', 'training'), 'reserved'
    )
    assert result.usage == {RESERVED: 7}
    assert [each.best.counts['cpu'].asked for each in result.searches] == [4, 5, 7]


def test_without_groups_nothing_is_counted() -> None:
    queue = Queue(name='a')

    result = assign(Quotas([queue]), queue, [(build.pod_set('w', 1000),)], KINDS, oracle=never)

    assert result == Choice(mode=Mode.FIT, flavours={'w': {}}, usage={}, borrowing=0, shortfall={}, searches=())


def test_a_queue_with_problems_gives_nothing() -> None:
    queue = build.queue('a', 5, weight=-1)

    result = assign(Quotas([queue]), queue, [(build.pod_set('w', 1),)], KINDS, oracle=never)

    assert result == Misfit(mode=Mode.UNUSABLE, reason='queue "a", weight: -1 is no weight; give 0 or more')


@settings(max_examples=100, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 5), min_size=1, max_size=5),
    members=st.lists(st.sets(st.integers(0, 4), min_size=1), min_size=1, max_size=4),
    nominal=st.tuples(*[st.integers(0, 12)] * 3),
    used=st.integers(0, 8),
    seed=st.integers(0, 1 << 16),
)
def test_what_is_chosen_fits_and_is_the_peak(
    sizes: list[int], members: list[set[int]], nominal: tuple[int, int, int], used: int, seed: int
) -> None:
    """Whatever the order in which queues are known."""
    pod_sets = [build.pod_set(f's{i}', size, leader=1) for i, size in enumerate(sizes)]
    stages = [tuple(pod_sets[i] for i in sorted(each) if i < len(sizes)) for each in members]
    queue = build.queue('a', {'reserved': nominal[0], 'spot': nominal[1]}, 'c')
    queues = [queue, build.queue('b', {'reserved': 2, 'spot': nominal[2]}, 'c')]

    def result(queues: list[Queue]) -> tuple[Quotas, Choice | Misfit]:
        quotas = Quotas(queues)
        quotas.take('b', {SPOT: used})
        return quotas, assign(quotas, queue, stages, KINDS, oracle=never)

    quotas, found = result(queues)

    assert found == result(random.Random(seed).sample(queues, 2))[1]
    if isinstance(found, Misfit):
        return
    totals: list[Usage] = [{} for _ in stages]
    for total, stage in zip(totals, stages, strict=True):
        for each in stage:
            cell = Cell(found.flavours[each.request.name]['cpu'], 'cpu')
            total[cell] = total.get(cell, 0) + each.amounts['cpu']
    assert found.usage == {cell: max(each.get(cell, 0) for each in totals) for total in totals for cell in total}
    assert found.usage == peaks.usage(stages, found.flavours)
    assert quotas.fits('a', found.usage)
    assert found.shortfall == {}
    assert found.borrowing == quotas.borrowing('a', found.usage)
