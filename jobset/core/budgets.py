"""What a restart costs, and whether it can be afforded.

Asked for by :data:`jobset.api.extras.RESTART_BUDGETS`. An entry takes the place of ``maxRestarts`` for the failures
that it names: those restarts count in the entry alone. It also allows them to a set without a failure policy, which
would fail otherwise. Rules go first: what they end stays ended, and what they restart without counting is not counted
here.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from jobset.api import extras, jobs, types
from jobset.api.extravalues import FREE, Budgets
from jobset.core import causes, conditions, failure, memory, status


class Charge(NamedTuple):
    """A failure that falls under an entry."""

    decision: failure.Decision
    key: str
    limit: int
    spent: int

    @property
    def is_affordable(self) -> bool:
        """Whether the set may restart."""
        return self.limit == FREE or self.spent < self.limit


def charge(
    jobset: types.JobSet,
    failed: Iterable[jobs.Job],
    answers: Mapping[failure.Question, bool],
    deaths: Mapping[str, causes.Death],
) -> Charge | None:
    """The entry that pays for these failures; None where the failure policy alone decides. ``deaths`` are by Job."""
    budgets = extras.RESTART_BUDGETS.of(jobset.metadata.annotations)
    if budgets is None:
        return None
    decision = failure.decide(jobset.spec.failure_policy or types.FailurePolicy(), failed, answers)
    if decision.action is not types.Action.RESTART_JOBSET:
        return None
    key = _key(budgets, decision.job, deaths)
    if key is None:
        return None
    return Charge(decision, key, budgets.limits[key], _spent(jobset.status).get(key, 0))


def apply(draft: status.Draft, charged: Charge) -> None:
    """Restart the set, or end it where the budget is used up."""
    job = charged.decision.job.metadata.name
    if not charged.is_affordable:
        what = f'all {charged.limit} restarts of the budget {charged.key} are used up'
        failure.fail(draft, 'RestartBudgetExhausted', f'jobset failed: {what} (first failed job: {job})')
        return
    failure.restart(draft, charged.decision, towards_max=False)
    spent = {**_spent(draft.current), charged.key: charged.spent + 1}
    text = ', '.join(f'{key}={count}' for key, count in sorted(spent.items()))
    draft.set_silently(conditions.Notice(memory.BUDGETS, True, 'RestartsCounted', text))


def _key(budgets: Budgets, job: jobs.Job, deaths: Mapping[str, causes.Death]) -> str | None:
    death = deaths.get(job.metadata.name) or causes.of_job(job)
    return budgets.key(job.metadata.labels.replicated_job, death.cause, death.exit_code)


def _spent(stored: types.Status) -> dict[str, int]:
    """What the entries have paid for so far, over all attempts."""
    condition = conditions.find(stored, memory.BUDGETS)
    pairs = (pair.partition('=') for pair in condition.message.split(', ')) if condition is not None else ()
    return {key: int(count) for key, _, count in pairs if count.isdecimal()}
