"""One pass over one JobSet: facts in, plan out.

Source: JobSet reconcile, order of operations. The order matters: what ends a pass early keeps the rest from being
decided on facts that are about to change.
"""

import dataclasses
import datetime
from collections.abc import Container, Mapping, Sequence

import msgspec

from jobset.api import features, jobs, keys, stages, types
from jobset.core import (
    attempts,
    causes,
    children,
    conditions,
    conflicts,
    domains,
    done,
    elastic,
    executions,
    failure,
    family,
    fencing,
    holdups,
    inplace,
    limits,
    losses,
    network,
    pauses,
    plan,
    ranks,
    singles,
    startup,
    status,
    success,
    suspension,
    ttl,
    volumes,
    waiting,
)
from jobset.core.groups import grouping, observed


@dataclasses.dataclass(frozen=True, kw_only=True)
class Facts:
    """What was observed of one JobSet and what belongs to it. A pass reads them and changes nothing."""

    jobset: types.JobSet
    family: family.Family
    service: network.Service | None = None
    """The Service under the name that the set's Service should have, whoever made it."""

    claims: Container[str] = frozenset()
    """Names of the PersistentVolumeClaims in the set's namespace."""

    answers: Mapping[failure.Question, bool] = dataclasses.field(default_factory=dict)
    """Answers to :func:`failure.questions` about the failed Jobs."""

    pods: ranks.Ranks = dataclasses.field(default_factory=ranks.Ranks)
    """The pods of the set, looked at only with the gate InPlaceRestart on."""

    deaths: Mapping[str, causes.Death] = dataclasses.field(default_factory=dict)
    """Why Jobs failed, by name, where :func:`attempts.wants_deaths`."""

    loss: causes.Loss = causes.NOBODY_KNOWS
    """Why pods start again in place, where :func:`charges.wants_loss`."""

    scene: fencing.Scene | None = None
    """The pods, where :func:`fencing.must_look`."""

    groups: observed.Seen = observed.NOTHING
    """The set's Workload and PodGroups; looked at only where it asks for gangs."""

    unplaced: Sequence[domains.Unplaced] = ()
    """Leaders for which the scheduler finds no node, where Jobs are placed exclusively."""

    may_retell: bool = True
    """Whether the text of what is waited for may change by itself: not just after it did."""

    gates: features.FeatureGates = dataclasses.field(default_factory=features.FeatureGates)


def reconcile(facts: Facts, now: datetime.datetime) -> plan.Plan:
    """What is to be done about the JobSet now.

    Raises:
        plan.PassStoppedError: the facts contradict themselves; nothing may be decided before they change.
    """
    jobset = facts.jobset
    if jobset.metadata.deletion_timestamp is not None:
        return _going(facts, now)
    if jobset.spec.managed_by not in (None, keys.CONTROLLER_NAME):
        return _outlived(jobset, now)
    if facts.family.malformed:
        name, job = min(facts.family.malformed.items())
        label = job.metadata.labels.restart_attempt
        raise plan.PassStoppedError(
            f'Job {name}: label {keys.RESTART_ATTEMPT} is {label!r}, not a number; correct it or delete the Job'
        )

    if facts.gates.restart_job:
        singles.check(facts.family, jobset.status.restarts)
    facts.family.expect(singles.wanted(jobset, facts.gates))
    draft = status.Draft(jobset.status, now)
    cohort = done.take(draft, jobset, facts.family)
    draft.count_jobs(jobset, cohort, keep_job_restarts=facts.gates.restart_job)
    ruling = fencing.rule(draft, jobset, facts.family, facts.scene, facts.pods.going.values())
    expired, next_expiry = done.expired(jobset, cohort, now)
    has_ended = conditions.terminal(jobset.status) is not None
    wanted = _finished(facts, cohort, draft, now) if has_ended else _running(facts, cohort, draft, ruling)
    return msgspec.structs.replace(
        wanted,
        pods=ruling.acts,
        delete=(*wanted.delete, *(job for job in expired if job not in wanted.delete)),
        again_after_seconds=_soonest(wanted.again_after_seconds, ruling.again_after_seconds, next_expiry),
    )


def _going(facts: Facts, now: datetime.datetime) -> plan.Plan:
    """A set that is being deleted gets nothing new; pods that do not go would hold it for ever."""
    draft = status.Draft(facts.jobset.status, now)
    ruling = fencing.rule(draft, facts.jobset, facts.family, facts.scene, facts.pods.going.values())
    if not ruling.acts:
        return plan.Plan(again_after_seconds=ruling.again_after_seconds)
    return plan.Plan(pods=ruling.acts, events=tuple(draft.events), again_after_seconds=ruling.again_after_seconds)


def _outlived(jobset: types.JobSet, now: datetime.datetime) -> plan.Plan:
    """The end of a set that somebody else manages: its time to live counts all the same, and nothing else is ours."""
    left = ttl.seconds_left(jobset, now)
    if left is None:
        return plan.Plan()
    return plan.Plan(delete_jobset=True) if left <= 0 else plan.Plan(again_after_seconds=left)


def _finished(
    facts: Facts,
    cohort: family.Cohort,
    draft: status.Draft,
    now: datetime.datetime,
) -> plan.Plan:
    """After the end: what still runs is stopped, the counters go on, and in the end the set itself goes."""
    jobset = facts.jobset
    left = ttl.seconds_left(jobset, now)
    groups = grouping.ended(jobset, facts.gates, facts.groups)
    waiting.rest(draft)
    return plan.Plan(
        groups=groups,
        delete=tuple(
            _ref(job)
            for name, job in cohort.active.items()
            if name in cohort.staying and not losses.ends_by_itself(jobset, job)
        ),
        status=draft.changed,
        events=tuple(draft.events),
        delete_jobset=left is not None and left <= 0,
        again_after_seconds=left if left is not None and left > 0 else None,
    )


def _running(facts: Facts, cohort: family.Cohort, draft: status.Draft, ruling: fencing.Ruling) -> plan.Plan:
    """A set that has not ended: what is left of earlier attempts goes, and then it ends, restarts, or goes on."""
    jobset = facts.jobset
    old = [earlier for earlier in facts.family.previous(jobset.status.restarts) if earlier.members]
    before = plan.Plan(
        keep=attempts.kept(jobset, old),
        delete=tuple(_ref(job) for earlier in old for job in earlier.staying.values()),
    )
    if not jobset.suspended and _all_ready(jobset, cohort):
        draft.set(conditions.RESTART_READY)
    failed = losses.failed(jobset, cohort)
    losses.note(draft, jobset, cohort)
    spared = {name: job for name, job in failed.items() if suspension.spared(jobset, jobset.status, job)}
    counted = [job for name, job in failed.items() if name not in spared]
    verdict = limits.review(draft, jobset, cohort, facts.gates)
    answer = _answered(facts, cohort, draft, before, counted=counted, overrun=verdict.overrun)
    if answer is not None:
        return answer
    if not jobset.suspended:
        again = tuple(_ref(job) for name, job in spared.items() if name in cohort.staying)
        before = msgspec.structs.replace(before, delete=before.delete + again)
    pause, pauses_singly = pauses.seconds_left(jobset, draft.now), pauses.singles_left(jobset, draft.now)
    wanted = _going_on(
        facts,
        cohort,
        draft,
        before,
        old=old,
        ruling=ruling,
        pauses_=pause > 0,
        held=ruling.held | pauses_singly.keys(),
    )
    waits = [pause, *pauses_singly.values()]
    again_after = _soonest(
        wanted.again_after_seconds, verdict.again_after_seconds, *(each for each in waits if each > 0)
    )
    return msgspec.structs.replace(wanted, again_after_seconds=again_after)


def _answered(
    facts: Facts,
    cohort: family.Cohort,
    draft: status.Draft,
    before: plan.Plan,
    *,
    counted: list[jobs.Job],
    overrun: limits.Overrun | None,
) -> plan.Plan | None:
    """What ends the set or its attempt: a limit, failures, success. None where it goes on."""
    jobset = facts.jobset
    is_complete = success.is_complete(jobset, cohort)
    if overrun is not None and not is_complete:
        record = attempts.overrun(draft, jobset, overrun, facts.deaths)
        return msgspec.structs.replace(_told(before, draft), archive=record)
    if counted:
        record = attempts.answer(draft, jobset, counted, answers=facts.answers, deaths=facts.deaths, gates=facts.gates)
        if facts.gates.execution_attempts:
            executions.restarted(draft)
        return msgspec.structs.replace(_told(before, draft), archive=record)
    if is_complete:
        draft.end(conditions.ALL_COMPLETED, conditions.RESTART_COMPLETED, types.TerminalState.COMPLETED)
        return _told(before, draft)
    return None


def _going_on(
    facts: Facts,
    cohort: family.Cohort,
    draft: status.Draft,
    before: plan.Plan,
    *,
    old: Sequence[family.Cohort],
    ruling: fencing.Ruling,
    pauses_: bool,
    held: frozenset[str],
) -> plan.Plan:
    """What the running attempt needs: groups, Service, claims, Jobs, in the size and the state that is wanted."""
    jobset = facts.jobset
    is_old_left, waits = bool(old), pauses_ or ruling.is_blocked
    gangs = grouping.Turn(jobset, facts.gates, facts.groups, draft)
    due = executions.due(jobset, cohort) if facts.gates.execution_attempts else None
    if due is not None:
        executions.store(draft, cohort, due)
    is_held = gangs.is_held or due is not None
    create = () if is_held else _to_create(facts, cohort, draft, blocked=is_old_left, waits=waits, held=held)
    _review_names(facts, draft, tries=bool(create or is_old_left or waits))
    if jobset.suspended:
        suspension.suspend(draft)
    suspend = suspension.to_suspend(cohort) if jobset.suspended else ()
    resume = () if jobset.suspended or is_held else suspension.resume(draft, jobset, cohort)
    grouped = gangs.take(facts.family, cohort, create=create, resume=resume)
    in_place = _restart_in_place(facts, draft, cohort)
    seen = holdups.Seen(facts.family, cohort, old, ruling, grouped.waits, facts.unplaced)
    retell_after = holdups.review(draft, jobset, seen, may_retell=facts.may_retell)
    told = _told(before, draft)
    return msgspec.structs.replace(
        told,
        delete=(*told.delete, *grouped.delete),
        groups=grouped.groups,
        grouped=grouped.sorts,
        service=_missing_service(facts),
        claims=volumes.missing_claims(jobset, facts.claims),
        scale=elastic.to_scale(jobset, cohort) if facts.gates.elastic_jobset else (),
        create=create,
        suspend=suspend,
        resume=grouped.resume,
        archive=in_place.archive,
        again_after_seconds=_soonest(in_place.again_after_seconds, retell_after),
        patience_seconds=in_place.patience_seconds,
    )


def _restart_in_place(facts: Facts, draft: status.Draft, cohort: family.Cohort) -> inplace.Answer:
    """Answer the pods."""
    if not facts.gates.in_place_restart or not inplace.is_wanted(facts.jobset):
        return inplace.Answer()
    return inplace.apply(draft, facts.jobset, facts.pods, cohort, loss=facts.loss, gates=facts.gates)


def _told(wanted: plan.Plan, draft: status.Draft) -> plan.Plan:
    return msgspec.structs.replace(wanted, status=draft.changed, events=tuple(draft.events))


def _soonest(*seconds: float | None) -> float | None:
    return min((each for each in seconds if each is not None), default=None)


def _ref(job: jobs.Job) -> plan.JobRef:
    return plan.JobRef(job.metadata.name, job.metadata.uid)


def _all_ready(jobset: types.JobSet, cohort: family.Cohort) -> bool:
    """Whether as many Jobs as are wanted in all are ready or done."""
    tallies = [cohort.tally(job.name) for job in jobset.spec.replicated_jobs]
    wanted = sum(job.count for job in jobset.spec.replicated_jobs)
    return sum(tally.ready + tally.succeeded for tally in tallies) == wanted


def _to_create(
    facts: Facts,
    cohort: family.Cohort,
    draft: status.Draft,
    *,
    blocked: bool,
    waits: bool,
    held: Container[str],
) -> tuple[children.Child, ...]:
    """The Jobs to make now: those whose name is free and whose turn has come.

    ``blocked`` says that Jobs of an earlier attempt are left; with BlockingRecreate nothing is made before the last of
    them is gone, otherwise each name is taken again as soon as it is free. ``waits`` says that nothing is made yet,
    and ``held`` are single Jobs that are not.
    """
    jobset = facts.jobset
    policy = jobset.spec.failure_policy
    blocking = policy is not None and policy.restart_strategy == types.RestartStrategy.BLOCKING_RECREATE
    waits = waits or (blocked and (blocking or fencing.is_wanted(jobset)))
    replicated_jobs = jobset.spec.replicated_jobs
    created: list[children.Child] = []
    in_order = stages.in_order(jobset) and not jobset.suspended
    for position, job in enumerate(replicated_jobs):
        if not startup.may_start(job, replicated_jobs[:position], cohort):
            continue
        if in_order and startup.is_started(job, cohort):
            continue
        if not waits:
            created += (child for child in done.missing(jobset, position, facts.family) if child.name not in held)
        if in_order:
            draft.set(conditions.IN_ORDER_IN_PROGRESS)
            break
    else:
        if in_order:
            draft.set(conditions.IN_ORDER_COMPLETED)
    return tuple(created)


def _missing_service(facts: Facts) -> plan.Object | None:
    if facts.service is not None or not network.is_enabled(facts.jobset):
        return None
    return plan.Object(network.service_name(facts.jobset), network.service(facts.jobset))


def _review_names(facts: Facts, draft: status.Draft, *, tries: bool) -> None:
    """Note a Service of somebody else that does not serve the set, and the end of conflicts that there were.

    While the set ``tries`` to make Jobs, or waits for names of its own to become free, nobody knows which are taken:
    what was noted before stays.
    """
    if tries and conditions.is_true(draft.current, conditions.NAME_CONFLICT):
        return
    seen = facts.service if network.is_enabled(facts.jobset) else None
    if seen is not None and conflicts.review_service(draft, facts.jobset, seen):
        return
    if not tries:
        conflicts.clear(draft)
