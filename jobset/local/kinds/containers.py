"""Containers of a pod: names, ports, mounts, resources, probes, restart rules. Variables: :mod:`.variables`."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

from jobset.local.kinds import checks, faults, paths, probes, requirements, shown, variables
from jobset.local.objects import Object
from jobset.local.problems import Cause

PROTOCOLS: Final = ('SCTP', 'TCP', 'UDP')
_MESSAGE_POLICIES: Final = ('File', 'FallbackToLogsOnError')
_PULL_POLICIES: Final = ('Always', 'IfNotPresent', 'Never')
_ID_MOST: Final = 2**31 - 1
_RULES_MOST: Final = 20
_EXIT_CODES_MOST: Final = 255
_ONLY_SIDECARS: Final = 'may not be set for init containers without restartPolicy=Always'
_POLICY_FOR_RULES: Final = 'must specify restartPolicy when restart rules are used'
_PROBES: Final = ('livenessProbe', 'readinessProbe', 'startupProbe')


def check(path: str, spec: Object, volumes: Mapping[str, Object], claims: Sequence[str]) -> list[Cause]:
    """Mistakes in the containers of ``spec`` at ``path``; ``volumes`` are those that are right, by name."""
    causes: list[Cause] = []
    regular = spec.get('containers') or ()
    where = f'{path}.containers'
    if not regular:
        causes.append(faults.required(where))
    seen: set[str] = set()
    for i, container in enumerate(regular):
        at = f'{where}[{i}]'
        causes += _common(at, container, spec, volumes, claims)
        name = container.get('name', '')
        if name in seen:
            causes.append(faults.duplicate(f'{at}.name', name))
        seen.add(name)
        causes += _running(at, container, spec)
        if 'restartPolicy' in container or 'restartPolicyRules' in container:
            causes += _restart(at, container)
    if regular:
        causes += _host_ports(where, regular)
    if initial := spec.get('initContainers'):
        causes += _initial(path, initial, spec, _Known(volumes, claims, seen))
    if 'ephemeralContainers' in spec:
        for i, container in enumerate(spec['ephemeralContainers']):
            at = f'{path}.ephemeralContainers[{i}]'
            causes += _common(at, container, spec, volumes, claims)
            if container.get('name', '') in seen:
                causes.append(faults.duplicate(f'{at}.name', container.get('name', '')))
    return causes


@dataclasses.dataclass
class _Known:
    """What the containers of a pod may refer to, and which names they have."""

    volumes: Mapping[str, Object]
    claims: Sequence[str]
    seen: set[str]


def _initial(path: str, initial: Sequence[Object], spec: Object, known: _Known) -> list[Cause]:
    where, seen = f'{path}.initContainers', known.seen
    causes: list[Cause] = []
    for i, container in enumerate(initial):
        at = f'{where}[{i}]'
        causes += _common(at, container, spec, known.volumes, known.claims)
        if 'restartPolicy' in container:
            causes += _restart(at, container)
        elif 'restartPolicyRules' in container:
            causes.append(faults.required(f'{at}.restartPolicy', _POLICY_FOR_RULES))
        name = container.get('name', '')
        if name in seen:
            causes.append(faults.duplicate(f'{at}.name', name))
        elif name:
            seen.add(name)
        causes += _host_ports(where, [container])
        if container.get('restartPolicy') == 'Always':
            causes += _running(at, container, spec)
            continue
        causes += [
            faults.forbidden(f'{at}.{key}', _ONLY_SIDECARS) for key in ('lifecycle', *_PROBES) if key in container
        ]
        for j, policy in enumerate(container.get('resizePolicy') or ()):
            if policy.get('restartPolicy') == 'RestartContainer':
                text = "must not be set to 'RestartContainer' for non-sidecar initContainers"
                causes.append(faults.invalid(f'{at}.resizePolicy[{j}].restartPolicy', 'RestartContainer', text))
    return causes


def _common(
    at: str, container: Object, spec: Object, volumes: Mapping[str, Object], claims: Sequence[str]
) -> list[Cause]:
    causes = _identity(at, container)
    if 'ports' in container:
        causes += _ports(f'{at}.ports', container['ports'])
    if 'env' in container:
        causes += variables.check(f'{at}.env', container['env'])
    if 'envFrom' in container:
        causes += variables.check_sources(f'{at}.envFrom', container['envFrom'])
    if 'volumeMounts' in container:
        causes += _mounts(f'{at}.volumeMounts', container, volumes)
    if 'volumeDevices' in container:
        causes += _devices(f'{at}.volumeDevices', container, volumes)
    policy = container.get('imagePullPolicy')
    if policy not in _PULL_POLICIES:
        causes.append(faults.unsupported(f'{at}.imagePullPolicy', policy, _PULL_POLICIES))
    if resources := container.get('resources'):
        causes += requirements.check(f'{at}.resources', resources, claims)
    if 'resizePolicy' in container:
        causes += _resize(f'{at}.resizePolicy', container['resizePolicy'], spec.get('restartPolicy'))
    if context := container.get('securityContext'):
        causes += _security(f'{at}.securityContext', context)
    return causes


def _identity(at: str, container: Object) -> list[Cause]:
    causes: list[Cause] = []
    name = container.get('name')
    if not name:
        causes.append(faults.required(f'{at}.name'))
    elif reasons := checks.dns_label(name):
        causes += faults.each_invalid(f'{at}.name', name, reasons)
    if not container.get('image'):
        causes.append(faults.required(f'{at}.image'))
    policy = container.get('terminationMessagePolicy')
    if policy not in _MESSAGE_POLICIES:
        causes.append(faults.unsupported(f'{at}.terminationMessagePolicy', policy, _MESSAGE_POLICIES))
    return causes


def _running(at: str, container: Object, spec: Object) -> list[Cause]:
    """What is done to a container while it runs."""
    causes: list[Cause] = []
    grace = spec.get('terminationGracePeriodSeconds')
    if 'lifecycle' in container:
        causes += probes.lifecycle(f'{at}.lifecycle', container['lifecycle'], grace)
    for key in _PROBES:
        if key in container:
            causes += probes.check(f'{at}.{key}', container[key], grace, ready=key == 'readinessProbe')
    return causes


def _ports(path: str, ports: Sequence[Object]) -> list[Cause]:
    causes: list[Cause] = []
    seen: set[str] = set()
    for i, port in enumerate(ports):
        at = f'{path}[{i}]'
        if name := port.get('name'):
            if reasons := checks.port_name(name):
                # The real server puts the reasons at the index of the reason: only the first comes out right.
                causes += faults.each_invalid(f'{at}.name', name, reasons)
            elif name in seen:
                causes.append(faults.duplicate(f'{at}.name', name))
            else:
                seen.add(name)
        for key in ('containerPort', 'hostPort'):
            number = port.get(key)
            if number:
                if reasons := checks.port(number):
                    causes += faults.each_invalid(f'{at}.{key}', number, reasons)
            elif key == 'containerPort':
                causes.append(faults.required(f'{at}.{key}'))
        protocol = port.get('protocol')
        if protocol not in PROTOCOLS:
            causes.append(faults.unsupported(f'{at}.protocol', protocol, PROTOCOLS))
    return causes


def _host_ports(path: str, containers: Sequence[Object]) -> list[Cause]:
    causes: list[Cause] = []
    seen: set[str] = set()
    for i, container in enumerate(containers):
        for j, port in enumerate(container.get('ports') or ()):
            if not port.get('hostPort'):
                continue
            text = f'{port.get("protocol", "")}/{port.get("hostIP", "")}/{port["hostPort"]}'
            if text in seen:
                causes.append(faults.duplicate(f'{path}[{i}].ports[{j}].hostPort', text))
            seen.add(text)
    return causes


def _mounts(path: str, container: Object, volumes: Mapping[str, Object]) -> list[Cause]:
    causes: list[Cause] = []
    devices = container.get('volumeDevices')
    device_names = {device.get('name') for device in devices or ()}
    device_paths = {device.get('devicePath') for device in devices or ()}
    seen: set[str] = set()
    for i, mount in enumerate(container['volumeMounts']):
        name, target = mount.get('name', ''), mount.get('mountPath', '')
        if len(mount) == 2 and not devices and name in volumes and target and target not in seen:
            seen.add(target)
            continue
        if not name:
            causes.append(faults.required(f'{path}[{i}].name'))
        if name not in volumes:
            causes.append(faults.not_found(f'{path}[{i}].name', name))
        if not target:
            causes.append(faults.required(f'{path}[{i}].mountPath'))
        if target in seen:
            causes.append(faults.invalid(f'{path}[{i}].mountPath', target, 'must be unique'))
        seen.add(target)
        if name in device_names:
            causes.append(faults.invalid(f'{path}[{i}].name', name, 'must not already exist in volumeDevices'))
        if target in device_paths:
            text = 'must not already exist as a path in volumeDevices'
            causes.append(faults.invalid(f'{path}[{i}].mountPath', target, text))
        if len(mount) > 2:
            causes += _mount_options(path, f'{path}[{i}]', mount, container)
    return causes


def _mount_options(path: str, at: str, mount: Object, container: Object) -> list[Cause]:
    """The rarer fields of a mount. The server names the list, not the entry, for some of them."""
    causes: list[Cause] = []
    if part := mount.get('subPath'):
        causes += paths.descending(f'{path}.subPath', part)
    if expression := mount.get('subPathExpr'):
        if part:
            text = 'subPathExpr and subPath are mutually exclusive'
            causes.append(faults.invalid(f'{at}.subPathExpr', expression, text))
        causes += paths.descending(f'{path}.subPathExpr', expression)
    propagation = mount.get('mountPropagation')
    if propagation is not None:
        known = ('Bidirectional', 'HostToContainer', 'None')
        if propagation not in known:
            causes.append(faults.unsupported(f'{path}.mountPropagation', propagation, known))
        if propagation == 'Bidirectional' and not (container.get('securityContext') or {}).get('privileged'):
            text = 'Bidirectional mount propagation is available only to privileged containers'
            causes.append(faults.forbidden(f'{path}.mountPropagation', text))
    recursive = mount.get('recursiveReadOnly')
    if recursive in ('Enabled', 'IfPossible'):
        if not mount.get('readOnly'):
            text = 'may only be specified when readOnly is true'
            causes.append(faults.forbidden(f'{path}.recursiveReadOnly', text))
        if propagation not in (None, 'None'):
            text = 'may only be specified when mountPropagation is None or not specified'
            causes.append(faults.forbidden(f'{path}.recursiveReadOnly', text))
    elif recursive not in (None, 'Disabled'):
        known = ('Disabled', 'Enabled', 'IfPossible')
        causes.append(faults.unsupported(f'{path}.recursiveReadOnly', recursive, known))
    return causes


def _devices(path: str, container: Object, volumes: Mapping[str, Object]) -> list[Cause]:
    causes: list[Cause] = []
    mounts = {mount.get('name') for mount in container.get('volumeMounts') or ()}
    mounted = {mount.get('mountPath') for mount in container.get('volumeMounts') or ()}
    names: set[str] = set()
    targets: set[str] = set()
    for i, device in enumerate(container['volumeDevices']):
        name, target, at = device.get('name', ''), device.get('devicePath', ''), f'{path}[{i}]'
        volume = volumes.get(name)
        if not name:
            causes.append(faults.required(f'{at}.name'))
        if name in names:
            causes.append(faults.invalid(f'{at}.name', name, 'must be unique'))
        if volume is None:
            causes.append(faults.not_found(f'{at}.name', name))
        elif 'persistentVolumeClaim' not in volume and 'ephemeral' not in volume:
            text = 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode'
            causes.append(faults.invalid(f'{at}.name', name, text))
        if not target:
            causes.append(faults.required(f'{at}.devicePath'))
        if target in targets:
            causes.append(faults.invalid(f'{at}.devicePath', target, 'must be unique'))
        if '..' in target.split('/'):
            causes.append(faults.invalid(f'{at}.devicePath', target, "can not contain backsteps ('..')"))
        else:
            targets.add(target)
        if name in mounts:
            causes.append(faults.invalid(f'{at}.name', name, 'must not already exist in volumeMounts'))
        if target in mounted:
            text = 'must not already exist as a path in volumeMounts'
            causes.append(faults.invalid(f'{at}.devicePath', target, text))
        names.add(name)
    return causes


def _resize(path: str, policies: Sequence[Object], pod_policy: object) -> list[Cause]:
    causes: list[Cause] = []
    seen: set[object] = set()
    for i, policy in enumerate(policies):
        name, restart = policy.get('resourceName'), policy.get('restartPolicy')
        if name in seen:
            causes.append(faults.duplicate(f'{path}[{i}]', name))
        seen.add(name)
        for value, known in ((name, ('cpu', 'memory')), (restart, ('NotRequired', 'RestartContainer'))):
            if not value:
                causes.append(faults.required(path))
            elif value not in known:
                causes.append(faults.unsupported(path, value, known))
        if pod_policy == 'Never' and restart != 'NotRequired':
            text = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            causes.append(faults.invalid(path, restart or '', text))
    return causes


def ids(path: str, context: Object, keys: Sequence[str]) -> list[Cause]:
    """Mistakes in the numbers of users and groups."""
    causes: list[Cause] = []
    for key in keys:
        number = context.get(key)
        if number is not None and not 0 <= number <= _ID_MOST:
            causes.append(faults.invalid(f'{path}.{key}', number, f'must be between 0 and {_ID_MOST}, inclusive'))
    return causes


def _security(path: str, context: Object) -> list[Cause]:
    causes = ids(path, context, ('runAsUser', 'runAsGroup'))
    if (mount := context.get('procMount')) not in (None, 'Default', 'Unmasked'):
        causes.append(faults.unsupported(f'{path}.procMount', mount, ('Default', 'Unmasked')))
    causes += seccomp(f'{path}.seccompProfile', context.get('seccompProfile'))
    if context.get('allowPrivilegeEscalation') is False:
        struct = shown.Inner('core.SecurityContext', context)
        if context.get('privileged'):
            text = 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true'
            causes.append(faults.invalid(path, struct, text))
        if 'CAP_SYS_ADMIN' in ((context.get('capabilities') or {}).get('add') or ()):
            text = 'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN'
            causes.append(faults.invalid(path, struct, text))
    return causes


def seccomp(path: str, profile: Any) -> list[Cause]:
    """Mistakes in a seccomp profile."""
    if profile is None:
        return []
    causes: list[Cause] = []
    type_, local = profile.get('type', ''), profile.get('localhostProfile')
    if type_ not in (known := ('Localhost', 'RuntimeDefault', 'Unconfined')):
        causes.append(faults.unsupported(f'{path}.type', type_, known))
    if type_ == 'Localhost':
        if local is None:
            text = 'must be set when seccomp type is Localhost'
            causes.append(faults.required(f'{path}.localhostProfile', text))
        else:
            causes += paths.descending(f'{path}.localhostProfile', local)
    elif local is not None:
        text = 'can only be set when seccomp type is Localhost'
        struct = shown.Inner('core.SeccompProfile', profile)
        causes.append(faults.invalid(f'{path}.localhostProfile', struct, text))
    return causes


def _restart(at: str, container: Object) -> list[Cause]:
    """Mistakes in when the container itself is started again."""
    causes: list[Cause] = []
    policy, rules = container.get('restartPolicy'), container.get('restartPolicyRules') or ()
    if policy is None:
        if rules:
            causes.append(faults.required(f'{at}.restartPolicy', _POLICY_FOR_RULES))
    elif policy not in (known := ('Always', 'Never', 'OnFailure')):
        causes.append(faults.unsupported(f'{at}.restartPolicy', policy, known))
    if len(rules) > _RULES_MOST:
        causes.append(faults.too_many(f'{at}.restartPolicyRules', len(rules), _RULES_MOST))
    for i, rule in enumerate(rules):
        causes += _restart_rule(f'{at}.restartPolicyRules[{i}]', rule)
    return causes


def _restart_rule(at: str, rule: Object) -> list[Cause]:
    causes: list[Cause] = []
    if rule.get('action') not in (known := ('Restart', 'RestartAllContainers')):
        causes.append(faults.unsupported(f'{at}.action', rule.get('action', ''), known))
    codes = rule.get('exitCodes')
    if codes is None:
        return [*causes, faults.required(f'{at}.exitCodes', 'must be specified')]
    if codes.get('operator') not in (known := ('In', 'NotIn')):
        causes.append(faults.unsupported(f'{at}.exitCodes.operator', codes.get('operator', ''), known))
    if len(codes.get('values') or ()) > _EXIT_CODES_MOST:
        causes.append(faults.too_many(f'{at}.exitCodes.values', len(codes['values']), _EXIT_CODES_MOST))
    return causes


def check_images(path: str, containers: Sequence[Object]) -> list[Cause]:
    """The mistake that only counts in pods, not in templates: blanks around the name of an image."""
    return [
        faults.invalid(f'{path}[{i}].image', image, 'must not have leading or trailing whitespace')
        for i, container in enumerate(containers)
        if (image := container.get('image', '')) != image.strip()
    ]
