"""How an attempt ends, and what the annotations of the set make of it: the restart engine of our own.

Without them this is the failure policy and nothing else. In this order: a budget may pay in place of ``maxRestarts``
(:mod:`jobset.core.budgets`), a pause begins (:mod:`jobset.core.pauses`), the end is archived
(:mod:`jobset.core.archive`), and failed pods are kept (:func:`kept`).
"""

from collections.abc import Iterable, Mapping

from jobset.api import extras, features, jobs, types
from jobset.api.extravalues import Cause
from jobset.core import (
    archive,
    budgets,
    causes,
    conditions,
    failure,
    family,
    limits,
    pauses,
    plan,
    rounds,
    singles,
    status,
)

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
    charged = budgets.charge(jobset, failed, answers, deaths, gates)
    if charged is not None:
        first, single = charged[0].job, budgets.apply(draft, jobset, *charged)
    else:
        single = failure.apply(draft, jobset, failed, answers=answers, gates=gates)
        first = failure.first(failed) if single is None else single
    is_whole = draft.current.restarts != draft.stored.restarts
    if is_whole:
        pauses.begin(draft, jobset, failed)
    if single is not None:
        pauses.begin_single(draft, jobset, single)
        limits.await_again(draft, jobset, single)
    if (is_whole or single is not None) and gates.in_place_restart and rounds.is_kept(jobset):
        rounds.cover(draft, is_whole=is_whole)
    if not _archives(jobset) or not (is_whole or single is not None or conditions.terminal(draft.current) is not None):
        return None
    death = deaths.get(first.metadata.name) or causes.of_job(first)
    return archive.entry(draft, first.metadata.name, death, own_attempt=_own_attempt(jobset, single))


def in_place(draft: status.Draft, jobset: types.JobSet, loss: causes.Loss, attempt: int) -> plan.AttemptRecord | None:
    """What is to be archived of an attempt in place that is over, because of this loss."""
    if not _archives(jobset):
        return None
    job = loss.rank.rpartition('-')[0]
    return archive.entry(draft, job, loss.death, in_place_attempt=attempt)


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


def _own_attempt(jobset: types.JobSet, single: jobs.Job | None) -> int | None:
    """The attempt of its own that a single Job is over with; None where it is that of the set."""
    if single is None:
        return None
    labels = single.metadata.labels
    return singles.attempt(jobset, labels.replicated_job, int(labels.job_index))


def _archives(jobset: types.JobSet) -> bool:
    return bool(extras.ARCHIVE_ATTEMPTS.of(jobset.metadata.annotations))
