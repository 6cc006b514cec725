"""Configurations that an apply does not take, in the words of kube-apiserver 1.37."""

from typing import Any

import pytest

from jobset.local import schemas
from jobset.local.patches import typed

POD = schemas.builtin('', 'v1', 'Pod').root


def pod(metadata: Any = None, **spec: Any) -> dict[str, Any]:
    return {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': metadata or {'name': 'a'}, 'spec': spec}


def container(**fields: Any) -> dict[str, Any]:
    return pod(containers=[{'name': 'main', **fields}])


@pytest.mark.parametrize(
    ('applied', 'mistake'),
    [
        pytest.param(pod(colour='x'), '.spec.colour: field not declared in schema', id='unknown'),
        pytest.param(pod({'labels': []}), '.metadata.labels: expected map, got &{[]}', id='list for a map'),
        pytest.param(
            pod({'labels': {'a': 1}}),
            '.metadata.labels.a: expected string, got &value.valueUnstructured{Value:1}',
            id='number for a string',
        ),
        pytest.param(
            pod({'annotations': {'a': {'b': [1, 'c']}}}),
            '.metadata.annotations.a: expected string, got &value.valueUnstructured{Value:map[string]interface {}'
            '{"b":[]interface {}{1, "c"}}}',
            id='map for a string',
        ),
        pytest.param(
            pod(activeDeadlineSeconds='x'),
            '.spec.activeDeadlineSeconds: expected numeric (int or float), got string',
            id='string for a number',
        ),
        pytest.param(pod(hostNetwork='yes'), '.spec.hostNetwork: expected boolean, got &{yes}', id='no boolean'),
        pytest.param(pod(containers={}), '.spec.containers: expected list, got &{map[]}', id='no list'),
        pytest.param(
            pod(containers=[None]),
            '.spec.containers: element 0: associative list with keys may not have a null element',
            id='null in a list',
        ),
        pytest.param(
            container(ports=[{'containerPort': 1}, {'containerPort': 1}]),
            '.spec.containers[name="main"].ports: duplicate entries for key [containerPort=1,protocol="TCP"]',
            id='twice, with a default in the key',
        ),
        pytest.param(
            pod({'finalizers': ['a/b', 'a/b']}),
            '.metadata.finalizers: duplicate entries for key [="a/b"]',
            id='twice in a set',
        ),
        pytest.param(
            container(command=[1]),
            '.spec.containers[name="main"].command[0]: expected string, got &value.valueUnstructured{Value:1}',
            id='in an atomic list',
        ),
        pytest.param(
            container(resources={'limits': {'cpu': []}}),
            '.spec.containers[name="main"].resources.limits.cpu: expected any scalar, got &{[]}',
            id='no quantity',
        ),
    ],
)
def test_mistake(applied: dict[str, Any], mistake: str) -> None:
    assert typed.mistakes(applied, POD) == [mistake]


@pytest.mark.parametrize(
    'applied',
    [
        pytest.param(container(image='x', resources={'limits': {'cpu': 1}}), id='plain'),
        pytest.param(pod(containers=None, restartPolicy=None), id='null says nothing'),
        pytest.param(container(ports=[{'containerPort': 1}, {'containerPort': 1, 'protocol': 'UDP'}]), id='two ports'),
        pytest.param(container(readinessProbe={'httpGet': {'port': []}}), id='a port is judged when it is decoded'),
    ],
)
def test_right(applied: dict[str, Any]) -> None:
    assert typed.mistakes(applied, POD) == []


def test_several_are_told_together() -> None:
    found = typed.mistakes({'spec': {'colour': 'x', 'hostNetwork': 1}, 'metadata': {'colour': 'x'}}, POD)

    assert typed.told(found) == (
        'errors:\n  .spec.colour: field not declared in schema\n  .metadata.colour: field not declared in schema'
    )
