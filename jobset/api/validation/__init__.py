"""What the validating webhook answers: every mistake of a JobSet at once, each with its path.

The rules, their order and their texts are those of the Go controller. Ours beyond them, each stricter:

* a failure-message pattern that is not RE2, or is too large for us, is refused
  (:mod:`jobset.api.validation.failures`): it could never match;
* a replicated job that depends on itself is refused (:mod:`jobset.api.validation.jobs`): it could never start;
* annotations under our own prefix must be known and readable (:mod:`jobset.api.validation.extras`), and what they say
  of places must be possible (:mod:`jobset.api.validation.topologies`);
* gangs must be such that they can get their nodes (:mod:`jobset.api.validation.scheduling`).

The schema judges first, so these functions see objects that fit it. DELETE is never judged.
"""

from collections.abc import Mapping

from jobset.api import features, meta, types
from jobset.api.validation import claims, coordinators, extras, failures, jobs, networks, scheduling, successes, updates
from jobset.api.validation.claims import ExistingClaim, Found, UnknownClaim
from jobset.api.validation.fields import FieldError, status_422

__all__ = [
    'ExistingClaim',
    'FieldError',
    'Found',
    'UnknownClaim',
    'claims_to_look_up',
    'create',
    'sample_name',
    'status_422',
    'update',
]

_GENERATED_SUFFIX = 'xxxxx'
"""Stands for the five random characters of a generated name: only their number matters."""

_GENERATED_PREFIX_MOST = 63 - len(_GENERATED_SUFFIX)


def create(
    jobset: types.JobSet,
    *,
    gates: features.FeatureGates,
    existing_claims: Mapping[str, Found],
) -> list[FieldError]:
    """The mistakes of a JobSet that somebody wants to create, in the order of the rules; empty when it is fine.

    ``existing_claims`` holds what was found under the names of :func:`claims_to_look_up`, without those not found.
    """
    name = sample_name(jobset.metadata)
    spec = jobset.spec
    return [
        *failures.strategy(spec, gates),
        *jobs.first(spec),
        *networks.check(spec),
        *networks.managed_by(spec),
        *jobs.check(spec, jobset_name=name, gates=gates),
        *successes.check(spec),
        *failures.check(spec, gates),
        *coordinators.check(spec, jobset_name=name),
        *claims.check(spec, jobset_name=name, namespace=jobset.metadata.namespace, existing=existing_claims),
        *extras.check(jobset),
        *scheduling.check(jobset, gates),
    ]


def update(old: types.JobSet, new: types.JobSet, *, gates: features.FeatureGates) -> list[FieldError]:
    """The mistakes of a change; what was admitted once is not judged again."""
    return [*updates.check(old, new, gates=gates), *extras.check(new, old), *scheduling.update(old, new, gates)]


def claims_to_look_up(jobset: types.JobSet) -> list[str]:
    """The names of the PersistentVolumeClaims to look for, in the namespace of the JobSet, before :func:`create`."""
    return claims.to_look_up(jobset.spec, sample_name(jobset.metadata))


def sample_name(metadata: meta.ObjectMeta) -> str:
    """The name, or one as long as the name that the API server would generate; empty where it has nothing to go by."""
    if metadata.name or not metadata.generate_name:
        return metadata.name
    return metadata.generate_name[:_GENERATED_PREFIX_MOST] + _GENERATED_SUFFIX
