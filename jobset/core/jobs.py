"""How a child Job is built from its replicated job.

Source: JobSet API, construction of child Jobs. Nothing is defaulted here: that is for admission and the API server.
Labels and annotations of the JobSet itself are not handed down, but for exclusive placement.
"""

import hashlib
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self, cast

import msgspec

from jobset.api import gangs, keys, types
from jobset.core import children, done, network, singles, volumes

_Object = dict[str, object]


def job_key(namespace: str, job_name: str) -> str:
    """The hash by which all pods of one Job are found: lower-case hex SHA-1 of ``<namespace>/<job name>``."""
    return hashlib.sha1(f'{namespace}/{job_name}'.encode(), usedforsecurity=False).hexdigest()


class _Place(NamedTuple):
    """What the Jobs of one replicated job have in common, worked out once."""

    template: _Object
    spec: _Object
    pod_template: _Object
    pod_spec: _Object
    fixed: dict[str, str]
    """Written as labels and annotations, on Job and pod template alike."""

    exclusive: dict[str, str]
    """Written as annotations only."""

    before: int
    """Replicas of all earlier replicated jobs."""

    before_in_group: int


class Factory:
    """Builds the child Jobs of one JobSet for its running attempt.

    ``tells_own_attempt`` marks each Job with the attempt of its own that it is of, too: see :mod:`jobset.core.singles`.
    ``grouped`` are the groups that pods name. ``tells_execution`` marks each Job with the execution that it is of.
    """

    def __init__(
        self,
        jobset: types.JobSet,
        *,
        tells_own_attempt: bool = False,
        tells_execution: bool = False,
        grouped: tuple[gangs.Gang, ...] = (),
    ) -> None:
        self._jobset = jobset
        self._tells_own_attempt = tells_own_attempt
        execution = jobset.status.execution_attempts
        shown = tells_execution and execution is not None
        self._execution = {keys.EXECUTION_ATTEMPT: str(execution)} if shown else {}
        self._gangs = {position: gang for gang in grouped for position in gang.members}
        self._counts = _Counts.of(jobset.spec.replicated_jobs)
        self._places: dict[int, _Place] = {}
        self._owners = [network.owner_reference(jobset)]

    def build(self, child: children.Child) -> _Object:
        """The Job in full. Parts that all Jobs share are shared: encode it, don't change it."""
        place = self._place(child.position)
        marks: _Object = {
            **place.fixed,
            keys.JOB_INDEX: str(child.job_index),
            keys.JOB_GLOBAL_INDEX: str(place.before + child.job_index),
            keys.JOB_GROUP_INDEX: str(place.before_in_group + child.job_index),
            keys.JOB_KEY: job_key(self._jobset.metadata.namespace, child.name),
        }
        if self._tells_own_attempt:
            name = self._jobset.spec.replicated_jobs[child.position].name
            marks[keys.JOB_RESTART_ATTEMPT] = str(singles.attempt(self._jobset, name, child.job_index))
        notes: _Object = {**place.exclusive, **marks, **self._execution}
        group = self._group(child)
        labels = marks if group is None else {**marks, keys.POD_GROUP: group}
        job_meta = _of(place.template, 'metadata')
        pod_meta = _of(place.pod_template, 'metadata')
        annotations = _of(job_meta, 'annotations') | notes
        return {
            'apiVersion': 'batch/v1',
            'kind': 'Job',
            'metadata': {
                'name': child.name,
                'namespace': self._jobset.metadata.namespace,
                'labels': _of(job_meta, 'labels') | labels,
                'annotations': annotations,
                'ownerReferences': self._owners,
            },
            'spec': place.spec
            | {
                'suspend': self._jobset.suspended,
                'template': place.pod_template
                | {
                    'metadata': pod_meta
                    | {
                        'labels': _of(pod_meta, 'labels') | labels,
                        'annotations': _of(pod_meta, 'annotations') | notes,
                    },
                    'spec': _grouped(self._placed(place.pod_spec, child, annotations), group),
                },
            },
        }

    def _group(self, child: children.Child) -> str | None:
        """The group of its pods, where we make one."""
        gang = self._gangs.get(child.position)
        attempt = self._jobset.status.restarts
        return None if gang is None else gangs.name(self._jobset, gang, job_index=child.job_index, attempt=attempt)

    def _place(self, position: int) -> _Place:
        found = self._places.get(position)
        if found is None:
            found = self._places[position] = _place(self._jobset, position, self._counts)
        return found

    def _placed(self, pod_spec: _Object, child: children.Child, annotations: _Object) -> _Object:
        """The pod spec, bound to prepared nodes where the node-selector strategy asks for it."""
        if not uses_node_selectors(annotations):
            return pod_spec
        selector = {keys.NAMESPACED_JOB: f'{self._jobset.metadata.namespace}_{child.name}'}
        tolerations = cast(list[object], pod_spec.get('tolerations') or [])
        return pod_spec | {
            'nodeSelector': _of(pod_spec, 'nodeSelector') | selector,
            'tolerations': [*tolerations, PLACEMENT_TOLERATION],
        }


PLACEMENT_TOLERATION = {'key': keys.NO_SCHEDULE, 'operator': 'Exists', 'effect': 'NoSchedule'}
"""Lets pods onto nodes that were reserved for exclusive placement."""


def _grouped(pod_spec: _Object, group: str | None) -> _Object:
    """The pod spec with the group that the pods belong to: with it, the Job controller makes none."""
    return pod_spec if group is None else pod_spec | {'schedulingGroup': {'podGroupName': group}}


def uses_node_selectors(annotations: _Object) -> bool:
    """Whether these annotations of a Job ask for exclusive placement on nodes that were prepared beforehand."""
    return keys.EXCLUSIVE_TOPOLOGY in annotations and keys.NODE_SELECTOR_STRATEGY in annotations


def _of(parent: _Object, key: str) -> _Object:
    """A map inside a template; empty where it is absent or null."""
    return cast(_Object, parent.get(key) or {})


class _Counts(NamedTuple):
    """Replicas, counted once for all replicated jobs: there may be thousands of them."""

    total: int
    groups: Mapping[str, int]
    before: Sequence[int]
    """Of each replicated job, the replicas of all earlier ones."""

    before_in_group: Sequence[int]

    @classmethod
    def of(cls, replicated_jobs: Sequence[types.ReplicatedJob]) -> Self:
        total = 0
        groups: Counter[str] = Counter()
        before, before_in_group = [], []
        for job in replicated_jobs:
            before.append(total)
            before_in_group.append(groups[job.group_name])
            total += job.count
            groups[job.group_name] += job.count
        return cls(total, groups, before, before_in_group)


def _place(jobset: types.JobSet, position: int, counts: _Counts) -> _Place:
    job = jobset.spec.replicated_jobs[position]
    template = cast(_Object, msgspec.json.decode(job.template))
    spec = done.without_ttl(jobset, _of(template, 'spec'))
    pod_template = _of(spec, 'template')
    return _Place(
        template=template,
        spec=spec,
        pod_template=pod_template,
        pod_spec=_pod_spec(jobset, job, _of(pod_template, 'spec')),
        fixed=_fixed(jobset, job, counts),
        exclusive=_exclusive(jobset, _of(_of(template, 'metadata'), 'annotations')),
        before=counts.before[position],
        before_in_group=counts.before_in_group[position],
    )


def _fixed(jobset: types.JobSet, job: types.ReplicatedJob, counts: _Counts) -> dict[str, str]:
    marks = {
        keys.JOBSET_NAME: jobset.metadata.name,
        keys.JOBSET_UID: jobset.metadata.uid,
        keys.REPLICATED_JOB_NAME: job.name,
        keys.REPLICATED_JOB_REPLICAS: str(job.count),
        keys.GLOBAL_REPLICAS: str(counts.total),
        keys.RESTART_ATTEMPT: str(jobset.status.restarts),
        keys.GROUP_NAME: job.group_name,
        keys.GROUP_REPLICAS: str(counts.groups[job.group_name]),
    }
    endpoint = network.coordinator_endpoint(jobset)
    return marks if endpoint is None else marks | {keys.COORDINATOR: endpoint}


def _exclusive(jobset: types.JobSet, template_annotations: _Object) -> dict[str, str]:
    """The placement annotations: those of the JobSet, overridden by those of the replicated job.

    The node-selector flag counts only beside a topology of the same level.
    """
    found: dict[str, str] = {}
    for annotations in (jobset.metadata.annotations or {}, template_annotations):
        if keys.EXCLUSIVE_TOPOLOGY in annotations:
            for key in (keys.EXCLUSIVE_TOPOLOGY, keys.NODE_SELECTOR_STRATEGY):
                if key in annotations:
                    found[key] = str(annotations[key])
    return found


def _pod_spec(jobset: types.JobSet, job: types.ReplicatedJob, pod_spec: _Object) -> _Object:
    """The pod spec with host names and claims; a subdomain of the user's gives way only where we make the Service."""
    changed = dict(pod_spec)
    if network.is_enabled(jobset):
        changed['subdomain'] = network.service_name(jobset)
    claims = volumes.volumes(jobset, job.job.spec.template.spec)
    if claims:
        own = cast(list[object], pod_spec.get('volumes') or [])
        changed['volumes'] = list(itertools.chain(own, claims))
    return changed
