"""Pods of Jobs with exclusive placement, as the tests of placement build them."""

from typing import Any

import msgspec

from jobset.api import keys
from jobset.api.pods import Pod

RACK = 'rack'


def manifest(
    name: str,
    *,
    index: int | None = 0,
    job: str = 'js-a-0',
    owner: str | None = 'job-1',
    key: str | None = None,
    node: str = '',
    rack: str | None = None,
    phase: str = '',
    ending: bool = False,
    namespace: str = 'ns',
    topology: str | None = RACK,
    strategy: bool = False,
    drop: tuple[str, ...] = (),
    uid: str | None = None,
    conditions: list[Any] | None = None,
    priority: int | None = None,
) -> dict[str, Any]:
    """A pod as the Job controller makes it; ``rack`` is its node selector."""
    _, replicated, job_index = job.rsplit('-', 2)
    marks = {
        keys.JOBSET_NAME: job.rsplit('-', 2)[0],
        keys.REPLICATED_JOB_NAME: replicated,
        keys.JOB_INDEX: job_index,
        keys.JOB_KEY: key or f'key-of-{job}',
    }
    labels = {each: value for each, value in marks.items() if each not in drop}
    annotations = {each: value for each, value in marks.items() if each not in drop}
    labels[keys.JOB_NAME] = job
    if index is not None:
        labels[keys.COMPLETION_INDEX] = annotations[keys.COMPLETION_INDEX] = str(index)
    if topology is not None:
        annotations[keys.EXCLUSIVE_TOPOLOGY] = topology
    if strategy:
        annotations[keys.NODE_SELECTOR_STRATEGY] = 'true'
    owners = [] if owner is None else [{'apiVersion': 'batch/v1', 'kind': 'Job', 'name': job, 'uid': owner}]
    metadata: dict[str, Any] = {
        'name': name,
        'namespace': namespace,
        'uid': uid or f'uid-of-{name}',
        'labels': labels,
        'annotations': annotations,
        'ownerReferences': [each | {'controller': True} for each in owners],
    }
    if ending:
        metadata['deletionTimestamp'] = '2026-01-01T00:00:00Z'
    spec: dict[str, Any] = {'containers': [{'name': 'main', 'image': 'busybox'}]}
    if node:
        spec['nodeName'] = node
    if rack is not None:
        spec['nodeSelector'] = {RACK: rack}
    if priority is not None:
        spec['priority'] = priority
    status: dict[str, Any] = {'phase': phase or ('Running' if node else 'Pending')}
    if conditions:
        status['conditions'] = conditions
    return {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': metadata, 'spec': spec, 'status': status}


def pod(name: str, **what: Any) -> Pod:
    """The same as it is observed."""
    return msgspec.convert(manifest(name, **what), Pod)


UNSCHEDULABLE = {
    'type': 'PodScheduled',
    'status': 'False',
    'reason': 'Unschedulable',
    'message': '0/2 nodes are available',
}
