"""Environment variables of containers, and the references to fields and keys that variables and files share."""

from collections.abc import Sequence
from typing import Any, Final

from jobset.local.kinds import checks, faults
from jobset.local.objects import Object
from jobset.local.problems import Cause

FIELDS: Final = (
    'metadata.name',
    'metadata.namespace',
    'metadata.uid',
    'spec.nodeName',
    'spec.serviceAccountName',
    'status.hostIP',
    'status.hostIPs',
    'status.podIP',
    'status.podIPs',
)
"""The fields of a pod that a variable may hold."""

FILE_FIELDS: Final = (
    'metadata.annotations',
    'metadata.labels',
    'metadata.name',
    'metadata.namespace',
    'metadata.uid',
)
"""The fields of a pod that a file may hold."""

_RESOURCES: Final = (
    'limits.cpu',
    'limits.ephemeral-storage',
    'limits.memory',
    'requests.cpu',
    'requests.ephemeral-storage',
    'requests.memory',
)
_BYTE_DIVISORS: Final = ('1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei')
_KNOWN_FIELDS: Final = frozenset(
    {*FIELDS, 'spec.restartPolicy', 'spec.schedulerName', 'status.phase', 'metadata.annotations', 'metadata.labels'}
    | {'spec.hostNetwork', 'spec.host'}
)


def check(path: str, variables: Sequence[Object]) -> list[Cause]:
    """Mistakes in ``env``."""
    causes: list[Cause] = []
    for i, variable in enumerate(variables):
        # Most variables are a name and a text.
        name = variable.get('name')
        if not name:
            causes.append(faults.required(f'{path}[{i}].name'))
        elif reasons := checks.variable(name):
            causes += faults.each_invalid(f'{path}[{i}].name', name, reasons)
        if (source := variable.get('valueFrom')) is not None:
            causes += _source(f'{path}[{i}].valueFrom', source, variable.get('value'))
    return causes


def _source(path: str, source: Object, value: str | None) -> list[Cause]:
    causes: list[Cause] = []
    count = 0
    if (ref := source.get('fieldRef')) is not None:
        if len(source) == 1 and not value:
            return field(f'{path}.fieldRef', ref, FIELDS)
        count += 1
        causes += field(f'{path}.fieldRef', ref, FIELDS)
    if (ref := source.get('resourceFieldRef')) is not None:
        count += 1
        causes += resource(f'{path}.resourceFieldRef', ref, of_file=False)
    for key in ('configMapKeyRef', 'secretKeyRef'):
        if (ref := source.get(key)) is not None:
            count += 1
            causes += _key(f'{path}.{key}', ref)
    if (ref := source.get('fileKeyRef')) is not None:
        count += 1
        causes += _file_key(f'{path}.fileKeyRef', ref)
    if count == 0:
        known = '`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`'
        causes.append(faults.invalid(path, '', f'must specify one of: {known}'))
    elif value:
        causes.append(faults.invalid(path, '', 'may not be specified when `value` is not empty'))
    elif count > 1:
        causes.append(faults.invalid(path, '', 'may not have more than one field specified at a time'))
    return causes


def field(path: str, ref: Object, known: Sequence[str]) -> list[Cause]:
    """Mistakes in a reference to a field of the pod."""
    version, target = ref.get('apiVersion'), ref.get('fieldPath')
    if version == 'v1' and target in known:
        return []
    if not version or not target:
        return [faults.required(f'{path}.fieldPath' if version else f'{path}.apiVersion')]
    if version != 'v1':
        return [_unconvertible(path, target, f'unsupported pod version: {version}')]
    bare, bracket, rest = target.partition("['")
    if bracket and rest.endswith("']"):
        return _entry(path, target, bare, rest[:-2])
    if target not in _KNOWN_FIELDS:
        return [_unconvertible(path, target, f'field label not supported: {target}')]
    if target == 'spec.host':
        target = 'spec.nodeName'
    return [] if target in known else [faults.unsupported(f'{path}.fieldPath', target, sorted(known))]


def _entry(path: str, target: str, bare: str, key: str) -> list[Cause]:
    """Mistakes in a reference to one label or annotation."""
    if bare not in ('metadata.annotations', 'metadata.labels'):
        return [_unconvertible(path, target, f'field label does not support subscript: {target}')]
    reasons = checks.qualified_name(key.lower() if bare == 'metadata.annotations' else key)
    return faults.each_invalid(path, key, reasons)


def _unconvertible(path: str, target: str, why: str) -> Cause:
    return faults.invalid(f'{path}.fieldPath', target, f'error converting fieldPath: {why}')


def resource(path: str, ref: Object, *, of_file: bool) -> list[Cause]:
    """Mistakes in a reference to a resource of a container."""
    causes: list[Cause] = []
    name = ref.get('resource')
    if of_file and not ref.get('containerName'):
        causes.append(faults.required(f'{path}.containerName'))
    elif not name:
        causes.append(faults.required(f'{path}.resource'))
    elif name not in _RESOURCES and not name.startswith(('limits.hugepages-', 'requests.hugepages-')):
        causes.append(faults.unsupported(f'{path}.resource', name, _RESOURCES))
    divisor = str(ref.get('divisor', '0'))
    if divisor == '0' or not name:
        return causes
    what = name.partition('.')[2]
    if what == 'cpu':
        if divisor not in ('1m', '1'):
            text = "only divisor's values 1m and 1 are supported with the cpu resource"
            causes.append(faults.invalid(f'{path}.divisor', name, text))
    elif divisor not in _BYTE_DIVISORS:
        kinds = {'memory': 'memory', 'ephemeral-storage': 'local ephemeral storage'}
        kind = 'hugepages' if what.startswith('hugepages-') else kinds.get(what)
        if kind:
            text = f"only divisor's values {', '.join(_BYTE_DIVISORS)} are supported with the {kind} resource"
            causes.append(faults.invalid(f'{path}.divisor', name, text))
    return causes


def _key(path: str, ref: Object) -> list[Cause]:
    name, key = ref.get('name', ''), ref.get('key')
    causes = faults.each_invalid(f'{path}.name', name, checks.dns_subdomain(name))
    if not key:
        return [*causes, faults.required(f'{path}.key')]
    return causes + faults.each_invalid(f'{path}.key', key, checks.config_key(key))


def _file_key(path: str, ref: Object) -> list[Cause]:
    causes: list[Cause] = []
    for key, judge in (('key', checks.variable), ('volumeName', checks.dns_label)):
        value = ref.get(key)
        if value:
            causes += faults.each_invalid(f'{path}.{key}', value, judge(value))
        else:
            causes.append(faults.required(f'{path}.{key}'))
    if not ref.get('path'):
        causes.append(faults.required(f'{path}.path'))
    elif '..' in ref['path'].split('/'):
        causes.append(faults.invalid(f'{path}.path', ref['path'], "must not contain '..'"))
    return causes


def check_sources(path: str, sources: Sequence[Any]) -> list[Cause]:
    """Mistakes in ``envFrom``."""
    causes: list[Cause] = []
    for i, source in enumerate(sources):
        if prefix := source.get('prefix'):
            causes += faults.each_invalid(f'{path}[{i}].prefix', prefix, checks.variable(prefix))
        count = 0
        for key in ('configMapRef', 'secretRef'):
            if (ref := source.get(key)) is not None:
                count += 1
                if name := ref.get('name'):
                    causes += faults.each_invalid(f'{path}[{i}].{key}.name', name, checks.dns_subdomain(name))
                else:
                    causes.append(faults.required(f'{path}[{i}].{key}.name'))
        if count == 0:
            causes.append(faults.invalid(path, '', 'must specify one of: `configMapRef` or `secretRef`'))
        elif count > 1:
            causes.append(faults.invalid(path, '', 'may not have more than one field specified at a time'))
    return causes
