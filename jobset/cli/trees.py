"""A JobSet and all that belongs to it as a tree: what each part is called and how it is."""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from jobset.api import keys, types
from jobset.cli import output
from jobset.client import observed, summaries
from jobset.client.families import Family
from jobset.core import waiting

if TYPE_CHECKING:
    from rich.text import Text

GOOD: Final = 'green'
BUSY: Final = 'cyan'
BAD: Final = 'red'
HELD: Final = 'yellow'
DIM: Final = 'dim'

STYLES: Final[Mapping[str, str]] = {
    **dict.fromkeys(('Completed', 'Complete', 'Succeeded', 'Bound'), GOOD),
    **dict.fromkeys(('Running', 'Starting', 'Active'), BUSY),
    **dict.fromkeys(('Failed', 'Lost', 'Unknown'), BAD),
    **dict.fromkeys(('Pending', 'Suspended', 'Restarting', 'Deleting', 'Terminating', 'Waiting'), HELD),
}
"""How the words for states look."""

_GROUPS: Final = {
    'JobSet': f'.{keys.GROUP}',
    'Job': '.batch',
    'Workload': '.scheduling.k8s.io',
    'PodGroup': '.scheduling.k8s.io',
}


@dataclass(frozen=True)
class Branch:
    """One object of the tree."""

    kind: str
    name: str
    state: str = ''
    facts: Mapping[str, object] = field(default_factory=dict)
    """What programs read: all facts, under names of the API."""

    notes: Sequence[str] = ()
    """What people read."""

    children: Sequence['Branch'] = ()


def of(family: Family, now: datetime.datetime) -> Branch:
    """The tree of a JobSet."""
    summary = summaries.of(family)
    notes = []
    if summary.restarts or summary.max_restarts:
        notes.append(f'restarts {summary.counted}/{summary.max_restarts}')
    notes.append(f'age {output.age(summary.created, now)}')
    notes += [_condition(one) for one in summary.conditions if one.is_true]
    facts = {
        'restarts': summary.restarts,
        'restartsCountTowardsMax': summary.counted,
        'maxRestarts': summary.max_restarts,
        'conditions': [{'type': one.type, 'status': one.status, 'reason': one.reason} for one in summary.conditions],
    }
    children = [*_extras(family), *(_group(family, group, summary) for group in family.jobset.spec.replicated_jobs)]
    strays = _strays(family)
    return Branch('JobSet', family.name, summary.phase.value, facts, notes, [*children, *strays])


def _condition(one: types.Condition) -> str:
    """A condition that holds, in a word; what is waited for is told in full."""
    return f'{one.type}: {one.message if one.type == waiting.WAITING else one.reason}'


def _extras(family: Family) -> Iterator[Branch]:
    for service in family.services:
        yield Branch('Service', service.metadata.name)
    for claim in family.claims:
        yield Branch('PersistentVolumeClaim', claim.metadata.name, claim.status.phase)
    for group in family.groups:
        known = [one for one in group.status.conditions or () if one.status == 'True' or one.message]
        notes = [f'{one.type}: {one.message or one.reason}' for one in known]
        yield Branch(group.kind, group.metadata.name, '', {}, notes)


def _group(family: Family, group: types.ReplicatedJob, summary: summaries.Summary) -> Branch:
    counts = next(one for one in summary.groups if one.name == group.name)
    known = {
        'ready': counts.ready,
        'succeeded': counts.succeeded,
        'failed': counts.failed,
        'active': counts.active,
        'suspended': counts.suspended,
    }
    jobs = [job for job in family.jobs if job.replicated_job == group.name]
    said = [f'{number} {word}' for word, number in known.items() if number]
    notes = [f'{counts.jobs} {"Job" if counts.jobs == 1 else "Jobs"}', *said]
    notes += [wait.text for wait in summary.waits if wait.who == group.name]
    return Branch('ReplicatedJob', group.name, '', {'replicas': counts.jobs, **known}, notes, [
        _job(family, job) for job in jobs
    ])  # fmt: skip


def _job(family: Family, job: observed.Job) -> Branch:
    state, why = job_state(job)
    notes = [f'attempt {job.attempt}', *([why] if why else [])]
    pods = [pod for pod in family.pods if pod.job == job.metadata.name and pod.attempt == job.attempt]
    facts = {
        'attempt': job.attempt,
        'index': job.index,
        'active': job.status.active or 0,
        'ready': job.status.ready or 0,
        'succeeded': job.status.succeeded or 0,
        'failed': job.status.failed or 0,
        'reason': job.ending.reason if job.ending else '',
    }
    return Branch('Job', job.metadata.name, state, facts, notes, [_pod(pod) for pod in pods])


def job_state(job: observed.Job) -> tuple[str, str]:
    """The state of a Job in one word, and why."""
    if job.ending is not None:
        return job.ending.type, job.ending.reason if job.ending.type == 'Failed' else ''
    if job.metadata.deletion_timestamp:
        return 'Terminating', ''
    if job.spec.suspend:
        return 'Suspended', ''
    wanted = job.spec.parallelism if job.spec.parallelism is not None else 1
    if job.status.active:
        return 'Active', f'{job.status.ready or 0}/{wanted} ready'
    return 'Waiting', ''


def _pod(pod: observed.Pod) -> Branch:
    state = pod_state(pod)
    notes = [pod.spec.node_name or 'no node']
    if pod.status.phase == 'Running':
        notes.append('ready' if pod.is_ready else 'not ready')
    if pod.restarts:
        notes.append(f'{pod.restarts} {"restart" if pod.restarts == 1 else "restarts"}')
    reason = _reason(pod)
    if reason:
        notes.append(reason)
    facts = {
        'rank': pod.rank,
        'node': pod.spec.node_name,
        'phase': pod.status.phase,
        'ready': pod.is_ready,
        'restarts': pod.restarts,
        'attempt': pod.attempt,
        'reason': reason,
    }
    return Branch('Pod', pod.metadata.name, state, facts, notes)


def pod_state(pod: observed.Pod) -> str:
    """The state of a pod in one word."""
    if pod.metadata.deletion_timestamp and not pod.is_over:
        return 'Terminating'
    return pod.status.phase


def _reason(pod: observed.Pod) -> str:
    for status in reversed(pod.containers):
        if (waiting := status.state.waiting) is not None and waiting.reason:
            return waiting.reason
        if (ended := status.state.terminated) is not None and ended.exit_code:
            reason = '' if ended.reason in ('', 'Error') else f'{ended.reason}, '
            return f'{reason}exit code {ended.exit_code}'
    scheduled = observed.condition(pod.status.conditions, 'PodScheduled')
    if scheduled is not None and scheduled.status == 'False':
        return scheduled.reason
    return pod.status.reason


def _strays(family: Family) -> list[Branch]:
    """Pods whose Job is not there (any more), and Jobs of no replicated job."""
    jobs = {(job.metadata.name, job.attempt) for job in family.jobs}
    groups = {group.name for group in family.jobset.spec.replicated_jobs}
    lost = [_job(family, job) for job in family.jobs if job.replicated_job not in groups]
    return lost + [_pod(pod) for pod in family.pods if (pod.job, pod.attempt) not in jobs]


def document(branch: Branch) -> dict[str, Any]:
    """The tree for programs."""
    made: dict[str, Any] = {'kind': branch.kind, 'name': branch.name}
    if branch.state:
        made['state'] = branch.state
    made |= branch.facts
    if branch.children:
        made['children'] = [document(child) for child in branch.children]
    return made


def names(branch: Branch) -> Iterator[str]:
    """``kind.group/name`` of all objects of a cluster in the tree."""
    if branch.kind != 'ReplicatedJob':
        yield f'{branch.kind.lower()}{_GROUPS.get(branch.kind, "")}/{branch.name}'
    for child in branch.children:
        yield from names(child)


def lines(branch: Branch, *, lead: str = '', below: str = '') -> Iterator['Text']:
    """The tree for people, a line for each object."""
    from rich.text import Text  # noqa: PLC0415 - not needed for json

    line = Text.assemble((lead, DIM), (f'{branch.kind}/', DIM), (branch.name, 'bold'))
    if branch.state:
        line.append(f'  {branch.state}', STYLES.get(branch.state, ''))
    if branch.notes:
        line.append('  ')
        line.append('  '.join(branch.notes), DIM)
    yield line
    for place, child in enumerate(branch.children):
        is_last = place == len(branch.children) - 1
        yield from lines(
            child, lead=f'{below}{"└─ " if is_last else "├─ "}', below=f'{below}{"   " if is_last else "│  "}'
        )
