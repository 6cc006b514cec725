"""Which node each pod gets."""

from typing import Any

import pytest

from jobset.local.scheduling import amounts, model, placement
from tests.local.scheduling import build

ZONED = [build.node(f'n{number}', labels={'zone': 'ab'[number % 2], 'size': str(number)}) for number in range(4)]


def _nodes(*pods: model.Pod, **facts: Any) -> dict[str, str]:
    facts.setdefault('nodes', ZONED)
    return {bind.pod.metadata.name: bind.node for bind in placement.place(pods, **facts).binds}


def _affinity(operator: str, *values: str, key: str = 'size') -> dict[str, Any]:
    term = {'matchExpressions': [{'key': key, 'operator': operator, 'values': list(values)}]}
    return {'nodeAffinity': {'requiredDuringSchedulingIgnoredDuringExecution': {'nodeSelectorTerms': [term]}}}


@pytest.mark.parametrize(
    ('fields', 'node'),
    [
        pytest.param({}, 'n0', id='the first of equals'),
        pytest.param({'nodeSelector': {'zone': 'b'}}, 'n1', id='a label'),
        pytest.param({'nodeSelector': {'zone': 'b', 'size': '3'}}, 'n3', id='two labels'),
        pytest.param({'affinity': _affinity('In', '2', '3')}, 'n2', id='one of several values'),
        pytest.param({'affinity': _affinity('NotIn', '0', '1')}, 'n2', id='none of several values'),
        pytest.param({'affinity': _affinity('Gt', '2')}, 'n3', id='a greater number'),
        pytest.param({'affinity': _affinity('Lt', '1')}, 'n0', id='a smaller number'),
        pytest.param({'affinity': _affinity('DoesNotExist', key='zone')}, None, id='no label, which all have'),
        pytest.param({'requests': {'cpu': '3500m'}}, 'n0', id='what fits'),
        pytest.param({'requests': {'cpu': '4001m'}}, None, id='a little too much'),
        pytest.param({'nodeName': 'n3'}, None, id='it has a node'),
        pytest.param({'schedulerName': 'another'}, None, id='it is for another scheduler'),
        pytest.param({'schedulingGates': [{'name': 'a'}]}, None, id='it is gated'),
        pytest.param({'status': {'phase': 'Failed'}}, None, id='it has ended'),
    ],
)
def test_one_pod(fields: dict[str, Any], node: str | None) -> None:
    assert _nodes(build.pod('p', **fields)).get('p') == node


def test_fields_of_nodes() -> None:
    term = {'matchFields': [{'key': 'metadata.name', 'operator': 'In', 'values': ['n2']}]}
    affinity = {'nodeAffinity': {'requiredDuringSchedulingIgnoredDuringExecution': {'nodeSelectorTerms': [term]}}}

    assert _nodes(build.pod('daemon', affinity=affinity)) == {'daemon': 'n2'}


def test_wishes_come_before_load() -> None:
    wish = {'weight': 10, 'preference': {'matchExpressions': [{'key': 'size', 'operator': 'In', 'values': ['3']}]}}
    affinity = {'nodeAffinity': {'preferredDuringSchedulingIgnoredDuringExecution': [wish]}}
    pods = [build.pod(f'p{number}', affinity=affinity, requests={'cpu': '2'}) for number in range(3)]

    assert _nodes(*pods) == {'p0': 'n3', 'p1': 'n3', 'p2': 'n0'}


def test_nodes_that_would_rather_not() -> None:
    nodes = [
        build.node('n0', taints=[{'key': 'k', 'effect': 'PreferNoSchedule'}]),
        build.node('n1', cpu='1'),
    ]

    pods = [build.pod(f'p{number}', requests={'cpu': '1'}) for number in range(2)]

    assert _nodes(*pods, nodes=nodes) == {'p0': 'n1', 'p1': 'n0'}


@pytest.mark.parametrize(
    ('toleration', 'fits'),
    [
        pytest.param({'key': 'k', 'operator': 'Equal', 'value': 'v', 'effect': 'NoSchedule'}, True, id='all of it'),
        pytest.param({'key': 'k', 'value': 'v'}, True, id='equality goes without saying'),
        pytest.param({'key': 'k', 'operator': 'Exists'}, True, id='any value'),
        pytest.param({'operator': 'Exists'}, True, id='any taint'),
        pytest.param({'key': 'k', 'value': 'w'}, False, id='another value'),
        pytest.param({'key': 'l', 'operator': 'Exists'}, False, id='another key'),
        pytest.param({'key': 'k', 'operator': 'Exists', 'effect': 'NoExecute'}, False, id='another effect'),
    ],
)
def test_tolerations(toleration: dict[str, Any], fits: bool) -> None:
    nodes = [build.node('n', taints=[{'key': 'k', 'value': 'v', 'effect': 'NoSchedule'}])]

    assert ('p' in _nodes(build.pod('p', tolerations=[toleration]), nodes=nodes)) == fits


def test_unschedulable_nodes_take_those_who_tolerate_it() -> None:
    toleration = {'key': 'node.kubernetes.io/unschedulable', 'operator': 'Exists', 'effect': 'NoSchedule'}
    pods = [build.pod('plain'), build.pod('daemon', tolerations=[toleration])]

    assert _nodes(*pods, nodes=[build.node('n', unschedulable=True)]) == {'daemon': 'n'}


def test_load_spreads_and_fills() -> None:
    pods = [build.pod(f'p{number}', requests={'cpu': '2'}) for number in range(9)]

    placed = _nodes(*pods)

    assert placed == {f'p{number}': f'n{number % 4}' for number in range(8)}


def test_extended_resources_are_what_counts_first() -> None:
    nodes = [
        build.node('big', cpu='64', extended={'example.com/gpu': '1'}),
        build.node('small', cpu='4', extended={'example.com/gpu': '8'}),
    ]
    pods = [build.pod(f'p{number}', limits={'example.com/gpu': '4'}, requests={'cpu': '1'}) for number in range(3)]

    assert _nodes(*pods, nodes=nodes) == {'p0': 'small', 'p1': 'small'}


def test_important_pods_first_then_old_ones() -> None:
    pods = [
        build.pod('young', created='2026-01-02T00:00:00Z', requests={'cpu': '4'}),
        build.pod('old', created='2026-01-01T00:00:00Z', requests={'cpu': '4'}),
        build.pod('important', created='2026-01-03T00:00:00Z', priority=10, requests={'cpu': '4'}),
    ]

    assert _nodes(*pods, nodes=[build.node('a'), build.node('b')]) == {'important': 'a', 'old': 'b'}


def test_a_smaller_pod_may_pass_one_that_does_not_fit() -> None:
    pods = [build.pod('a-big', requests={'cpu': '5'}), build.pod('b-small', requests={'cpu': '1'})]

    assert _nodes(*pods) == {'b-small': 'n0'}


def test_ports_of_nodes_are_taken_once() -> None:
    pods = [build.pod(f'p{number}', ports=[{'hostPort': 80}]) for number in range(5)]

    assert _nodes(*pods) == {'p0': 'n0', 'p1': 'n1', 'p2': 'n2', 'p3': 'n3'}


def test_pods_that_seek_each_other_share_a_zone() -> None:
    fields = {'labels': {'app': 'pair'}, 'affinity': build.near('zone', app='pair'), 'requests': {'cpu': '3'}}

    assert _nodes(*[build.pod(f'p{number}', **fields) for number in range(3)]) == {'p0': 'n0', 'p1': 'n2'}


def test_exclusive_placement() -> None:
    """As the webhook asks for it: a leader alone in its zone among leaders of other Jobs, followers where it is."""
    exists = {'key': 'job-key', 'operator': 'Exists'}

    def leader(key: str) -> model.Pod:
        same = {'key': 'job-key', 'operator': 'In', 'values': [key]}
        other = {'key': 'job-key', 'operator': 'NotIn', 'values': [key]}
        everywhere = {'topologyKey': 'zone', 'namespaceSelector': {}}
        affinity = {
            'podAffinity': {
                'requiredDuringSchedulingIgnoredDuringExecution': [
                    {**everywhere, 'labelSelector': {'matchExpressions': [same]}}
                ]
            },
            'podAntiAffinity': {
                'requiredDuringSchedulingIgnoredDuringExecution': [
                    {**everywhere, 'labelSelector': {'matchExpressions': [exists, other]}}
                ]
            },
        }
        return build.pod(f'leader-{key}', namespace=f'of-{key}', labels={'job-key': key}, affinity=affinity)

    followers = [build.pod(f'follower-{n}', labels={'job-key': 'one'}, nodeSelector={'zone': 'a'}) for n in range(2)]

    placed = _nodes(leader('one'), leader('two'), leader('zwei'), *followers)

    assert placed == {'leader-one': 'n0', 'leader-two': 'n1', 'follower-0': 'n2', 'follower-1': 'n0'}


def test_spreading() -> None:
    spread = {
        'maxSkew': 1,
        'topologyKey': 'zone',
        'whenUnsatisfiable': 'DoNotSchedule',
        'labelSelector': {'matchLabels': {'app': 's'}},
    }
    nodes = [build.node('n0', cpu='64', labels={'zone': 'a'}), build.node('n1', cpu='2', labels={'zone': 'b'})]
    fields = {'labels': {'app': 's'}, 'topologySpreadConstraints': [spread], 'requests': {'cpu': '1'}}

    placed = _nodes(*[build.pod(f'p{number}', **fields) for number in range(6)], nodes=nodes)

    assert placed == {'p0': 'n0', 'p1': 'n1', 'p2': 'n0', 'p3': 'n1', 'p4': 'n0'}


def test_volumes_decide() -> None:
    volumes = [{'name': 'v', 'persistentVolumeClaim': {'claimName': 'data'}}]

    placed = _nodes(
        build.pod('p', volumes=volumes),
        claims=[build.claim('data', 'disk')],
        volumes=[build.volume('disk', zone='b')],
    )

    assert placed == {'p': 'n1'}


def test_what_runs_takes_up_room() -> None:
    bound = [build.pod('there', nodeName='n0', requests={'cpu': '3'}), build.pod('gone', nodeName='away')]

    assert _nodes(build.pod('p', requests={'cpu': '2'}), nodes=ZONED[:1], bound=bound) == {}


def _container(cpu: str, **fields: Any) -> dict[str, Any]:
    return {'resources': {'requests': {'cpu': cpu}}, **fields}


@pytest.mark.parametrize(
    ('spec', 'cpu'),
    [
        pytest.param({'containers': [_container('1'), _container('500m')]}, 1500, id='containers run together'),
        pytest.param(
            {'containers': [_container('1')], 'initContainers': [_container('3'), _container('2')]},
            3000,
            id='init containers one after another, before',
        ),
        pytest.param(
            {'containers': [_container('1')], 'initContainers': [_container('2', restartPolicy='Always')]},
            3000,
            id='sidecars stay',
        ),
        pytest.param(
            {
                'containers': [_container('1')],
                'initContainers': [_container('1', restartPolicy='Always'), _container('3')],
            },
            4000,
            id='an init container beside an earlier sidecar',
        ),
        pytest.param(
            {'containers': [_container('1')], 'overhead': {'cpu': '250m'}},
            1250,
            id='overhead on top',
        ),
        pytest.param(
            {'containers': [_container('1')], 'resources': {'requests': {'cpu': '7'}}},
            7000,
            id='the pod as a whole',
        ),
        pytest.param(
            {'containers': [{'resources': {'limits': {'cpu': '2'}}}]},
            2000,
            id='only a limit',
        ),
        pytest.param({'containers': [_container('1m'), _container('0.0001')]}, 2, id='parts are rounded up'),
    ],
)
def test_what_a_pod_asks_for(spec: dict[str, Any], cpu: int) -> None:
    assert amounts.of_pod(build.spec(**spec)) == {'pods': 1, 'cpu': cpu}
