"""What a JobSet waits for, and why: told from what is seen of it, most important first."""

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from jobset.api import keys
from jobset.client import observed, shortages
from jobset.client.families import Family
from jobset.core import conditions, startup, waiting
from jobset.core import family as cohorts

_IMAGE: Final = frozenset({'ErrImagePull', 'ImagePullBackOff', 'InvalidImageName', 'ErrImageNeverPull'})
_CONFIG: Final = frozenset({'CreateContainerConfigError', 'CreateContainerError', 'RunContainerError', 'StartError'})
_CREATING: Final = frozenset({'ContainerCreating', 'PodInitializing'})
_NAMED: Final = 3
"""Ranks that are named one by one before the rest becomes a number."""


class Kind(enum.StrEnum):
    """What sort of thing is waited for."""

    SUSPENDED = 'suspended'
    MANAGED = 'managed by another'
    UNSEEN = 'not taken up'
    HELD = 'held up'
    STARTUP = 'startup'
    UNSCHEDULABLE = 'unschedulable'
    GATED = 'held back'
    IMAGE = 'image'
    CONFIG = 'configuration'
    BACKOFF = 'backoff'
    VOLUME = 'volume'
    STARTING = 'starting'
    TROUBLE = 'trouble'


@dataclass(frozen=True)
class Wait:
    """One thing that is waited for."""

    kind: Kind
    who: str
    """Replicated job, rank or object; empty for the JobSet as a whole."""

    text: str

    def __str__(self) -> str:
        return f'{self.who}: {self.text}' if self.who else self.text


def of(family: Family) -> list[Wait]:
    """Everything that a JobSet waits for now; nothing once it has ended."""
    jobset = family.jobset
    if jobset.status.terminal_state:
        return []
    if jobset.spec.managed_by not in (None, keys.CONTROLLER_NAME):
        return [Wait(Kind.MANAGED, '', f'spec.managedBy names {jobset.spec.managed_by}, which has to do its part')]
    if jobset.suspended:
        return [_suspended(family)]
    if not jobset.status.replicated_jobs_status and not family.jobs:
        troubles = list(_troubles(family))
        unseen = 'no controller has taken it up yet; does one run?'
        return troubles or [Wait(Kind.UNSEEN, '', unseen)]
    return [*_told(family), *_startup(family), *_pods(family), *_troubles(family)]


def _told(family: Family) -> Iterator[Wait]:
    """What the controller says that it waits for, but for what is told here from what is seen now."""
    told = conditions.find(family.jobset.status, waiting.WAITING)
    if told is not None and told.is_true and told.reason not in (waiting.DEPENDS_ON, waiting.IN_ORDER, waiting.QUEUED):
        yield Wait(Kind.HELD, '', told.message)


def _suspended(family: Family) -> Wait:
    queue = family.jobset.metadata.labels.get(keys.KUEUE_QUEUE)
    if queue:
        return Wait(Kind.SUSPENDED, '', f'suspended: waits in the queue {queue}')
    by = f' by {family.suspender}' if family.suspender else ''
    return Wait(Kind.SUSPENDED, '', f'suspended{by}; set spec.suspend to false to go on')


def _startup(family: Family) -> Iterator[Wait]:
    """The replicated jobs that may not start yet, and what each of them looks at."""
    jobset = family.jobset
    running = {job.replicated_job for job in family.current_jobs if not job.spec.suspend}
    cohort = cohorts.Cohort(
        tallies={
            one.name: cohorts.Tally(one.ready, one.succeeded, one.failed, one.active, one.suspended)
            for one in jobset.status.replicated_jobs_status
        }
    )
    return (Wait(Kind.STARTUP, name, text) for name, text in startup.waits(jobset, cohort, running))


def _pods(family: Family) -> Iterator[Wait]:
    """What keeps pods from running, those with the same reason together."""
    found: dict[tuple[Kind, str], list[str]] = {}
    for pod in family.pods:
        if pod.is_over or pod.metadata.deletion_timestamp:
            continue
        why = _pod(pod, family)
        if why is not None:
            found.setdefault(why, []).append(pod.rank)
    order = list(Kind)
    for (kind, text), ranks in sorted(found.items(), key=lambda item: order.index(item[0][0])):
        yield Wait(kind, ranks_text(ranks), text)


def ranks_text(ranks: Sequence[str]) -> str:
    """The ranks, or the first of them and how many more there are."""
    if len(ranks) <= _NAMED:
        return ', '.join(ranks)
    return f'{", ".join(ranks[: _NAMED - 1])} and {len(ranks) - _NAMED + 1} more'


def _pod(pod: observed.Pod, family: Family) -> tuple[Kind, str] | None:
    scheduled = observed.condition(pod.status.conditions, 'PodScheduled')
    if scheduled is not None and scheduled.status == 'False':
        if scheduled.reason == 'SchedulingGated':
            return Kind.GATED, scheduled.message or 'held back by scheduling gates'
        amounts = shortages.text(pod, family.nodes)
        told = f'cannot be scheduled: {scheduled.message or scheduled.reason}'
        return Kind.UNSCHEDULABLE, f'{told.rstrip(".")}; {amounts}' if amounts else told
    if not pod.spec.node_name:
        return Kind.STARTING, 'waits for a node'
    for status in pod.containers:
        if status.state.waiting is not None:
            why = _waiting(status, status.state.waiting)
            if why is not None:
                return why
    if not pod.containers or any(status.state.waiting for status in pod.containers):
        return _volume(pod, family) or (Kind.STARTING, 'its containers are being started')
    return None


def _waiting(status: observed.ContainerStatus, waiting: observed.Waiting) -> tuple[Kind, str] | None:
    said = f'{waiting.reason}: {waiting.message}' if waiting.message else waiting.reason
    if waiting.reason in _IMAGE:
        return Kind.IMAGE, f'the image of {status.name} cannot be had: {said}'
    if waiting.reason in _CONFIG:
        return Kind.CONFIG, f'{status.name} cannot be started: {said}'
    if waiting.reason == 'CrashLoopBackOff':
        last = status.last_state.terminated
        ended = f', last with exit code {last.exit_code}' if last is not None else ''
        return Kind.BACKOFF, f'{status.name} has ended {status.restart_count + 1} times{ended}; is started again later'
    if not waiting.reason or waiting.reason in _CREATING:
        return None
    return Kind.TROUBLE, f'{status.name} waits: {said}'


def _volume(pod: observed.Pod, family: Family) -> tuple[Kind, str] | None:
    for event in reversed(family.events):
        if event.regarding.name == pod.metadata.name and event.reason in ('FailedMount', 'FailedAttachVolume'):
            return Kind.VOLUME, event.note
    return None


def _troubles(family: Family) -> Iterator[Wait]:
    """Objects that cannot be made: what is there says nothing of them, the last events do."""
    latest: dict[tuple[str, str], observed.Event] = {}
    for event in family.events:
        if event.regarding.kind in (keys.KIND, 'Job'):
            latest[(event.regarding.kind, event.regarding.name)] = event
    uids = _uids(family)
    for (kind, name), event in latest.items():
        if event.type == 'Warning' and event.reason in _CANNOT and uids.get((kind, name)) == event.regarding.uid:
            yield Wait(Kind.TROUBLE, '' if kind == keys.KIND else f'Job {name}', f'{event.reason}: {event.note}')


_CANNOT: Final = frozenset({'FailedCreate', 'JobCreationFailed', 'HeadlessServiceCreationFailed', 'PVCCreationFailed'})


def _uids(family: Family) -> Mapping[tuple[str, str], str]:
    own = {(keys.KIND, family.name): family.jobset.metadata.uid}
    return own | {('Job', job.metadata.name): job.metadata.uid for job in family.jobs}
