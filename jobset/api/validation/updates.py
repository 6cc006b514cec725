"""Which changes of a JobSet are allowed once it exists.

What the schema's own rules keep unchanged (``network``, the policies, volume claims) is not judged here. The replicated
jobs are immutable but for what this module first copies back from the old JobSet: the scheduling fields of pod
templates around a suspension, and the sizes of elastic Jobs.
"""

import copy
from collections.abc import Mapping
from typing import Final

import msgspec

from jobset.api import equality, features, types
from jobset.api.templates import CompletionMode
from jobset.api.validation import fields

IMMUTABLE: Final = 'field is immutable'

_SIZES: Final = ('parallelism', 'completions')
_ENDINGS: Final = frozenset({'Completed', 'Failed'})
_POD_TEMPLATE: Final = ('template', 'spec', 'template')
_WHILE_SUSPENDED: Final = (
    (*_POD_TEMPLATE, 'metadata', 'labels'),
    (*_POD_TEMPLATE, 'metadata', 'annotations'),
    (*_POD_TEMPLATE, 'spec', 'nodeSelector'),
    (*_POD_TEMPLATE, 'spec', 'tolerations'),
    (*_POD_TEMPLATE, 'spec', 'schedulingGates'),
)

_Json = dict[str, object]


def check(old: types.JobSet, new: types.JobSet, *, gates: features.FeatureGates) -> list[fields.FieldError]:
    """The mistakes of the change from ``old`` to ``new``."""
    found: list[fields.FieldError] = []
    before = [_plain(replicated) for replicated in old.spec.replicated_jobs]
    after = [_plain(replicated) for replicated in new.spec.replicated_jobs]
    by_name = {replicated['name']: replicated for replicated in before}
    if gates.elastic_jobset:
        found += _resized(old, new)
        for changed, replicated in zip(after, new.spec.replicated_jobs, strict=True):
            if _elastic(replicated) and replicated.name in by_name:
                _restore(changed, by_name[replicated.name], tuple(('template', 'spec', size) for size in _SIZES))
    if old.suspended or new.suspended:
        for changed in after:
            if changed['name'] in by_name:
                _restore(changed, by_name[changed['name']], _WHILE_SUSPENDED)
                if gates.mutable_resources:
                    _restore_sizes(changed, by_name[changed['name']])
    if not equality.semantic(before, after):
        found.append(fields.invalid('spec.replicatedJobs', after, IMMUTABLE))
    if old.spec.managed_by != new.spec.managed_by:
        found.append(fields.invalid('spec.managedBy', new.spec.managed_by, IMMUTABLE))
    return found


def _plain(replicated: types.ReplicatedJob) -> _Json:
    """The replicated job as a JSON value of its own, which may be changed."""
    depends_on = msgspec.to_builtins(replicated.depends_on)
    plain: _Json = {'name': replicated.name, 'groupName': replicated.group_name}
    plain |= {'template': msgspec.json.decode(replicated.template), 'replicas': replicated.count}
    return plain | ({'dependsOn': depends_on} if depends_on else {})


def _elastic(replicated: types.ReplicatedJob) -> bool:
    return replicated.job.spec.completion_mode == CompletionMode.INDEXED


def _resized(old: types.JobSet, new: types.JobSet) -> list[fields.FieldError]:
    ended = any(condition.is_true and condition.type in _ENDINGS for condition in old.status.conditions)
    before = {replicated.name: replicated for replicated in old.spec.replicated_jobs}
    found = []
    for i, replicated in enumerate(new.spec.replicated_jobs):
        if replicated.name in before and _elastic(replicated):
            path = f'spec.replicatedJobs[{i}].template.spec'
            found += _resized_job(path, before[replicated.name], replicated, ended=ended)
    return found


def _resized_job(
    path: str,
    before: types.ReplicatedJob,
    after: types.ReplicatedJob,
    *,
    ended: bool,
) -> list[fields.FieldError]:
    old, new = before.job.spec, after.job.spec
    changed = [size for size in _SIZES if getattr(old, size) != getattr(new, size)]
    if not changed:
        return []
    if ended:
        text = 'Cannot mutate parallelism or completions when JobSet is in a terminal state (Completed or Failed)'
        return [fields.forbidden(path, text)]
    found = [
        fields.invalid(f'{path}.{size}', value, f'{size} must be >= 1')
        for size in changed
        if (value := getattr(new, size)) is not None and value < 1
    ]
    if new.parallelism is not None and new.completions is not None and new.parallelism != new.completions:
        text = 'completions must be equal to parallelism for Elastic Indexed Jobs'
        found.append(fields.invalid(f'{path}.completions', new.completions, text))
    return found


def _restore_sizes(changed: _Json, original: Mapping[str, object]) -> None:
    """Give the containers of ``changed`` the requests and limits that those of the same names have in ``original``."""
    for kind in ('containers', 'initContainers'):
        before = {each.get('name'): each for each in _containers(original, kind)}
        for each in _containers(changed, kind):
            known = before.get(each.get('name'))
            if known is not None:
                _restore(each, known, (('resources', 'requests'), ('resources', 'limits')))


def _containers(replicated: Mapping[str, object], kind: str) -> list[_Json]:
    pod: object = replicated
    for key in (*_POD_TEMPLATE, 'spec'):
        pod = pod.get(key) if isinstance(pod, Mapping) else None
    found = pod.get(kind) if isinstance(pod, Mapping) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _restore(changed: _Json, original: Mapping[str, object], paths: tuple[tuple[str, ...], ...]) -> None:
    """Give ``changed`` the values that ``original`` has at ``paths``, nothing where it has nothing."""
    for *parents, last in paths:
        source: object = original
        for parent in parents:
            source = source.get(parent) if isinstance(source, Mapping) else None
        value = source.get(last) if isinstance(source, Mapping) else None
        target: object = changed
        for parent in parents:
            target = target.setdefault(parent, {}) if isinstance(target, dict) else None
        if isinstance(target, dict):
            target[last] = copy.deepcopy(value)
