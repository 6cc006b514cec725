"""Which Jobs count as failed: upstream's answer, or an earlier one where the set asked for it.

Asked for by :data:`jobset.api.extras.RESTART_ON`. A Job gets its condition ``Failed`` only when the last of its pods
has ended, and it replaces pods up to its ``backoffLimit``; ranks that need each other wait for nothing meanwhile. A
loss counts as if the limit were zero, so that rules for ``BackoffLimitExceeded`` answer it, too. It is read from the
counter of failed pods in the status of the Job: that is never missed, whatever happened to the pod, to its events or to
us.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from jobset.api import extras, jobs, meta, types
from jobset.api.extravalues import Trigger
from jobset.core import family, inplace, memory, status

_UID_SHOWN: Final = 8
"""Characters of its uid that tell a Job from another one that was made under the same name."""


def failed(jobset: types.JobSet, cohort: family.Cohort) -> dict[str, jobs.Job]:
    """The Jobs to answer for, each with the ending that it has, or will have."""
    trigger = _trigger(jobset)
    if trigger is Trigger.JOB_FAILED:
        return cohort.failed
    before = _lost_before(jobset.status) if trigger is Trigger.POD_LOST else {}
    early = {
        name: _ended(job, condition)
        for name, job in cohort.active.items()
        if (condition := job.failing or _loss(job, trigger, before.get(_id(job), 0))) is not None
    }
    return {**early, **cohort.failed}


def ends_by_itself(jobset: types.JobSet, job: jobs.Job) -> bool:
    """Whether a Job of a set that has ended need not be deleted: we have not waited for what it waits for."""
    return _trigger(jobset) is not Trigger.JOB_FAILED and job.failing is not None


def note(draft: status.Draft, jobset: types.JobSet, cohort: family.Cohort) -> None:
    """Remember what was lost while the set was suspended: the counters stay, and it was free."""
    if _trigger(jobset) is not Trigger.POD_LOST or not jobset.suspended:
        return
    lost = sorted(f'{_id(job)}={job.status.failed}' for job in cohort.active.values() if job.status.failed)
    text = memory.packed(', '.join(lost))
    while len(text) > memory.TEXT_AT_MOST:
        # Losses that are not remembered are answered after the resume: a restart too many is better than none.
        lost = lost[: len(lost) * 3 // 4]
        text = memory.packed(', '.join(lost))
    if lost or memory.recall(draft.current, memory.LOST):
        memory.remember(draft, memory.LOST, 'JobSetSuspended', text)


def _trigger(jobset: types.JobSet) -> Trigger:
    """What counts. In place, a lost pod is answered already; two answers to one loss would be counted as two."""
    asked = extras.RESTART_ON.of(jobset.metadata.annotations) or Trigger.JOB_FAILED
    return Trigger.FAILURE_TARGET if asked is Trigger.POD_LOST and inplace.is_wanted(jobset) else asked


def _loss(job: jobs.Job, trigger: Trigger, before: int) -> meta.Condition | None:
    lost = job.status.failed or 0
    if trigger is not Trigger.POD_LOST or lost <= before or job.spec.suspend:
        return None
    return meta.Condition(
        type=jobs.JobCondition.FAILURE_TARGET,
        status='True',
        reason=jobs.FailureReason.BACKOFF_LIMIT_EXCEEDED,
        message='a pod of the job has failed or was lost',
    )


def _ended(job: jobs.Job, condition: meta.Condition) -> jobs.Job:
    """The Job as it will be: failed for the reason of the condition."""
    ending = msgspec.structs.replace(condition, type=jobs.JobCondition.FAILED.value)
    others = tuple(each for each in job.status.conditions or () if each is not condition)
    return msgspec.structs.replace(job, status=msgspec.structs.replace(job.status, conditions=(ending, *others)))


def _lost_before(stored: types.Status) -> Mapping[str, int]:
    try:
        text = memory.opened(memory.recall(stored, memory.LOST))
    except ValueError:
        return {}
    pairs = (pair.partition('=') for pair in text.split(', '))
    return {name: int(count) for name, _, count in pairs if count.isdecimal()}


def _id(job: jobs.Job) -> str:
    return f'{job.metadata.name}/{job.metadata.uid[:_UID_SHOWN]}'
