"""Why Jobs with exclusive placement have no domain yet: how many domains are taken, and by whom.

A Job keeps out of the domains of all other Jobs of its priority, in any namespace. Of those in other namespaces no name
is told: who may read this JobSet need not know them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from jobset.api import pods, types
from jobset.core import plan, waiting

_NAMED_AT_MOST: Final = 3


class Holder(NamedTuple):
    """A JobSet that has domains to itself."""

    namespace: str
    name: str


class Domains(NamedTuple):
    """The domains of one topology."""

    total: int
    taken: Mapping[str, Holder]
    """Those in which the leader of a Job of that priority is."""


class Unplaced(NamedTuple):
    """A leader for which the scheduler finds no node."""

    job: str
    topology: str
    said: str
    """By the scheduler."""

    domains: Domains


def job_of(leader: pods.Pod) -> str:
    """The Job that a pod leads."""
    labels = leader.labels
    return f'{labels.jobset}-{labels.replicated_job}-{labels.job_index}'


def domains(
    leaders: Iterable[pods.Pod], nodes: Mapping[str, Mapping[str, str]], *, topology: str, priority: str | None
) -> Domains:
    """What is free and what is not, given the leaders that have a node, and the labels of all nodes by name."""
    taken: dict[str, Holder] = {}
    for pod in leaders:
        domain = nodes.get(pod.spec.node_name, {}).get(topology)
        if domain is not None and pod.topology == topology and pod.labels.priority == priority and pod.stands:
            taken[domain] = Holder(pod.metadata.namespace, pod.labels.jobset or '')
    return Domains(len({labels[topology] for labels in nodes.values() if topology in labels}), taken)


def waits(jobset: types.JobSet, unplaced: Sequence[Unplaced]) -> waiting.Waits:
    """Why Jobs of a set have no domain; the first one is told in full."""
    if not unplaced:
        return waiting.NOTHING
    first = min(unplaced)
    others = f' (so do {len(unplaced) - 1} more of its Jobs)' if len(unplaced) > 1 else ''
    text = f'Job {first.job} waits for a domain of {first.topology} to itself{others}: '
    text += f'{_shares(jobset, first)}; the scheduler says of its leader: {first.said}'
    return waiting.Waits((waiting.Wait(waiting.EXCLUSIVE, text, plan.EventType.WARNING),))


def _shares(jobset: types.JobSet, one: Unplaced) -> str:
    total, taken = one.domains
    if not total:
        return 'no node has that label'
    here = Counter(each.name for each in taken.values() if each.namespace == jobset.metadata.namespace)
    own, away = here.pop(jobset.metadata.name, 0), len(taken) - sum(here.values())
    away -= own
    ranked = sorted(here.items(), key=lambda item: (-item[1], item[0]))
    said = [f'{count} by JobSet {name}' for name, count in ranked[:_NAMED_AT_MOST]]
    if rest := sum(count for _, count in ranked[_NAMED_AT_MOST:]):
        said.append(f'{rest} by {len(ranked) - _NAMED_AT_MOST} more JobSets of this namespace')
    if own:
        said.append(f'{own} by this one')
    if away:
        said.append(f'{away} in other namespaces')
    return f'{len(taken)} of {total} are taken' + (f' ({", ".join(said)})' if said else '')
