"""Pods, nodes and groups for tests, in few words."""

import itertools
from typing import Any

import msgspec

from jobset.local.scheduling import model

_numbers = itertools.count()


def node(name: str, *, cpu: str = '4', memory: str = '8Gi', pods: str = '30', **fields: Any) -> model.Node:
    """A node; ``labels``, ``taints``, ``unschedulable`` and ``extended`` resources as given."""
    labels = {'kubernetes.io/hostname': name, **fields.pop('labels', {})}
    amounts = {'cpu': cpu, 'memory': memory, 'pods': pods, **fields.pop('extended', {})}
    body = {'metadata': {'name': name, 'labels': labels}, 'spec': fields, 'status': {'allocatable': amounts}}
    return msgspec.convert(body, model.Node)


def pod(name: str, **fields: Any) -> model.Pod:
    """A pod that asks for ``requests`` in one container; other fields as in its spec."""
    labels = fields.pop('labels', {'app': name})
    created = fields.pop('created', '2026-01-01T00:00:00Z')
    container = {'resources': {'requests': fields.pop('requests', {}), 'limits': fields.pop('limits', {})}}
    if 'ports' in fields:
        container['ports'] = fields.pop('ports')
    metadata = {'name': name, 'namespace': fields.pop('namespace', 'x'), 'uid': f'uid-{name}', 'labels': labels}
    metadata |= {'resourceVersion': str(next(_numbers)), 'creationTimestamp': created}
    if 'deleted' in fields:
        metadata['deletionTimestamp'] = fields.pop('deleted')
    status = fields.pop('status', {})
    if 'group' in fields:
        fields['schedulingGroup'] = {'podGroupName': fields.pop('group')}
    body = {'metadata': metadata, 'spec': {'containers': [container], **fields}, 'status': status}
    # By way of JSON, as they come: parts of them stay text.
    return msgspec.json.decode(msgspec.json.encode(body), type=model.Pod)


def spec(**fields: Any) -> model.PodSpec:
    """The spec of a pod, as it comes."""
    return msgspec.json.decode(msgspec.json.encode(fields), type=model.PodSpec)


def group(name: str, *, min_count: int | None, **fields: Any) -> model.PodGroup:
    """A group; ``topology`` is the label that all its nodes must share."""
    policy: dict[str, Any] = {'basic': {}} if min_count is None else {'gang': {'minCount': min_count}}
    spec: dict[str, Any] = {'schedulingPolicy': policy}
    if 'topology' in fields:
        spec['schedulingConstraints'] = {'topology': [{'key': fields.pop('topology')}]}
    metadata = {'name': name, 'namespace': 'x', 'uid': f'uid-group-{name}'}
    return msgspec.convert({'metadata': metadata, 'spec': spec | fields}, model.PodGroup)


def claim(name: str, volume: str = '') -> model.Claim:
    """A claim, bound when it has a volume."""
    status = {'phase': 'Bound' if volume else 'Pending'}
    body = {'metadata': {'name': name, 'namespace': 'x'}, 'spec': {'volumeName': volume}, 'status': status}
    return msgspec.convert(body, model.Claim)


def volume(name: str, **labels: str) -> model.PersistentVolume:
    """A volume that nodes with these labels reach."""
    terms = [{'matchExpressions': [{'key': key, 'operator': 'In', 'values': [value]} for key, value in labels.items()]}]
    affinity = {'required': {'nodeSelectorTerms': terms}}
    body = {'metadata': {'name': name}, 'spec': {'nodeAffinity': affinity if labels else None}}
    return msgspec.convert(body, model.PersistentVolume)


def near(key: str, **labels: str) -> dict[str, Any]:
    """Affinity to pods with these labels."""
    return {'podAffinity': {'requiredDuringSchedulingIgnoredDuringExecution': [_term(key, labels)]}}


def apart(key: str, **labels: str) -> dict[str, Any]:
    """Anti-affinity to pods with these labels."""
    return {'podAntiAffinity': {'requiredDuringSchedulingIgnoredDuringExecution': [_term(key, labels)]}}


def _term(key: str, labels: dict[str, str]) -> dict[str, Any]:
    return {'topologyKey': key, 'labelSelector': {'matchLabels': labels}}
