"""Whether what pod templates ask of their place, and of each other, can be had at all.

Admission judges our own annotations; the scheduler, which does not let a JobSet start whose wishes contradict each
other, asks for all :func:`problems`, of Kueue's annotations too.
"""

from collections.abc import Iterable, Iterator, Mapping

from jobset.api import extras, schedulingextras, stages, topologies, types
from jobset.api.extras import Extra
from jobset.api.validation import fields


def check(jobset: types.JobSet, known_before: types.JobSet | None = None) -> list[fields.FieldError]:
    """The mistakes in our own annotations that each by itself is readable; what was admitted once is not judged again.

    All of a replicated job were admitted where its annotations are the same as before.
    """
    before = {job.name: _own(job) for job in known_before.spec.replicated_jobs} if known_before is not None else {}
    kept = {place for place, job in enumerate(jobset.spec.replicated_jobs) if before.get(job.name) == _own(job)}
    return [error for place, key, error in _all(jobset) if key.startswith(extras.PREFIX) and place not in kept]


def problems(jobset: types.JobSet) -> list[fields.FieldError]:
    """All that is wrong, and what would be right."""
    own = _read('metadata', jobset.metadata.annotations, schedulingextras.ON_JOBSET)
    return [*own, *_unreadable(jobset), *(error for _, _, error in _all(jobset))]


def _own(job: types.ReplicatedJob) -> dict[str, str]:
    given = {**(job.job.metadata.annotations or {}), **topologies.annotations(job)}
    return {key: value for key, value in given.items() if key.startswith(extras.PREFIX)}


_Found = tuple[int, str, fields.FieldError]


def _all(jobset: types.JobSet) -> Iterator[_Found]:
    for place, job in enumerate(jobset.spec.replicated_jobs):
        yield from _of_modes(place, job)
        yield from _of_slices(place, job)
        yield from _of_least(place, job)
    yield from _of_names(jobset)
    yield from _of_groups(jobset)
    yield from _of_leaders(jobset)


def _error(place: int, extra: Extra[object], detail: str) -> _Found:
    path = f'spec.replicatedJobs[{place}].template.spec.template.metadata.annotations[{extra.key}]'
    return place, extra.key, fields.FieldError(fields.Kind.INVALID, path, detail)


def _asked(job: types.ReplicatedJob, *same: Extra[object]) -> Extra[object] | None:
    """The one of the rows that mean the same that was written, ours first."""
    return next((extra for extra in same if extra.of(topologies.annotations(job))), None)


_MODES = (
    (schedulingextras.REQUIRED_TOPOLOGY, schedulingextras.KUEUE_REQUIRED),
    (schedulingextras.PREFERRED_TOPOLOGY, schedulingextras.KUEUE_PREFERRED),
    (schedulingextras.UNCONSTRAINED_TOPOLOGY, schedulingextras.KUEUE_UNCONSTRAINED),
)
_SLICES = (schedulingextras.SLICE_TOPOLOGY, schedulingextras.KUEUE_SLICES, schedulingextras.KUEUE_SLICE)


def _of_modes(place: int, job: types.ReplicatedJob) -> Iterator[_Found]:
    asked = [extra for same in _MODES if (extra := _asked(job, *same))]
    if len(asked) > 1:
        first, *others = sorted(asked, key=lambda extra: not extra.key.startswith(extras.PREFIX))
        yield _error(place, first, f'excludes {", ".join(extra.key for extra in others)}; keep one of them')


def _of_slices(place: int, job: types.ReplicatedJob) -> Iterator[_Found]:
    given = topologies.annotations(job)
    level, size = schedulingextras.KUEUE_SLICE, schedulingextras.KUEUE_SLICE_SIZE
    for one, other in ((level, size), (size, level)):
        if one.key in given and other.key not in given:
            yield _error(place, one, f'says nothing without {other.key}; add it')
    asked = _asked(job, *_SLICES)
    wanted = topologies.wish(job).size
    if asked is not None and job.pods % wanted:
        pods = f'the {job.pods} pods of "{job.name}" cannot be cut into slices of {wanted}'
        yield _error(place, asked, f'{pods}; choose a size that divides their number')


def _of_least(place: int, job: types.ReplicatedJob) -> Iterator[_Found]:
    least = schedulingextras.MIN_PODS.of(job.job.metadata.annotations)
    if least is not None and least > job.pods:
        key = schedulingextras.MIN_PODS.key
        path = f'spec.replicatedJobs[{place}].template.metadata.annotations[{key}]'
        detail = f'{least} pods of "{job.name}" are needed, and there are {job.pods}; choose no more'
        yield place, key, fields.FieldError(fields.Kind.INVALID, path, detail)


def _of_names(jobset: types.JobSet) -> Iterator[_Found]:
    names = [job.name for job in jobset.spec.replicated_jobs]
    taken: dict[str, str] = {}
    for place, job in enumerate(jobset.spec.replicated_jobs):
        followers = schedulingextras.LEADER_OF.of(topologies.annotations(job))
        if followers is None:
            continue
        if followers == job.name:
            yield _error(place, schedulingextras.LEADER_OF, f'"{job.name}" cannot lead itself; name another')
        elif followers not in names:
            text = f'"{followers}" is no replicated job of this set; they are: {", ".join(names)}'
            yield _error(place, schedulingextras.LEADER_OF, text)
        elif followers in taken:
            text = f'"{followers}" is led by "{taken[followers]}" already; one leader is possible'
            yield _error(place, schedulingextras.LEADER_OF, text)
        taken.setdefault(followers, job.name)


def _of_groups(jobset: types.JobSet) -> Iterator[_Found]:
    for group, members in topologies.groups(jobset).items():
        pods = [jobset.spec.replicated_jobs[place].pods for place in members]
        if len(members) != 2 or 1 not in pods:
            text = f'"{group}" has replicated jobs of {", ".join(map(str, pods))} pods; use two, one of them with 1 pod'
            yield _error(members[0], schedulingextras.KUEUE_GROUP, text)


def _of_leaders(jobset: types.JobSet) -> Iterator[_Found]:
    jobs = jobset.spec.replicated_jobs
    leaders = topologies.leaders(jobset)
    together = stages.running(jobset, range(len(jobs))) if leaders else ()
    for followers, leader in leaders.items():
        if followers == leader:
            continue
        is_ours = schedulingextras.LEADER_OF.key in topologies.annotations(jobs[leader])
        key = schedulingextras.LEADER_OF if is_ours else schedulingextras.KUEUE_GROUP
        name = jobs[followers].name
        if jobs[leader].pods != 1:
            yield _error(leader, key, f'a leader is one pod, and "{jobs[leader].name}" has {jobs[leader].pods}')
        if followers in leaders.values():
            yield _error(leader, key, f'"{name}" leads others itself; name the replicated job that it leads')
        if any((leader in stage) != (followers in stage) for stage in together):
            yield _error(leader, key, f'"{name}" is not there at the same time, by dependsOn; remove it')
        own = topologies.wish(jobs[leader])
        if own.layers or (own.modes and own[:3] != topologies.wish(jobs[followers])[:3]):
            yield _error(leader, key, f'the leader goes where "{name}" goes; remove its own topology annotations')


def _unreadable(jobset: types.JobSet) -> Iterator[fields.FieldError]:
    for place, job in enumerate(jobset.spec.replicated_jobs):
        path = f'spec.replicatedJobs[{place}].template'
        yield from _read(f'{path}.metadata', job.job.metadata.annotations, schedulingextras.ON_JOB_TEMPLATE)
        known = (*schedulingextras.ON_POD_TEMPLATE, *schedulingextras.OF_KUEUE)
        yield from _read(f'{path}.spec.template.metadata', topologies.annotations(job), known)


def _read(path: str, given: Mapping[str, str] | None, known: Iterable[Extra[object]]) -> Iterator[fields.FieldError]:
    for extra in known:
        try:
            if given and extra.key in given:
                extra.parse(given[extra.key])
        except extras.ExtraError as error:
            yield fields.FieldError(fields.Kind.INVALID, f'{path}.annotations[{extra.key}]', str(error))
