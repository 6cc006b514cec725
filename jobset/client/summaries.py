"""How a JobSet is doing, in one value: its phase, its counts, what it waits for, what failed last."""

import datetime
import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from jobset.api import types
from jobset.client import observed, waits
from jobset.client.families import Family
from jobset.client.waits import Wait
from jobset.core import conditions, rounds, singles


class Phase(enum.StrEnum):
    """Where a JobSet is in its life."""

    PENDING = 'Pending'
    STARTING = 'Starting'
    RUNNING = 'Running'
    SUSPENDED = 'Suspended'
    RESTARTING = 'Restarting'
    COMPLETED = 'Completed'
    FAILED = 'Failed'
    DELETING = 'Deleting'


@dataclass(frozen=True)
class Group:
    """The counts of one replicated job."""

    name: str
    jobs: int
    ready: int = 0
    succeeded: int = 0
    failed: int = 0
    active: int = 0
    suspended: int = 0
    pods: int = 0
    """Pods of the running attempt that have not ended."""

    running: int = 0
    """Those of them that run."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """What failed last."""

    job: str = ''
    pod: str = ''
    rank: str = ''
    node: str = ''
    container: str = ''
    exit_code: int | None = None
    signal: int = 0
    reason: str = ''
    message: str = ''
    at: datetime.datetime | None = None
    attempt: int = 0


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What a person wants to know first."""

    namespace: str
    name: str
    phase: Phase
    message: str = ''
    """Of the condition that ended it."""

    restarts: int = 0
    counted: int = 0
    """Restarts that count towards the maximum: of the whole, of single Jobs and in place."""

    max_restarts: int = 0
    groups: Sequence[Group] = ()
    waits: Sequence[Wait] = ()
    failure: Failure | None = None
    created: datetime.datetime | None = None
    started: datetime.datetime | None = None
    """When its first Job of the running attempt started."""

    ended: datetime.datetime | None = None
    conditions: Sequence[types.Condition] = field(default=(), repr=False)


def of(family: Family) -> Summary:
    """The summary of a JobSet as it is seen."""
    jobset = family.jobset
    status = jobset.status
    ending = conditions.terminal(status)
    policy = jobset.spec.failure_policy
    starts = [moment for job in family.current_jobs if (moment := observed.moment(job.status.start_time))]
    return Summary(
        namespace=jobset.metadata.namespace,
        name=family.name,
        phase=_phase(family, ending),
        message=ending.message if ending else '',
        restarts=status.restarts,
        counted=status.restarts_count_towards_max + singles.counted(status) + rounds.counted(status),
        max_restarts=policy.max_restarts if policy else 0,
        groups=[_group(family, group) for group in jobset.spec.replicated_jobs],
        waits=waits.of(family),
        failure=failure(family),
        created=observed.moment(jobset.metadata.creation_timestamp),
        started=min(starts, default=None),
        ended=observed.moment(ending.last_transition_time) if ending else None,
        conditions=status.conditions,
    )


def _phase(family: Family, ending: types.Condition | None) -> Phase:
    jobset = family.jobset
    if ending is not None:
        return Phase(ending.type)
    if jobset.metadata.deletion_timestamp:
        return Phase.DELETING
    if jobset.suspended:
        return Phase.SUSPENDED
    if conditions.is_true(jobset.status, conditions.RESTARTING):
        return Phase.RESTARTING
    counts = jobset.status.replicated_jobs_status
    if not family.jobs and not counts:
        return Phase.PENDING
    pods = [pod for pod in family.pods if pod.attempt >= jobset.status.restarts]
    # Between two stages nothing runs, and the whole runs nevertheless.
    runs = any(pod.status.phase == 'Running' for pod in pods) or any(one.succeeded or one.ready for one in counts)
    return Phase.RUNNING if runs else Phase.STARTING


def _group(family: Family, group: types.ReplicatedJob) -> Group:
    counts = next((one for one in family.jobset.status.replicated_jobs_status if one.name == group.name), None)
    pods = [
        pod
        for pod in family.pods
        if pod.replicated_job == group.name and pod.attempt >= family.jobset.status.restarts and not pod.is_over
    ]
    running = sum(pod.status.phase == 'Running' for pod in pods)
    if counts is None:
        return Group(group.name, group.count, pods=len(pods), running=running)
    return Group(
        group.name,
        group.count,
        ready=counts.ready,
        succeeded=counts.succeeded,
        failed=counts.failed,
        active=counts.active,
        suspended=counts.suspended,
        pods=len(pods),
        running=running,
    )


def failure(family: Family) -> Failure | None:
    """What failed last: a pod where one is left that did, else a Job; None where nothing did."""
    found = sorted(_pod_failures(family), key=lambda one: str(one.at or ''))
    if found:
        return found[-1]
    jobs = [
        Failure(
            job=job.metadata.name,
            reason=job.ending.reason,
            message=job.ending.message,
            at=observed.moment(job.ending.last_transition_time),
            attempt=job.attempt,
        )
        for job in family.jobs
        if job.ending is not None and job.ending.type == 'Failed'
    ]
    return max(jobs, key=lambda one: str(one.at or ''), default=None) or _told(family)


def _pod_failures(family: Family) -> Iterator[Failure]:
    for pod in family.pods:
        ends = [
            (status.name, terminated)
            for status in pod.containers
            for state in (status.state, status.last_state)
            if (terminated := state.terminated) is not None and terminated.exit_code
        ]
        for name, terminated in ends:
            yield Failure(
                job=pod.job,
                pod=pod.metadata.name,
                rank=pod.rank,
                node=pod.spec.node_name,
                container=name,
                exit_code=terminated.exit_code,
                signal=terminated.signal,
                reason=terminated.reason,
                message=terminated.message or pod.status.message,
                at=observed.moment(terminated.finished_at),
                attempt=pod.attempt,
            )
        if pod.status.phase == 'Failed' and not ends:
            yield Failure(
                job=pod.job,
                pod=pod.metadata.name,
                rank=pod.rank,
                node=pod.spec.node_name,
                reason=pod.status.reason,
                message=pod.status.message,
                at=_ready_since(pod),
                attempt=pod.attempt,
            )


def _ready_since(pod: observed.Pod) -> datetime.datetime | None:
    """When it was last found to be no longer ready: of a pod that was evicted, about its end."""
    ready = observed.condition(pod.status.conditions, 'Ready')
    return observed.moment(ready.last_transition_time if ready else pod.status.start_time)


def _told(family: Family) -> Failure | None:
    """What the conditions of the JobSet say of a failure whose Job is gone."""
    for kind in (conditions.FAILED, conditions.RESTARTING):
        condition = conditions.find(family.jobset.status, kind)
        if condition is not None and condition.is_true:
            at = observed.moment(condition.last_transition_time)
            return Failure(reason=condition.reason, message=condition.message, at=at)
    return None
