"""The tree and its counts: which nodes count, and what pods may use them."""

import numpy as np
import pytest

from jobset.scheduler.topology import domains, fitting, nodes, requests, tree
from tests.scheduler.topology import build

LEVELS = ('rack', nodes.HOSTNAME)


def node(name: str, rack: str = 'r1', **fields: object) -> nodes.Node:
    labels = {'rack': rack, nodes.HOSTNAME: name} | dict(fields.pop('labels', {}))  # type: ignore[call-overload]
    return nodes.Node(name=name, labels=labels, allocatable={'cpu': 8, 'pods': 5}, **fields)  # type: ignore[arg-type]


def counts(where: tree.Tree, shape: requests.PodShape) -> dict[str, int]:
    pods = fitting.Fitting(where).pods(shape)
    return {leaf[-1]: int(pods[slot]) for leaf, slot in zip(where.names[-1], where.order, strict=True)}


def test_which_nodes_count() -> None:
    found = [
        node('good'),
        node('away', is_ready=False),
        node('closed', is_schedulable=False),
        nodes.Node(name='bare', labels={nodes.HOSTNAME: 'bare'}, allocatable={}),
        node('other', labels={'pool': 'b'}),
    ]

    where = tree.Tree.of(found, LEVELS, ('cpu', 'pods'), labels={'pool': 'a'})
    assert where.names[-1] == []
    where = tree.Tree.of(
        [*found[1:], node('good', labels={'pool': 'a'})], LEVELS, ('cpu', 'pods'), labels={'pool': 'a'}
    )

    assert where.names == [[('r1',)], [('r1', 'good')]]
    assert where.outside == {
        'away': 'not ready',
        'closed': 'unschedulable',
        'bare': 'other labels',
        'other': 'other labels',
    }
    assert tree.Tree.of(found[3:4], LEVELS, ('cpu',)).outside == {'bare': 'no label rack'}


@pytest.mark.parametrize(
    ('amounts', 'fit'),
    [
        pytest.param({'cpu': 2}, 4, id='by cpu'),
        pytest.param({'cpu': 1}, 5, id='by number of pods'),
        pytest.param({}, 5, id='pods that need nothing still are pods'),
        pytest.param({'cpu': 9}, 0, id='too big'),
    ],
)
def test_pods_that_fit(amounts: dict[str, int], fit: int) -> None:
    where = tree.Tree.of([node('n1')], LEVELS, ('cpu', 'pods'))

    assert counts(where, requests.PodShape(amounts=amounts)) == {'n1': fit}


def test_negative_room_is_no_room() -> None:
    where = tree.Tree.of([node('n1')], LEVELS, ('cpu', 'pods'))
    where.take({('r1', 'n1'): 3}, {'cpu': 4})

    assert counts(where, requests.PodShape(amounts={'cpu': 1})) == {'n1': 0}


def test_leaves_of_several_nodes_add_up_and_are_not_filtered() -> None:
    taint = nodes.Taint(key='gpu')
    where = tree.Tree.of([node('n1'), node('n2', taints=(taint,))], ('rack',), ('cpu', 'pods'))

    assert fitting.Fitting(where).pods(requests.PodShape(amounts={'cpu': 3}))[where.order].tolist() == [5]
    where.remove_node('n1')
    assert fitting.Fitting(where).pods(requests.PodShape(amounts={'cpu': 3}))[where.order].tolist() == [2]


def test_tolerations() -> None:
    taint = nodes.Taint(key='gpu', value='a', effect='NoExecute')
    where = tree.Tree.of(
        [
            node('clean'),
            node('tainted', taints=(taint,)),
            node('soft', taints=(nodes.Taint(key='x', effect='Prefer'),)),
        ],
        LEVELS,
        ('cpu', 'pods'),
    )

    def fit(**toleration: str) -> int:
        shape = requests.PodShape(amounts={'cpu': 8}, tolerations=(nodes.Toleration(**toleration),))
        assert counts(where, shape) | {'tainted': 1} == {'clean': 1, 'tainted': 1, 'soft': 1}
        return counts(where, shape)['tainted']

    assert fit(key='gpu', value='a') == 1
    assert fit(key='gpu', value='b') == 0
    assert fit(key='gpu', operator='Exists') == 1
    assert fit(key='gpu', operator='Exists', effect='NoSchedule') == 0
    assert fit(operator='Exists') == 1
    assert fit(key='cpu', operator='Exists') == 0


@pytest.mark.parametrize(
    ('terms', 'fitting_nodes'),
    [
        ([[('size', 'In', ('3', '5'))]], {'n3', 'n5'}),
        ([[('size', 'NotIn', ('3', '5'))]], {'n4', 'none'}),
        ([[('size', 'Exists', ())]], {'n3', 'n4', 'n5'}),
        ([[('size', 'DoesNotExist', ())]], {'none'}),
        ([[('size', 'Gt', ('3',))]], {'n4', 'n5'}),
        ([[('size', 'Lt', ('4',))]], {'n3'}),
        ([[('size', 'Gt', ('3',)), ('size', 'Lt', ('5',))]], {'n4'}),
        ([[('size', 'Lt', ('4',))], [(nodes.NAME_FIELD, 'In', ('none',))]], {'n3', 'none'}),
        ([[]], set()),
    ],
)
def test_required_node_affinity(terms: list[list[tuple[str, str, tuple[str, ...]]]], fitting_nodes: set[str]) -> None:
    found = [node(f'n{size}', labels={'size': str(size)}) for size in (3, 4, 5)]
    where = tree.Tree.of([*found, node('none')], LEVELS, ('cpu', 'pods'))
    affinity = tuple(
        tuple(nodes.Requirement(key=key, operator=operator, values=values) for key, operator, values in term)
        for term in terms
    )

    found_counts = counts(where, requests.PodShape(amounts={'cpu': 8}, node_affinity=affinity))

    assert {name for name, pods in found_counts.items() if pods} == fitting_nodes


def test_only_what_changed_is_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    where = build.topology('[4 4 4 4] [4 4 4 4]')
    placer = fitting.Fitting(where)
    looked_at: list[int] = []
    whole = fitting._whole

    def watched(free: domains.Ints, needs: domains.Ints) -> domains.Ints:
        looked_at.append(free.shape[1])
        return whole(free, needs)

    monkeypatch.setattr(fitting, '_whole', watched)
    shape = build.pod()
    placer.pods(shape)
    placer.pods(shape)
    assert looked_at == [where.width]

    where.take({('00', '01'): 3, ('01', '02'): 1}, {'u': 1})
    where.set_node(build.host(('01', '03'), 9, ('rack', 'host')))

    assert placer.pods(shape)[where.order].tolist() == [4, 1, 4, 4, 4, 4, 3, 9]
    assert looked_at == [where.width, 3]


def test_pods_outlive_their_node() -> None:
    where = tree.Tree.of([node('n1'), node('n2')], LEVELS, ('cpu', 'pods'))
    where.take({('r1', 'n1'): 2}, {'cpu': 2})
    where.remove_node('n1')
    assert where.held(('r1', 'n1')) == {'cpu': 4, 'pods': 2}

    where.set_node(node('n1'))

    assert counts(where, requests.PodShape(amounts={'cpu': 1})) == {'n1': 3, 'n2': 5}


def test_pods_may_be_known_before_their_node() -> None:
    where = tree.Tree(LEVELS, ('cpu', 'pods'))
    where.take({('r1', 'n1'): 2}, {'cpu': 2})
    where.set_node(node('n1'))

    assert counts(where, requests.PodShape(amounts={'cpu': 1})) == {'n1': 3}


def test_many_holds_at_once_are_those_one_by_one() -> None:
    found = [node('n1'), node('n2')]
    where, other = (tree.Tree.of(found, LEVELS, ('cpu', 'pods')) for _ in range(2))
    mark = where.amount_changes.mark
    slots = [where.slot_of_node(name) for name in ('n1', 'n2', 'n1')]

    where.hold(np.array(slots), np.array([[2, 1, 3], [1, 1, 1]]))

    other.take({('r1', 'n1'): 1, ('r1', 'n2'): 0}, {'cpu': 5, 'pods': 2})
    other.take({('r1', 'n2'): 1}, {'cpu': 1})
    assert (where.free == other.free).all()
    assert where.held(('r1', 'n1')) == {'cpu': 5, 'pods': 2}
    assert where.amount_changes.since(mark) == set(slots)
    where.hold(np.array(slots), -np.array([[2, 1, 3], [1, 1, 1]]))
    assert counts(where, requests.PodShape(amounts={'cpu': 1})) == {'n1': 5, 'n2': 5}
