"""Which pods of a JobSet get their nodes together: what was asked for, in one form for both ways to ask.

The annotations under our own prefix say it for the JobSet as a whole, and stay valid on the Go controller. The field
``spec.scheduling``, behind a feature gate, is JobSet's own: Kubernetes enhancement 969 of JobSet, both of its models.
Replicated jobs whose pods are in a group already, because their template names one or because the Job controller was
told to make one, are left alone.
"""

import enum
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from jobset.api import extras, features, keys, stages, templates, types

TEMPLATES_MOST: Final = 8
"""Groups of different sorts that a Workload may have."""

CLAIMS_MOST: Final = 4
"""Claims that a group may share."""

_NAME_MOST: Final = 63
"""Names of groups stand in labels, too."""

_HASH: Final = 8


class Shape(enum.StrEnum):
    """Which pods form a gang."""

    SET = 'set'
    REPLICATED_JOB = 'replicatedJob'
    JOB = 'job'
    STAGE = 'stage'


class Disruption(enum.StrEnum):
    """What a preemption takes away."""

    SINGLE = 'single'
    ALL = 'all'


@dataclass(frozen=True, kw_only=True)
class Gang:
    """Groups of one sort: one group, or with ``per_job`` one for each Job of its only member."""

    template: str
    """What the sort is called in the Workload."""

    members: tuple[int, ...]
    """Places of its replicated jobs in ``spec.replicatedJobs``."""

    shape: Shape
    per_job: bool = False
    is_basic: bool = False
    """The pods are in a group, and get their nodes each by itself."""

    min_count: int | None = None
    """How many pods are enough, where not all are needed."""

    topology: str | None = None
    disruption: Disruption | None = None
    claims: tuple[templates.ResourceClaim, ...] = ()


def gangs(jobset: types.JobSet, gates: features.FeatureGates) -> tuple[Gang, ...]:
    """The groups that were asked for; none where nothing was, or nothing that can be read."""
    wanted = jobset.spec.scheduling if gates.workload_aware_scheduling else None
    if wanted is not None:
        found = _of_field(jobset, wanted)
    else:
        shape = extras.GANG.of(jobset.metadata.annotations) if jobset.metadata.annotations else None
        found = () if shape is None else _of_annotations(jobset, Shape(shape))
    return tuple(gang for gang in found if gang.members)


def name(jobset: types.JobSet, gang: Gang, *, job_index: int, attempt: int) -> str:
    """The name of a group of that sort. Each attempt has its own: a gang never counts pods of two attempts."""
    index = f'-{job_index}' if gang.per_job else ''
    return _cut(f'{jobset.metadata.name}-{gang.template}{index}-{attempt}')


def workload_name(jobset: types.JobSet) -> str:
    """The name of the Workload: other controllers, and users, may call one like the JobSet."""
    metadata = jobset.metadata
    digest = hashlib.sha256(f'{keys.KIND}/{metadata.namespace}/{metadata.name}'.encode()).hexdigest()
    return f'{metadata.name[: _NAME_MOST - _HASH - 1]}-{digest[:_HASH]}'


def brings_own(job: types.ReplicatedJob) -> bool:
    """Whether somebody else is in charge of the group of these pods."""
    group = job.job.spec.template.spec.scheduling_group
    if group is not None and group.pod_group_name:
        return True
    return keys.DELEGATED_GROUP in (job.job.metadata.annotations or {})


def _cut(text: str) -> str:
    if len(text) <= _NAME_MOST:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:_HASH]
    return f'{text[: _NAME_MOST - _HASH - 1]}-{digest}'


def _of_annotations(jobset: types.JobSet, shape: Shape) -> tuple[Gang, ...]:
    annotations = jobset.metadata.annotations
    jobs = jobset.spec.replicated_jobs
    mode = extras.GANG_DISRUPTION.of(annotations)
    disruption = Disruption(mode) if mode is not None else None
    topology = extras.GANG_TOPOLOGY.of(annotations)
    shared = extras.GANG_CLAIMS.of(annotations) or ()

    def gang(template: str, places: Iterable[int], *, per_job: bool = False) -> Gang:
        members = tuple(place for place in places if not brings_own(jobs[place]))
        claims = [one for place in members for one in jobs[place].job.spec.template.spec.resource_claims or ()]
        return Gang(
            template=template,
            members=members,
            shape=shape,
            per_job=per_job,
            topology=topology,
            disruption=disruption,
            claims=tuple({one.name: one for one in claims if one.name in shared}.values()),
        )

    match shape:
        case Shape.SET:
            return (gang('set', range(len(jobs))),)
        case Shape.STAGE:
            return tuple(gang(f'stage-{number}', places) for number, places in enumerate(stages.starting(jobset)))
        case Shape.REPLICATED_JOB | Shape.JOB:
            per_job = shape == Shape.JOB
            return tuple(gang(job.name, [place], per_job=per_job) for place, job in enumerate(jobs))


def _of_field(jobset: types.JobSet, wanted: types.Scheduling) -> tuple[Gang, ...]:
    jobs = jobset.spec.replicated_jobs
    places = {job.name: place for place, job in enumerate(jobs) if not brings_own(job)}
    if not wanted.replicated_jobs:
        policy = wanted.scheduling_policy
        return (
            Gang(
                template='set',
                members=tuple(places.values()),
                shape=Shape.SET,
                is_basic=policy is not None and policy.basic is not None,
                topology=_topology(wanted.scheduling_constraints),
                disruption=_disruption(wanted.disruption_mode),
            ),
        )
    return tuple(_of_entry(entry, places) for entry in wanted.replicated_jobs if entry.target_replicated_jobs)


def _of_entry(entry: types.ReplicatedJobScheduling, places: dict[str, int]) -> Gang:
    part = entry.job if entry.job is not None else entry
    policy = part.scheduling_policy
    per_job = entry.job is not None
    targets = entry.target_replicated_jobs[:1] if per_job else entry.target_replicated_jobs
    return Gang(
        template=targets[0],
        members=tuple(places[target] for target in targets if target in places),
        shape=Shape.JOB if per_job else Shape.REPLICATED_JOB,
        per_job=per_job,
        is_basic=policy is not None and policy.basic is not None,
        min_count=policy.gang.min_count if policy is not None and policy.gang is not None else None,
        topology=_topology(part.scheduling_constraints),
        disruption=_disruption(part.disruption_mode),
        claims=entry.job.resource_claims if entry.job is not None else (),
    )


def _topology(constraints: types.SchedulingConstraints | None) -> str | None:
    return constraints.topology[0].key if constraints is not None and constraints.topology else None


def _disruption(mode: types.DisruptionMode | None) -> Disruption | None:
    if mode is None or (mode.all is None and mode.single is None):
        return None
    return Disruption.ALL if mode.all is not None else Disruption.SINGLE
