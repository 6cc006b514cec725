"""How much pods ask for, and nodes have."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from jobset.client import observed, shortages


def pod(message: str, spec: Mapping[str, Any]) -> observed.Pod:
    condition = {'type': 'PodScheduled', 'status': 'False', 'reason': 'Unschedulable', 'message': message}
    body = {'metadata': {'name': 'p'}, 'spec': spec, 'status': {'conditions': [condition]}}
    return msgspec.convert(body, observed.Pod)


def node(**allocatable: str | int) -> observed.Node:
    return msgspec.convert({'metadata': {'name': 'n'}, 'status': {'allocatable': allocatable}}, observed.Node)


def asks(*more: Mapping[str, Any], **requests: str | int) -> dict[str, Any]:
    return {'containers': [{'name': 'main', 'resources': {'requests': requests}}, *more]}


CPU = '0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found.'
BOTH = '0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 2 Insufficient memory.'
NODES = (node(cpu='1500m', memory='16318560Ki'), node(cpu='2', memory='8Gi'))
LIMITED = {'name': 'b', 'resources': {'limits': {'cpu': '500m'}}}
SIDECAR = {'name': 's', 'restartPolicy': 'Always', 'resources': {'requests': {'cpu': 1}}}
INITIAL = {'name': 'i', 'resources': {'requests': {'cpu': '7.5'}}}


@pytest.mark.parametrize(
    ('seen', 'nodes', 'text'),
    [
        pytest.param(pod(CPU, asks(cpu='64')), NODES, 'it asks for 64 cpu, and no node has more than 2', id='too much'),
        pytest.param(pod(CPU, asks(cpu=1)), NODES, 'it asks for 1 cpu of at most 2', id='taken by others'),
        pytest.param(pod(CPU, asks(cpu='64')), (), 'it asks for 64 cpu', id='nodes that may not be read'),
        pytest.param(pod(CPU, asks(LIMITED, cpu='1')), (), 'it asks for 1500m cpu', id='a limit is a request'),
        pytest.param(
            pod(CPU, asks(cpu='4') | {'initContainers': [SIDECAR]}), (), 'it asks for 5 cpu', id='with a sidecar'
        ),
        pytest.param(
            pod(CPU, asks(cpu='4') | {'initContainers': [SIDECAR, INITIAL]}),
            (),
            'it asks for 8500m cpu',
            id='before the others',
        ),
        pytest.param(
            pod(CPU, asks(cpu='4') | {'resources': {'requests': {'cpu': '6'}}}),
            (),
            'it asks for 6 cpu',
            id='whole',
        ),
        pytest.param(
            pod(BOTH, asks(memory='64Gi', **{'nvidia.com/gpu': 8})),
            NODES,
            'it asks for 8 nvidia.com/gpu, and no node has more than 0; it asks for 64Gi memory, and no node has more '
            'than 15.6Gi',
            id='several',
        ),
        pytest.param(pod(CPU, asks()), NODES, '', id='asks for nothing'),
        pytest.param(pod('0/1 nodes are available: 1 Too many pods.', asks(cpu='1')), NODES, '', id='nothing short'),
        pytest.param(pod(CPU, asks(cpu='many')), NODES, '', id='no quantity'),
    ],
)
def test_text(seen: observed.Pod, nodes: tuple[observed.Node, ...], text: str) -> None:
    assert shortages.text(seen, nodes) == text


def test_a_pod_that_has_a_node_is_short_of_nothing() -> None:
    assert shortages.named(msgspec.convert({'metadata': {'name': 'p'}, 'spec': asks(cpu=1)}, observed.Pod)) == []
