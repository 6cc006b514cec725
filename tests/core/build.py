"""JobSets and Jobs from short calls. They are decoded from JSON, so that what is tested is what an API server sends.

Keyword arguments that end up in a manifest are spelled as there: ``build.jobset(build.part('a', 2), suspend=True)``.
"""

import datetime
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from jobset.api import jobs, keys, types
from jobset.core import family, network, plan, reconcile

Manifest = dict[str, Any]

START: Final = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
"""The moment that all times are counted from."""

POD: Final[Manifest] = {'containers': [{'name': 'main', 'image': 'busybox'}]}


def at(seconds: float) -> datetime.datetime:
    """So many seconds after :data:`START`."""
    return START + datetime.timedelta(seconds=seconds)


def stamp(seconds: float) -> str:
    """The same as an API server writes it."""
    return at(seconds).strftime('%Y-%m-%dT%H:%M:%SZ')


def part(name: str, replicas: int | None = 1, *, template: Manifest | None = None, **fields: Any) -> Manifest:
    """A replicated job; ``replicas=None`` leaves the field out."""
    counted: Manifest = {} if replicas is None else {'replicas': replicas}
    return {'name': name, 'template': {'spec': pods()} if template is None else template, **counted, **fields}


def pods(*, parallelism: int = 1, metadata: Manifest | None = None, **pod_spec: Any) -> Manifest:
    """The spec of a Job template."""
    pod_template: Manifest = {'spec': POD | pod_spec}
    if metadata is not None:
        pod_template['metadata'] = metadata
    return {'parallelism': parallelism, 'completions': parallelism, 'template': pod_template}


def needs(name: str, status: str) -> Manifest:
    """An entry of ``dependsOn``."""
    return {'name': name, 'status': status}


def jobset(
    *parts: Manifest,
    metadata: Manifest | None = None,
    status: types.Status | None = None,
    **spec: Any,
) -> types.JobSet:
    """The JobSet ``js`` in the namespace ``default``."""
    identity = {'name': 'js', 'namespace': 'default', 'uid': 'js-uid', 'resourceVersion': '1', 'generation': 1}
    manifest: Manifest = {
        'metadata': identity | (metadata or {}),
        'spec': {'replicatedJobs': list(parts), **spec},
    }
    if status is not None:
        manifest['status'] = types.encode_status(status)
    return msgspec.json.decode(msgspec.json.encode(manifest), type=types.JobSet)


def job(
    child: str,
    *,
    attempt: str | int = 0,
    uid: str = '',
    part: str | None = None,
    index: str | None = None,
    own: str | None = None,
    suspend: bool = False,
    parallelism: int | None = 1,
    completions: int | None = None,
    ended: Manifest | None = None,
    conditions: tuple[Manifest, ...] = (),
    deleting: bool = False,
    owner: Manifest | None = None,
    **status: Any,
) -> jobs.Job:
    """The Job ``js-<child>``, as ``a-0``; its status counters are further keywords: ``active=1, ready=1``.

    ``own`` is the attempt of its own that it says it is of.
    """
    replicated_job, _, number = child.rpartition('-')
    labels = {
        keys.REPLICATED_JOB_NAME: replicated_job if part is None else part,
        keys.JOB_INDEX: number if index is None else index,
        keys.RESTART_ATTEMPT: str(attempt),
    }
    if own is not None:
        labels[keys.JOB_RESTART_ATTEMPT] = own
    metadata: Manifest = {
        'name': f'js-{child}',
        'namespace': 'default',
        'uid': uid or f'{child}-uid-{attempt}',
        'labels': labels,
        'ownerReferences': [OWNER if owner is None else owner],
    }
    if deleting:
        metadata['deletionTimestamp'] = stamp(0)
    every = [*conditions, *((ended,) if ended is not None else ())]
    manifest = {
        'metadata': metadata,
        'spec': {'suspend': suspend, 'parallelism': parallelism, 'completions': completions},
        'status': {**status, 'conditions': every} if every else status,
    }
    return msgspec.json.decode(msgspec.json.encode(manifest), type=jobs.Job)


OWNER: Final[Manifest] = {
    'apiVersion': keys.API_VERSION,
    'kind': keys.KIND,
    'name': 'js',
    'uid': 'js-uid',
    'controller': True,
    'blockOwnerDeletion': True,
}


def job_condition(kind: str, *, holds: bool = True, seconds: float | None = 10, **fields: Any) -> Manifest:
    """A condition of a Job."""
    time: Manifest = {} if seconds is None else {'lastTransitionTime': stamp(seconds)}
    return {'type': kind, 'status': 'True' if holds else 'False', **time, **fields}


def completed(seconds: float = 10) -> Manifest:
    """The condition of a Job that succeeded."""
    return job_condition('Complete', seconds=seconds)


def failed(seconds: float | None = 10, *, reason: str = 'BackoffLimitExceeded', message: str = 'gave up') -> Manifest:
    """The condition of a Job that failed."""
    return job_condition('Failed', seconds=seconds, reason=reason, message=message)


def condition(kind: str, *, holds: bool, reason: str, message: str, seconds: float = 0) -> types.Condition:
    """A condition of the JobSet."""
    return types.Condition(
        type=kind,
        status='True' if holds else 'False',
        reason=reason,
        message=message,
        last_transition_time=stamp(seconds),
    )


def counters(name: str, **counts: int) -> types.ReplicatedJobStatus:
    """An entry of ``status.replicatedJobsStatus``; what is not named is zero."""
    counted: dict[str, Any] = dict.fromkeys(('ready', 'succeeded', 'failed', 'active', 'suspended'), 0) | counts
    return types.ReplicatedJobStatus(name=name, **counted)


def ref(child: str, *, attempt: int = 0) -> plan.JobRef:
    """How a plan names the Job that :func:`job` makes."""
    return plan.JobRef(f'js-{child}', f'{child}-uid-{attempt}')


def relatives(*members: jobs.Job) -> family.Family:
    """A family of these Jobs."""
    made = family.Family()
    for member in members:
        made.put(member)
    return made


def service(
    *,
    name: str = 'js',
    owner: str | None = 'js-uid',
    cluster_ip: str | None = 'None',
    selector: Mapping[str, str] | None = None,
) -> network.Service:
    """The Service under the set's name, ours and right unless said otherwise."""
    selected = {keys.JOBSET_NAME: 'js'} if selector is None else dict(selector)
    owners = [] if owner is None else [OWNER | {'uid': owner}]
    manifest = {
        'metadata': {'name': name, 'namespace': 'default', 'uid': 'service-uid', 'ownerReferences': owners},
        'spec': {'clusterIP': cluster_ip, 'selector': selected},
    }
    return msgspec.json.decode(msgspec.json.encode(manifest), type=network.Service)


def facts(jobset: types.JobSet, *members: jobs.Job, seen: network.Service | None = None) -> reconcile.Facts:
    """What a pass sees of a set with these Jobs."""
    return reconcile.Facts(jobset=jobset, family=relatives(*members), service=seen)


def copy(manifest: Manifest) -> Manifest:
    """One that shares nothing with the first."""
    copied: Manifest = msgspec.json.decode(msgspec.json.encode(manifest))
    return copied
