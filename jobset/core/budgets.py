"""What a restart costs, and whether it can be afforded.

Asked for by :data:`jobset.api.extras.RESTART_BUDGETS`. An entry takes the place of ``maxRestarts`` for the failures
that it names: those restarts count in the entry alone. It also allows them to a set without a failure policy, which
would fail otherwise. Rules go first: what they end stays ended, what they restart without counting is not counted
here, and whether all Jobs or one are made anew is for them to say. A restart in place is paid for alike.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from jobset.api import extras, features, jobs, types
from jobset.api.extravalues import FREE, Budgets
from jobset.core import causes, conditions, failure, memory, status


class Charge(NamedTuple):
    """A failure that falls under an entry."""

    key: str
    limit: int
    spent: int

    @property
    def is_affordable(self) -> bool:
        """Whether it may be answered by a restart."""
        return self.limit == FREE or self.spent < self.limit


def charge(
    jobset: types.JobSet,
    failed: Iterable[jobs.Job],
    answers: Mapping[failure.Question, bool],
    deaths: Mapping[str, causes.Death],
    gates: features.FeatureGates,
) -> tuple[failure.Decision, Charge] | None:
    """The entry that pays for these failures; None where the failure policy alone decides. ``deaths`` are by Job."""
    budgets = extras.RESTART_BUDGETS.of(jobset.metadata.annotations)
    if budgets is None:
        return None
    decision = failure.decide(jobset.spec.failure_policy or types.FailurePolicy(), failed, answers)
    failure.check(decision, gates)
    if decision.action not in (types.Action.RESTART_JOBSET, types.Action.RESTART_JOB):
        return None
    death = deaths.get(decision.job.metadata.name) or causes.of_job(decision.job)
    charged = _charge(budgets, jobset, decision.job.metadata.labels.replicated_job, death)
    return None if charged is None else (decision, charged)


def charge_in_place(jobset: types.JobSet, loss: causes.Loss) -> Charge | None:
    """The entry that pays for a restart in place; None where ``maxRestarts`` does."""
    budgets = extras.RESTART_BUDGETS.of(jobset.metadata.annotations)
    return None if budgets is None else _charge(budgets, jobset, loss.replicated_job, loss.death)


def apply(draft: status.Draft, jobset: types.JobSet, decision: failure.Decision, charged: Charge) -> jobs.Job | None:
    """Restart what is to be restarted, or end the set where the budget is used up; returns as :func:`failure.apply`."""
    if not charged.is_affordable:
        end(draft, charged, f'first failed job: {decision.job.metadata.name}')
        return None
    spend(draft, charged)
    if decision.action is types.Action.RESTART_JOB:
        return failure.restart_job(draft, jobset, decision, towards_max=False)
    failure.restart(draft, decision, towards_max=False)
    return None


def end(draft: status.Draft, charged: Charge, what_failed: str) -> None:
    """End the set, because a budget is used up."""
    what = f'all {charged.limit} restarts of the budget {charged.key} are used up'
    failure.fail(draft, 'RestartBudgetExhausted', f'jobset failed: {what} ({what_failed})')


def spend(draft: status.Draft, charged: Charge) -> None:
    """Note a restart that the entry pays for."""
    spent = {**_spent(draft.current), charged.key: charged.spent + 1}
    text = ', '.join(f'{key}={count}' for key, count in sorted(spent.items()))
    draft.set_silently(conditions.Notice(memory.BUDGETS, True, 'RestartsCounted', text))


def _charge(budgets: Budgets, jobset: types.JobSet, replicated_job: str, death: causes.Death) -> Charge | None:
    key = budgets.key(replicated_job, death.cause, death.exit_code)
    return None if key is None else Charge(key, budgets.limits[key], _spent(jobset.status).get(key, 0))


def _spent(stored: types.Status) -> dict[str, int]:
    """What the entries have paid for so far, over all attempts."""
    condition = conditions.find(stored, memory.BUDGETS)
    pairs = (pair.partition('=') for pair in condition.message.split(', ')) if condition is not None else ()
    return {key: int(count) for key, _, count in pairs if count.isdecimal()}
