"""What an attempt in place costs, where the set asks for more than its number: see :mod:`jobset.core.rounds`.

It is judged when the first rank announces it, and before any answer is given.
"""

from typing import Final

from jobset.api import features, types
from jobset.core import attempts, budgets, causes, conditions, failure, pauses, plan, ranks, rounds, status

CAUSE_SECONDS: Final = 3
"""How long an attempt may wait for its cause: an agent is often faster than the kubelet, which tells how containers
ended. Only sets wait that asked what restarts may cost, or to have it archived."""


def wants_loss(jobset: types.JobSet, seen: ranks.Ranks) -> bool:
    """Whether it matters why an attempt begins, and one does that is not judged yet."""
    if not attempts.wants_deaths(jobset) or jobset.suspended or seen.malformed:
        return False
    is_over = conditions.terminal(jobset.status) is not None
    return not is_over and seen.top > rounds.of(jobset.status).through


def seconds_for_cause(
    draft: status.Draft, jobset: types.JobSet, seen: ranks.Ranks, loss: causes.Loss, *, expected: int
) -> float:
    """For how long the cause of an attempt may still come; zero or less where it is known, or nobody asks."""
    is_known = loss.death != causes.NOBODY_KNOWS.death
    if is_known or seen.risen_at is None or not wants_loss(jobset, seen) or _is_scaled(draft.current, expected):
        return 0
    return CAUSE_SECONDS - (draft.now - seen.risen_at).total_seconds()


def judge(
    draft: status.Draft,
    jobset: types.JobSet,
    seen: ranks.Ranks,
    *,
    loss: causes.Loss,
    expected: int,
    gates: features.FeatureGates,
) -> plan.AttemptRecord | None:
    """Count the attempt that begins now, or end the set because it cannot be afforded; returns what is to be archived.

    ``expected`` is how many ranks the set is to have.
    """
    policy = jobset.spec.failure_policy or types.FailurePolicy()
    account = rounds.of(draft.current)
    # A container may be seen to have failed before its pod announces the attempt that is to be judged.
    coming = int(attempts.wants_deaths(jobset))
    if seen.most_restarts - account.free - coming > policy.max_restarts:
        # Somebody fails again and again while the others wait: no budget is for that.
        fail_at_max(draft)
        return attempts.in_place(draft, jobset, loss, account.through)
    if seen.malformed or seen.top <= account.through:
        return None
    charged = budgets.charge_in_place(jobset, loss)
    is_free = jobset.suspended or _is_scaled(draft.current, expected)
    if not is_free and charged is not None and not charged.is_affordable:
        budgets.end(draft, charged, f'first failed rank: {loss.rank or "unknown"}')
    elif not is_free and charged is None and failure.is_used_up(draft.current, policy, gates):
        fail_at_max(draft)
    else:
        counts = not is_free and charged is None
        grown = account._replace(
            through=seen.top, counted=account.counted + int(counts), free=account.free + int(not counts)
        )
        rounds.store(draft, grown)
        if charged is not None and not is_free:
            budgets.spend(draft, charged)
        if not is_free:
            pauses.begin_in_place(draft, jobset, seen.top, runs_since=account.runs_since)
    return None if is_free else attempts.in_place(draft, jobset, loss, account.through)


def fail_at_max(draft: status.Draft) -> None:
    """End the set, because no restart is left."""
    failure.fail(draft, 'ReachedMaxRestarts', 'jobset failed due to reaching max number of restarts')


def _is_scaled(current: types.Status, expected: int) -> bool:
    """Whether there are to be more or fewer ranks than ran last."""
    return rounds.of(current).ranks not in (0, expected)
