"""How an attempt ends, and what the annotations of the set make of it: the restart engine of our own.

Without them this is the failure policy and nothing else. In this order: a budget may pay in place of ``maxRestarts``
(:mod:`jobset.core.budgets`), a pause begins (:mod:`jobset.core.pauses`), the end is archived
(:mod:`jobset.core.archive`), and failed pods are kept (:func:`kept`).
"""

from collections.abc import Iterable, Mapping

from jobset.api import extras, features, jobs, types
from jobset.api.extravalues import Cause
from jobset.core import archive, budgets, causes, conditions, failure, family, limits, pauses, plan, status

Deaths = Mapping[str, causes.Death]
"""Why Jobs failed, by their name, as far as somebody has looked at their pods."""


def wants_deaths(jobset: types.JobSet) -> bool:
    """Whether it matters why a Job failed."""
    annotations = jobset.metadata.annotations
    return extras.RESTART_BUDGETS.key in annotations or bool(extras.ARCHIVE_ATTEMPTS.of(annotations))


def answer(
    draft: status.Draft,
    jobset: types.JobSet,
    failed: list[jobs.Job],
    *,
    answers: Mapping[failure.Question, bool],
    deaths: Deaths,
    gates: features.FeatureGates,
) -> plan.AttemptRecord | None:
    """Write the answer to failures into the draft; returns what is to be archived.

    Raises:
        plan.PassStoppedError: as :func:`failure.apply` does.
    """
    charged = budgets.charge(jobset, failed, answers, deaths)
    if charged is not None:
        budgets.apply(draft, charged)
    else:
        failure.apply(draft, jobset, failed, answers=answers, gates=gates)
    if draft.current.restarts != draft.stored.restarts:
        pauses.begin(draft, jobset, failed)
    first = charged.decision.job if charged is not None else failure.first(failed)
    return _record(draft, jobset, first, deaths)


def overrun(
    draft: status.Draft, jobset: types.JobSet, over: limits.Overrun, deaths: Deaths
) -> plan.AttemptRecord | None:
    """End the set because a limit is over."""
    death = deaths.get(over.job) or causes.Death(Cause.UNKNOWN, over.message)
    told = f'{over.message}; pod {death.pod}: {death.text}' if death.pod else over.message
    failure.fail(draft, over.reason, told)
    return archive.entry(draft, over.job, death) if _archives(jobset) else None


def kept(jobset: types.JobSet, old: Iterable[family.Cohort]) -> plan.Keeping | None:
    """The Jobs of earlier attempts whose failed pods are to stay."""
    attempts = extras.KEEP_FAILED.of(jobset.metadata.annotations)
    if attempts is None:
        return None
    refs = tuple(
        plan.JobRef(job.metadata.name, job.metadata.uid)
        for cohort in old
        for job in cohort.staying.values()
        if job.failing is not None or job.status.failed
    )
    return plan.Keeping(refs, attempts) if refs else None


def _record(draft: status.Draft, jobset: types.JobSet, job: jobs.Job, deaths: Deaths) -> plan.AttemptRecord | None:
    is_over = draft.current.restarts != draft.stored.restarts or conditions.terminal(draft.current) is not None
    if not is_over or not _archives(jobset):
        return None
    death = deaths.get(job.metadata.name) or causes.of_job(job)
    return archive.entry(draft, job.metadata.name, death)


def _archives(jobset: types.JobSet) -> bool:
    return bool(extras.ARCHIVE_ATTEMPTS.of(jobset.metadata.annotations))
