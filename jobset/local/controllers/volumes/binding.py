"""Which volume a claim gets, and what both say about it. Without any I/O.

Source: Kubernetes, "Persistent Volumes": binding, reclaiming, storage object in use protection.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Final

from jobset.api import quantities
from jobset.local.admission import selectors
from jobset.local.controllers import models
from jobset.local.objects import Object

PROVISIONER: Final = 'jobset.sigs.k8s.io/local-folder'
PROVISIONED_BY: Final = 'pv.kubernetes.io/provisioned-by'
BOUND_BY_US: Final = 'pv.kubernetes.io/bound-by-controller'
BIND_COMPLETED: Final = 'pv.kubernetes.io/bind-completed'
CLAIM_PROTECTION: Final = 'kubernetes.io/pvc-protection'
VOLUME_PROTECTION: Final = 'kubernetes.io/pv-protection'


def choose(claim: models.Claim, volumes: Iterable[models.Volume]) -> models.Volume | None:
    """The volume for a claim: one that is kept for it, or the smallest that is free and suits it."""
    suiting = []
    for volume in volumes:
        if volume.metadata.is_deleting:
            continue
        if volume.spec.claim_ref is not None:
            if is_for(volume, claim):
                return volume
            continue
        if claim.spec.volume_name:
            if claim.spec.volume_name == volume.metadata.name and _suits(volume, claim):
                return volume
        elif _suits(volume, claim) and (volume.spec.storage_class_name == (claim.spec.storage_class_name or '')):
            suiting.append(volume)
    return min(suiting, key=lambda volume: (_size(volume.spec.capacity), volume.metadata.name), default=None)


def is_for(volume: models.Volume, claim: models.Claim) -> bool:
    """Whether a volume is kept for this very claim, or for one of its name that has not been seen yet."""
    reference = volume.spec.claim_ref
    return (
        reference is not None
        and (reference.namespace, reference.name) == (claim.metadata.namespace, claim.metadata.name)
        and reference.uid in ('', claim.metadata.uid)
    )


def made_by(claim: models.Claim, classes: Mapping[str, models.StorageClass]) -> models.StorageClass | None:
    """The class that says how a volume for a claim is made; None where it has to wait for one that suits it."""
    if not claim.spec.storage_class_name or claim.spec.volume_name or claim.spec.selector:
        return None
    found = classes.get(claim.spec.storage_class_name)
    return found if found is not None and found.provisioner == PROVISIONER else None


def made_for(claim: models.Claim, of: models.StorageClass, path: str) -> Object:
    """A new volume for a claim: a folder."""
    name = volume_name(claim)
    return {
        'apiVersion': 'v1',
        'kind': 'PersistentVolume',
        'metadata': {
            'name': name,
            'annotations': {PROVISIONED_BY: PROVISIONER},
            'finalizers': [VOLUME_PROTECTION],
        },
        'spec': {
            'accessModes': list(claim.spec.access_modes or ('ReadWriteOnce',)),
            'capacity': {'storage': _wanted(claim)},
            'claimRef': reference_to(claim),
            'hostPath': {'path': path, 'type': 'DirectoryOrCreate'},
            'persistentVolumeReclaimPolicy': of.reclaim_policy,
            'storageClassName': of.metadata.name,
            'volumeMode': claim.spec.volume_mode,
        },
    }


def volume_name(claim: models.Claim) -> str:
    """The name of the volume that is made for a claim."""
    return f'pvc-{claim.metadata.uid}'


def folder_name(claim: models.Claim) -> str:
    """The name of its folder: one that people find again."""
    return f'{claim.metadata.namespace}_{claim.metadata.name}_{volume_name(claim)}'


def reference_to(claim: models.Claim) -> Object:
    """A claim, as its volume names it."""
    metadata = claim.metadata
    return {
        'kind': 'PersistentVolumeClaim',
        'namespace': metadata.namespace,
        'name': metadata.name,
        'uid': metadata.uid,
        'apiVersion': 'v1',
        'resourceVersion': metadata.resource_version,
    }


def bound_status(volume: models.Volume) -> Object:
    """The status of a claim that is bound to a volume."""
    return {
        'phase': 'Bound',
        'accessModes': list(volume.spec.access_modes or ()),
        'capacity': dict(volume.spec.capacity or {}),
    }


def is_ours(volume: models.Volume) -> bool:
    """Whether the volume was made here, so that its folder may be removed."""
    return volume.metadata.annotations.get(PROVISIONED_BY) == PROVISIONER


def is_used(claim: models.Claim, pods: Iterable[models.Pod]) -> bool:
    """Whether a pod has been placed that uses the claim; also one that has ended: it may be looked at."""
    name = claim.metadata.name
    return any(pod.spec.node_name and name in pod.claims for pod in pods)


def _suits(volume: models.Volume, claim: models.Claim) -> bool:
    modes = set(claim.spec.access_modes or ())
    selects = selectors.selector(claim.spec.selector)
    return (
        _size(volume.spec.capacity) >= _size(claim.spec.resources.requests)
        and modes <= set(volume.spec.access_modes or ())
        and volume.spec.volume_mode == claim.spec.volume_mode
        and (selects is None or selects(volume.metadata.labels))
    )


def _wanted(claim: models.Claim) -> str | int | float:
    return (claim.spec.resources.requests or {}).get('storage', '0')


def _size(amounts: Mapping[str, str | int | float] | None) -> Fraction:
    return quantities.parse((amounts or {}).get('storage', 0))
