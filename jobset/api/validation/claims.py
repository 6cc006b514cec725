"""Whether the volume claims of a JobSet can be made and are used, against the claims that already exist."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from jobset.api import equality, templates, types
from jobset.api.validation import fields, names

POLICIES = 'spec.volumeClaimPolicies'
REPLICATED_JOBS = 'spec.replicatedJobs'


@dataclass(frozen=True)
class ExistingClaim:
    """A PersistentVolumeClaim that has the name of a claim to be made."""

    spec: Mapping[str, object]
    """Its live ``spec``, with everything that the server and the binder have filled in."""


@dataclass(frozen=True)
class UnknownClaim:
    """A claim that could not be looked up, for another reason than that it does not exist."""

    problem: str


Found = ExistingClaim | UnknownClaim
"""What a look-up came to; a claim that does not exist is absent from the mapping."""


def to_look_up(spec: types.Spec, jobset_name: str) -> list[str]:
    """The names of the claims that this JobSet will own or share, each once, as far as they can be names at all."""
    wanted = (
        claim_name(claim.metadata.name, jobset_name) for policy in spec.volume_claim_policies for claim in policy.claims
    )
    return [name for name in dict.fromkeys(wanted) if not names.dns_1123_subdomain(name)]


def claim_name(template: str, jobset_name: str) -> str:
    """The name of the claim that a template makes."""
    return f'{template}-{jobset_name}'


def check(
    spec: types.Spec,
    *,
    jobset_name: str,
    namespace: str,
    existing: Mapping[str, Found],
) -> list[fields.FieldError]:
    """Every mistake in ``spec.volumeClaimPolicies``, templates in order."""
    found: list[fields.FieldError] = []
    seen: set[str] = set()
    for p, policy in enumerate(spec.volume_claim_policies):
        for t, claim in enumerate(policy.claims):
            # The path says "template" because that is what clients of the Go controller know.
            path = f'{POLICIES}[{p}].template[{t}]'
            template = claim.metadata.name
            found += _name(path, template, jobset_name=jobset_name, twice=template in seen)
            seen.add(template)
            found += _conflicts(spec, template)
            found += _unused(spec, template)
            name = claim_name(template, jobset_name)
            match existing.get(name):
                case ExistingClaim() as live:
                    found += _differs(f'{path}.spec', claim, live, f'PVC {name} in namespace {namespace}')
                    found += _not_kept(f'{POLICIES}[{p}].retentionPolicy.whenDeleted', policy)
                case UnknownClaim(problem):
                    found.append(fields.plain(f'failed to check for existing PVC {name}: {problem}'))
                case None:
                    pass
    return found


def _name(path: str, template: str, *, jobset_name: str, twice: bool) -> list[fields.FieldError]:
    path = f'{path}.name'
    found = []
    if twice:
        found.append(fields.invalid(path, template, 'names must be unique for VolumeClaimPolicies template'))
    found += [fields.invalid(path, template, reason) for reason in names.dns_1123_subdomain(template)]
    if len(claim_name(template, jobset_name).encode()) > names.LABEL_MOST:
        found.append(fields.invalid(path, template, 'VolumeClaimPolicies template name is too long'))
    return found


def _conflicts(spec: types.Spec, template: str) -> list[fields.FieldError]:
    return [
        fields.invalid(
            f'{REPLICATED_JOBS}[{i}].template.spec.template.spec.volumes[{v}].name',
            volume.name,
            f'volume name conflicts with VolumeClaimPolicy template name: {template}',
        )
        for i, replicated in enumerate(spec.replicated_jobs)
        for v, volume in enumerate(replicated.job.spec.template.spec.volumes or ())
        if volume.name == template
    ]


def _unused(spec: types.Spec, template: str) -> list[fields.FieldError]:
    if any(template in replicated.job.spec.template.spec.mounted for replicated in spec.replicated_jobs):
        return []
    detail = f"replicatedJob containers don't have a matching volumeMount: {template} from VolumeClaimPolicies"
    return [fields.invalid(REPLICATED_JOBS, spec.replicated_jobs, detail)]


def _differs(
    path: str,
    claim: templates.ClaimTemplate,
    live: ExistingClaim,
    called: str,
) -> list[fields.FieldError]:
    wanted = {} if claim.spec is None else msgspec.json.decode(claim.spec)
    if equality.semantic(wanted, live.spec):
        return []
    return [fields.invalid(path, wanted, f'spec does not match existing {called}')]


def _not_kept(path: str, policy: types.VolumeClaimPolicy) -> list[fields.FieldError]:
    when_deleted = policy.retention_policy.when_deleted if policy.retention_policy else None
    if when_deleted == types.RetentionPolicy.RETAIN:
        return []
    return [fields.invalid(path, when_deleted, 'retentionPolicy must be retain when PVC exists')]
