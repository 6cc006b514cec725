"""Whose workers start together, where nothing but the start is to be kept together: pure.

Pods that wait for the others cannot become ready. So a group must not have members that are made only when other
members are ready: replicated jobs that depend on something start apart from those that they depend on.
"""

from __future__ import annotations

from jobset.agent import settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LABELS = 'jobset.sigs.k8s.io/'
REPLICATED_JOB = f'{LABELS}replicatedjob-name'
JOB_INDEX = f'{LABELS}job-index'
POD_INDEX = 'batch.kubernetes.io/job-completion-index'
OF_ONE_ATTEMPT = (f'{LABELS}jobset-name', f'{LABELS}jobset-uid', f'{LABELS}restart-attempt')
"""Labels that all pods of one attempt of one JobSet have alike."""


class Group:
    """The ranks whose workers start together: those of all replicated jobs that wait for the same before they start.

    Only those with an agent that takes part count: theirs is a container with the variable JOBSET_START_BARRIER.
    """

    def __init__(self, spec: Any, own: str) -> None:
        jobs = spec.get('replicatedJobs') or ()
        in_order = (spec.get('startupPolicy') or {}).get('startupPolicyOrder') == 'InOrder'
        stage = next((_dependencies(job) for job in jobs if job['name'] == own), None)
        self.wanted: dict[str, int] = {}
        self.leader = ''
        for job in jobs:
            name, template = job['name'], job['template']['spec']
            same = not in_order and _dependencies(job) == stage and _takes_part(template)
            if name == own or same:
                ranks = int(job.get('replicas', 1)) * _pods(template)
                if ranks:
                    self.wanted[name] = ranks
                if ranks and not self.leader and template.get('completionMode', 'Indexed') == 'Indexed':
                    self.leader = name
        if own not in self.wanted:
            raise settings.Misused(f'{settings.BARRIER_VARIABLE}: the JobSet has no pods in a replicated job "{own}"')
        if not self.leader:
            raise settings.Misused(
                f'{settings.BARRIER_VARIABLE}: none of {", ".join(self.wanted)} has completionMode Indexed'
            )

    def is_leader(self, labels: Mapping[str, str]) -> bool:
        """Whether this is the pod that counts the others: the first one of the first Job."""
        return rank(labels) == (self.leader, '0', '0')

    def is_complete(self, ranks: set[tuple[str, str, str]]) -> bool:
        return all(sum(each[0] == name for each in ranks) >= wanted for name, wanted in self.wanted.items())


def _dependencies(job: Any) -> list[tuple[str, str]]:
    return sorted((each['name'], each['status']) for each in job.get('dependsOn') or ())


def _takes_part(template: Any) -> bool:
    pod = template['template']['spec']
    containers = [*(pod.get('initContainers') or ()), *(pod.get('containers') or ())]
    return any(each['name'] == settings.BARRIER_VARIABLE for one in containers for each in one.get('env') or ())


def _pods(template: Any) -> int:
    parallelism, completions = template.get('parallelism', 1), template.get('completions')
    return int(parallelism if completions is None else min(parallelism, completions))


def rank(labels: Mapping[str, str], uid: str = '') -> tuple[str, str, str]:
    """Replicated job, Job, and pod; a pod without an index is itself."""
    return labels.get(REPLICATED_JOB, ''), labels.get(JOB_INDEX, ''), labels.get(POD_INDEX) or uid
