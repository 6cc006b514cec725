"""Whether the failure policy can be followed: its strategy, and each of its rules."""

import re
from collections.abc import Iterator, Set
from typing import Final

from jobset import re2
from jobset.api import features, jobs, types
from jobset.api.validation import fields

RULES: Final = 'spec.failurePolicy.rules'
PATTERNS_MOST: Final = 16 * 1024
"""Characters of all failure-message patterns of a JobSet together. The worst of that length take seconds to parse."""

RULE_NAME_MOST: Final = 128
RULE_NAME: Final = '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?'
"""A rule's name becomes part of the reason of a condition, which has this shape."""

RESTARTED_JOBS_MOST: Final = 1024
"""Jobs of one replicated job whose restarts can be counted one by one: the status lists them."""

_REASONS = frozenset(reason.value for reason in jobs.FailureReason)
_SINGLE_RESTARTS = frozenset({types.Action.RESTART_JOB, types.Action.RESTART_JOB_AND_IGNORE_MAX_RESTARTS})


def strategy(spec: types.Spec, gates: features.FeatureGates) -> list[fields.FieldError]:
    """The restart strategy must be switched on."""
    policy = spec.failure_policy
    if not policy or policy.restart_strategy != types.RestartStrategy.IN_PLACE_RESTART or gates.in_place_restart:
        return []
    text = 'InPlaceRestart restart strategy cannot be set when InPlaceRestart feature gate is disabled'
    return [fields.plain(text)]


def check(spec: types.Spec, gates: features.FeatureGates) -> list[fields.FieldError]:
    """The mistakes in the rules of ``spec.failurePolicy``."""
    policy = spec.failure_policy
    if policy is None:
        return []
    found: list[fields.FieldError] = []
    if any(rule.action in _SINGLE_RESTARTS for rule in policy.rules):
        if not gates.restart_job:
            text = (
                'RestartJob and RestartJobAndIgnoreMaxRestarts failure policy actions are not allowed '
                'when RestartJob feature gate is disabled'
            )
            return [fields.plain(text), *_patterns(policy)]
        if any(replicated.count > RESTARTED_JOBS_MOST for replicated in spec.replicated_jobs):
            text = (
                'JobSet cannot have a failure policy rule with RestartJob or RestartJobAndIgnoreMaxRestarts action '
                f'and a replicated job with replicas > {RESTARTED_JOBS_MOST}'
            )
            found.append(fields.plain(text))
    known = {replicated.name for replicated in spec.replicated_jobs}
    for rule in policy.rules:
        found += map(fields.plain, _rule(rule, known))
    found += map(fields.plain, _same_names(policy))
    found += _patterns(policy)
    return found


def _rule(rule: types.FailurePolicyRule, known: Set[str]) -> Iterator[str]:
    length = len(rule.name.encode())
    if not 1 <= length <= RULE_NAME_MOST:
        yield (
            f'invalid failure policy rule name of length {length}, the rule name must be at least 1 characters long '
            f'and at most {RULE_NAME_MOST} characters long'
        )
    if not re.fullmatch(RULE_NAME, rule.name):
        yield (
            f"invalid failure policy rule name '{rule.name}', a failure policy rule name must start with an alphabetic "
            "character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an "
            "alphanumeric character or '_'"
        )
    for target in rule.target_replicated_jobs:
        if target not in known:
            yield f"invalid replicatedJob name '{target}' in failure policy does not appear in .spec.ReplicatedJobs"
    for reason in rule.on_job_failure_reasons:
        if reason not in _REASONS:
            yield f"invalid job failure reason '{reason}' in failure policy is not a recognized job failure reason"


def _same_names(policy: types.FailurePolicy) -> Iterator[str]:
    places: dict[str, list[str]] = {}
    for i, rule in enumerate(policy.rules):
        places.setdefault(rule.name, []).append(str(i))
    for name, indexes in places.items():
        if len(indexes) > 1:
            yield f"rule names are not unique, rules with indices [{' '.join(indexes)}] all have the same name '{name}'"


def _patterns(policy: types.FailurePolicy) -> list[fields.FieldError]:
    """Patterns that Go refuses, or that are too large to be matched here: neither would ever decide anything.

    The Go controller admits both, and logs the former at each failure. What is parsed is bounded, because it costs time
    for everybody who waits to be admitted.
    """
    found = []
    left = PATTERNS_MOST
    for i, rule in enumerate(policy.rules):
        for j, pattern in enumerate(rule.on_job_failure_message_patterns):
            left -= len(pattern)
            try:
                if left < 0:
                    raise re2.PatternTooComplexError(
                        f'too long: all patterns of a JobSet may have {PATTERNS_MOST} characters together'
                    )
                re2.translate(re2.parse(pattern))
            except (re2.PatternError, re2.PatternTooComplexError) as error:
                path = f'{RULES}[{i}].onJobFailureMessagePatterns[{j}]'
                detail = f'must be a regular expression in RE2 syntax: {error}'
                found.append(fields.invalid(path, pattern, detail))
    return found
