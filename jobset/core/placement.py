"""Exclusive placement: which pod leads its Job, where the others belong, and which of them are in the wrong place.

Source: JobSet, exclusive placement. The first pod of a Job, its leader, is placed by the scheduler, which keeps Jobs
of one priority out of each other's topology domains. All other pods of the Job follow it: they are created once it is
bound to a node, with a node selector for the domain of that node.

What follows may be outrun: a leader is replaced and bound elsewhere, while its followers still have the selector of the
old domain. Then they all go, and come again behind the new leader. Who belongs together is decided by the uid of the
Job: names and hashes are given again.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from jobset.api import keys
from jobset.api.pods import Pod

TRANSIENT: Final = 'this is an expected, transient error'


class LeaderName(NamedTuple):
    """Under which name a Job's leader is looked for: that of the pod without what the server appends to it."""

    namespace: str
    name: str


def name_of(leader: Pod) -> LeaderName:
    """The name that followers look for."""
    return LeaderName(leader.metadata.namespace, leader.metadata.name.rpartition('-')[0])


class MissingLabelError(ValueError):
    """A follower does not tell which Job it belongs to."""


def wanted_by(follower: Pod, namespace: str) -> LeaderName:
    """The name of the leader that a follower of that namespace has. Raises :class:`MissingLabelError`."""
    labels = follower.labels
    jobset, replicated_job, job_index = labels.jobset, labels.replicated_job, labels.job_index
    if jobset is None:
        raise MissingLabelError(f'pod missing label: {keys.JOBSET_NAME}')
    if replicated_job is None:
        raise MissingLabelError(f'pod missing label: {keys.REPLICATED_JOB_NAME}')
    if job_index is None:
        raise MissingLabelError(f'pod missing label: {keys.JOB_INDEX}')
    return LeaderName(namespace, f'{jobset}-{replicated_job}-{job_index}-0')


@dataclass(frozen=True)
class NoLeader:
    """Why a follower has nothing to follow."""

    text: str


def leader_of(follower: Pod, name: LeaderName, candidates: Iterable[Pod]) -> Pod | NoLeader:
    """The one pod among ``candidates`` of that name that leads the follower's own Job.

    It need not have a node yet.
    """
    found = [pod for pod in candidates if pod.stands and pod.annotations.topology is not None]
    owner = follower.owner_uid
    # A pod of another owner under this name must not be in the way of the right one.
    own = [pod for pod in found if owner is not None and pod.owner_uid == owner] or found
    if len(own) != 1:
        return NoLeader(f'expected 1 leader pod ({name.name}), but got {len(own)}. {TRANSIENT}')
    leader = own[0]
    if owner is None:
        return NoLeader('follower pod has no owner reference')
    if leader.owner_uid is None:
        return NoLeader(f'leader pod "{leader.metadata.name}" has no owner reference')
    if leader.owner_uid != owner:
        return NoLeader(f'follower pod owner UID ({owner}) != leader pod owner UID ({leader.owner_uid})')
    return leader


def unplaceable(leader: Pod) -> str | None:
    """Why the scheduler has found no node for a leader; None where it has one, or has not looked yet."""
    scheduled = leader.unscheduled
    return None if scheduled is None else scheduled.message or scheduled.reason or 'the scheduler gives no reason'


# Repair.


class Group(NamedTuple):
    """The pods of one Job."""

    namespace: str
    owner_uid: str


def group_of(pod: Pod) -> Group | None:
    """The Job that a pod belongs to; None where placement does not concern it."""
    owner = pod.owner_uid
    return None if owner is None or pod.topology is None else Group(pod.metadata.namespace, owner)


@dataclass(frozen=True)
class Verdict:
    """What is to be done about the pods of a Job."""

    delete: tuple[Pod, ...] = ()
    """Followers that do not stand where their leader does."""

    unknown: str = ''
    """Why that cannot be told yet; empty where it can."""


NOTHING: Final = Verdict()


def bound_leader(pods: Iterable[Pod]) -> Pod | None:
    """The leader of a Job, if there is exactly one and it has a node: two would be no measure for anything."""
    leaders = [pod for pod in pods if pod.is_leader and pod.topology is not None and pod.stands and pod.spec.node_name]
    return leaders[0] if len(leaders) == 1 else None


def judge(pods: Collection[Pod], nodes: Mapping[str, Mapping[str, str]]) -> Verdict:
    """What is to become of the pods of one Job, given labels of nodes by name (that of the leader, at least).

    All followers go when one of them is misplaced, as a Job is of no use while a part of it cannot run. Pods that have
    ended stay: they take up no place, and somebody may want to read their logs.
    """
    leader = bound_leader(pods)
    if leader is None or leader.labels.job_key is None:
        return NOTHING
    followers = tuple(pod for pod in pods if _follows(pod, leader))
    if not followers:
        return NOTHING
    topology, name = leader.annotations.topology or '', leader.spec.node_name
    labels = nodes.get(name)
    if labels is None:
        return Verdict(unknown=f'leader topology is unknown (node {name} not found)')
    domain = labels.get(topology)
    if domain is None:
        return Verdict(unknown=f'node {name} of the leader does not have topology label: {topology}')
    is_wrong = any((pod.spec.node_selector or {}).get(topology) != domain for pod in followers)
    return Verdict(delete=followers) if is_wrong else NOTHING


def _follows(pod: Pod, leader: Pod) -> bool:
    return (
        not pod.is_leader
        and pod.stands
        and pod.topology is not None
        and pod.owner_uid == leader.owner_uid
        and pod.labels.job_key == leader.labels.job_key
    )


def violation(at: str) -> dict[str, str]:
    """The condition of a pod that goes for its place, by which a pod failure policy can tell it from a failed one.

    ``at`` is the time of that.
    """
    return {
        'type': 'DisruptionTarget',
        'status': 'True',
        'reason': 'ExclusivePlacementViolation',
        'message': 'Pod violated JobSet exclusive placement policy',
        'lastTransitionTime': at,
    }


def is_marked(pod: Pod) -> bool:
    """Whether it is known to be disrupted, for this reason or another one."""
    return pod.disruption is not None


def asks(annotations: Mapping[str, object] | None, templates: Iterable[bytes]) -> bool:
    """Whether a JobSet of these annotations and Job templates may have pods that are placed exclusively."""
    marker = keys.EXCLUSIVE_TOPOLOGY.encode()
    return keys.EXCLUSIVE_TOPOLOGY in (annotations or {}) or any(marker in template for template in templates)
