"""Whether enough indexes have succeeded, by the rules of ``spec.successPolicy``: one rule that holds is enough."""

from jobset.local.jobs import indexes
from jobset.local.jobs.types import SuccessPolicy, SuccessRule


def met(policy: SuccessPolicy | None, succeeded: indexes.Indexes, completions: int) -> str | None:
    """Which rule holds, in words; None for none."""
    for place, rule in enumerate(policy.rules if policy is not None else ()):
        if _holds(rule, succeeded, completions):
            return f'Matched rules at index {place}'
    return None


def _holds(rule: SuccessRule, succeeded: indexes.Indexes, completions: int) -> bool:
    if rule.succeeded_indexes is None:
        return rule.succeeded_count is not None and len(succeeded) >= rule.succeeded_count
    wanted = indexes.parse(rule.succeeded_indexes, completions)
    enough = len(wanted) if rule.succeeded_count is None else rule.succeeded_count
    return wanted.common(succeeded) >= enough
