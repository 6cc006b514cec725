"""Pods of a story, as far as the restart engine looks at them."""

from typing import Any

from jobset.api import extras, pods
from tests.model import simulation

Object = dict[str, Any]


def asking(**values: str) -> Object:
    """Annotations of ours: ``asking(run_limit='1m')``."""
    return {extras.PREFIX + name.replace('_', '-'): value for name, value in values.items()}


def annotated(jobset: Object, **values: str) -> Object:
    """A JobSet that asks for something of ours."""
    jobset['metadata']['annotations'] = asking(**values)
    return jobset


def add_pod(cluster: simulation.Simulation, job: str, name: str, *, node: str = 'n1', **status: Any) -> None:
    """A pod of a Job, which runs unless its status says something else."""
    owner = cluster.server.get('jobs', job)
    assert owner is not None
    labels = owner['metadata']['labels']
    cluster.create(
        'pods',
        {
            'metadata': {
                'name': name,
                'labels': {
                    **labels,
                    pods.JOB_UID: owner['metadata']['uid'],
                },
                'ownerReferences': [{'uid': owner['metadata']['uid'], 'kind': 'Job', 'controller': True}],
            },
            'spec': {'nodeName': node},
            'status': {'phase': 'Running', **status},
        },
        manager='kube-controller-manager',
    )


def exited(code: int, *, said: str = '') -> Object:
    """The status of a pod whose container has ended so."""
    ended = {'exitCode': code, 'reason': 'Error', 'message': said, 'finishedAt': '2026-01-01T00:00:05Z'}
    return {'phase': 'Failed', 'containerStatuses': [{'name': 'main', 'state': {'terminated': ended}}]}


def preempted() -> Object:
    """The status of a pod that makes room for another one."""
    condition = {
        'type': 'DisruptionTarget',
        'status': 'True',
        'reason': 'PreemptionByScheduler',
        'message': 'made room',
    }
    return {'phase': 'Failed', 'conditions': [condition]}


def told(cluster: simulation.Simulation, kind: str) -> tuple[str, str, str]:
    """Status, reason and message of a condition of the JobSet."""
    found = next(c for c in cluster.jobset()['status']['conditions'] if c['type'] == kind)
    return (found['status'], found['reason'], found['message'])
