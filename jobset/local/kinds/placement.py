"""Where a pod may run: affinities, tolerations, spreading, gates."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from jobset.local.kinds import checks, faults
from jobset.local.objects import Object
from jobset.local.problems import Cause

_REQUIRED: Final = 'requiredDuringSchedulingIgnoredDuringExecution'
_PREFERRED: Final = 'preferredDuringSchedulingIgnoredDuringExecution'
_EFFECTS: Final = ('NoSchedule', 'PreferNoSchedule', 'NoExecute')
_NO_OPERATOR: Final = 'not a valid selector operator'
_SET_AND_MATCHED: Final = 'exists in both matchLabelKeys and labelSelector'


def affinity(path: str, found: Mapping[str, Any] | None) -> list[Cause]:
    """Mistakes in ``affinity``."""
    if not found:
        return []
    causes: list[Cause] = []
    if (nodes := found.get('nodeAffinity')) is not None:
        if (required := nodes.get(_REQUIRED)) is not None:
            causes += node_selector(f'{path}.nodeAffinity.{_REQUIRED}', required)
        for i, term in enumerate(nodes.get(_PREFERRED) or ()):
            at = f'{path}.nodeAffinity.{_PREFERRED}[{i}]'
            causes += _weight(at, term)
            causes += _node_term(f'{at}.preference', term.get('preference') or {}, values=False)
    for key in ('podAffinity', 'podAntiAffinity'):
        pods = found.get(key) or {}
        for i, term in enumerate(pods.get(_REQUIRED) or ()):
            causes += _pod_term(f'{path}.{key}.{_REQUIRED}[{i}]', term)
        for i, term in enumerate(pods.get(_PREFERRED) or ()):
            at = f'{path}.{key}.{_PREFERRED}[{i}]'
            causes += _weight(at, term)
            causes += _pod_term(f'{at}.podAffinityTerm', term.get('podAffinityTerm') or {})
    return causes


def _weight(at: str, term: Object) -> list[Cause]:
    weight = term.get('weight', 0)
    return [] if 1 <= weight <= 100 else [faults.invalid(f'{at}.weight', weight, 'must be in the range 1-100')]


def node_selector(path: str, found: Object) -> list[Cause]:
    """Mistakes in terms of which a node must satisfy one."""
    terms = found.get('nodeSelectorTerms') or ()
    if not terms:
        return [faults.required(f'{path}.nodeSelectorTerms', 'must have at least one node selector term')]
    causes: list[Cause] = []
    for i, term in enumerate(terms):
        causes += _node_term(f'{path}.nodeSelectorTerms[{i}]', term, values=True)
    return causes


def _node_term(path: str, term: Object, *, values: bool) -> list[Cause]:
    causes: list[Cause] = []
    for i, expression in enumerate(term.get('matchExpressions') or ()):
        causes += _node_expression(f'{path}.matchExpressions[{i}]', expression, values=values)
    for i, expression in enumerate(term.get('matchFields') or ()):
        causes += _node_field(f'{path}.matchFields[{i}]', expression)
    return causes


def _node_expression(at: str, expression: Object, *, values: bool) -> list[Cause]:
    causes: list[Cause] = []
    given, operator = expression.get('values') or (), expression.get('operator', '')
    common = checks.values_of(at, operator, given)
    if common is not None:
        causes += common
    elif operator not in ('Gt', 'Lt'):
        causes.append(faults.invalid(f'{at}.operator', operator, _NO_OPERATOR))
    elif len(given) != 1:
        text = "must be specified single value when `operator` is 'Lt' or 'Gt'"
        causes.append(faults.required(f'{at}.values', text))
    key = expression.get('key', '')
    causes += faults.each_invalid(f'{at}.key', key, checks.qualified_name(key))
    if values:
        for i, value in enumerate(given):
            causes += faults.each_invalid(f'{at}.values[{i}]', value, checks.label_value(value))
    return causes


def _node_field(at: str, expression: Object) -> list[Cause]:
    causes: list[Cause] = []
    given, operator, key = expression.get('values') or (), expression.get('operator', ''), expression.get('key', '')
    if operator not in ('In', 'NotIn'):
        causes.append(faults.invalid(f'{at}.operator', operator, _NO_OPERATOR))
    elif len(given) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        causes.append(faults.required(f'{at}.values', text))
    if key != 'metadata.name':
        return [*causes, faults.invalid(f'{at}.key', key, 'not a valid field selector key')]
    for i, value in enumerate(given):
        causes += faults.each_invalid(f'{at}.values[{i}]', value, checks.dns_subdomain(value))
    return causes


def _pod_term(at: str, term: Object) -> list[Cause]:
    causes = checks.selector(f'{at}.labelSelector', term.get('labelSelector'))
    causes += checks.selector(f'{at}.namespaceSelector', term.get('namespaceSelector'))
    for name in term.get('namespaces') or ():
        causes += faults.each_invalid(f'{at}.namespace', name, checks.dns_label(name))
    wanted, unwanted = term.get('matchLabelKeys') or (), term.get('mismatchLabelKeys') or ()
    if wanted or unwanted:
        causes += _label_keys(at, wanted, unwanted, term.get('labelSelector'))
    key = term.get('topologyKey', '')
    if not key:
        causes.append(faults.required(f'{at}.topologyKey', 'can not be empty'))
    return causes + faults.each_invalid(f'{at}.topologyKey', key, checks.qualified_name(key))


def _label_keys(at: str, wanted: Sequence[str], unwanted: Sequence[str], selector: Object | None) -> list[Cause]:
    causes: list[Cause] = []
    for name, keys in (('matchLabelKeys', wanted), ('mismatchLabelKeys', unwanted)):
        if keys and selector is None:
            text = 'must not be specified when labelSelector is not set'
            causes.append(faults.forbidden(f'{at}.{name}', text))
        elif keys:
            for i, key in enumerate(keys):
                causes += faults.each_invalid(f'{at}.{name}[{i}]', key, checks.qualified_name(key))
    if selector is not None:
        seen = set(selector.get('matchLabels') or ())
        for expression in selector.get('matchExpressions') or ():
            key = expression.get('key', '')
            if key in wanted and key in seen:
                causes.append(faults.invalid(f'{at}[{list(wanted).index(key)}]', key, _SET_AND_MATCHED))
            seen.add(key)
    for i, key in enumerate(wanted):
        if key in unwanted:
            text = 'exists in both matchLabelKeys and mismatchLabelKeys'
            causes.append(faults.invalid(f'{at}.matchLabelKeys[{i}]', key, text))
    return causes


def tolerations(path: str, found: Sequence[Object]) -> list[Cause]:
    """Mistakes in tolerations."""
    causes: list[Cause] = []
    for i, toleration in enumerate(found):
        at = f'{path}[{i}]'
        key, operator, effect = toleration.get('key'), toleration.get('operator', ''), toleration.get('effect', '')
        value = toleration.get('value', '')
        if key:
            if reasons := checks.qualified_name(key):
                causes += faults.each_invalid(f'{at}.key', key, reasons)
        elif operator != 'Exists':
            text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            causes.append(faults.invalid(f'{at}.operator', operator, text))
        if toleration.get('tolerationSeconds') is not None and effect != 'NoExecute':
            text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            causes.append(faults.invalid(f'{at}.effect', effect, text))
        if operator in ('Equal', ''):
            if reasons := checks.label_value(value):
                causes.append(faults.invalid(f'{at}.operator', value, ';'.join(reasons)))
        elif operator == 'Exists':
            if value:
                text = "value must be empty when `operator` is 'Exists'"
                causes.append(faults.invalid(f'{at}.operator', value, text))
        else:
            known = ('Equal', 'Exists', 'Lt', 'Gt') if operator in ('Lt', 'Gt') else ('Equal', 'Exists')
            causes.append(faults.unsupported(f'{at}.operator', operator, known))
        if effect and effect not in _EFFECTS:
            causes.append(faults.unsupported(f'{at}.effect', effect, _EFFECTS))
    return causes


def spreading(path: str, constraints: Sequence[Object]) -> list[Cause]:
    """Mistakes in topology spread constraints."""
    causes: list[Cause] = []
    for i, constraint in enumerate(constraints):
        at = f'{path}[{i}]'
        if (skew := constraint.get('maxSkew', 0)) <= 0:
            causes.append(faults.invalid(f'{at}.maxSkew', skew, 'must be greater than zero'))
        key, action = constraint.get('topologyKey', ''), constraint.get('whenUnsatisfiable', '')
        if not key:
            causes.append(faults.required(f'{at}.topologyKey', 'can not be empty'))
        if action not in (known := ('DoNotSchedule', 'ScheduleAnyway')):
            causes.append(faults.unsupported(f'{at}.whenUnsatisfiable', action, known))
        if any(
            other.get('topologyKey', '') == key and other.get('whenUnsatisfiable', '') == action
            for other in constraints[i + 1 :]
        ):
            what = f'{at}.{{topologyKey, whenUnsatisfiable}}'
            causes.append(faults.duplicate(what, f'{{{key}, {action}}}'))
        if (domains := constraint.get('minDomains')) is not None:
            if domains <= 0:
                causes.append(faults.invalid(f'{at}.minDomains', domains, 'must be greater than zero'))
            if action != 'DoNotSchedule':
                text = f'can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}'
                causes.append(faults.invalid(f'{at}.minDomains', domains, text))
        causes += [
            faults.unsupported(f'{at}.{name}', constraint[name], ('Honor', 'Ignore'))
            for name in ('nodeAffinityPolicy', 'nodeTaintsPolicy')
            if constraint.get(name) not in (None, 'Honor', 'Ignore')
        ]
        if keys := constraint.get('matchLabelKeys'):
            causes += _label_keys(at, keys, (), constraint.get('labelSelector'))
        causes += checks.selector(f'{at}.labelSelector', constraint.get('labelSelector'))
    return causes


def gates(path: str, found: Sequence[Object]) -> list[Cause]:
    """Mistakes in scheduling gates."""
    causes: list[Cause] = []
    seen: set[str] = set()
    for i, gate in enumerate(found):
        name = gate.get('name', '')
        causes += faults.each_invalid(f'{path}[{i}]', name, checks.qualified_name(name))
        if name in seen:
            causes.append(faults.duplicate(f'{path}[{i}]', name))
        seen.add(name)
    return causes


def merge_label_keys(spec: Object, labels: Mapping[str, str]) -> None:
    """Turn the label keys of a new pod's terms into selectors of what the pod itself has under them, in place."""
    affinity = spec.get('affinity') or {}
    terms = list(spec.get('topologySpreadConstraints') or ())
    for key in ('podAffinity', 'podAntiAffinity'):
        pods = affinity.get(key) or {}
        terms += pods.get(_REQUIRED) or ()
        terms += [term.get('podAffinityTerm') or {} for term in pods.get(_PREFERRED) or ()]
    for term in terms:
        selector = term.get('labelSelector')
        if selector is None:
            continue
        for name, operator in (('matchLabelKeys', 'In'), ('mismatchLabelKeys', 'NotIn')):
            added = [
                {'key': key, 'operator': operator, 'values': [labels[key]]}
                for key in term.get(name) or ()
                if key in labels
            ]
            if added:
                selector['matchExpressions'] = [*(selector.get('matchExpressions') or ()), *added]
