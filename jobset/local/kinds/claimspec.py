"""The specs of volume claims: of claims themselves and of those that a pod makes for its ephemeral volumes."""

from typing import Final

from jobset.local.kinds import amounts, checks, faults, shown
from jobset.local.objects import Object
from jobset.local.problems import Cause

ACCESS_MODES: Final = ('ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod')
VOLUME_MODES: Final = ('Block', 'Filesystem')
_OWN_KIND: Final = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"


def check(path: str, spec: Object) -> list[Cause]:
    """Mistakes in a spec."""
    causes: list[Cause] = []
    modes = spec.get('accessModes') or ()
    if not modes:
        causes.append(faults.required(f'{path}.accessModes', 'at least 1 access mode is required'))
    causes += checks.selector(f'{path}.selector', spec.get('selector'))
    causes += [
        faults.unsupported(f'{path}.accessModes', mode, ACCESS_MODES) for mode in modes if mode not in ACCESS_MODES
    ]
    if 'ReadWriteOncePod' in modes and any(mode in ACCESS_MODES[:3] for mode in modes):
        text = 'may not use ReadWriteOncePod with other access modes'
        causes.append(faults.forbidden(f'{path}.accessModes', text))
    causes += storage(f'{path}.resources', ((spec.get('resources') or {}).get('requests') or {}).get('storage'))
    for key in ('storageClassName', 'volumeAttributesClassName'):
        name = spec.get(key)
        if key == 'volumeAttributesClassName':
            if (mode := spec.get('volumeMode')) not in (None, *VOLUME_MODES):
                causes.append(faults.unsupported(f'{path}.volumeMode', mode, VOLUME_MODES))
            causes += _sources(path, spec)
        if name:
            causes += faults.each_invalid(f'{path}.{key}', name, checks.dns_subdomain(name))
    return causes


def storage(path: str, amount: str | None) -> list[Cause]:
    """Mistakes in the size of what is asked for."""
    if amount is None:
        return [faults.required(f'{path}[storage]')]
    exact = amounts.exact(amount)
    if exact <= 0:
        return [faults.invalid(f'{path}[storage]', amount, 'must be greater than zero')]
    return []


def _sources(path: str, spec: Object) -> list[Cause]:
    causes: list[Cause] = []
    source, ref = spec.get('dataSource'), spec.get('dataSourceRef')
    for key, found in (('dataSource', source), ('dataSourceRef', ref)):
        if found is None:
            continue
        at = f'{path}.{key}'
        causes += [faults.required(f'{at}.{name}') for name in ('name', 'kind') if not found.get(name)]
        group = found.get('apiGroup') or ''
        if not group and found.get('kind') != 'PersistentVolumeClaim':
            causes.append(faults.invalid(at, found.get('kind', ''), _OWN_KIND))
        if group:
            causes += faults.each_invalid(f'{at}.apiGroup', group, checks.dns_subdomain(group))
        if namespace := found.get('namespace'):
            causes += faults.each_invalid(f'{at}.namespace', namespace, checks.dns_label(namespace))
    if source is not None and ref is not None:
        if ref.get('namespace'):
            text = 'may not be specified when dataSourceRef.namespace is specified'
            causes.append(faults.invalid(path, shown.Raw('{}'), text))
        elif any(source.get(key) != ref.get(key) for key in ('apiGroup', 'kind', 'name')):
            causes.append(faults.invalid(path, shown.Raw('{}'), 'must match dataSourceRef'))
    return causes
