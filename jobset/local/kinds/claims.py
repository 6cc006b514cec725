"""Volume claims, volumes and storage classes.

Unlike the real server, the protection finalizers are not added: nothing here would take them away again.
"""

from typing import Any, Final

from jobset.local import objects, resources, schemas
from jobset.local.kinds import amounts, cells, checks, claimspec, faults, podchanges, podvolumes, typed
from jobset.local.objects import Object
from jobset.local.problems import Cause, Problem
from jobset.local.resources import Column

DEFAULT_CLASS: Final = 'storageclass.kubernetes.io/is-default-class'
_FIXED: Final = (
    'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims'
)
_POLICIES: Final = ('Delete', 'Recycle', 'Retain')
_DETAILS: Final = frozenset(
    {'capacity', 'accessModes', 'claimRef', 'persistentVolumeReclaimPolicy', 'storageClassName', 'mountOptions'}
    | {'volumeMode', 'nodeAffinity', 'volumeAttributesClassName'}
)
"""The fields of a volume's spec that are no source."""


class ClaimRules(typed.Rules):
    """Of claims."""

    shape = 'core.PersistentVolumeClaim'
    has_generation = False

    def prepare_create(self, obj: Object, context: resources.Context) -> None:
        """A new claim is pending. The two fields for a source say the same."""
        obj['status'] = {'phase': 'Pending'}
        spec = obj.get('spec') or {}
        source, ref = spec.get('dataSource'), spec.get('dataSourceRef')
        if source and not ref:
            spec['dataSourceRef'] = dict(source)
        elif ref and not source and not ref.get('namespace'):
            spec['dataSource'] = {key: ref[key] for key in ('apiGroup', 'kind', 'name') if key in ref}

    def complete(self, obj: Object) -> None:
        """A folder unless it says block."""
        obj['spec'].setdefault('volumeMode', 'Filesystem')
        obj['status'].setdefault('phase', 'Pending')

    def admit(self, obj: Object, context: resources.Context) -> None:
        """The default storage class, when there is one."""
        spec = obj['spec']
        if spec.get('storageClassName') is not None:
            return
        defaults = [
            found
            for found in context.listed('storageclasses.storage.k8s.io', '')
            if (objects.metadata(found).get('annotations') or {}).get(DEFAULT_CLASS) == 'true'
        ]
        if defaults:
            newest = max(
                defaults, key=lambda found: (objects.metadata(found).get('creationTimestamp', ''), objects.name(found))
            )
            spec['storageClassName'] = objects.name(newest)

    def validate(self, obj: Object) -> list[Cause]:
        """Mistakes of a new claim."""
        return claimspec.check('spec', obj['spec'])

    def prepare_update(self, obj: Object, old: Object, context: resources.Context) -> None:
        """The status stays. A bound claim only grows where its storage class says so."""
        super().prepare_update(obj, old, context)
        spec, before = obj.get('spec') or {}, old['spec']
        if (old.get('status') or {}).get('phase') != 'Bound' or amounts.exact(_size(spec)) <= amounts.exact(
            _size(before)
        ):
            return
        found = context.look_up('storageclasses.storage.k8s.io', '', before.get('storageClassName') or '')
        if not (found or {}).get('allowVolumeExpansion'):
            text = (
                'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must '
                'support resize'
            )
            raise Problem.forbidden('persistentvolumeclaims', '', objects.name(obj), text)

    def validate_update(self, obj: Object, old: Object) -> list[Cause]:
        """Only the volume may be filled in, and a bound claim may grow."""
        causes = self.validate(obj)
        spec, before, status = obj['spec'], old['spec'], obj.get('status') or {}
        wanted, allowed = dict(spec), dict(before)
        if not before.get('volumeName') and 'volumeName' in spec:
            allowed['volumeName'] = spec['volumeName']
        if before.get('storageClassName') is None and status.get('phase') != 'Bound' and 'storageClassName' in spec:
            wanted.pop('storageClassName')
        size, size_before = _size(spec), _size(before)
        if status.get('phase') == 'Bound':
            wanted['resources'] = (spec.get('resources') or {}) | {
                'requests': (before.get('resources') or {}).get('requests')
            }
            typed.keep('volumeAttributesClassName', before, wanted)
        if wanted != allowed:
            text = f'{_FIXED}\n{podchanges.difference("core.PersistentVolumeClaimSpec", allowed, wanted)}'
            causes.append(faults.forbidden('spec', text))
        if amounts.exact(size) < amounts.exact(size_before):
            capacity = ((old.get('status') or {}).get('capacity') or {}).get('storage', '0')
            if amounts.exact(size) <= amounts.exact(capacity):
                text = 'field can not be less than status.capacity'
                causes.append(faults.forbidden('spec.resources.requests.storage', text))
        return causes + faults.unchanged('volumeMode', spec.get('volumeMode'), before.get('volumeMode'))


def _size(spec: Object) -> str:
    return str(((spec.get('resources') or {}).get('requests') or {}).get('storage', '0'))


class VolumeRules(typed.Rules):
    """Of volumes."""

    shape = 'core.PersistentVolume'
    has_generation = False

    def prepare_create(self, obj: Object, context: resources.Context) -> None:
        """A new volume is pending."""
        obj['status'] = {'phase': 'Pending', 'lastPhaseTransitionTime': objects.stamp(context.now)}

    def complete(self, obj: Object) -> None:
        """It is kept when its claim goes, unless it says otherwise."""
        spec = obj['spec']
        spec.setdefault('persistentVolumeReclaimPolicy', 'Retain')
        spec.setdefault('volumeMode', 'Filesystem')
        if 'hostPath' in spec:
            spec['hostPath'].setdefault('type', '')
        obj['status'].setdefault('phase', 'Pending')

    def validate(self, obj: Object) -> list[Cause]:
        """Mistakes of a new volume."""
        spec = obj['spec']
        causes: list[Cause] = []
        modes, capacity = spec.get('accessModes') or (), spec.get('capacity')
        if not modes:
            causes.append(faults.required('spec.accessModes'))
        causes += [
            faults.unsupported('spec.accessModes', mode, claimspec.ACCESS_MODES)
            for mode in modes
            if mode not in claimspec.ACCESS_MODES
        ]
        if not capacity:
            causes.append(faults.required('spec.capacity'))
        if not capacity or list(capacity) != ['storage']:
            causes.append(faults.unsupported('spec.capacity', capacity, ('storage',)))
        else:
            amount = capacity['storage']
            if amounts.exact(amount) <= 0:
                causes.append(faults.invalid('spec.capacity[storage]', amount, 'must be greater than zero'))
        if (policy := spec['persistentVolumeReclaimPolicy']) not in _POLICIES:
            causes.append(faults.unsupported('spec.persistentVolumeReclaimPolicy', policy, _POLICIES))
        sources = {key: value for key, value in spec.items() if key not in _DETAILS}
        causes += _sources(sources)
        if name := spec.get('storageClassName'):
            causes += faults.each_invalid('spec.storageClassName', name, checks.dns_subdomain(name))
        if (mode := spec.get('volumeMode')) not in claimspec.VOLUME_MODES:
            causes.append(faults.unsupported('spec.volumeMode', mode, claimspec.VOLUME_MODES))
        return causes

    def prepare_status(self, obj: Object, old: Object, context: resources.Context) -> None:
        """Only the status, with the time of its change."""
        super().prepare_status(obj, old, context)
        status, before = obj.setdefault('status', {}), old.get('status') or {}
        if status.get('phase') != before.get('phase'):
            status['lastPhaseTransitionTime'] = objects.stamp(context.now)

    def validate_update(self, obj: Object, old: Object) -> list[Cause]:
        """The source stays."""
        causes = self.validate(obj)
        sources, before = (
            {key: value for key, value in each['spec'].items() if key not in _DETAILS} for each in (obj, old)
        )
        if sources != before:
            text = 'spec.persistentvolumesource is immutable after creation'
            causes.append(faults.forbidden('spec.persistentvolumesource', text))
        return causes + faults.unchanged('volumeMode', obj['spec'].get('volumeMode'), old['spec'].get('volumeMode'))


def _sources(sources: Object) -> list[Cause]:
    if not sources:
        return [faults.required('spec', 'must specify a volume type')]
    return podvolumes.source('spec', sources)


class ClassRules(typed.Rules):
    """Of storage classes."""

    shape = 'storage.StorageClass'
    has_generation = False
    has_status = False

    def complete(self, obj: Object) -> None:
        """Volumes go with their claims, and are bound at once."""
        obj.setdefault('reclaimPolicy', 'Delete')
        obj.setdefault('volumeBindingMode', 'Immediate')

    def validate(self, obj: Object) -> list[Cause]:
        """Mistakes of a class."""
        causes: list[Cause] = []
        if obj['reclaimPolicy'] not in ('Delete', 'Retain'):
            causes.append(faults.unsupported('reclaimPolicy', obj['reclaimPolicy'], ('Delete', 'Retain')))
        mode = obj['volumeBindingMode']
        if mode not in (known := ('Immediate', 'WaitForFirstConsumer')):
            causes.append(faults.unsupported('volumeBindingMode', mode, known))
        provisioner = obj.get('provisioner')
        if not provisioner:
            causes.append(faults.required('provisioner'))
        else:
            lowered = provisioner.lower()
            causes += faults.each_invalid('provisioner', provisioner, checks.qualified_name(lowered))
        return causes

    def validate_update(self, obj: Object, old: Object) -> list[Cause]:
        """A class is what it is."""
        causes = [
            faults.forbidden(key, f'updates to {key} are forbidden.')
            for key in ('parameters', 'provisioner')
            if obj.get(key) != old.get(key)
        ]
        for key in ('reclaimPolicy', 'volumeBindingMode'):
            causes += faults.unchanged(key, obj.get(key), old.get(key))
        return causes


def _phase(obj: Object) -> str:
    if obj['metadata'].get('deletionTimestamp'):
        return 'Terminating'
    return str((obj.get('status') or {}).get('phase', ''))


def _bound(obj: Object, make: Any) -> str:
    return str(make(obj.get('status') or {})) if obj['spec'].get('volumeName') else ''


def _spec(key: str, absent: str = '') -> Any:
    def cell(obj: Object, _: object) -> str:
        found = obj['spec'].get(key)
        return absent if found is None else str(found)

    return cell


def claims() -> resources.Kind:
    """Claims as the server knows them."""
    return resources.Kind(
        group='',
        version='v1',
        plural='persistentvolumeclaims',
        singular='persistentvolumeclaim',
        kind='PersistentVolumeClaim',
        short_names=('pvc',),
        rules=ClaimRules(),
        columns=(
            cells.NAME,
            Column('Status', lambda obj, _: _phase(obj)),
            Column('Volume', _spec('volumeName')),
            Column(
                'Capacity', lambda obj, _: _bound(obj, lambda found: (found.get('capacity') or {}).get('storage', '0'))
            ),
            Column(
                'Access Modes', lambda obj, _: _bound(obj, lambda found: cells.access_modes(found.get('accessModes')))
            ),
            Column('StorageClass', lambda obj, _: cells.class_name(obj), description='StorageClass of the pvc'),
            Column(
                'VolumeAttributesClass',
                _spec('volumeAttributesClassName', cells.UNSET),
                description='VolumeAttributesClass of the pvc',
            ),
            cells.AGE,
            Column('VolumeMode', _spec('volumeMode', cells.UNSET), priority=1),
        ),
        schema=schemas.builtin('', 'v1', 'PersistentVolumeClaim'),
    )


def volumes() -> resources.Kind:
    """Volumes as the server knows them."""
    return resources.Kind(
        group='',
        version='v1',
        plural='persistentvolumes',
        singular='persistentvolume',
        kind='PersistentVolume',
        namespaced=False,
        short_names=('pv',),
        rules=VolumeRules(),
        columns=(
            cells.NAME,
            Column('Capacity', lambda obj, _: (obj['spec'].get('capacity') or {}).get('storage', '0')),
            Column('Access Modes', lambda obj, _: cells.access_modes(obj['spec'].get('accessModes'))),
            Column('Reclaim Policy', _spec('persistentVolumeReclaimPolicy')),
            Column('Status', lambda obj, _: _phase(obj)),
            Column('Claim', lambda obj, _: _claim(obj['spec'].get('claimRef'))),
            Column('StorageClass', lambda obj, _: cells.class_name(obj), description='StorageClass of the pv'),
            Column(
                'VolumeAttributesClass',
                _spec('volumeAttributesClassName', cells.UNSET),
                description='VolumeAttributesClass of the pv',
            ),
            Column('Reason', lambda obj, _: (obj.get('status') or {}).get('reason', '')),
            cells.AGE,
            Column('VolumeMode', _spec('volumeMode', cells.UNSET), priority=1),
        ),
        schema=schemas.builtin('', 'v1', 'PersistentVolume'),
    )


def _claim(ref: Any) -> str:
    return f'{ref.get("namespace", "")}/{ref.get("name", "")}' if ref else ''


def classes() -> resources.Kind:
    """Storage classes as the server knows them."""
    return resources.Kind(
        group='storage.k8s.io',
        version='v1',
        plural='storageclasses',
        singular='storageclass',
        kind='StorageClass',
        namespaced=False,
        short_names=('sc',),
        subresources=frozenset(),
        rules=ClassRules(),
        columns=(
            cells.NAME,
            Column('Provisioner', lambda obj, _: obj.get('provisioner', '')),
            Column('ReclaimPolicy', lambda obj, _: obj.get('reclaimPolicy', 'Delete')),
            Column('VolumeBindingMode', lambda obj, _: obj.get('volumeBindingMode', 'Immediate')),
            Column('AllowVolumeExpansion', lambda obj, _: bool(obj.get('allowVolumeExpansion'))),
            cells.AGE,
        ),
        schema=schemas.builtin('storage.k8s.io', 'v1', 'StorageClass'),
    )
