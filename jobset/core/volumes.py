"""The volume claims that all Jobs of a set share.

Source: JobSet API, ``spec.volumeClaimPolicies``. A claim is named ``<template>-<jobset>``. One that exists is used as
it is: that is how a later set takes over a retained claim.
"""

from collections.abc import Container

import msgspec

from jobset.api import keys, meta, templates, types
from jobset.core import network, plan


class Claim(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """A PersistentVolumeClaim as it is observed."""

    metadata: meta.Identity


def claim_name(template: str, jobset: types.JobSet) -> str:
    """The name of the claim made from a template."""
    return f'{template}-{jobset.metadata.name}'


def missing_claims(jobset: types.JobSet, existing: Container[str]) -> tuple[plan.Object, ...]:
    """The claims to make, in order of policy and template. ``existing`` are names in the set's namespace."""
    return tuple(
        _claim(jobset, policy, position)
        for policy in jobset.spec.volume_claim_policies
        for position, template in enumerate(policy.claims)
        if claim_name(template.metadata.name, jobset) not in existing
    )


def _claim(jobset: types.JobSet, policy: types.VolumeClaimPolicy, position: int) -> plan.Object:
    template = policy.claims[position]
    name = claim_name(template.metadata.name, jobset)
    metadata: dict[str, object] = {
        'name': name,
        'namespace': jobset.metadata.namespace,
        'labels': {**(template.metadata.labels or {}), keys.JOBSET_NAME: jobset.metadata.name},
    }
    if template.metadata.annotations:
        metadata['annotations'] = template.metadata.annotations
    if _is_deleted_with_jobset(policy):
        metadata['ownerReferences'] = [network.owner_reference(jobset)]
    body: dict[str, object] = {'apiVersion': 'v1', 'kind': 'PersistentVolumeClaim', 'metadata': metadata}
    if template.spec is not None:
        body['spec'] = template.spec
    return plan.Object(name, body)


def _is_deleted_with_jobset(policy: types.VolumeClaimPolicy) -> bool:
    """A block without a value means Delete; no block at all, only possible without admission, keeps the claim."""
    retention = policy.retention_policy
    return retention is not None and retention.when_deleted != types.RetentionPolicy.RETAIN


def volumes(jobset: types.JobSet, pod: templates.PodSpec) -> list[dict[str, object]]:
    """The volumes to add to a pod template: one for each claim that one of its containers mounts."""
    mounted = pod.mounted
    return [
        {
            'name': template.metadata.name,
            'persistentVolumeClaim': {'claimName': claim_name(template.metadata.name, jobset)},
        }
        for policy in jobset.spec.volume_claim_policies
        for template in policy.claims
        if template.metadata.name in mounted
    ]
