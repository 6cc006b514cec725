"""Objects of a JobSet as a server would have them, and the family that is read from them."""

from typing import Any

import msgspec

from jobset.api import keys, types
from jobset.client import families, observed

Json = dict[str, Any]

NAMESPACE = 'default'


def at(seconds: float) -> str:
    """A time, so many seconds after noon."""
    whole = int(seconds)
    return f'2026-01-01T12:{whole // 60:02}:{whole % 60:02}Z'


def moment(seconds: float) -> Any:
    return observed.moment(at(seconds))


def group(name: str, *, replicas: int = 1, depends_on: dict[str, str] | None = None) -> Json:
    made: Json = {'name': name, 'replicas': replicas, 'template': {'spec': {'template': {'spec': {}}}}}
    if depends_on:
        made['dependsOn'] = [{'name': other, 'status': status} for other, status in depends_on.items()]
    return made


def counts(name: str, **given: int) -> Json:
    return {'name': name, **dict.fromkeys(('ready', 'succeeded', 'failed', 'active', 'suspended'), 0), **given}


def condition(kind: str, reason: str, message: str = '', *, status: str = 'True', since: float = 0) -> Json:
    return {'type': kind, 'status': status, 'reason': reason, 'message': message, 'lastTransitionTime': at(since)}


def jobset(
    *groups: Json, name: str = 'js', status: Json | None = None, labels: Json | None = None, **spec: Any
) -> Json:
    metadata = {
        'name': name,
        'namespace': NAMESPACE,
        'uid': f'uid-{name}',
        'creationTimestamp': at(0),
        'labels': labels or {},
    }
    return {
        'apiVersion': keys.API_VERSION,
        'kind': keys.KIND,
        'metadata': metadata,
        'spec': {'replicatedJobs': list(groups), **spec},
        'status': status or {},
    }


def marks(group: str, index: int, attempt: int) -> Json:
    return {
        keys.JOBSET_NAME: 'js',
        keys.REPLICATED_JOB_NAME: group,
        keys.JOB_INDEX: str(index),
        keys.RESTART_ATTEMPT: str(attempt),
    }


def job(
    group: str, index: int = 0, *, attempt: int = 0, created: float = 0, spec: Json | None = None, **status: Any
) -> Json:
    name = f'js-{group}-{index}'
    metadata = {
        'name': name,
        'namespace': NAMESPACE,
        'uid': f'uid-{name}-{attempt}',
        'creationTimestamp': at(created),
        'labels': marks(group, index, attempt),
    }
    return {'apiVersion': 'batch/v1', 'kind': 'Job', 'metadata': metadata, 'spec': spec or {}, 'status': status}


def pod(
    group: str,
    index: int = 0,
    pod_index: int | None = 0,
    *,
    attempt: int = 0,
    node: str = 'node-a',
    phase: str = 'Running',
    containers: list[Json] | None = None,
    conditions: list[Json] | None = None,
    names: tuple[str, ...] = ('main',),
    **status: Any,
) -> Json:
    owner = f'js-{group}-{index}'
    labels = marks(group, index, attempt)
    if pod_index is not None:
        labels[observed.COMPLETION_INDEX] = str(pod_index)
    middle = '' if pod_index is None else f'-{pod_index}'
    metadata = {
        'name': f'{owner}{middle}-x{attempt}',
        'namespace': NAMESPACE,
        'uid': f'uid-{owner}{middle}-{attempt}',
        'creationTimestamp': at(0),
        'labels': labels,
        'ownerReferences': [{'apiVersion': 'batch/v1', 'kind': 'Job', 'name': owner, 'uid': 'uid', 'controller': True}],
    }
    spec: Json = {'containers': [{'name': name} for name in names]}
    if node:
        spec['nodeName'] = node
    told = {'phase': phase, 'containerStatuses': containers or [], 'conditions': conditions or [], **status}
    return {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': metadata, 'spec': spec, 'status': told}


def running(name: str = 'main', *, since: float = 0, restarts: int = 0, ready: bool = True) -> Json:
    state = {'running': {'startedAt': at(since)}}
    return {'name': name, 'ready': ready, 'restartCount': restarts, 'state': state}


def ended(name: str = 'main', *, code: int = 0, start: float = 0, end: float = 0, reason: str = '') -> Json:
    told = reason or ('Error' if code else 'Completed')
    terminated = {'exitCode': code, 'reason': told, 'startedAt': at(start), 'finishedAt': at(end)}
    return {'name': name, 'state': {'terminated': terminated}}


def waiting(reason: str, message: str = '', *, name: str = 'main', restarts: int = 0, **more: Any) -> Json:
    state = {'waiting': {'reason': reason, 'message': message}}
    return {'name': name, 'restartCount': restarts, 'state': state, **more}


def event(
    kind: str,
    name: str,
    reason: str,
    note: str = '',
    *,
    seen: float = 0,
    uid: str = '',
    type: str = 'Normal',  # noqa: A002 - as the field is called
    count: int = 1,
    last: float | None = None,
) -> Json:
    made: Json = {
        'apiVersion': 'events.k8s.io/v1',
        'kind': 'Event',
        'metadata': {'name': f'{name}.{reason}.{seen:g}', 'namespace': NAMESPACE, 'creationTimestamp': at(seen)},
        'eventTime': at(seen),
        'reason': reason,
        'note': note,
        'type': type,
        'regarding': {'kind': kind, 'name': name, 'namespace': NAMESPACE, 'uid': uid},
        'reportingController': 'tester',
    }
    if count > 1:
        made['series'] = {'count': count, 'lastObservedTime': at(seen if last is None else last)}
    return made


def family(
    obj: Json,
    *,
    jobs: list[Json] | None = None,
    pods: list[Json] | None = None,
    events: list[Json] | None = None,
    claims: list[Json] | None = None,
    suspender: str = '',
) -> families.Family:
    """What :func:`jobset.client.families.read` would make of these objects."""
    return families.Family(
        jobset=msgspec.json.decode(_json(obj), type=types.JobSet),
        jobs=[msgspec.json.decode(_json(one), type=observed.Job) for one in jobs or ()],
        pods=[msgspec.json.decode(_json(one), type=observed.Pod) for one in pods or ()],
        claims=[msgspec.json.decode(_json(one), type=observed.Claim) for one in claims or ()],
        events=families.sorted_events(msgspec.json.decode(_json(one), type=observed.Event) for one in events or ()),
        suspender=suspender,
    )


def _json(obj: Json) -> bytes:
    return msgspec.json.encode(obj)
