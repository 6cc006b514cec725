"""Jobs and pods for tables, made from the few fields that matter."""

import datetime
from typing import Any, Final

import msgspec

from jobset.local import objects
from jobset.local.jobs import keys
from jobset.local.jobs.types import Job, Pod

NOW: Final = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
"""The time of all passes in tables."""


def at(seconds: float) -> str:
    """A time so long after NOW."""
    return objects.stamp(NOW + datetime.timedelta(seconds=seconds))


def job(*, deleted: bool = False, status: dict[str, Any] | None = None, **spec: Any) -> Job:
    """A Job called ``j`` with the uid ``u``; fields of the spec as in JSON."""
    metadata = {'name': 'j', 'namespace': 'ns', 'uid': 'u'} | ({'deletionTimestamp': at(0)} if deleted else {})
    template = {'metadata': {'labels': {'job': 'j'}}, 'spec': {'restartPolicy': 'Never', 'containers': [{'name': 'a'}]}}
    defaults = {
        'parallelism': 1,
        'completions': 1,
        'backoffLimit': 6,
        'completionMode': 'NonIndexed',
        'suspend': False,
        'selector': {'matchLabels': {'job': 'j'}},
        'template': template,
    }
    found = {'metadata': metadata, 'spec': defaults | spec, 'status': status or {}}
    return msgspec.json.decode(msgspec.json.encode(found), type=Job)


def indexed(completions: int, **spec: Any) -> Job:
    """An indexed Job whose pods all run at once."""
    defaults: dict[str, Any] = {'completionMode': 'Indexed', 'completions': completions, 'parallelism': completions}
    return job(**(defaults | spec))


def pod(
    uid: str = 'p',
    phase: str = 'Running',
    *,
    index: int | str | None = None,
    failures: int | None = None,
    ignored: int | None = None,
    tracked: bool = True,
    deleted: bool = False,
    owned: bool = True,
    node: str = '',
    ready: float | None = None,
    restarts: int = 0,
    created: float = -100,
    finished: float | None = None,
    codes: dict[str, int] | None = None,
    conditions: dict[str, str] | None = None,
    labels: dict[str, str] | None = None,
) -> Pod:
    """A pod; ``ready``, ``created`` and ``finished`` are seconds after NOW."""
    annotations = {
        key: str(value)
        for key, value in (
            (keys.COMPLETION_INDEX, index),
            (keys.INDEX_FAILURES, failures),
            (keys.INDEX_IGNORED_FAILURES, ignored),
        )
        if value is not None
    }
    owner = {'apiVersion': 'batch/v1', 'kind': 'Job', 'name': 'j', 'uid': 'u', 'controller': True}
    metadata: dict[str, Any] = {
        'name': f'j-{uid}',
        'namespace': 'ns',
        'uid': uid,
        'creationTimestamp': at(created),
        'annotations': annotations,
        'labels': {'job': 'j'} if labels is None else labels,
        'ownerReferences': [owner] if owned else None,
        'finalizers': [keys.FINALIZER] if tracked else None,
    }
    if deleted:
        metadata |= {'deletionTimestamp': at(30), 'deletionGracePeriodSeconds': 30}
    seen = [{'type': key, 'status': value} for key, value in (conditions or {}).items()]
    if ready is not None:
        seen.append({'type': 'Ready', 'status': 'True', 'lastTransitionTime': at(ready)})
    if finished is not None and codes is None:
        codes = {'a': int(phase == 'Failed')}
    states: list[dict[str, Any]] = [{'name': 'a', 'restartCount': restarts}] if restarts else []
    for name, code in (codes or {}).items():
        end = {'exitCode': code} | ({} if finished is None else {'finishedAt': at(finished)})
        states.append({'name': name, 'restartCount': restarts, 'state': {'terminated': end}})
    body = {
        'metadata': metadata,
        'spec': {'nodeName': node},
        'status': {'phase': phase, 'conditions': seen, 'containerStatuses': states},
    }
    return msgspec.json.decode(msgspec.json.encode(body), type=Pod)
