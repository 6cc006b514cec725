"""When a JobSet is complete.

Source: JobSet API, ``successPolicy``. ``Any`` counts Jobs, not pods.

Where the targets have no Jobs at all, no success can ever come from them. Such a set is complete when nothing is left
to run: never earlier, because that would kill what still runs, and not never, because then it would wait for nothing.
"Any" of replicated jobs that do not exist, which only happens without admission, stays a wish that nobody can fulfil.
"""

from jobset.api import types
from jobset.core import family


def is_complete(jobset: types.JobSet, cohort: family.Cohort) -> bool:
    """Whether the Jobs that succeeded in the running attempt are enough."""
    policy = jobset.spec.success_policy or types.SuccessPolicy()
    targets = frozenset(policy.target_replicated_jobs)
    targeted = [job for job in jobset.spec.replicated_jobs if not targets or job.name in targets]
    possible = sum(job.count for job in targeted)
    wants_any = policy.operator == types.Operator.ANY
    if possible == 0 and (targeted or not wants_any or not targets):
        return not jobset.suspended and _nothing_left(jobset, cohort)
    matching = sum(tally.succeeded for name, tally in cohort.tallies.items() if not targets or name in targets)
    needed = 1 if wants_any else possible
    return matching >= needed


def _nothing_left(jobset: types.JobSet, cohort: family.Cohort) -> bool:
    """Whether every wanted Job has succeeded; failures are the failure policy's business."""
    return all(cohort.tally(job.name).succeeded >= job.count for job in jobset.spec.replicated_jobs)
