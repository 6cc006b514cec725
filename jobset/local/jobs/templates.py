"""The pods of a Job as they are created: its template, and what tells a pod whose it is and which part it has."""

import random
from collections.abc import Callable
from typing import Final

import msgspec

from jobset.local.jobs import keys
from jobset.local.jobs.types import Job
from jobset.local.objects import Object

LETTERS: Final = 'bcdfghjklmnpqrstvwxz2456789'
"""What generated names end in: without vowels, so that they say nothing."""

SUFFIX: Final = 5
PREFIX_BYTES: Final = 58
"""What the server takes of ``generateName``, so that there is room for the suffix in a DNS label."""


class Maker:
    """Makes the bodies of pods of a Job."""

    def __init__(self, job: Job, *, suffix: Callable[[], str] | None = None) -> None:
        self._job = job
        self._suffix = suffix or _random
        template: Object = msgspec.json.decode(job.spec.template)
        self._metadata: Object = template.get('metadata') or {}
        self._spec: Object = template.get('spec') or {}
        self._finalizers = list(self._metadata.get('finalizers') or ())
        if keys.FINALIZER not in self._finalizers:
            self._finalizers.append(keys.FINALIZER)
        if job.is_indexed:
            self._spec = _with_variable(self._spec)

    def make(self, index: int | None = None, *, failures: int | None = None, ignored: int = 0) -> Object:
        """A pod, with a name that no other one has; ``failures`` are those of its index, where they are counted."""
        metadata: Object = {}
        spec = self._spec
        labels, annotations = self._metadata.get('labels') or {}, self._metadata.get('annotations') or {}
        if index is not None:
            labels = labels | {keys.COMPLETION_INDEX: str(index)}
            annotations = annotations | {keys.COMPLETION_INDEX: str(index)}
            spec = spec | {'hostname': f'{self._job.metadata.name}-{index}'}
        if failures is not None:
            annotations = annotations | {keys.INDEX_FAILURES: str(failures)}
        if ignored:
            annotations = annotations | {keys.INDEX_IGNORED_FAILURES: str(ignored)}
        prefix = _prefix(self._job.metadata.name, index)
        metadata['generateName'] = prefix
        # The name is not left to the server: so it can be asked about when the answer is lost.
        metadata['name'] = prefix[:PREFIX_BYTES] + self._suffix()
        metadata['namespace'] = self._job.metadata.namespace
        if labels:
            metadata['labels'] = labels
        if annotations:
            metadata['annotations'] = annotations
        metadata['finalizers'] = self._finalizers
        metadata['ownerReferences'] = [owner(self._job)]
        return {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': metadata, 'spec': spec}


def owner(job: Job) -> Object:
    """The reference by which a pod names the Job as the one that manages it."""
    return {
        'apiVersion': keys.API_VERSION,
        'kind': keys.KIND,
        'name': job.metadata.name,
        'uid': job.metadata.uid,
        'controller': True,
        'blockOwnerDeletion': True,
    }


def restart_policy(job: Job) -> str:
    """The restart policy of its pods."""
    return _POLICY.decode(job.spec.template).spec.restart_policy


class _Spec(msgspec.Struct, frozen=True, rename='camel'):
    restart_policy: str = 'Always'


class _Template(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


_POLICY: Final = msgspec.json.Decoder(_Template)


def _prefix(name: str, index: int | None) -> str:
    if index is None:
        return f'{name}-'
    end = f'-{index}-'
    return name[: PREFIX_BYTES - len(end)] + end


def _with_variable(spec: Object) -> Object:
    changed = dict(spec)
    for kind in ('initContainers', 'containers'):
        if spec.get(kind):
            changed[kind] = [_telling_index(container) for container in spec[kind]]
    return changed


def _telling_index(container: Object) -> Object:
    given = container.get('env') or []
    if any(each.get('name') == keys.INDEX_VARIABLE for each in given):
        return container
    source = {'fieldRef': {'apiVersion': 'v1', 'fieldPath': f"metadata.labels['{keys.COMPLETION_INDEX}']"}}
    return container | {'env': [*given, {'name': keys.INDEX_VARIABLE, 'valueFrom': source}]}


def _random() -> str:
    return ''.join(random.choices(LETTERS, k=SUFFIX))  # noqa: S311 - names need to differ, not to be secret
