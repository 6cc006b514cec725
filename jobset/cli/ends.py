"""Bad ends in a run: of containers, of pods and of Jobs; and which one of them ended the JobSet."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from jobset.client import observed
from jobset.client.families import Family
from jobset.core import conditions

PLAIN_REASON: Final = 'Error'
"""The reason that a kubelet gives for a program that ended by itself, which says nothing more."""

FAILED: Final = 'Failed'

_STOPPED: Final = frozenset({137, 143})
"""Exit codes of what was told to end: SIGKILL, SIGTERM."""

_PLAIN_JOB: Final = 'BackoffLimitExceeded'
"""The reason of a Job whose containers have failed, which they tell themselves."""

_DEADLINE: Final = 'DeadlineExceeded'

_FIRST: Final = re.compile(r'\(first failed job: (\S+)\)$')
"""How the message of a condition ends that tells of a failure."""

_BACKOFF_LIMIT: Final = 6
"""Of Jobs that name none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A bad end: of one run of a container, or of a pod or a Job for a reason of its own."""

    rank: str
    job: str
    attempt: int
    pod: str = ''
    container: str = ''
    exit_code: int = 0
    """0 where there is none."""

    reason: str = ''
    message: str = ''
    was_deleted: bool = False
    """Whether the pod was on its way out: the end of a container may come of that."""

    def __str__(self) -> str:
        reason = '' if self.reason == PLAIN_REASON else self.reason
        text = f'exit code {self.exit_code}' if self.exit_code else reason
        if self.exit_code and reason:
            text += f' ({reason})'
        return ': '.join(filter(None, (text, self.message)))

    @property
    def where(self) -> str:
        """The objects that it is about."""
        if not self.pod:
            return f'job {self.job}'
        return ', '.join([f'pod {self.pod}', *([f'container {self.container}'] if self.container else [])])


def of(family: Family) -> Iterator[tuple[str, Failure]]:
    """The bad ends that are seen, each with a key that stays the same while it is seen."""
    for pod in family.pods:
        yield from of_pod(pod)
    yield from _of_probes(family)
    for job in family.jobs:
        yield from of_job(job)


def of_pod(pod: observed.Pod) -> Iterator[tuple[str, Failure]]:
    """Those that the status of a pod tells of, keyed like those of :func:`of`."""
    yield from _of_containers(pod)
    if pod.status.phase == FAILED and pod.status.reason:
        failure = Failure(
            rank=pod.rank,
            job=pod.job,
            attempt=pod.attempt,
            pod=pod.metadata.name,
            reason=pod.status.reason,
            message=pod.status.message,
        )
        yield f'pod/{pod.metadata.uid}', failure


def of_job(job: observed.Job) -> Iterator[tuple[str, Failure]]:
    """The end of a Job for a reason of its own, keyed like those of :func:`of`."""
    ending = job.ending
    if ending is not None and ending.type == FAILED and ending.reason != _PLAIN_JOB:
        failure = Failure(
            rank=f'{job.replicated_job}-{job.index}',
            job=job.metadata.name,
            attempt=job.attempt,
            reason=ending.reason,
            message=ending.message,
        )
        yield f'job/{job.metadata.uid}', failure


def _of_containers(pod: observed.Pod) -> Iterator[tuple[str, Failure]]:
    was_deleted = pod.metadata.deletion_timestamp is not None
    for status in pod.containers:
        # A container that has been started anew shows the end of the run before.
        for back, state in ((0, status.state), (1, status.last_state)):
            ended = state.terminated
            if ended is None or not ended.exit_code or (was_deleted and ended.exit_code in _STOPPED):
                continue
            failure = Failure(
                rank=pod.rank,
                job=pod.job,
                attempt=pod.attempt,
                pod=pod.metadata.name,
                container=status.name,
                exit_code=ended.exit_code,
                reason=ended.reason,
                message=ended.message.strip(),
                was_deleted=was_deleted,
            )
            yield f'end/{pod.metadata.uid}/{status.name}/{status.restart_count - back}', failure


def _of_probes(family: Family) -> Iterator[tuple[str, Failure]]:
    """Containers that were ended for what they answered: statuses do not say so, only events do."""
    pods = {pod.metadata.uid: pod for pod in family.pods}
    said: dict[str, str] = {}
    for event in family.events:
        pod = pods.get(event.regarding.uid)
        if pod is None:
            continue
        if event.reason == 'Unhealthy' and not event.note.startswith('Readiness'):
            said[event.regarding.uid] = ' '.join(event.note.split())
        if event.reason == 'Killing' and re.search(r'\b[Ff]ailed', event.note):
            failure = Failure(
                rank=pod.rank,
                job=pod.job,
                attempt=pod.attempt,
                pod=pod.metadata.name,
                message='; '.join(filter(None, (event.note, said.get(event.regarding.uid, '')))),
            )
            yield f'event/{event.metadata.name}', failure


def deciding(family: Family, failures: Sequence[Failure]) -> Failure | None:
    """The one of these that ended the JobSet, as far as can be said: that of the Job which its condition names.

    Pods of other Jobs and of earlier attempts have failed, too, or were stopped. None where the JobSet has not failed,
    or nothing is known.
    """
    final = conditions.terminal(family.jobset.status)
    if final is None or final.type != conditions.FAILED:
        return None
    named = _FIRST.search(final.message)
    those = [each for each in failures if named is None or each.job == named.group(1)]
    last = max((each.attempt for each in those), default=0)
    those = [each for each in those if each.attempt == last]
    of_job = next((each for each in those if not each.pod), None)
    if of_job is not None and of_job.reason == _DEADLINE:
        return of_job
    ended = [each for each in those if each.exit_code and not each.was_deleted] or those
    if not ended:
        return None
    # Where the Job has a reason of its own it ended with what it saw last, else with the failure that was one too many.
    place = len(ended) - 1 if of_job is not None else _backoff_limit(family, ended[0].job)
    return ended[min(place, len(ended) - 1)]


def _backoff_limit(family: Family, name: str) -> int:
    job = next((job for job in family.jobs if job.metadata.name == name), None)
    limits = {group.name: group.job.spec.backoff_limit for group in family.jobset.spec.replicated_jobs}
    limit = limits.get(job.replicated_job) if job is not None else None
    return _BACKOFF_LIMIT if limit is None else limit
