"""Why there is no place, in words, and what makes no sense."""

import pytest

from jobset.scheduler.topology import nodes, placing, requests, results, tree
from jobset.scheduler.topology.requests import Layer, Mode
from tests.scheduler.topology import build


@pytest.mark.parametrize(
    ('on', 'wanted', 'text'),
    [
        (
            '[0 1] [0 1]',
            build.request(4, 'required', 'rack', units=2),
            'doesn\'t allow to fit any of 4 pod(s). Total nodes: 4; excluded: resource "u": 4',
        ),
        (
            '[3 1] [1 1]',
            build.request(6, 'required', 'rack', slices=[('rack', 2)]),
            'allows to fit only 2 out of 3 slice(s)',
        ),
        (
            '[3 0] [0 0]',
            build.request(6, 'required', 'rack', slices=[('rack', 2), ('host', 1)]),
            (
                "doesn't allow to fit; 1/3 slice(s) fit on level rack; 3/6 slice(s) fit on level host. "
                'Total nodes: 4; excluded: resource "u": 3'
            ),
        ),
    ],
)
def test_texts(on: str, wanted: requests.Request, text: str) -> None:
    assert build.text_of(build.place(on, wanted)) == text


def test_the_domain_that_comes_nearest_is_named() -> None:
    near, nothing = (build.place('[1 1] [3 1]', build.request(5, 'required', 'rack', units=units)) for units in (1, 9))

    assert isinstance(near, results.NoRoom)
    assert (near.domain, near.fitting, near.wanted) == (('01',), 4, 5)
    assert isinstance(nothing, results.NoRoom)
    assert (nothing.domain, nothing.fitting, nothing.wanted) == (None, 0, 5)


@pytest.mark.parametrize(
    ('parity', 'text'),
    [
        (True, 'allows to fit only 4 out of 4 pod(s)'),
        (
            False,
            (
                "doesn't allow to fit the leader together with 4 pod(s). "
                'Total nodes: 2; excluded for the leader: resource "u": 2'
            ),
        ),
    ],
)
def test_the_leader_is_named_when_only_the_leader_fails(parity: bool, text: str) -> None:
    answer = build.place('[4 4]', build.request(4, 'required', 'host', leader=10), parity=parity)

    assert build.text_of(answer) == text


def test_all_exclusions_in_alphabetical_order() -> None:
    found = [
        node('a', {'disk': 'ssd', 'zone': 'z1'}, 8),
        node('b', {'disk': 'hdd', 'zone': 'z1'}, 8),
        node('c', {'disk': 'ssd', 'zone': 'z2'}, 8),
        node('d', {'disk': 'ssd', 'zone': 'z1'}, 1),
        node('e', {'disk': 'hdd', 'zone': 'z1'}, 8, nodes.Taint(key='gpu', value='yes', effect='NoExecute')),
        node('f', {'disk': 'ssd', 'zone': 'z1'}, 8, nodes.Taint(key='soft', effect='PreferNoSchedule')),
    ]
    where = tree.Tree.of(found, (nodes.HOSTNAME,), ('cpu', 'memory', 'pods'))
    shape = requests.PodShape(
        amounts={'cpu': 4, 'memory': 4},
        node_selector={'disk': 'ssd'},
        node_affinity=((nodes.Requirement(key='zone', values=('z1',)),),),
    )

    answer = placing.Placer(where).place([requests.Request(name='w', count=9, pod=shape)])

    assert build.text_of(answer) == (
        'allows to fit only 4 out of 9 pod(s). Total nodes: 6; excluded: affinity: 1, nodeSelector: 1, '
        'resource "cpu": 1, taint "gpu=yes:NoExecute": 1'
    )
    assert isinstance(answer, results.NoRoom)
    assert (answer.level, answer.fitting, answer.wanted) == (nodes.HOSTNAME, 4, 9)


def node(name: str, labels: dict[str, str], amount: int, *taints: nodes.Taint) -> nodes.Node:
    return nodes.Node(
        name=name,
        labels=labels | {nodes.HOSTNAME: name},
        allocatable={'cpu': amount, 'memory': amount, 'pods': 110},
        taints=taints,
    )


def test_a_resource_that_no_node_has() -> None:
    shape = requests.PodShape(amounts={'u': 1, 'nvidia.com/gpu': 1})

    answer = build.place('[4 4]', requests.Request(name='w', count=1, pod=shape))

    assert build.text_of(answer) == (
        'doesn\'t allow to fit any of 1 pod(s). Total nodes: 2; excluded: resource "nvidia.com/gpu": 2'
    )


def test_no_nodes_at_all() -> None:
    where = tree.Tree(('rack', 'host'), ('u',))

    assert build.text_of(build.place(where, build.request(1, 'required', 'rack'))) == 'has no domains at level rack'


def asked(count: int = 4, mode: str = 'required', level: str | None = 'block', *layers: Layer) -> requests.Request:
    return build.request(count, mode, level, slices=[(layer.level, layer.size) for layer in layers])


@pytest.mark.parametrize(
    ('wanted', 'problems'),
    [
        (asked(level='row'), ['workers.level: no topology level "row"; there are: block, rack, host']),
        (asked(level=None), ['workers.level: mode required needs a level; there are: block, rack, host']),
        (asked(4, 'unconstrained', 'rack'), ['workers.level: mode unconstrained has no level of its own']),
        (asked(4, 'slice-only', None), ['workers.slices: mode slice-only needs slices']),
        (
            asked(4, 'required', 'rack', Layer('block', 2)),
            ['workers.slices[0].level: "block" is above the level of the pod set'],
        ),
        (
            asked(4, 'required', 'block', Layer('rack', 0)),
            ['workers.slices[0].size: a slice level needs a size of at least 1, not 0'],
        ),
        (
            asked(4, 'required', 'block', Layer('rack', 3)),
            ['workers.slices[0].size: 4 pods cannot be cut into slices of 3'],
        ),
        (
            asked(8, 'required', 'block', Layer('rack', 4), Layer('host', 3)),
            ['workers.slices[1].size: 4 pods cannot be cut into slices of 3'],
        ),
        (
            asked(8, 'required', 'block', Layer('host', 4), Layer('rack', 2)),
            ['workers.slices[1].level: "rack" is not below "host"'],
        ),
        (
            asked(8, 'required', 'block', Layer('row', 4)),
            ['workers.slices[0].level: no topology level "row"; there are: block, rack, host'],
        ),
        (
            asked(8, 'required', 'block', *[Layer('host', 1)] * 4),
            ['workers.slices: 4 layers; at most 3 are possible'],
        ),
        (asked(0), ['workers.count: 0 pods; at least 1 is needed']),
        (
            requests.Request(name='workers', count=1, pod=requests.PodShape(amounts={'cpu': -1})),
            ['workers.pod.amounts[cpu]: -1 is negative'],
        ),
        (
            requests.Request(
                name='workers',
                count=1,
                pod=requests.PodShape(amounts={}, node_affinity=((nodes.Requirement(key='a', operator='Is'),),)),
            ),
            ['workers.pod.nodeAffinity: no operator "Is"; there are: In, NotIn, Exists, DoesNotExist, Gt, Lt'],
        ),
    ],
)
def test_problems(wanted: requests.Request, problems: list[str]) -> None:
    answer = build.place('{[4 4] [4 4]}', wanted)

    assert isinstance(answer, results.Invalid)
    assert [str(problem) for problem in answer.problems] == problems


def test_unconstrained_pods_with_slices_may_name_any_level_for_these() -> None:
    answer = build.place('{[4 4] [4 4]}', asked(8, Mode.UNCONSTRAINED, None, Layer('rack', 8)))

    assert sum(build.pods_of(answer).values()) == 8
