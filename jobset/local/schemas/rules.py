"""CEL rules of structural schemas (``x-kubernetes-validations``): compiled once, evaluated for each object.

Source: Kubernetes documentation, "Validation rules"; texts as kube-apiserver 1.37 gives them. What of the language and
its libraries is there is listed in :mod:`jobset.local.schemas.expressions`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobset.local.problems import Cause
from jobset.local.schemas import expressions, structure, uniqueness
from jobset.local.schemas.nodes import Node

_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, ready to be evaluated."""

    source: str
    condition: expressions.Expression
    message: str
    message_expression: expressions.Expression | None
    reason: str
    field: str
    """The path below the value that the mistake is reported for."""

    takes_no_old: bool
    """``optionalOldSelf``: a rule about changes that is looked at for new values too."""

    @property
    def is_transition(self) -> bool:
        """Whether it speaks of the old value."""
        return self.condition.uses_old


def compiled(rule: Mapping[str, Any], node: Node) -> Rule:
    """A rule of ``node``; raises :class:`expressions.RefusedError` when it, or its message, cannot be compiled."""
    message = rule.get('messageExpression') or ''
    return Rule(
        source=rule['rule'].strip(),
        condition=expressions.compiled(rule['rule'], node, is_optional=bool(rule.get('optionalOldSelf'))),
        message=(rule.get('message') or '').strip(),
        message_expression=expressions.compiled(message, node) if message else None,
        reason=rule.get('reason') or 'FieldValueInvalid',
        field=field_path(rule.get('fieldPath') or ''),
        takes_no_old=bool(rule.get('optionalOldSelf')),
    )


def field_path(path: str) -> str:
    """``.a['b.c']`` as it stands in causes: ``.a.b.c``."""
    return path.replace("['", '.').replace("']", '')


@dataclass(frozen=True, slots=True)
class _Plan:
    """Where in a value rules are."""

    node: Node
    rules: Sequence[Rule]
    members: Mapping[str, '_Plan']
    inner: '_Plan | None'


class Rules:
    """All rules of one schema."""

    def __init__(self, root: Node) -> None:
        self._plan = _plan(root)

    @property
    def empty(self) -> bool:
        """Whether there are none."""
        return self._plan is None

    def mistakes(self, obj: Any, old: Any = None) -> list[Cause]:
        """The rules that ``obj`` breaks. What has not changed since ``old`` is left alone."""
        found: list[Cause] = []
        if self._plan is not None:
            _walk(obj, _ABSENT if old is None else old, self._plan, '', found)
        return found


def _plan(node: Node) -> _Plan | None:
    rules = [compiled(rule, node) for rule in node.schema.get('x-kubernetes-validations') or ()]
    members = {name: plan for name, child in node.properties.items() if (plan := _plan_of(name, child)) is not None}
    inner_node = node.items or node.additional
    inner = _plan(inner_node) if inner_node is not None else None
    return _Plan(node, rules, members, inner) if rules or members or inner else None


def _plan_of(name: str, child: Node) -> _Plan | None:
    return None if name == 'metadata' and 'creationTimestamp' in child.properties else _plan(child)


def _walk(value: Any, old: Any, plan: _Plan, path: str, found: list[Cause]) -> None:
    if value is None or value is old or (old is not _ABSENT and value == old):
        return
    for rule in plan.rules:
        found.extend(_evaluated(rule, value, old, plan.node, path))
    if isinstance(value, dict):
        for name, child in plan.members.items():
            if name in value:
                _walk(value[name], _member(old, name), child, f'{path}.{name}' if path else name, found)
        if plan.inner is not None and plan.node.additional is not None:
            for name, part in value.items():
                if name not in plan.node.properties:
                    _walk(part, _member(old, name), plan.inner, f'{path}[{name}]', found)
    elif isinstance(value, list) and plan.inner is not None:
        before = uniqueness.partners(value, old, plan.node)
        for index, item in enumerate(value):
            _walk(item, before.get(index, _ABSENT), plan.inner, f'{path}[{index}]', found)


def _member(old: Any, name: str) -> Any:
    return old.get(name, _ABSENT) if isinstance(old, dict) else _ABSENT


def _evaluated(rule: Rule, value: Any, old: Any, node: Node, path: str) -> Iterator[Cause]:
    before = None if old is _ABSENT else old
    if rule.is_transition and old is _ABSENT and not rule.takes_no_old:
        return
    try:
        if rule.condition.holds(value, before):
            return
    except expressions.FailedError as error:
        kind = 'object' if isinstance(value, dict) else node.type or 'string'
        yield Cause(path, f'Invalid value: "{kind}": {error} evaluating rule: {rule.message or rule.source}')
        return
    yield _cause(rule, value, before, path)


def _cause(rule: Rule, value: Any, old: Any, path: str) -> Cause:
    text = _text(rule, value, old)
    where = f'{path}{rule.field}'.removeprefix('.')
    match rule.reason:
        case 'FieldValueForbidden':
            return Cause(where, f'Forbidden: {text}', rule.reason)
        case 'FieldValueRequired':
            return Cause(where, f'Required value: {text}', rule.reason)
        case 'FieldValueDuplicate':
            return Cause(where, f'Duplicate value: {structure.shown(value)}', rule.reason)
    # Composed values are left out: they may be long.
    given = '' if isinstance(value, dict | list) else f'{structure.shown(value)}: '
    return Cause(where, f'Invalid value: {given}{text}')


def _text(rule: Rule, value: Any, old: Any) -> str:
    if rule.message_expression is not None:
        try:
            made = rule.message_expression.value(value, old)
        except expressions.FailedError:
            made = None
        if isinstance(made, str) and made.strip() and '\n' not in made:
            return made.strip()
    return rule.message or f'failed rule: {rule.source}'
