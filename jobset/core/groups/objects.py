"""The bodies of Workloads and PodGroups, in the version that is served."""

from collections.abc import Sequence
from typing import Any

import msgspec

from jobset.api import gangs, keys, types
from jobset.core import network
from jobset.core.groups import observed

Object = dict[str, Any]

WORKLOAD = 'Workload'
POD_GROUP = 'PodGroup'


def workload(
    jobset: types.JobSet, wanted: Sequence[gangs.Gang], counts: Sequence[int], version: observed.Version
) -> Object:
    """The Workload: which sorts of groups there are; ``counts`` are the sizes of their gangs."""
    templates = [
        {'name': gang.template, **_common(jobset, gang, count, version)}
        for gang, count in zip(wanted, counts, strict=True)
    ]
    # A Workload has one priority for all, and groups may have their own.
    if len({template.get('priorityClassName') for template in templates}) > 1:
        for template in templates:
            template.pop('priorityClassName', None)
    return {
        **_head(jobset, WORKLOAD, gangs.workload_name(jobset), version),
        'spec': {
            'controllerRef': {'apiGroup': keys.GROUP, 'kind': keys.KIND, 'name': jobset.metadata.name},
            'podGroupTemplates': templates,
        },
    }


def pod_group(jobset: types.JobSet, gang: gangs.Gang, name: str, min_count: int, version: observed.Version) -> Object:
    """A PodGroup of that sort."""
    workload_name = gangs.workload_name(jobset)
    if version == observed.Version.V1ALPHA2:
        names = {'workloadName': workload_name, 'podGroupTemplateName': gang.template}
        ref: Object = {'podGroupTemplateRef': {'workload': names}}
    else:
        ref = {'workloadRef': {'workloadName': workload_name, 'templateName': gang.template}}
    head = _head(jobset, POD_GROUP, name, version)
    head['metadata']['labels'][keys.RESTART_ATTEMPT] = str(jobset.status.restarts)
    return {
        **head,
        'spec': {**ref, **_common(jobset, gang, min_count, version)},
    }


def _head(jobset: types.JobSet, kind: str, name: str, version: observed.Version) -> Object:
    return {
        'apiVersion': f'{observed.GROUP}/{version}',
        'kind': kind,
        'metadata': {
            'name': name,
            'namespace': jobset.metadata.namespace,
            'labels': {keys.JOBSET_NAME: jobset.metadata.name, keys.JOBSET_UID: jobset.metadata.uid},
            'ownerReferences': [network.owner_reference(jobset)],
        },
    }


def _common(jobset: types.JobSet, gang: gangs.Gang, min_count: int, version: observed.Version) -> Object:
    pod = jobset.spec.replicated_jobs[gang.members[0]].job.spec.template.spec
    is_alpha = version == observed.Version.V1ALPHA2
    made: Object = {'schedulingPolicy': {'basic': {}} if gang.is_basic else {'gang': {'minCount': min_count}}}
    if gang.topology is not None:
        made['schedulingConstraints'] = {'topology': [{'key': gang.topology}]}
    if gang.disruption is not None:
        modes = {gangs.Disruption.ALL: 'PodGroup', gangs.Disruption.SINGLE: 'Pod'}
        made['disruptionMode'] = modes[gang.disruption] if is_alpha else {gang.disruption.value: {}}
    if gang.claims:
        made['resourceClaims'] = [msgspec.to_builtins(claim) for claim in gang.claims]
    if pod.priority_class_name:
        made['priorityClassName'] = pod.priority_class_name
    if pod.preemption_policy and not is_alpha:
        made['preemptionPolicy'] = pod.preemption_policy
    return made
