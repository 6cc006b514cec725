"""What is said of pods without a node, word for word as kube-scheduler 1.37.2 said it of the same pods and nodes."""

from typing import Any

import pytest

from jobset.local.scheduling import model, placement, planner
from tests.local.scheduling import build

NODES = [
    build.node('n1', labels={'zone': 'a'}, taints=[{'key': 'k', 'value': 'v', 'effect': 'NoSchedule'}]),
    build.node('n2', labels={'zone': 'a'}, extended={'example.com/gpu': '2'}),
    build.node('n3', labels={'zone': 'b'}, extended={'example.com/gpu': '2'}),
    build.node('n4', unschedulable=True),
]
IN_B = {'nodeSelector': {'zone': 'b'}}
GUARD = build.apart('zone', app='guard')
NEVER = 'preemption: not eligible due to preemptionPolicy=Never.'
HOPELESS = 'preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling.'
ONE_HOPE = (
    'preemption: 0/4 nodes are available: 1 No preemption victims found for incoming pod, '
    '3 Preemption is not helpful for scheduling.'
)
TAINTED = '1 node(s) had untolerated taint(s), 1 node(s) were unschedulable'
OTHER_ZONE = "1 node(s) didn't match Pod's node affinity/selector"


def _spread(key: str, **fields: Any) -> dict[str, Any]:
    selector = {'matchLabels': {'app': 'spread'}}
    one = {'maxSkew': 1, 'topologyKey': key, 'whenUnsatisfiable': 'DoNotSchedule', 'labelSelector': selector, **fields}
    return {'labels': {'app': 'spread'}, 'topologySpreadConstraints': [one]}


def _held(*pods: model.Pod, **facts: Any) -> dict[str, str]:
    facts.setdefault('nodes', NODES)
    plan = placement.place(pods, **facts)
    return {hold.pod.metadata.name: f'{hold.message}' for hold in plan.holds}


@pytest.mark.parametrize(
    ('fields', 'message'),
    [
        pytest.param(
            {'requests': {'cpu': '10'}},
            f'0/4 nodes are available: {TAINTED}, 2 Insufficient cpu. {HOPELESS}',
            id='more CPU than any node has',
        ),
        pytest.param(
            {'requests': {'cpu': '10', 'memory': '100Gi'}},
            f'0/4 nodes are available: {TAINTED}, 2 Insufficient cpu, 2 Insufficient memory. {HOPELESS}',
            id='too much of two resources',
        ),
        pytest.param(
            {'limits': {'example.com/gpu': '4'}},
            f'0/4 nodes are available: {TAINTED}, 2 Insufficient example.com/gpu. {HOPELESS}',
            id='an extended resource',
        ),
        pytest.param(
            {'limits': {'example.com/tpu': '4'}},
            f'0/4 nodes are available: {TAINTED}, 2 Insufficient example.com/tpu. {HOPELESS}',
            id='a resource that nobody has',
        ),
        pytest.param(
            {'nodeSelector': {'zone': 'c'}},
            f"0/4 nodes are available: {TAINTED}, 2 node(s) didn't match Pod's node affinity/selector. {HOPELESS}",
            id='a label that nobody has',
        ),
        pytest.param(
            {**IN_B, 'requests': {'cpu': '10'}},
            f'0/4 nodes are available: 1 Insufficient cpu, {OTHER_ZONE}, {TAINTED}. {HOPELESS}',
            id='more than the one right node has',
        ),
        pytest.param(
            {**IN_B, 'requests': {'cpu': '4'}},
            f'0/4 nodes are available: 1 Insufficient cpu, {OTHER_ZONE}, {TAINTED}. {ONE_HOPE}',
            id='more than is left on the one right node',
        ),
        pytest.param(
            {'requests': {'cpu': '10'}, 'preemptionPolicy': 'Never'},
            f'0/4 nodes are available: {TAINTED}, 2 Insufficient cpu. {NEVER}',
            id='no preemption wanted',
        ),
        pytest.param(
            {**IN_B, 'ports': [{'hostPort': 80}]},
            f"0/4 nodes are available: 1 node(s) didn't have free ports for the requested pod ports, {OTHER_ZONE}, "
            f'{TAINTED}. {ONE_HOPE}',
            id='a port that is taken',
        ),
        pytest.param(
            {**IN_B, 'labels': {'app': 'guard'}, 'affinity': GUARD},
            f"0/4 nodes are available: {OTHER_ZONE}, 1 node(s) didn't match pod anti-affinity rules, {TAINTED}. "
            f'{ONE_HOPE}',
            id='a pod that it avoids',
        ),
        pytest.param(
            {**IN_B, 'labels': {'app': 'victim'}},
            f"0/4 nodes are available: {OTHER_ZONE}, 1 node(s) didn't satisfy existing pods anti-affinity rules, "
            f'{TAINTED}. {ONE_HOPE}',
            id='a pod that avoids it',
        ),
        pytest.param(
            {**IN_B, 'affinity': build.near('zone', app='nobody')},
            f"0/4 nodes are available: {OTHER_ZONE}, 1 node(s) didn't match pod affinity rules, {TAINTED}. {HOPELESS}",
            id='a pod that it seeks is nowhere',
        ),
        pytest.param(
            {**_spread('rack'), **IN_B},
            f"0/4 nodes are available: {OTHER_ZONE}, 1 node(s) didn't match pod topology spread constraints "
            f'(missing required label), {TAINTED}. {HOPELESS}',
            id='spread over a label that nobody has',
        ),
        pytest.param(
            {**_spread('zone', nodeAffinityPolicy='Ignore'), **IN_B},
            f"0/4 nodes are available: {OTHER_ZONE}, 1 node(s) didn't match pod topology spread constraints, "
            f'{TAINTED}. {ONE_HOPE}',
            id='spread unevenly',
        ),
        pytest.param(
            {'volumes': [{'name': 'v', 'persistentVolumeClaim': {'claimName': 'none'}}]},
            '0/4 nodes are available: persistentvolumeclaim "none" not found. not found',
            id='a claim that is not there',
        ),
        pytest.param(
            {'volumes': [{'name': 'v', 'persistentVolumeClaim': {'claimName': 'unbound'}}]},
            '0/4 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found',
            id='a claim without a volume',
        ),
        pytest.param(
            {**IN_B, 'volumes': [{'name': 'v', 'persistentVolumeClaim': {'claimName': 'bound'}}]},
            f"0/4 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, {OTHER_ZONE}, "
            f'{TAINTED}. {HOPELESS}',
            id='a volume elsewhere',
        ),
    ],
)
def test_reasons(fields: dict[str, Any], message: str) -> None:
    there = build.pod(
        'guard',
        nodeName='n3',
        requests={'cpu': '1'},
        ports=[{'hostPort': 80}],
        affinity=build.apart('zone', app='victim'),
    )
    spread = build.pod('spread', nodeName='n3')
    claims = [build.claim('unbound'), build.claim('bound', 'volume')]
    volumes = [build.volume('volume', zone='q')]

    held = _held(build.pod('p', **fields), bound=[there, spread], claims=claims, volumes=volumes)

    assert held == {'p': message}


def test_no_nodes() -> None:
    assert _held(build.pod('p'), nodes=[]) == {'p': 'no nodes available to schedule pods'}


def test_too_many_pods_and_too_little_cpu() -> None:
    nodes = [build.node('n1', cpu='1', pods='1')]

    held = _held(build.pod('p', requests={'cpu': '500m'}), nodes=nodes, bound=[build.pod('q', nodeName='n1')])

    assert held == {
        'p': (
            '0/1 nodes are available: 1 Too many pods. '
            'preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.'
        )
    }


def test_gates() -> None:
    plan = placement.place([build.pod('p', schedulingGates=[{'name': 'example.com/g'}])], NODES)

    assert [(hold.reason, hold.message) for hold in plan.holds] == [
        ('SchedulingGated', 'Scheduling is blocked due to non-empty scheduling gates')
    ]
    assert plan.binds == []


def test_a_gang_that_does_not_fit() -> None:
    pods = [build.pod(f'gang-{number}', group='gang', requests={'cpu': '3'}) for number in range(3)]
    nodes = [NODES[0], NODES[1], NODES[3]]

    plan = placement.place(pods, nodes, groups=[build.group('gang', min_count=3)])

    short = (
        'pod group is unschedulable, 0/1 placements are available, first placement status: '
        'minCount (3) cannot be satisfied: 1 scheduled, 1 remaining'
    )
    no_victims = 'pod group preemption: No preemption victims found for incoming preemptor'
    assert {hold.pod.metadata.name: hold.message for hold in plan.holds} == {
        'gang-0': f'pod group is unschedulable, {short}, {no_victims}',
        'gang-1': f'0/3 nodes are available: 1 Insufficient cpu, {TAINTED}.',
        'gang-2': short,
    }
    assert [(one.is_scheduled, one.reason, one.message) for one in plan.judgements] == [
        (False, 'Unschedulable', f'{short}, {no_victims}')
    ]
    assert plan.binds == []


def test_a_gang_that_finds_no_single_zone() -> None:
    fields = {'labels': {'app': 'zoned'}, 'affinity': build.apart('kubernetes.io/hostname', app='zoned')}
    pods = [build.pod(f'zoned-{number}', group='zoned', **fields) for number in range(2)]

    plan = placement.place(pods, NODES, groups=[build.group('zoned', min_count=2, topology='zone')])

    # kube-scheduler counts the nodes of a zone that it has looked at; here those of the first zone are two.
    assert [one.message for one in plan.judgements] == [
        (
            'pod group is unschedulable, 0/2 placements are available, first placement status: '
            'minCount (2) cannot be satisfied: 1 scheduled, 0 remaining, '
            'pod group preemption: No preemption victims found for incoming preemptor'
        )
    ]
    assert plan.binds == []


def test_a_gang_of_another_priority() -> None:
    pods = [build.pod(f'odd-{number}', group='odd', priority=5) for number in range(2)]

    plan = placement.place(pods, NODES, groups=[build.group('odd', min_count=2, priority=0)])

    odd = "all pods in a single pod group should have the same priority as the pod group's priority, got 5 and 0"
    assert [(hold.reason, hold.message) for hold in plan.holds] == [('SchedulerError', odd)] * 2
    assert [(one.reason, one.message) for one in plan.judgements] == [(planner.ERROR, odd)]
