"""Whether the annotations under our own prefix are known, their values readable, and all of them fit each other."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from jobset.api import extras, schedulingextras, types
from jobset.api.extravalues import Trigger
from jobset.api.validation import fields, topologies


def check(jobset: types.JobSet, known_before: types.JobSet | None = None) -> list[fields.FieldError]:
    """The mistakes in annotations of the set and of its templates; what was admitted once is not judged again."""
    of_jobset = (*extras.ON_JOBSET, *schedulingextras.ON_JOBSET)
    found = _judge('metadata.annotations', jobset.metadata.annotations, _own(known_before), of_jobset)
    found = found or _together(jobset, _own(known_before))
    before = {job.name: job.job for job in known_before.spec.replicated_jobs} if known_before is not None else {}
    for i, replicated in enumerate(jobset.spec.replicated_jobs):
        path, job, earlier = f'spec.replicatedJobs[{i}].template', replicated.job, before.get(replicated.name)
        for where, given, admitted, known in (
            ('', job, earlier, schedulingextras.ON_JOB_TEMPLATE),
            ('.spec.template', job.spec.template, earlier and earlier.spec.template, schedulingextras.ON_POD_TEMPLATE),
        ):
            was = None if admitted is None else admitted.metadata.annotations
            found += _judge(f'{path}{where}.metadata.annotations', given.metadata.annotations, was, known)
    return found or topologies.check(jobset, known_before)


def _together(jobset: types.JobSet, admitted: Mapping[str, str] | None) -> list[fields.FieldError]:
    """What single values cannot tell: names of replicated jobs in them, and what makes sense beside another only."""
    annotations = jobset.metadata.annotations
    wrong: list[tuple[extras.Extra[object], str]] = []
    budgets = extras.RESTART_BUDGETS.of(annotations)
    names = [job.name for job in jobset.spec.replicated_jobs]
    for key in budgets.limits if budgets is not None else ():
        role, slash, _ = key.rpartition('/')
        if slash and role not in names:
            problem = f'{role!r} in {key!r} is no replicated job of this set; they are {", ".join(names) or "none"}'
            wrong.append((extras.RESTART_BUDGETS, problem))
    policy = jobset.spec.failure_policy
    is_in_place = policy is not None and policy.restart_strategy == types.RestartStrategy.IN_PLACE_RESTART
    if is_in_place and extras.RESTART_ON.of(annotations) is Trigger.POD_LOST:
        problem = (
            'PodLost cannot be answered beside spec.failurePolicy.restartStrategy InPlaceRestart, which restarts all '
            'ranks when a pod is lost; use FailureTarget, or leave it out'
        )
        wrong.append((extras.RESTART_ON, problem))
    if extras.FENCE_FINALIZERS.key in annotations and extras.FENCE_AFTER.key not in annotations:
        wrong.append((extras.FENCE_FINALIZERS, f'does nothing without {extras.FENCE_AFTER.key}; add it'))
    return [
        fields.FieldError(fields.Kind.INVALID, f'metadata.annotations[{extra.key}]', problem)
        for extra, problem in wrong
        if (admitted or {}).get(extra.key) != annotations[extra.key]
    ]


def _own(jobset: types.JobSet | None) -> Mapping[str, str] | None:
    return None if jobset is None else jobset.metadata.annotations


def _judge(
    path: str,
    annotations: Mapping[str, str] | None,
    admitted: Mapping[str, str] | None,
    known: Iterable[extras.Extra[Any]],
) -> list[fields.FieldError]:
    rows = {extra.key: extra for extra in known}
    found: list[fields.FieldError] = []
    for key, value in (annotations or {}).items():
        if not key.startswith(extras.PREFIX) or (admitted or {}).get(key) == value:
            continue
        if key not in rows:
            found.append(fields.FieldError(fields.Kind.INVALID, f'{path}[{key}]', _unknown(key, rows)))
            continue
        try:
            rows[key].parse(value)
        except extras.ExtraError as error:
            found.append(fields.FieldError(fields.Kind.INVALID, f'{path}[{key}]', str(error)))
    return found


def _unknown(key: str, known: Iterable[str]) -> str:
    names = sorted(known)
    close = difflib.get_close_matches(key, names, n=1)
    advice = f'did you mean {close[0]}?' if close else f'known here are: {", ".join(names) or "none"}'
    return f'{key} is no annotation of jobset; {advice}'
