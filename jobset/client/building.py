"""JobSets from Python: the few things that most of them need, as a manifest that can be changed before it is sent."""

from collections.abc import Mapping, Sequence
from typing import Any

from jobset.api import keys, types

Object = dict[str, Any]


def build(
    name: str,
    *groups: Object,
    namespace: str | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    max_restarts: int | None = None,
    restart_strategy: types.RestartStrategy | None = None,
    success: types.Operator | None = None,
    success_of: Sequence[str] = (),
    coordinator: str | None = None,
    suspend: bool | None = None,
    ttl_seconds: int | None = None,
) -> Object:
    """The manifest of a JobSet of replicated jobs that :func:`group` makes.

    ``success`` and ``success_of`` say how many of which replicated jobs have to succeed, ``coordinator`` names the
    replicated job whose first pod all others are told.
    """
    metadata: Object = {'name': name}
    metadata |= _given(namespace=namespace, labels=_dict(labels), annotations=_dict(annotations))
    spec: Object = {'replicatedJobs': list(groups)}
    spec |= _given(suspend=suspend, ttlSecondsAfterFinished=ttl_seconds)
    failure = _given(maxRestarts=max_restarts, restartStrategy=restart_strategy and restart_strategy.value)
    if failure:
        spec['failurePolicy'] = failure
    if success is not None or success_of:
        operator = success or types.Operator.ALL
        spec['successPolicy'] = {'operator': operator.value, 'targetReplicatedJobs': list(success_of)}
    if coordinator is not None:
        spec['coordinator'] = {'replicatedJob': coordinator, 'jobIndex': 0, 'podIndex': 0}
    return {'apiVersion': keys.API_VERSION, 'kind': keys.KIND, 'metadata': metadata, 'spec': spec}


def group(
    name: str,
    *,
    command: Sequence[str],
    image: str = 'busybox',
    args: Sequence[str] = (),
    jobs: int = 1,
    pods: int = 1,
    env: Mapping[str, str] | None = None,
    requests: Mapping[str, str | int] | None = None,
    limits: Mapping[str, str | int] | None = None,
    depends_on: Mapping[str, types.DependsOnStatus] | None = None,
    backoff_limit: int = 0,
    restart_policy: str = 'Never',
    grace_seconds: int | None = None,
    pod: Mapping[str, Any] | None = None,
) -> Object:
    """A replicated job of ``jobs`` Jobs with ``pods`` pods each, all of which run ``command`` at the same time.

    ``depends_on`` maps earlier replicated jobs to what they must have reached; ``pod`` is merged into the pod's spec.
    """
    container: Object = {'name': name, 'image': image, 'command': list(command)}
    container |= _given(args=list(args) or None)
    if env:
        container['env'] = [{'name': key, 'value': value} for key, value in env.items()]
    resources = _given(requests=_dict(requests), limits=_dict(limits))
    if resources:
        container['resources'] = resources
    spec: Object = {'restartPolicy': restart_policy, 'containers': [container]}
    spec |= _given(terminationGracePeriodSeconds=grace_seconds) | dict(pod or {})
    job: Object = {'backoffLimit': backoff_limit, 'completions': pods, 'parallelism': pods, 'template': {'spec': spec}}
    made: Object = {'name': name, 'replicas': jobs, 'template': {'spec': job}}
    if depends_on:
        made['dependsOn'] = [{'name': other, 'status': status.value} for other, status in depends_on.items()]
    return made


def _given(**fields: object) -> Object:
    return {name: value for name, value in fields.items() if value is not None}


def _dict(mapping: Mapping[str, Any] | None) -> Object | None:
    return dict(mapping) if mapping else None
