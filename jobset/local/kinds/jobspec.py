"""The spec of a Job: numbers, policies, and the template of its pods."""

import itertools
from typing import Any, Final

from jobset.api.validation import names
from jobset.local.kinds import checks, faults, indexes, podspec, shown
from jobset.local.objects import Object
from jobset.local.problems import Cause

INDEXED: Final = 'Indexed'
_COUNTS: Final = (
    *('parallelism', 'completions', 'activeDeadlineSeconds', 'backoffLimit', 'ttlSecondsAfterFinished'),
    *('backoffLimitPerIndex', 'maxFailedIndexes'),
)
_PARALLELISM_MOST: Final = 100_000
_FAILED_INDEXES_MOST: Final = 100_000
_MANY_COMPLETIONS: Final = 100_000
_MOST_WITH_MANY: Final = 10_000
_RULES_MOST: Final = 20
_EXIT_CODES_MOST: Final = 255
_PATTERNS_MOST: Final = 20
_INDEXES_BYTES_MOST: Final = 64 * 1024
_MANAGED_BY_MOST: Final = 63
_ACTIONS: Final = ('Count', 'FailIndex', 'FailJob', 'Ignore')
_STATUSES: Final = ('False', 'True', 'Unknown')


def check(path: str, spec: Object) -> list[Cause]:
    """Mistakes in a spec."""
    causes = _numbers(path, spec)
    if (manager := spec.get('managedBy')) is not None:
        causes += _manager(f'{path}.managedBy', manager)
    mode = spec.get('completionMode')
    if mode == INDEXED:
        causes += _indexed(path, spec)
    elif mode == 'NonIndexed':
        for key in ('backoffLimitPerIndex', 'maxFailedIndexes'):
            if key in spec:
                causes.append(faults.invalid(f'{path}.{key}', spec[key], 'requires indexed completion mode'))
    else:
        causes.append(faults.unsupported(f'{path}.completionMode', mode, ('NonIndexed', INDEXED)))
    if 'podFailurePolicy' in spec:
        causes += _failure_policy(f'{path}.podFailurePolicy', spec)
    if (policy := spec.get('successPolicy')) is not None:
        if mode == INDEXED:
            causes += _success_policy(f'{path}.successPolicy', policy, spec.get('completions'))
        else:
            struct = shown.Inner('batch.SuccessPolicy', policy)
            causes.append(faults.invalid(f'{path}.successPolicy', struct, 'requires indexed completion mode'))
    causes += _replacement(path, spec)
    causes += podspec.template(f'{path}.template', spec['template'])
    causes += _restart_policy(path, spec)
    return causes + _selector(path, spec)


def _numbers(path: str, spec: Object) -> list[Cause]:
    causes: list[Cause] = []
    for key in _COUNTS:
        number = spec.get(key)
        if number is not None and number < 0:
            causes += faults.not_negative(f'{path}.{key}', number)
    if 'maxFailedIndexes' in spec and 'backoffLimitPerIndex' not in spec:
        text = 'when maxFailedIndexes is specified'
        causes.append(faults.required(f'{path}.backoffLimitPerIndex', text))
    return causes


def _manager(path: str, manager: str) -> list[Cause]:
    causes = [
        Cause(error.path, error.message, error.kind.reason) for error in names.domain_prefixed_path(path, manager)
    ]
    if len(manager.encode()) > _MANAGED_BY_MOST:
        causes.append(faults.too_long(path, _MANAGED_BY_MOST))
    return causes


def _indexed(path: str, spec: Object) -> list[Cause]:
    causes: list[Cause] = []
    completions, parallelism = spec.get('completions'), spec.get('parallelism')
    failed = spec.get('maxFailedIndexes')

    def most(key: str, number: int | None, limit: int, text: str) -> None:
        if number is not None and number > limit:
            causes.append(faults.invalid(f'{path}.{key}', number, f'must be less than or equal to {text}'))

    if completions is None:
        causes.append(faults.required(f'{path}.completions', f'when completion mode is {INDEXED}'))
    most('parallelism', parallelism, _PARALLELISM_MOST, f'{_PARALLELISM_MOST} when completion mode is {INDEXED}')
    if completions is not None:
        most('maxFailedIndexes', failed, completions, 'completions')
    most('maxFailedIndexes', failed, _FAILED_INDEXES_MOST, str(_FAILED_INDEXES_MOST))
    if completions is not None and completions > _MANY_COMPLETIONS and 'backoffLimitPerIndex' in spec:
        if failed is None:
            text = f'must be specified when completions is above {_MANY_COMPLETIONS}'
            causes.append(faults.required(f'{path}.maxFailedIndexes', text))
        text = f'{_MOST_WITH_MANY} when completions are above {_MANY_COMPLETIONS} and used with backoff limit per index'
        most('parallelism', parallelism, _MOST_WITH_MANY, text)
        most('maxFailedIndexes', failed, _MOST_WITH_MANY, text)
    return causes


def _failure_policy(path: str, spec: Object) -> list[Cause]:
    causes: list[Cause] = []
    rules = spec['podFailurePolicy'].get('rules') or ()
    if len(rules) > _RULES_MOST:
        causes.append(faults.too_many(f'{path}.rules', len(rules), _RULES_MOST))
    pod = spec['template'].get('spec') or {}
    known = {each.get('name') for key in ('containers', 'initContainers') for each in pod.get(key) or ()}
    for i, rule in enumerate(rules):
        causes += _failure_rule(f'{path}.rules[{i}]', rule, spec, known)
    return causes


def _failure_rule(at: str, rule: Object, spec: Object, known: set[Any]) -> list[Cause]:
    causes: list[Cause] = []
    action = rule.get('action')
    if not action:
        causes.append(faults.required(f'{at}.action', f'valid values: {_quoted(_ACTIONS)}'))
    elif action == 'FailIndex':
        if 'backoffLimitPerIndex' not in spec:
            text = 'requires the backoffLimitPerIndex to be set'
            causes.append(faults.invalid(f'{at}.action', action, text))
    elif action not in _ACTIONS:
        causes.append(faults.unsupported(f'{at}.action', action, _ACTIONS))
    codes, patterns = rule.get('onExitCodes'), rule.get('onPodConditions') or ()
    if codes is not None:
        causes += _exit_codes(f'{at}.onExitCodes', codes, known)
    if len(patterns) > _PATTERNS_MOST:
        causes.append(faults.too_many(f'{at}.onPodConditions', len(patterns), _PATTERNS_MOST))
    for j, pattern in enumerate(patterns):
        causes += _pattern(f'{at}.onPodConditions[{j}]', pattern)
    if codes is not None and patterns:
        text = 'specifying both OnExitCodes and OnPodConditions is not supported'
        causes.append(faults.senseless(at, text))
    if codes is None and not patterns:
        causes.append(faults.senseless(at, 'specifying one of OnExitCodes and OnPodConditions is required'))
    return causes


def _pattern(at: str, pattern: Object) -> list[Cause]:
    name, status = pattern.get('type', ''), pattern.get('status', '')
    causes = faults.each_invalid(f'{at}.type', name, checks.qualified_name(name))
    if not status:
        causes.append(faults.required(f'{at}.status', f'valid values: {_quoted(_STATUSES)}'))
    elif status not in _STATUSES:
        causes.append(faults.unsupported(f'{at}.status', status, _STATUSES))
    return causes


def _exit_codes(at: str, codes: Object, known: set[Any]) -> list[Cause]:
    causes: list[Cause] = []
    operator, name, values = codes.get('operator'), codes.get('containerName'), codes.get('values')
    if not operator:
        causes.append(faults.required(f'{at}.operator', f'valid values: {_quoted(("In", "NotIn"))}'))
    elif operator not in ('In', 'NotIn'):
        causes.append(faults.unsupported(f'{at}.operator', operator, ('In', 'NotIn')))
    if name is not None and name not in known:
        text = 'must be one of the container or initContainer names in the pod template'
        causes.append(faults.invalid(f'{at}.containerName', name, text))
    if not values:
        return [*causes, faults.invalid(f'{at}.values', values, 'at least one value is required')]
    if len(values) > _EXIT_CODES_MOST:
        causes.append(faults.too_many(f'{at}.values', len(values), _EXIT_CODES_MOST))
    seen: set[int] = set()
    for j, value in enumerate(values):
        if operator == 'In' and value == 0:
            causes.append(faults.invalid(f'{at}.values[{j}]', value, 'must not be 0 for the In operator'))
        if value in seen:
            causes.append(faults.duplicate(f'{at}.values[{j}]', value))
        seen.add(value)
    if any(first > second for first, second in itertools.pairwise(values)):
        causes.append(faults.invalid(f'{at}.values', values, 'must be ordered'))
    return causes


def _success_policy(path: str, policy: Object, completions: int | None) -> list[Cause]:
    causes: list[Cause] = []
    rules = policy.get('rules') or ()
    if not rules:
        text = 'at least one rules must be specified when the successPolicy is specified'
        causes.append(faults.required(f'{path}.rules', text))
    if len(rules) > _RULES_MOST:
        causes.append(faults.too_many(f'{path}.rules', len(rules), _RULES_MOST))
    for i, rule in enumerate(rules):
        causes += _success_rule(f'{path}.rules[{i}]', rule, completions or 0)
    return causes


def _success_rule(at: str, rule: Object, completions: int) -> list[Cause]:
    causes: list[Cause] = []
    number, listed = rule.get('succeededCount'), rule.get('succeededIndexes')
    if number is None and listed is None:
        text = 'at least one of succeededCount or succeededIndexes must be specified'
        causes.append(faults.required(at, text))
    total = 0
    if listed is not None:
        if len(listed) > _INDEXES_BYTES_MOST:
            causes.append(faults.too_long(f'{at}.succeededIndexes', _INDEXES_BYTES_MOST))
        try:
            total = indexes.count(listed, completions)
        except indexes.IndexesError as error:
            text = f'error parsing succeededIndexes: {error}'
            causes.append(faults.invalid(f'{at}.succeededIndexes', listed, text))
    if number is not None:
        where = f'{at}.succeededCount'
        causes += faults.not_negative(where, number)
        if number > completions:
            text = f'must be less than or equal to {completions} (the number of specified completions)'
            causes.append(faults.invalid(where, number, text))
        if listed is not None and number > total:
            what = 'the number of indexes in the specified succeededIndexes field'
            causes.append(faults.invalid(where, number, f'must be less than or equal to {total} ({what})'))
    return causes


def _replacement(path: str, spec: Object) -> list[Cause]:
    policy = spec.get('podReplacementPolicy')
    known = ('Failed',) if 'podFailurePolicy' in spec else ('Failed', 'TerminatingOrFailed')
    if policy is None or policy in known:
        return []
    return [faults.unsupported(f'{path}.podReplacementPolicy', policy, known)]


def _restart_policy(path: str, spec: Object) -> list[Cause]:
    policy, where = spec['template']['spec'].get('restartPolicy'), f'{path}.template.spec.restartPolicy'
    if policy == 'Never' or (policy == 'OnFailure' and 'podFailurePolicy' not in spec):
        return []
    if policy in (None, 'Always'):
        return [faults.required(where, 'valid values: "OnFailure", "Never"')]
    if policy != 'OnFailure':
        return [faults.unsupported(where, policy, ('OnFailure', 'Never'))]
    return [faults.invalid(where, policy, 'only "Never" is supported when podFailurePolicy is specified')]


def _selector(path: str, spec: Object) -> list[Cause]:
    selector, labels = spec.get('selector'), spec['template']['metadata'].get('labels') or {}
    if selector is None:
        causes = [faults.required(f'{path}.selector')]
        matching = False
    else:
        causes = checks.selector(f'{path}.selector', selector)
        matching = bool(causes) or checks.matches(selector, labels)
    if not matching:
        shown_labels = shown.Inner('{}string', labels or None)
        text = '`selector` does not match template `labels`'
        causes.append(faults.invalid(f'{path}.template.metadata.labels', shown_labels, text))
    return causes


def _quoted(words: tuple[str, ...]) -> str:
    """As Go prints a list of texts."""
    return f'[{" ".join(f"{chr(34)}{word}{chr(34)}" for word in words)}]'
