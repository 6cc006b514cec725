"""Whether the gangs that a JobSet asks for can be: shapes, sizes, and what the pods of a group must have in common.

Rules for ``spec.scheduling`` are those of JobSet's enhancement 969; the others follow from what kube-scheduler and the
kinds Workload and PodGroup demand, so that nothing is admitted that would wait for ever.
"""

import re
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from jobset.api import extras, features, gangs, templates, types
from jobset.api.validation import fields

FIELD: Final = 'spec.scheduling'
ANNOTATIONS: Final = tuple(
    one.key for one in (extras.GANG, extras.GANG_DISRUPTION, extras.GANG_TOPOLOGY, extras.GANG_CLAIMS)
)

_DEFAULT_SCHEDULER: Final = 'default-scheduler'
_DEFAULT_PREEMPTION: Final = 'PreemptLowerPriority'


def check(jobset: types.JobSet, gates: features.FeatureGates) -> list[fields.FieldError]:
    """The mistakes of a new JobSet, or of a changed one whose scheduling may change."""
    wanted = jobset.spec.scheduling if gates.workload_aware_scheduling else None
    found = _annotated(jobset, wanted)
    if wanted is not None:
        found += _field(jobset, wanted)
    if not found:
        found += _groups(jobset, gangs.gangs(jobset, gates), FIELD if wanted is not None else _at(extras.GANG))
    return found


def update(old: types.JobSet, new: types.JobSet, gates: features.FeatureGates) -> list[fields.FieldError]:
    """The mistakes of a change: groups are named in pods, which stay as they are while they run."""
    before, after = old.metadata.annotations, new.metadata.annotations
    changed = [key for key in ANNOTATIONS if before.get(key) != after.get(key)]
    field_changed = gates.workload_aware_scheduling and old.spec.scheduling != new.spec.scheduling
    if not changed and not field_changed:
        return []
    is_at_rest = old.suspended and any(one.type == 'Suspended' and one.is_true for one in old.status.conditions)
    if not is_at_rest:
        text = 'may only change while the JobSet is suspended; set spec.suspend, and wait for the condition Suspended'
        found = [fields.forbidden(f'metadata.annotations[{key}]', text) for key in changed]
        return found + ([fields.forbidden(FIELD, text)] if field_changed else [])
    return check(new, gates)


def _at(extra: extras.Extra[str] | extras.Extra[tuple[str, ...]]) -> str:
    return f'metadata.annotations[{extra.key}]'


def _annotated(jobset: types.JobSet, wanted: types.Scheduling | None) -> list[fields.FieldError]:
    given = [key for key in ANNOTATIONS if key in jobset.metadata.annotations]
    if given and wanted is not None:
        text = f'{FIELD} says what is scheduled together already; take one of the two away'
        return [fields.forbidden(f'metadata.annotations[{key}]', text) for key in given]
    if given and extras.GANG.key not in given:
        text = f'says something about gangs, and there are none; set {extras.GANG.key}, too'
        return [fields.forbidden(f'metadata.annotations[{key}]', text) for key in given]
    claims = extras.GANG_CLAIMS.of(jobset.metadata.annotations) or ()
    known = {
        claim.name for job in jobset.spec.replicated_jobs for claim in job.job.spec.template.spec.resource_claims or ()
    }
    found = [
        fields.invalid(
            _at(extras.GANG_CLAIMS), name, 'no pod template has this name in its resourceClaims; add it there'
        )
        for name in claims
        if name not in known
    ]
    if len(claims) > gangs.CLAIMS_MOST:
        found.append(
            fields.invalid(_at(extras.GANG_CLAIMS), list(claims), f'at most {gangs.CLAIMS_MOST} can be shared')
        )
    return found


def _field(jobset: types.JobSet, wanted: types.Scheduling) -> list[fields.FieldError]:
    found = [
        fields.forbidden(
            f'spec.replicatedJobs[{i}].template.spec.scheduling',
            f'{FIELD} says it for the Jobs; take one of the two away',
        )
        for i, job in enumerate(jobset.spec.replicated_jobs)
        if job.job.spec.scheduling is not None
    ]
    whole = [
        name
        for name, value in (
            ('schedulingPolicy', wanted.scheduling_policy),
            ('schedulingConstraints', wanted.scheduling_constraints),
            ('disruptionMode', wanted.disruption_mode),
        )
        if value is not None
    ]
    if wanted.replicated_jobs:
        found += [
            fields.forbidden(
                f'{FIELD}.{name}', f'is for a set that is one group, and {FIELD}.replicatedJobs makes more'
            )
            for name in whole
        ]
        return found + _entries(jobset, wanted.replicated_jobs)
    found += _policy(f'{FIELD}.schedulingPolicy', wanted.scheduling_policy, wanted.disruption_mode)
    policy = wanted.scheduling_policy
    if policy is not None and policy.gang is not None and policy.gang.min_group_count is not None:
        text = 'a set that is one group has no groups to count; leave it out, or list groups in replicatedJobs'
        found.append(fields.forbidden(f'{FIELD}.schedulingPolicy.gang.minGroupCount', text))
    found += _modes(FIELD, wanted.scheduling_constraints, wanted.disruption_mode)
    if _is_staged(jobset):
        text = (
            'one group of the whole set would wait for pods that do not exist before others are ready or complete; '
            f'list groups in replicatedJobs, or use the annotation {extras.GANG.key}: stage'
        )
        found.append(fields.forbidden(FIELD, text))
    return found


def _is_staged(jobset: types.JobSet) -> bool:
    policy = jobset.spec.startup_policy
    in_order = policy is not None and policy.startup_policy_order == types.StartupOrder.IN_ORDER
    return in_order or any(job.depends_on for job in jobset.spec.replicated_jobs)


def _entries(jobset: types.JobSet, entries: tuple[types.ReplicatedJobScheduling, ...]) -> list[fields.FieldError]:
    found: list[fields.FieldError] = []
    jobs = {job.name: job for job in jobset.spec.replicated_jobs}
    named: set[str] = set()
    for i, entry in enumerate(entries):
        path = f'{FIELD}.replicatedJobs[{i}]'
        for t, target in enumerate(entry.target_replicated_jobs):
            at = f'{path}.targetReplicatedJobs[{t}]'
            if target not in jobs:
                found.append(fields.invalid(at, target, f'is no replicated job; there are: {", ".join(jobs)}'))
            elif target in named:
                found.append(fields.invalid(at, target, 'is named twice; its pods can be in one group only'))
            named.add(target)
        found += _entry(path, entry, jobs)
    left = [name for name in jobs if name not in named]
    if left:
        text = f'each replicated job must be named exactly once; missing: {", ".join(left)}'
        found.append(
            fields.invalid(f'{FIELD}.replicatedJobs', [list(entry.target_replicated_jobs) for entry in entries], text)
        )
    return found


def _entry(
    path: str, entry: types.ReplicatedJobScheduling, jobs: dict[str, types.ReplicatedJob]
) -> list[fields.FieldError]:
    found: list[fields.FieldError] = []
    at, part, per_job = path, entry, entry.job is not None
    if entry.job is not None:
        found += [
            fields.forbidden(f'{path}.{name}', 'job says it for each Job; nothing else can be set beside it')
            for name, value in (
                ('schedulingPolicy', entry.scheduling_policy),
                ('schedulingConstraints', entry.scheduling_constraints),
                ('disruptionMode', entry.disruption_mode),
            )
            if value is not None
        ]
        if len(entry.target_replicated_jobs) != 1:
            text = 'a group for each Job is for exactly one replicated job'
            found.append(fields.invalid(f'{path}.targetReplicatedJobs', list(entry.target_replicated_jobs), text))
        at = f'{path}.job'
        found += _policy(f'{at}.schedulingPolicy', entry.job.scheduling_policy, entry.job.disruption_mode)
        found += _modes(at, entry.job.scheduling_constraints, entry.job.disruption_mode)
        found += _claims(f'{at}.resourceClaims', entry, jobs)
        policy = entry.job.scheduling_policy
    else:
        found += _policy(f'{at}.schedulingPolicy', part.scheduling_policy, part.disruption_mode)
        found += _modes(at, part.scheduling_constraints, part.disruption_mode)
        policy = part.scheduling_policy
    least = policy.gang.min_count if policy is not None and policy.gang is not None else None
    targets = [jobs[name] for name in entry.target_replicated_jobs if name in jobs]
    most = sum(pods_of(job.job.spec) * (1 if per_job else job.count) for job in targets)
    if least is not None and least > most:
        text = f'is more than the {most} pods that there can be; it would wait for ever'
        found.append(fields.invalid(f'{at}.schedulingPolicy.gang.minCount', least, text))
    return found


def pods_of(job: templates.JobSpec) -> int:
    """How many pods a Job has at a time, at most."""
    parallelism = 1 if job.parallelism is None else job.parallelism
    return parallelism if job.completions is None else min(parallelism, job.completions)


def _claims(
    path: str, entry: types.ReplicatedJobScheduling, jobs: dict[str, types.ReplicatedJob]
) -> list[fields.FieldError]:
    found = []
    for i, claim in enumerate(entry.job.resource_claims if entry.job is not None else ()):
        if (claim.resource_claim_name is None) == (claim.resource_claim_template_name is None):
            text = 'exactly one of resourceClaimName and resourceClaimTemplateName must be set'
            found.append(fields.invalid(f'{path}[{i}]', msgspec.to_builtins(claim), text))
        for name in entry.target_replicated_jobs[:1]:
            of_pods = jobs[name].job.spec.template.spec.resource_claims if name in jobs else None
            if claim not in (of_pods or ()):
                text = f'the pod template of {name} has no equal entry in its resourceClaims, so no pod would share it'
                found.append(fields.invalid(f'{path}[{i}]', msgspec.to_builtins(claim), text))
    return found


def _policy(
    path: str,
    policy: types.SchedulingPolicy | types.CompositeSchedulingPolicy | None,
    mode: types.DisruptionMode | None,
) -> list[fields.FieldError]:
    found = []
    if policy is not None and (policy.basic is None) == (policy.gang is None):
        found.append(fields.invalid(path, msgspec.to_builtins(policy), 'exactly one of basic and gang must be set'))
    if policy is not None and policy.basic is not None and mode is not None and mode.all is not None:
        at = path.removesuffix('schedulingPolicy') + 'disruptionMode'
        text = 'all pods or none is for gangs, and the policy is basic; set single, or the policy gang'
        found.append(fields.invalid(at, msgspec.to_builtins(mode), text))
    return found


def _modes(
    path: str, constraints: types.SchedulingConstraints | None, mode: types.DisruptionMode | None
) -> list[fields.FieldError]:
    found = []
    if mode is not None and (mode.single is None) == (mode.all is None):
        text = 'exactly one of single and all must be set'
        found.append(fields.invalid(f'{path}.disruptionMode', msgspec.to_builtins(mode), text))
    for i, one in enumerate(constraints.topology if constraints is not None else ()):
        try:
            extras.GANG_TOPOLOGY.parse(one.key)
        except extras.ExtraError as error:
            found.append(fields.invalid(f'{path}.schedulingConstraints.topology[{i}].key', one.key, str(error)))
    return found


_Trait = tuple[str, Callable[[templates.PodSpec], object]]

_COMMON: Final[tuple[_Trait, ...]] = (
    ('schedulerName', lambda pod: pod.scheduler_name or _DEFAULT_SCHEDULER),
    ('priorityClassName', lambda pod: pod.priority_class_name or ''),
    ('priority', lambda pod: pod.priority),
    ('preemptionPolicy', lambda pod: pod.preemption_policy or _DEFAULT_PREEMPTION),
)
"""What all pods of a group must have in common, or kube-scheduler gives none of them a node."""


def mixed(jobset: types.JobSet, wanted: Iterable[gangs.Gang]) -> list[fields.FieldError]:
    """Pod templates of one group that differ in what a group has only one of."""
    found = []
    for gang in wanted:
        for place in gang.members[1:]:
            first, other = (jobset.spec.replicated_jobs[one] for one in (gang.members[0], place))
            for name, of in _COMMON:
                here, there = of(other.job.spec.template.spec), of(first.job.spec.template.spec)
                if here != there:
                    text = f'{first.name} has {fields.quote(str(there))}; pods that are scheduled together have one'
                    path = f'spec.replicatedJobs[{place}].template.spec.template.spec.{name}'
                    found.append(fields.invalid(path, here, text))
    return found


def _groups(jobset: types.JobSet, wanted: tuple[gangs.Gang, ...], path: str) -> list[fields.FieldError]:
    found = mixed(jobset, wanted)
    if len(wanted) > gangs.TEMPLATES_MOST:
        text = f'there would be {len(wanted)} sorts of groups, and a Workload takes {gangs.TEMPLATES_MOST}; join some'
        found.append(fields.forbidden(path, text))
    leaves = {gang.template for gang in wanted if not gang.per_job}
    for gang in wanted:
        if gang.per_job:
            job_like = re.compile(re.escape(gang.template) + '-[0-9]+', re.ASCII)
            found += [
                fields.invalid(path, leaf, f'its group would be called like one of a Job of {gang.template}; rename it')
                for leaf in leaves
                if job_like.fullmatch(leaf)
            ]
        if path != FIELD:
            found += _odd_claims(jobset, gang)
    return found


def _odd_claims(jobset: types.JobSet, gang: gangs.Gang) -> list[fields.FieldError]:
    found = []
    shared = {claim.name: claim for claim in gang.claims}
    for place in gang.members:
        pod = jobset.spec.replicated_jobs[place].job.spec.template.spec
        for i, claim in enumerate(pod.resource_claims or ()):
            if claim.name in shared and claim != shared[claim.name]:
                path = f'spec.replicatedJobs[{place}].template.spec.template.spec.resourceClaims[{i}]'
                text = 'another pod template of the same gang has this name for another claim; a gang shares one'
                found.append(fields.invalid(path, msgspec.to_builtins(claim), text))
    return found
