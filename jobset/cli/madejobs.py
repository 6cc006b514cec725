"""Whether the Jobs that a JobSet stands for would be taken by a server.

Admission of a JobSet looks only at the structure of its templates. A template that makes no Job is stored, and is then
heard of as an event, by those who look. Here the first Job of each replicated job is made and judged, as the controller
and the server would do it.
"""

import datetime
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from jobset.api import types
from jobset.core import children, jobs
from jobset.local import problems, resources
from jobset.local.kinds import jobs as job_kind
from jobset.local.problems import Cause

_MOMENT: Final = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)


def check(jobset: types.JobSet) -> Iterator[Cause]:
    """The mistakes, with their paths in the JobSet; ``jobset`` is as admitted."""
    factory = jobs.Factory(jobset)
    verdicts: dict[tuple[bytes, str, int], list[Cause]] = {}
    for place, group in enumerate(jobset.spec.replicated_jobs):
        child = next(children.wanted(jobset, place), None)
        if child is None:
            continue
        # Jobs of equal templates differ in names and marks, of which only the length can be wrong.
        key = (bytes(group.template), group.group_name, len(child.name))
        if key not in verdicts:
            verdicts[key] = _judged(factory.build(child))
        for cause in verdicts[key]:
            yield _placed(cause, place, group.name)


def _judged(made: object) -> list[Cause]:
    # The parts that all Jobs share are not to be changed.
    job: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(made))
    job['metadata']['uid'] = job['metadata']['name']
    kind = job_kind.kind()
    context = resources.Context(now=_MOMENT, look_up=lambda _kind, _namespace, _name: None)
    try:
        kind.schema.check(job)
        kind.rules.prepare_create(job, context)
        kind.rules.default(job)
        return [*kind.schema.validate(job), *kind.rules.validate(job)]
    except problems.Problem as problem:
        return list(problem.causes)


def _placed(cause: Cause, place: int, name: str) -> Cause:
    field = f'spec.replicatedJobs[{place}]'
    if cause.field.startswith('spec.'):
        field = f'{field}.template.{cause.field}'
    return Cause(field, f'{cause.message}; no Job of {name} could be created', cause.reason)
