"""JobSets for tests, as JSON values and as typed ones."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from jobset.api import features, types, validation

Json = Any

DEFAULTS = features.FeatureGates()
EVERYTHING = features.FeatureGates(in_place_restart=True, restart_job=True, elastic_jobset=True)


def replicated(name: str, *, job: Mapping[str, Json] | None = None, pod: Json = None, **fields: Json) -> Json:
    """A replicated job of one Indexed Job with one pod; ``job`` and ``pod`` add to their specs, null takes away."""
    pod_spec = {'containers': [{'name': 'c', 'image': 'i'}], 'restartPolicy': 'OnFailure', **(pod or {})}
    spec = {'parallelism': 1, 'completions': 1, 'completionMode': 'Indexed', 'template': {'spec': pod_spec}}
    given = {key: value for key, value in {**spec, **(job or {})}.items() if value is not None}
    return {'name': name, 'groupName': 'default', 'replicas': 1, 'template': {'spec': given}, **fields}


def claim(name: str, **spec: Json) -> Json:
    """The template of a volume claim."""
    wanted = {'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': '1Gi'}}, **spec}
    return {'metadata': {'name': name}, 'spec': wanted}


def obj(
    jobs: Iterable[Json] = (), *, name: str = 'js', metadata: Json = None, status: Json = None, **spec: Json
) -> Json:
    """A JobSet as it is sent."""
    return {
        'apiVersion': 'jobset.x-k8s.io/v1alpha2',
        'kind': 'JobSet',
        'metadata': metadata if metadata is not None else {'name': name, 'namespace': 'default'},
        'spec': {'replicatedJobs': list(jobs), **spec},
        **({} if status is None else {'status': status}),
    }


def typed(sent: Json) -> types.JobSet:
    """The same JobSet as the functions under test take it."""
    return msgspec.json.decode(msgspec.json.encode(sent), type=types.JobSet)


def errors(sent: Json, gates: features.FeatureGates = DEFAULTS, **existing: validation.Found) -> list[str]:
    """The mistakes in a JobSet to be created; ``existing`` names claims, with underscores for dashes."""
    claims = {name.replace('_', '-'): found for name, found in existing.items()}
    return [str(error) for error in validation.create(typed(sent), gates=gates, existing_claims=claims)]


def internal(*texts: str) -> list[str]:
    """Mistakes that belong to no field."""
    return [f'<nil>: Internal error: {text}' for text in texts]


def rule(name: str = 'r', action: str = 'FailJobSet', **filters: Json) -> Json:
    """A rule of the failure policy."""
    return {'name': name, 'action': action, **filters}


def policies(*templates: Json, when_deleted: str = 'Retain') -> Json:
    """A spec's part with one policy for volume claims."""
    return {'volumeClaimPolicies': [{'retentionPolicy': {'whenDeleted': when_deleted}, 'templates': list(templates)}]}
