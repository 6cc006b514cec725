"""Which groups are to be made, resized and deleted, and which Jobs have to wait for that.

A group is made with the first of its Jobs, in the same pass and before it. It goes when the set is suspended or ends,
and with its attempt: kube-scheduler counts the pods that name a group, so two attempts in one group would pass for a
whole gang, each of them a part.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from jobset.api import features, gangs, jobs, keys, types
from jobset.api.validation import scheduling
from jobset.core import children, conditions, family, plan, status
from jobset.core.groups import objects, observed

DEGRADED = 'GangDegraded'


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a set asks for, and what of it can be done."""

    sorts: tuple[gangs.Gang, ...] = ()
    is_asked: bool = False
    """Whether any group was asked for, though there may be none."""

    fault: conditions.Notice | None = None
    """What the set cannot have of it."""


NOTHING = Wanted()


def wanted(jobset: types.JobSet, gates: features.FeatureGates, seen: observed.Seen) -> Wanted:
    """The groups that the set asks for and can have."""
    asked = gangs.gangs(jobset, gates)
    if not asked:
        return NOTHING
    wrong = scheduling.mixed(jobset, asked)
    if wrong:
        return Wanted(is_asked=True, fault=_degraded('InvalidGang', f'no gang is made: {wrong[0]}'))
    if seen.state is observed.State.ABSENT:
        return Wanted(is_asked=True, fault=_absent(seen))
    return Wanted(sorts=asked, is_asked=True, fault=_dropped(asked, seen))


def _degraded(reason: str, message: str) -> conditions.Notice:
    return conditions.Notice(DEGRADED, True, reason, message, plan.EventType.WARNING)


def _absent(seen: observed.Seen) -> conditions.Notice:
    text = (
        f'the cluster serves no version of Workload and PodGroup ({observed.GROUP}) that is known here; '
        'pods get their nodes each by itself'
    )
    return _degraded('APINotServed', f'{text}: {seen.trouble}' if seen.trouble else text)


def _dropped(asked: tuple[gangs.Gang, ...], seen: observed.Seen) -> conditions.Notice | None:
    """What the server did not keep of the groups, because a gate of its own is off."""
    topology = any(gang.topology is not None for gang in asked)
    claims = any(gang.claims for gang in asked)
    if not (topology or claims):
        return None
    for _, group in sorted(seen.pod_groups.items()):
        if topology and group.spec.scheduling_constraints is None:
            gate = 'TopologyAwareWorkloadScheduling'
            text = f'the API server dropped the topology of PodGroup {group.metadata.name}: its gate {gate} is off'
            return _degraded('TopologyDropped', text)
        if claims and not group.spec.resource_claims:
            gate = 'DRAWorkloadResourceClaims'
            text = f'the API server dropped the shared claims of PodGroup {group.metadata.name}: its gate {gate} is off'
            return _degraded('ClaimsDropped', text)
    return None


def note_fault(draft: status.Draft, found: Wanted, seen: observed.Seen) -> None:
    """Record what the set cannot have of its gangs, or that it can have all."""
    if found.fault is not None:
        draft.set(found.fault)
    elif found.is_asked and seen.pod_groups:
        draft.set_silently(conditions.Notice(DEGRADED, False, 'GangComplete', 'gangs are as they were asked for'))


class Held(NamedTuple):
    """Why no Job may be made or resumed yet, though its turn has come."""

    reason: str
    text: str
    """Empty where that is too short a matter to tell."""


def held(jobset: types.JobSet, found: Wanted, seen: observed.Seen) -> Held | None:
    """What is in the way of Jobs; None when nothing is."""
    if not found.sorts:
        return None
    if seen.state is observed.State.UNKNOWN:
        # Looking takes a moment, and is nobody's business unless it fails.
        text = f'Workloads and PodGroups cannot be seen: {seen.trouble}' if seen.trouble else ''
        return Held('GroupsUnknown', text)
    if jobset.suspended:
        return None
    attempt = str(jobset.status.restarts)
    going = [
        f'{objects.POD_GROUP} "{group.metadata.name}"'
        for group in seen.pod_groups.values()
        if group.metadata.deletion_timestamp is not None
        and group.metadata.labels.get(keys.RESTART_ATTEMPT, attempt) == attempt
    ]
    going += [
        f'{objects.WORKLOAD} "{each.metadata.name}"'
        for each in seen.workloads.values()
        if each.metadata.deletion_timestamp is not None
    ]
    if not going:
        return None
    more = f' and {len(going) - 1} more' if len(going) > 1 else ''
    text = f'{going[0]}{more} of the time before the suspension is being deleted; it stays until its pods are gone'
    return Held('GroupTerminating', text)


def all_gone(seen: observed.Seen) -> plan.Groups:
    """Every group of the set goes: it is suspended, or has ended."""
    found: list[plan.GroupRef] = []
    for kind, held_ in ((objects.POD_GROUP, seen.pod_groups), (objects.WORKLOAD, seen.workloads)):
        found += [_ref(kind, one) for one in held_.values() if one.metadata.deletion_timestamp is None]
    return plan.Groups(delete=tuple(found))


def _ref(kind: str, one: observed.Workload | observed.PodGroup) -> plan.GroupRef:
    return plan.GroupRef(kind, one.metadata.name, one.metadata.uid)


@dataclass(frozen=True, kw_only=True)
class Pass:
    """What a pass knows, and what it wants to do about Jobs."""

    jobset: types.JobSet
    sorts: tuple[gangs.Gang, ...]
    seen: observed.Seen
    kin: family.Family
    cohort: family.Cohort
    create: tuple[children.Child, ...] = ()
    resume: tuple[plan.Resumption, ...] = ()
    open: frozenset[int] = frozenset()
    """Places of the replicated jobs whose Jobs may be there now."""


@dataclass(frozen=True)
class Need:
    """A group that has to be there."""

    gang: gangs.Gang
    new: Mapping[int, int] = field(default_factory=dict)
    """With ``per_job``: places of replicated jobs, and how many Jobs this pass makes for the group."""


def stale(now: Pass) -> tuple[plan.JobRef, ...]:
    """Suspended Jobs to be resumed whose pods would be in another group than is wanted now, or in none.

    What a pod template says about groups cannot be changed: such a Job has never run as it stands, and is made anew.
    """
    by_place = _by_place(now)
    found: list[plan.JobRef] = []
    for one in now.resume:
        job = now.kin.jobs.get(one.job.name)
        if job is not None and job.metadata.labels.pod_group != _group_of(now, job, by_place):
            found.append(one.job)
    return tuple(found)


def _by_place(now: Pass) -> dict[str, gangs.Gang]:
    names = [job.name for job in now.jobset.spec.replicated_jobs]
    return {names[place]: gang for gang in now.sorts for place in gang.members}


def _group_of(now: Pass, job: jobs.Job, by_place: Mapping[str, gangs.Gang]) -> str | None:
    gang = by_place.get(job.metadata.labels.replicated_job)
    index = job.metadata.labels.job_index
    attempt = family.attempt_of(job)
    if gang is None or attempt is None:
        return None
    return gangs.name(now.jobset, gang, job_index=int(index) if index.isdecimal() else 0, attempt=attempt)


def needed(now: Pass) -> dict[str, Need]:
    """The groups that have to be there, by name: of Jobs that run, and of those that this pass makes or resumes."""
    by_job = _by_place(now)
    by_place = {place: gang for gang in now.sorts for place in gang.members}
    found: dict[str, Need] = {}
    for child in now.create:
        gang = by_place.get(child.position)
        if gang is not None:
            name = gangs.name(now.jobset, gang, job_index=child.job_index, attempt=now.jobset.status.restarts)
            if name not in found:
                found[name] = Need(gang, {child.position: 1} if gang.per_job else {})
    for one in now.resume:
        job = now.kin.jobs.get(one.job.name)
        group = job.metadata.labels.pod_group if job is not None else None
        if group is not None and group not in found:
            found[group] = Need(by_job[one.replicated_job.name])
    for group, tallies in now.kin.members.groups.items():
        for replicated_job, tally in tallies.items():
            # One that its attempt has left is not made again.
            is_current = tally.attempt >= now.jobset.status.restarts
            if tally.running and is_current and group not in found and replicated_job in by_job:
                found[group] = Need(by_job[replicated_job])
    return found


def pods_now(now: Pass, name: str, need: Need) -> int:
    """How many pods of a group may exist now: the most that its gang may wait for."""
    total = 0
    for place in need.gang.members:
        job = now.jobset.spec.replicated_jobs[place]
        size = scheduling.pods_of(job.job.spec)
        tally = now.kin.members.of(name).get(job.name)
        if tally is not None and (tally.running or place in now.open):
            # While sizes change, the smaller of what is and what is wanted: so neither order of writes can hurt.
            total += min(tally.pods, tally.jobs * size)
        if need.gang.per_job:
            total += need.new.get(place, 0) * size
        elif place in now.open:
            total += _missing(now, job) * size
    return total if need.gang.min_count is None else min(total, need.gang.min_count)


def _missing(now: Pass, job: types.ReplicatedJob) -> int:
    """How many Jobs of a replicated job are still to be made. What is done and gone is not made again."""
    members, restarts = now.kin.members, now.jobset.status.restarts
    gone = now.cohort.tally(job.name).succeeded - members.succeeded(job.name, restarts)
    return max(0, job.count - members.made(job.name, restarts) - max(0, gone))


def pods_ever(jobset: types.JobSet, gang: gangs.Gang) -> int:
    """How many pods such a group has when all of them exist: the size that its template says."""
    total = 0
    for place in gang.members:
        job = jobset.spec.replicated_jobs[place]
        total += scheduling.pods_of(job.job.spec) * (1 if gang.per_job else job.count)
    return max(1, total if gang.min_count is None else min(total, gang.min_count))


def decide(now: Pass, needs: Mapping[str, Need]) -> plan.Groups:
    """What is to be done about the groups of a set that runs."""
    jobset, seen = now.jobset, now.seen
    sizes = {name: pods_now(now, name, need) for name, need in needs.items()}
    create: list[plan.GroupObject] = []
    name = gangs.workload_name(jobset)
    counts = [pods_ever(jobset, gang) for gang in now.sorts]
    if any(sizes.values()) and name not in seen.workloads:
        body = objects.workload(jobset, now.sorts, counts, seen.version)
        create.append(plan.GroupObject(objects.WORKLOAD, name, body))
    for group, need in needs.items():
        if group not in seen.pod_groups and sizes[group]:
            body = objects.pod_group(jobset, need.gang, group, sizes[group], seen.version)
            create.append(plan.GroupObject(objects.POD_GROUP, group, body))
    return plan.Groups(
        delete=tuple(_left(now)),
        create=tuple(create),
        resize=(*_resized_templates(now, counts), *_resized(now, needs, sizes)),
    )


def _left(now: Pass) -> Iterator[plan.GroupRef]:
    """Groups of earlier attempts. They stay until their pods are gone; that is the API server's business."""
    attempt = str(now.jobset.status.restarts)
    for group in now.seen.pod_groups.values():
        label = group.metadata.labels.get(keys.RESTART_ATTEMPT, attempt)
        if group.metadata.deletion_timestamp is None and label.isdecimal() and int(label) < int(attempt):
            yield _ref(objects.POD_GROUP, group)


def _resized_templates(now: Pass, counts: list[int]) -> Iterator[plan.Resize]:
    workload = now.seen.workloads.get(gangs.workload_name(now.jobset))
    if workload is None or workload.metadata.deletion_timestamp is not None or _is_frozen(now):
        return
    wanted = {gang.template: count for gang, count in zip(now.sorts, counts, strict=True)}
    for place, template in enumerate(workload.spec.pod_group_templates or ()):
        gang, count = template.scheduling_policy.gang, wanted.get(template.name)
        if gang is not None and count is not None and gang.min_count != count:
            yield plan.Resize(_ref(objects.WORKLOAD, workload), count, place)


def _resized(now: Pass, needs: Mapping[str, Need], sizes: Mapping[str, int]) -> Iterator[plan.Resize]:
    if _is_frozen(now):
        return
    for name, need in needs.items():
        group, size = now.seen.pod_groups.get(name), sizes[name]
        if group is None or group.metadata.deletion_timestamp is not None or not size:
            continue
        current = group.min_count
        if current is None or current == size:
            continue
        if current < size or current > pods_ever(now.jobset, need.gang) or _has_waiting(now, name):
            yield plan.Resize(_ref(objects.POD_GROUP, group), size)


def _has_waiting(now: Pass, name: str) -> bool:
    """Whether the size of a gang matters: it does not while all of its pods have their nodes.

    So a gang whose pods end one after the other is not written once for each of them.
    """
    pods = now.seen.pods.get(name)
    return pods is None or not pods.exist or pods.waiting > 0


def _is_frozen(now: Pass) -> bool:
    """In the first version that had PodGroups, sizes of gangs could not change."""
    return now.seen.version == observed.Version.V1ALPHA2
