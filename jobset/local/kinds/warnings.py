"""What kube-apiserver takes but warns of: things of pods that do not do what their author thinks.

Source: answers of kube-apiserver 1.37.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from jobset.api import quantities
from jobset.api.validation import names
from jobset.local.kinds import remembered
from jobset.local.objects import Object

_LABELS: Final[Mapping[str, str]] = {
    'beta.kubernetes.io/arch': 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    'beta.kubernetes.io/os': 'deprecated since v1.14; use "kubernetes.io/os" instead',
    'beta.kubernetes.io/instance-type': 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    'failure-domain.beta.kubernetes.io/region': 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    'failure-domain.beta.kubernetes.io/zone': 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
}
_APP_ARMOR: Final = 'deprecated since v1.30; use the "appArmorProfile" field instead'
_ANNOTATIONS: Final[Mapping[str, str]] = {
    'scheduler.alpha.kubernetes.io/critical-pod': 'non-functional in v1.16+; use the "priorityClassName" field instead',
    'seccomp.security.alpha.kubernetes.io/pod': 'non-functional in v1.27+; use the "seccompProfile" field instead',
    'container.apparmor.security.beta.kubernetes.io/': _APP_ARMOR,
}
_VOLUMES: Final[Mapping[str, str]] = {
    'cephfs': 'deprecated in v1.28, non-functional in v1.31+',
    'gitRepo': 'deprecated in v1.11, and disabled by default in v1.33+',
    'glusterfs': 'deprecated in v1.25, non-functional in v1.26+',
}
_NO_SELECTOR: Final = 'a null labelSelector results in matching no pod'
_BYTES: Final = ('memory', 'ephemeral-storage')
_REQUIRED: Final = 'requiredDuringSchedulingIgnoredDuringExecution'
_PREFERRED: Final = 'preferredDuringSchedulingIgnoredDuringExecution'


def of_pod(pod: Object) -> list[str]:
    """The warnings of a new pod."""
    return [*_name(pod, "the Pod's hostname"), *of_template(pod, '')]


def of_job(job: Object, *, is_new: bool) -> list[str]:
    """The warnings of a new Job, or of a changed one."""
    spec = job['spec']
    found = _name(job, 'Pod names and hostnames') if is_new else []
    if (
        spec.get('completionMode') == 'Indexed'
        and (spec.get('completions') or 0) > 100_000
        and (spec.get('parallelism') or 0) > 10_000
    ):
        found.append(
            'spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, '
            'Kubernetes might not be able to track completedIndexes when a big number of indexes fail'
        )
    return [*found, *of_template(spec['template'], 'spec.template.')]


def of_template(template: Object, path: str) -> Iterator[str]:
    """The warnings of a pod, or of a template of pods at ``path``."""
    for key in (template.get('metadata') or {}).get('annotations') or {}:
        for known, text in _ANNOTATIONS.items():
            if key == known or (known.endswith('/') and key.startswith(known)):
                yield f'{path}metadata.annotations[{key}]: {text}'
    yield from _of_spec(template.get('spec') or {}, f'{path}spec')


@remembered.by_content
def _of_spec(spec: Object, where: str) -> Iterator[str]:
    yield from _placement(spec, where)
    for index, volume in enumerate(spec.get('volumes') or ()):
        yield from (f'{where}.volumes[{index}].{key}: {text}' for key, text in _VOLUMES.items() if volume.get(key))
    yield from _doubles(spec.get('hostAliases') or (), f'{where}.hostAliases', 'ip')
    secrets = spec.get('imagePullSecrets') or ()
    yield from _doubles(secrets, f'{where}.imagePullSecrets', 'name')
    for index, secret in enumerate(secrets):
        if not secret.get('name'):
            yield f'{where}.imagePullSecrets[{index}].name: invalid empty name ""'
    yield from _containers(spec, where)


def _name(obj: Object, used_in: str) -> list[str]:
    name = str(obj['metadata'].get('name') or '')
    if '.' in name:
        reason = 'must not contain dots'
    elif len(name) > names.LABEL_MOST:
        reason = f'must be no more than {names.LABEL_MOST} characters'
    else:
        return []
    text = 'which can result in surprising behavior; a DNS label is recommended'
    return [f'metadata.name: this is used in {used_in}, {text}: [{reason}]']


def _placement(spec: Object, path: str) -> Iterator[str]:
    for key in spec.get('nodeSelector') or {}:
        if key in _LABELS:
            yield f'{path}.nodeSelector[{key}]: {_LABELS[key]}'
    affinity = spec.get('affinity') or {}
    yield from _node_affinity(affinity.get('nodeAffinity') or {}, f'{path}.affinity.nodeAffinity')
    for kind in ('podAffinity', 'podAntiAffinity'):
        terms = affinity.get(kind) or {}
        where = f'{path}.affinity.{kind}'
        for index, term in enumerate(terms.get(_REQUIRED) or ()):
            if term.get('labelSelector') is None:
                yield f'{where}.{_REQUIRED}[{index}].labelSelector: {_NO_SELECTOR}'
        for index, term in enumerate(terms.get(_PREFERRED) or ()):
            if (term.get('podAffinityTerm') or {}).get('labelSelector') is None:
                yield f'{where}.{_PREFERRED}[{index}].podAffinityTerm.labelSelector: {_NO_SELECTOR}'
    for index, constraint in enumerate(spec.get('topologySpreadConstraints') or ()):
        if constraint.get('labelSelector') is None:
            yield f'{path}.topologySpreadConstraints[{index}].labelSelector: {_NO_SELECTOR}'


def _node_affinity(affinity: Object, path: str) -> Iterator[str]:
    required = ((affinity.get(_REQUIRED) or {}).get('nodeSelectorTerms')) or ()
    terms = [(f'{path}.{_REQUIRED}.nodeSelectorTerms[{index}]', term) for index, term in enumerate(required)]
    terms += [
        (f'{path}.{_PREFERRED}[{index}].preference', term.get('preference') or {})
        for index, term in enumerate(affinity.get(_PREFERRED) or ())
    ]
    for where, term in terms:
        for index, expression in enumerate(term.get('matchExpressions') or ()):
            key = expression.get('key')
            if key in _LABELS:
                yield f'{where}.matchExpressions[{index}].key: {key} is {_LABELS[key]}'


def _doubles(items: Sequence[Object], path: str, key: str) -> Iterator[str]:
    seen: set[Any] = set()
    for index, item in enumerate(items):
        value = item.get(key) or ''
        if value in seen:
            yield f'{path}[{index}].{key}: duplicate {key} "{value}"'
        seen.add(value)


def _containers(spec: Object, path: str) -> Iterator[str]:
    ports: dict[tuple[Any, ...], str] = {}
    for key in ('initContainers', 'containers'):
        for index, container in enumerate(spec.get(key) or ()):
            where = f'{path}.{key}[{index}]'
            yield from _amounts(container.get('resources') or {}, f'{where}.resources')
            yield from _variables(container.get('env') or (), f'{where}.env')
            if key == 'containers':
                yield from _ports(container.get('ports') or (), f'{where}.ports', ports)


def _amounts(resources: Object, path: str) -> Iterator[str]:
    for key in ('limits', 'requests'):
        for name, value in (resources.get(key) or {}).items():
            if name in _BYTES and quantities.parse(value).denominator != 1:
                yield f'{path}.{key}[{name}]: fractional byte value "{value}" is invalid, must be an integer'


def _variables(env: Sequence[Object], path: str) -> Iterator[str]:
    values: dict[str, str] = {}
    for index, one in enumerate(env):
        name, value = str(one.get('name')), str(one.get('value') or '')
        # One that is made from what was there before means to hide it.
        if name in values and f'$({name})' not in value:
            yield f'{path}[{index}]: hides previous definition of "{name}", which may be dropped when using apply'
        values[name] = value


def _ports(ports: Sequence[Object], path: str, seen: dict[tuple[Any, ...], str]) -> Iterator[str]:
    for index, port in enumerate(ports):
        key = (port.get('containerPort'), port.get('protocol') or 'TCP', port.get('hostIP'), port.get('hostPort'))
        if key in seen:
            yield f'{path}[{index}]: duplicate port definition with {seen[key]}'
        else:
            seen[key] = f'{path}[{index}]'
