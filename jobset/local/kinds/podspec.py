"""The spec of a pod, or of the template of one, as a whole."""

import functools
import ipaddress
from collections.abc import Sequence
from typing import Any, Final

from jobset.local.kinds import amounts, checks, containers, faults, placement, podvolumes, remembered, shown
from jobset.local.objects import Object
from jobset.local.problems import Cause

_INT32_MOST: Final = 2**31 - 1
_RESTART: Final = ('Always', 'OnFailure', 'Never')
_DNS: Final = ('ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None')
_PREEMPTION: Final = ('PreemptLowerPriority', 'Never')
_DELETION_COST: Final = 'controller.kubernetes.io/pod-deletion-cost'
_NAMESERVERS_MOST: Final = 3
_SEARCHES_MOST: Final = 32


def template(path: str, found: Object) -> list[Cause]:
    """Mistakes in a pod template."""
    metadata, spec = found.get('metadata') or {}, found.get('spec') or {}
    causes: list[Cause] = []
    if 'labels' in metadata:
        causes += checks.labels(f'{path}.labels', metadata['labels'])
    if 'annotations' in metadata:
        causes += checks.annotations(f'{path}.annotations', metadata['annotations'])
        causes += annotations(f'{path}.annotations', metadata['annotations'])
    causes += _of_template(spec, f'{path}.spec')
    if spec.get('ephemeralContainers'):
        text = 'ephemeral containers not allowed in pod template'
        causes.append(faults.forbidden(f'{path}.spec.ephemeralContainers', text))
    return causes


@remembered.by_content
def _of_template(spec: Object, path: str) -> list[Cause]:
    return check(path, spec, '')


def annotations(path: str, found: Object) -> list[Cause]:
    """Mistakes in the annotations that mean something for pods."""
    cost = found.get(_DELETION_COST)
    if cost is None or (
        cost.removeprefix('-').isdecimal() and abs(int(cost)) <= _INT32_MOST and str(int(cost)) == cost
    ):
        return []
    return [faults.invalid(f'{path}[{_DELETION_COST}]', cost, 'must be a 32bit integer')]


def check(path: str, spec: Object, pod_name: str) -> list[Cause]:
    """Mistakes in a spec; ``pod_name`` is empty for a template."""
    volumes: dict[str, Object] = {}
    causes: list[Cause] = []
    if 'volumes' in spec:
        volumes, causes = podvolumes.check(f'{path}.volumes', spec['volumes'], pod_name)
    claims: tuple[str, ...] = ()
    if 'resourceClaims' in spec:
        claims = tuple(claim['name'] for claim in spec['resourceClaims'] if claim.get('name'))
        causes += _claims(f'{path}.resourceClaims', spec['resourceClaims'])
    causes += containers.check(path, spec, volumes, claims)
    if spec.get('hostNetwork'):
        causes += _host_ports(path, spec, is_pod=bool(pod_name))
    causes += _policies(path, spec)
    if 'nodeSelector' in spec:
        causes += checks.labels(f'{path}.nodeSelector', spec['nodeSelector'])
    if context := spec.get('securityContext'):
        causes += _security(f'{path}.securityContext', context)
    if 'affinity' in spec:
        causes += placement.affinity(f'{path}.affinity', spec['affinity'])
    if 'dnsConfig' in spec or spec.get('dnsPolicy') == 'None':
        causes += _dns(f'{path}.dnsConfig', spec.get('dnsConfig'), spec.get('dnsPolicy'))
    if 'readinessGates' in spec:
        causes += _readiness(f'{path}.readinessGates', spec['readinessGates'])
    if 'schedulingGates' in spec:
        causes += placement.gates(f'{path}.schedulingGates', spec['schedulingGates'])
    if 'topologySpreadConstraints' in spec:
        at = f'{path}.topologySpreadConstraints'
        causes += placement.spreading(at, spec['topologySpreadConstraints'])
    if 'hostnameOverride' in spec:
        causes += _override(path, spec)
    return causes + _rest(path, spec)


def _policies(path: str, spec: Object) -> list[Cause]:
    causes: list[Cause] = []
    for key, known in (('restartPolicy', _RESTART), ('dnsPolicy', _DNS)):
        if spec.get(key) not in known:
            causes.append(faults.unsupported(f'{path}.{key}', spec.get(key), known))
    return causes


def _readiness(path: str, gates: Sequence[Object]) -> list[Cause]:
    causes: list[Cause] = []
    for i, gate in enumerate(gates):
        name = gate.get('conditionType', '')
        causes += faults.each_invalid(f'{path}[{i}].conditionType', name, checks.qualified_name(name))
    return causes


_BEFORE: Final = frozenset({'serviceAccountName', 'nodeName', 'activeDeadlineSeconds'})
_AFTER: Final = frozenset({'hostAliases', 'priorityClassName', 'runtimeClassName', 'overhead', 'os', 'schedulingGroup'})


def _rest(path: str, spec: Object) -> list[Cause]:
    """What comes last. Most of it is rare, and looked for at once."""
    causes: list[Cause] = []
    if not _BEFORE.isdisjoint(spec):
        causes += _before(path, spec)
    for key in ('hostname', 'subdomain'):
        if key in spec and (reasons := checks.dns_label(spec[key])):
            causes += faults.each_invalid(f'{path}.{key}', spec[key], reasons)
    if 'tolerations' in spec:
        causes += placement.tolerations(f'{path}.tolerations', spec['tolerations'])
    if not _AFTER.isdisjoint(spec) or spec.get('preemptionPolicy', 'Never') not in _PREEMPTION:
        causes += _after(path, spec)
    return causes + _files(path, spec)


def _before(path: str, spec: Object) -> list[Cause]:
    causes: list[Cause] = []
    for key in ('serviceAccountName', 'nodeName'):
        if name := spec.get(key):
            causes += faults.each_invalid(f'{path}.{key}', name, checks.dns_subdomain(name))
    deadline = spec.get('activeDeadlineSeconds')
    if deadline is not None and not 1 <= deadline <= _INT32_MOST:
        text = f'must be between 1 and {_INT32_MOST}, inclusive'
        causes.append(faults.invalid(f'{path}.activeDeadlineSeconds', deadline, text))
    return causes


def _after(path: str, spec: Object) -> list[Cause]:
    causes: list[Cause] = []
    for i, alias in enumerate(spec.get('hostAliases') or ()):
        at = f'{path}.hostAliases[{i}]'
        causes += address(f'{at}.ip', alias.get('ip', ''))
        for j, name in enumerate(alias.get('hostnames') or ()):
            causes += faults.each_invalid(f'{at}.hostnames[{j}]', name, checks.dns_subdomain(name))
    for key in ('priorityClassName', 'runtimeClassName'):
        name = spec.get(key)
        if name or (name == '' and key == 'runtimeClassName'):
            causes += faults.each_invalid(f'{path}.{key}', name, checks.dns_subdomain(name))
    policy = spec.get('preemptionPolicy')
    if policy == '':
        causes.append(faults.required(f'{path}.preemptionPolicy'))
    elif policy not in (None, *_PREEMPTION):
        causes.append(faults.unsupported(f'{path}.preemptionPolicy', policy, _PREEMPTION))
    for name, amount in (spec.get('overhead') or {}).items():
        if amounts.exact(amount) < 0:
            text = 'must be greater than or equal to 0'
            causes.append(faults.invalid(f'{path}.overhead.limits[{name}]', amount, text))
    return causes + _system(path, spec)


def _system(path: str, spec: Object) -> list[Cause]:
    causes: list[Cause] = []
    if (os := spec.get('os')) is not None:
        if not os.get('name'):
            causes.append(faults.required(f'{path}.os.name'))
        elif os['name'] not in ('linux', 'windows'):
            causes.append(faults.unsupported(f'{path}.os', os['name'], ('linux', 'windows')))
    if (group := spec.get('schedulingGroup')) is not None:
        at, name = f'{path}.schedulingGroup.podGroupName', group.get('podGroupName')
        if name is None:
            causes.append(faults.invalid(at, None, 'must specify one of: `podGroupName`'))
        else:
            causes += faults.each_invalid(at, name, checks.dns_subdomain(name))
    return causes


def _files(path: str, spec: Object) -> list[Cause]:
    """Variables from files need a volume of their own kind."""
    causes: list[Cause] = []
    for key in ('initContainers', 'containers'):
        for i, container in enumerate(spec.get(key) or ()):
            for j, variable in enumerate(container.get('env') or ()):
                if 'valueFrom' not in variable or (ref := variable['valueFrom'].get('fileKeyRef')) is None:
                    continue
                at = f'{path}.{key}[{i}].env[{j}].valueFrom.fileKeyRef.volumeName'
                name = ref.get('volumeName', '')
                volume = next((each for each in spec.get('volumes') or () if each.get('name') == name), None)
                if volume is None:
                    causes.append(faults.not_found(at, name))
                elif 'emptyDir' not in volume:
                    causes.append(faults.invalid(at, name, 'referenced volume must be of type emptyDir'))
    return causes


def address(path: str, text: str) -> list[Cause]:
    """The mistake of what should be an IP address."""
    if _is_address(text):
        return []
    return [faults.invalid(path, text, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)')]


@functools.lru_cache(maxsize=1024)
def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _host_ports(path: str, spec: Object, *, is_pod: bool) -> list[Cause]:
    causes: list[Cause] = []
    for i, container in enumerate(spec.get('containers') or ()):
        for j, port in enumerate(container.get('ports') or ()):
            on_host, own = port.get('hostPort', 0), port.get('containerPort', 0)
            if (is_pod or on_host) and on_host != own:
                text = 'must match `containerPort` when `hostNetwork` is true'
                causes.append(faults.invalid(f'{path}.containers[{i}].ports[{j}].hostPort', on_host, text))
    return causes


def _security(path: str, context: Object) -> list[Cause]:
    causes = containers.ids(path, context, ('fsGroup', 'runAsUser', 'runAsGroup'))
    for i, group in enumerate(context.get('supplementalGroups') or ()):
        if not 0 <= group <= _INT32_MOST:
            text = f'must be between 0 and {_INT32_MOST}, inclusive'
            causes.append(faults.invalid(f'{path}.supplementalGroups[{i}]', group, text))
    if (policy := context.get('fsGroupChangePolicy')) not in (None, *(known := ('Always', 'OnRootMismatch'))):
        causes.append(faults.unsupported(f'{path}.fsGroupChangePolicy', policy, known))
    return causes + containers.seccomp(f'{path}.seccompProfile', context.get('seccompProfile'))


def _dns(path: str, config: Any, policy: str | None) -> list[Cause]:
    if policy == 'None':
        if config is None:
            return [faults.required(path, 'must provide `dnsConfig` when `dnsPolicy` is None')]
        if not config.get('nameservers'):
            text = 'must provide at least one DNS nameserver when `dnsPolicy` is None'
            return [faults.required(f'{path}.nameservers', text)]
    config = config or {}
    causes: list[Cause] = []
    servers, searches = config.get('nameservers') or [], config.get('searches') or []
    if len(servers) > _NAMESERVERS_MOST:
        text = f'must not have more than {_NAMESERVERS_MOST} nameservers'
        causes.append(faults.invalid(f'{path}.nameservers', servers, text))
    for i, server in enumerate(servers):
        causes += address(f'{path}.nameservers[{i}]', server)
    if len(searches) > _SEARCHES_MOST:
        text = f'must not have more than {_SEARCHES_MOST} search paths'
        causes.append(faults.invalid(f'{path}.searches', searches, text))
    for i, option in enumerate(config.get('options') or ()):
        if not option.get('name'):
            causes.append(faults.required(f'{path}.options[{i}]', 'must not be empty'))
    return causes


def _claims(path: str, claims: list[Object]) -> list[Cause]:
    causes: list[Cause] = []
    seen: set[str] = set()
    for i, claim in enumerate(claims):
        at, name = f'{path}[{i}]', claim.get('name', '')
        if not name:
            causes.append(faults.required(f'{at}.name'))
        elif name in seen:
            causes.append(faults.duplicate(f'{at}.name', name))
        else:
            causes += faults.each_invalid(f'{at}.name', name, checks.dns_label(name))
            seen.add(name)
        refs = ('resourceClaimName', 'resourceClaimTemplateName')
        given = [key for key in refs if claim.get(key) is not None]
        if len(given) != 1:
            text = (
                'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified'
                if given
                else 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`'
            )
            causes.append(faults.invalid(at, shown.Inner('core.PodResourceClaim', claim), text))
        for key in given:
            causes += faults.each_invalid(f'{at}.{key}', claim[key], checks.dns_subdomain(claim[key]))
    return causes


def _override(path: str, spec: Object) -> list[Cause]:
    name, at = spec['hostnameOverride'], f'{path}.hostnameOverride'
    causes: list[Cause] = []
    if spec.get('setHostnameAsFQDN'):
        causes.append(faults.forbidden(at, 'may not be specified when setHostnameAsFQDN is true'))
    if spec.get('hostNetwork'):
        causes.append(faults.forbidden(at, 'may not be specified when hostNetwork is true'))
    if len(name.encode()) > 64:
        causes.append(faults.too_long(at, 64))
    return causes + faults.each_invalid(at, name, checks.dns_subdomain(name))
