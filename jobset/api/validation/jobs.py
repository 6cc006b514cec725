"""Whether the replicated jobs can be made: names, sizes and dependencies, and what in-place restart asks of them."""

from collections.abc import Set
from typing import Final

from jobset.api import features, types
from jobset.api.templates import CompletionMode
from jobset.api.validation import fields, names

INT32_MOST: Final = 2**31 - 1

_POD_SUFFIX = 'abcde'
"""Stands for the five random characters that end the name of a pod."""


def first(spec: types.Spec) -> list[fields.FieldError]:
    """The first replicated job has nothing before it to wait for; an empty list of dependencies is one too many."""
    if spec.replicated_jobs and spec.replicated_jobs[0].depends_on is not None:
        return [fields.plain("DependsOn can't be set for the first ReplicatedJob")]
    return []


def check(spec: types.Spec, *, jobset_name: str, gates: features.FeatureGates) -> list[fields.FieldError]:
    """Every mistake in ``spec.replicatedJobs``, entry by entry."""
    strategy = spec.failure_policy.restart_strategy if spec.failure_policy else None
    in_place = gates.in_place_restart and strategy == types.RestartStrategy.IN_PLACE_RESTART
    found: list[fields.FieldError] = []
    earlier: set[str] = set()
    for i, replicated in enumerate(spec.replicated_jobs):
        path = f'spec.replicatedJobs[{i}]'
        found += _size(replicated)
        found += _label(
            f'{path}.groupName',
            replicated.group_name,
            judged=replicated.group_name,
            too_long='.spec.replicatedJob[].groupName is too long, must be less than 63 characters',
        )
        found += _generated_names(path, replicated, jobset_name)
        found += _dependencies(replicated, earlier)
        earlier.add(replicated.name)
        if in_place:
            found += _in_place(path, replicated)
    return found


def _size(replicated: types.ReplicatedJob) -> list[fields.FieldError]:
    parallelism = replicated.job.spec.parallelism
    if (1 if parallelism is None else parallelism) * replicated.count <= INT32_MOST:
        return []
    return [
        fields.plain(
            f'the product of replicas and parallelism must not exceed {INT32_MOST} '
            f"for replicatedJob '{replicated.name}'"
        )
    ]


def _generated_names(path: str, replicated: types.ReplicatedJob, jobset_name: str) -> list[fields.FieldError]:
    """The longest names that will be made must be host names: the Job's, and the pod's where pods have indexes."""
    # Zero replicas give "--1", a legal end of a name that nobody will ever bear.
    job_name = f'{jobset_name}-{replicated.name}-{replicated.count - 1}'
    too_long = 'JobSet name is too long, {} names generated for this JobSet will exceed 63 characters'
    found = _label(f'{path}.name', job_name, judged=job_name, too_long=too_long.format('job'))
    job = replicated.job.spec
    if job.completion_mode == CompletionMode.INDEXED and job.completions is not None:
        pod_name = f'{job_name}-{job.completions - 1}-{_POD_SUFFIX}'
        found += _label(f'{path}.name', job_name, judged=pod_name, too_long=too_long.format('pod'))
    return found


def _label(path: str, shown: str, *, judged: str, too_long: str) -> list[fields.FieldError]:
    return [
        fields.invalid(path, shown, too_long if reason == names.TOO_LONG_LABEL else reason)
        for reason in names.dns_1035_label(judged)
    ]


def _dependencies(replicated: types.ReplicatedJob, earlier: Set[str]) -> list[fields.FieldError]:
    """A dependency comes earlier in the list. The Go controller also admits the job itself, which then never starts."""
    found = []
    for dependency in replicated.depends_on or ():
        refusal = f'replicatedJob: {replicated.name} cannot depend on replicatedJob: {dependency.name}'
        if dependency.name not in earlier:
            itself = dependency.name == replicated.name
            found.append(fields.plain(f'{refusal}: it would wait for itself and never start' if itself else refusal))
    return found


def _in_place(path: str, replicated: types.ReplicatedJob) -> list[fields.FieldError]:
    job = replicated.job.spec
    found = []

    def demand(met: bool, field: str, value: str | int | None, text: str) -> None:
        if not met:
            detail = f'replicatedJob {replicated.name}: {text} when in-place restart is enabled'
            # A text is shown in quotes and a number bare; what is absent, as null.
            found.append(fields.invalid(f'{path}.template.spec.{field}', value, detail))

    demand(
        job.backoff_limit == INT32_MOST, 'backoffLimit', job.backoff_limit, f'must be set to {INT32_MOST} (MaxInt32)'
    )
    demand(
        job.pod_replacement_policy == 'Failed',
        'podReplacementPolicy',
        job.pod_replacement_policy,
        'must be set to Failed',
    )
    demand(
        job.completions is not None and job.completions == job.parallelism,
        'completions',
        job.completions,
        'completions and parallelism must be set and equal to each other',
    )
    return found
