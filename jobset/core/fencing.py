"""What is done about pods that were told to go and do not.

Asked for by :data:`jobset.api.extras.FENCE_AFTER`. A new attempt begins only when no pod of an earlier one can run any
more, so a pod that stays has to be judged, step by step:

1. Until its grace is over, and for as long again as the annotation says, it is waited for.
2. Then, where its containers cannot run any more, or run where nobody can be reached (its node is gone, unreachable, or
   marked out of service), the object is deleted by force. Its uid is the condition, so that nothing else can be hit.
3. Finalizers of others hold it even so. Those that the set names are taken off; any other is named in the condition
   ``EndingBlocked``, with the pod, for its owner to act.
4. A pod whose node is there is never forced: its containers may run. The condition names the node.

It is looked at again and again, at the pace of the annotation, until it is gone.
"""

import datetime
import enum
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from jobset.api import extras, jobs, pods, types
from jobset.core import conditions, done, family, memory, pauses, plan, status

_SHOWN: Final = 5
_BUILT_IN: Final = frozenset({pods.JOB_TRACKING, 'foregroundDeletion', 'orphan'})
_PACE_SECONDS: Final = 2.0
"""How often a pod of an earlier attempt is looked at that only its absence can be seen of."""


class Node(enum.Enum):
    """What is known of the node of a pod."""

    THERE = 'is there'
    UNREACHABLE = 'is unreachable'
    OUT_OF_SERVICE = 'is out of service'
    GONE = 'is gone'


class Scene(NamedTuple):
    """All pods of a set, and the nodes of those that are overdue."""

    pods: tuple[pods.Pod, ...]
    nodes: Mapping[str, Node]


class Ruling(NamedTuple):
    """What is to be done."""

    acts: tuple[plan.PodAct, ...] = ()
    blocking: tuple[pods.Pod, ...] = ()
    """Pods of earlier attempts that may still run."""

    held: frozenset[str] = frozenset()
    """The single Jobs of which a pod of an earlier attempt of their own may still run."""

    again_after_seconds: float | None = None

    @property
    def is_blocked(self) -> bool:
        """Whether there are any."""
        return bool(self.blocking)


def is_wanted(jobset: types.JobSet) -> bool:
    """Whether the set asked for it."""
    return extras.FENCE_AFTER.of(jobset.metadata.annotations) is not None


def must_look(jobset: types.JobSet, kin: family.Family, now: datetime.datetime, going: Iterable[str] = ()) -> bool:
    """Whether the pods must be looked at: something is overdue, or a new attempt is about to begin.

    ``going`` are the times by which single pods must have gone, where pods are watched.
    """
    limit = extras.FENCE_AFTER.of(jobset.metadata.annotations)
    if limit is None:
        return False
    if any(since + limit <= now for since in _going(jobset, kin, going)):
        return True
    if conditions.terminal(jobset.status) is not None or pauses.seconds_left(jobset, now) > 0:
        return False
    is_first = jobset.status.restarts == 0 or bool(kin.jobs)
    return not is_first or _begins_one(jobset, kin, now)


def _begins_one(jobset: types.JobSet, kin: family.Family, now: datetime.datetime) -> bool:
    """Whether a single Job that was restarted is about to be made."""
    absent = kin.expected.keys() - kin.jobs.keys()
    if not absent:
        return False
    noted = done.known(jobset) if done.is_wanted(jobset) else {}
    finished = {f'{jobset.metadata.name}-{name}-{index}' for name, indexes in noted.items() for index in indexes}
    return bool(absent - finished - pauses.singles_left(jobset, now).keys())


def overdue(jobset: types.JobSet, seen: tuple[pods.Pod, ...], now: datetime.datetime) -> Iterator[pods.Pod]:
    """The pods that should have gone by now."""
    limit = extras.FENCE_AFTER.of(jobset.metadata.annotations)
    for pod in seen:
        asked = pod.metadata.deletion_timestamp
        if limit is not None and asked is not None and conditions.parsed(asked) + limit <= now:
            yield pod


def rule(
    draft: status.Draft, jobset: types.JobSet, kin: family.Family, scene: Scene | None, going: Iterable[str] = ()
) -> Ruling:
    """What is to be done about pods that stay; the draft tells of those that hold everything up."""
    limit = extras.FENCE_AFTER.of(jobset.metadata.annotations)
    if limit is None:
        return Ruling()
    waits = [(since + limit - draft.now).total_seconds() for since in _going(jobset, kin, going)]
    again = min((wait for wait in waits if wait > 0), default=None)
    if scene is None:
        memory.forget(draft, memory.BLOCKED, 'EndingsAreOver', 'no pod that was told to go is overdue')
        return Ruling(again_after_seconds=again)
    acts: list[plan.PodAct] = []
    problems: list[tuple[str, str]] = []
    for pod in overdue(jobset, scene.pods, draft.now):
        found = _judged(jobset, pod, scene.nodes)
        acts += found.acts
        problems += found.problems
    acts += _never_asked(jobset, kin, scene, draft.now - limit)
    for act in acts:
        draft.tell(plan.EventType.WARNING, act.deed.value, f'pod {act.pod.name} {act.why}')
    _tell_problems(draft, problems)
    living = [pod for pod in scene.pods if not pod.has_ended]
    blocking = tuple(pod for pod in living if _is_earlier(pod, jobset))
    held = frozenset(_job_of(pod, jobset) for pod in living if _is_earlier_of_its_job(pod, jobset, kin))
    pace = min(_PACE_SECONDS if blocking or held else limit.total_seconds(), limit.total_seconds())
    return Ruling(tuple(acts), blocking, held, pace if again is None else min(pace, again))


class _Judged(NamedTuple):
    acts: list[plan.PodAct]
    problems: list[tuple[str, str]]


def _judged(jobset: types.JobSet, pod: pods.Pod, nodes: Mapping[str, Node]) -> _Judged:
    """One pod that is overdue."""
    ref, node = plan.PodRef(pod.metadata.name, pod.metadata.uid), pod.spec.node_name
    state = nodes.get(node, Node.THERE)
    if node and not pod.has_ended and state is Node.THERE:
        return _Judged([], [('NodeKeepsPod', f'pod {ref.name}: node {node} is there and has not ended it')])
    why = 'had ended' if pod.has_ended or not node else f'was on node {node}, which {state.value}'
    acts = [plan.PodAct(plan.PodDeed.FORCE, ref, f'{why}, and was overdue')]
    problems = []
    foreign = [name for name in pod.metadata.finalizers or () if name not in _BUILT_IN]
    allowed = extras.FENCE_FINALIZERS.of(jobset.metadata.annotations) or frozenset()
    if taken := tuple(name for name in foreign if name in allowed):
        why = f'loses the finalizers {", ".join(taken)}, as the JobSet asks for'
        acts.append(plan.PodAct(plan.PodDeed.RELEASE, ref, why, taken))
    if left := [name for name in foreign if name not in allowed]:
        problems.append(('ForeignFinalizers', f'pod {ref.name}: held by {", ".join(left)}; ask who put them there'))
    return _Judged(acts, problems)


def _never_asked(
    jobset: types.JobSet, kin: family.Family, scene: Scene, before: datetime.datetime
) -> Iterator[plan.PodAct]:
    """Pods of an earlier attempt that nobody has asked to go: of a Job that is gone, or overdue itself."""
    by_uid = {job.metadata.uid: job for job in kin.jobs.values()}
    for pod in scene.pods:
        job = by_uid.get(pod.labels.job_uid)
        since = job.metadata.deletion_timestamp if job is not None else None
        left_alone = job is None or (since is not None and conditions.parsed(since) <= before)
        is_over = _is_earlier(pod, jobset) or _is_earlier_of_its_job(pod, jobset, kin)
        if left_alone and pod.metadata.deletion_timestamp is None and not pod.has_ended and is_over:
            ref = plan.PodRef(pod.metadata.name, pod.metadata.uid)
            yield plan.PodAct(plan.PodDeed.DELETE, ref, 'is of an earlier attempt, and nobody has asked it to go')


def _is_earlier(pod: pods.Pod, jobset: types.JobSet) -> bool:
    text = pod.labels.restart_attempt
    return text.isdecimal() and int(text) < jobset.status.restarts


def _is_earlier_of_its_job(pod: pods.Pod, jobset: types.JobSet, kin: family.Family) -> bool:
    """Whether its Job was made anew by itself since."""
    text = pod.labels.job_restart_attempt
    return int(text if text.isdecimal() else 0) < kin.expected.get(_job_of(pod, jobset), 0)


def _job_of(pod: pods.Pod, jobset: types.JobSet) -> str:
    labels = pod.labels
    return f'{jobset.metadata.name}-{labels.replicated_job}-{labels.job_index}'


def _tell_problems(draft: status.Draft, problems: list[tuple[str, str]]) -> None:
    if not problems:
        memory.forget(draft, memory.BLOCKED, 'EndingsAreOver', 'no pod that was told to go is overdue')
        return
    problems.sort()
    rest = f' and {len(problems) - _SHOWN} more' if len(problems) > _SHOWN else ''
    message = '; '.join(text for _, text in problems[:_SHOWN]) + rest
    draft.set(conditions.Notice(memory.BLOCKED, True, problems[0][0], message, plan.EventType.WARNING))


def _going(jobset: types.JobSet, kin: family.Family, going: Iterable[str]) -> Iterator[datetime.datetime]:
    """Since when each Job or pod is going that is: deleted, or suspended with pods that have not ended."""
    yield from map(conditions.parsed, going)
    suspended = conditions.find(jobset.status, conditions.SUSPENDED)
    for cohort in kin.cohorts.values():
        if len(cohort.staying) < len(cohort.members):
            yield from _deleted(cohort)
        if suspended is not None and suspended.is_true and any(_stops(job) for job in cohort.suspended.values()):
            yield conditions.parsed(suspended.last_transition_time)


def _deleted(cohort: family.Cohort) -> Iterator[datetime.datetime]:
    for job in cohort.members.values():
        if job.metadata.deletion_timestamp is not None:
            yield conditions.parsed(job.metadata.deletion_timestamp)


def _stops(job: jobs.Job) -> bool:
    return bool(job.status.terminating)
