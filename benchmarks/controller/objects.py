"""What the load writes: JobSets, their Jobs as the controller would make them, and the ends of Jobs."""

import datetime
from typing import Any, Final

import msgspec

from jobset.api import keys, types
from jobset.core import children
from jobset.core.jobs import Factory

NAMESPACE: Final = 'bench'
REPLICATED_JOB: Final = 'workers'
SOMEBODY_ELSE: Final = 'example.com/nobody'
"""Who manages the JobSets that only own the Jobs of a raw run; without an owner they would be collected."""

RESTARTS: Final = 3


def namespace() -> dict[str, Any]:
    """Where everything is written."""
    return {'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': NAMESPACE}}


def jobset(name: str, *, jobs: int, managed_by: str | None = None) -> dict[str, Any]:
    """A JobSet as admission would leave it, with everything that is defaulted written out."""
    pod_spec = {
        'restartPolicy': 'Never',
        'containers': [{'name': 'main', 'image': 'localhost/none:1', 'command': ['sleep', '60']}],
    }
    template = {'spec': {'parallelism': 1, 'completions': 1, 'backoffLimit': 0, 'template': {'spec': pod_spec}}}
    spec: dict[str, Any] = {
        'network': {'enableDNSHostnames': True, 'publishNotReadyAddresses': True},
        'startupPolicy': {'startupPolicyOrder': 'AnyOrder'},
        'successPolicy': {'operator': 'All'},
        'failurePolicy': {'maxRestarts': RESTARTS, 'restartStrategy': 'Recreate'},
        'replicatedJobs': [{'name': REPLICATED_JOB, 'groupName': 'default', 'replicas': jobs, 'template': template}],
    }
    if managed_by is not None:
        spec['managedBy'] = managed_by
    return {
        'apiVersion': keys.API_VERSION,
        'kind': keys.KIND,
        'metadata': {'name': name, 'namespace': NAMESPACE},
        'spec': spec,
    }


def job_bodies(stored: bytes) -> list[bytes]:
    """The Jobs that the controller would make for a JobSet, given as the server answered its creation."""
    owner = msgspec.json.decode(stored, type=types.JobSet)
    factory = Factory(owner)
    positions = range(len(owner.spec.replicated_jobs))
    wanted = (child for position in positions for child in children.wanted(owner, position))
    return [msgspec.json.encode(factory.build(child)) for child in wanted]


def completed() -> bytes:
    """A merge patch for the status of a Job that has ended well."""
    now = _now()
    return msgspec.json.encode(
        {
            'status': {
                'startTime': now,
                'completionTime': now,
                'succeeded': 1,
                'conditions': [_condition('SuccessCriteriaMet', now), _condition('Complete', now)],
            }
        }
    )


def failed() -> bytes:
    """A merge patch for the status of a Job that has used up its retries."""
    now = _now()
    return msgspec.json.encode(
        {
            'status': {
                'startTime': now,
                'failed': 1,
                'conditions': [
                    _condition('FailureTarget', now, 'BackoffLimitExceeded'),
                    _condition('Failed', now, 'BackoffLimitExceeded'),
                ],
            }
        }
    )


def _condition(kind: str, now: str, reason: str = 'CompletionsReached') -> dict[str, str]:
    return {
        'type': kind,
        'status': 'True',
        'reason': reason,
        'message': 'written by the load',
        'lastProbeTime': now,
        'lastTransitionTime': now,
    }


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime('%Y-%m-%dT%H:%M:%SZ')
