"""Label selectors as objects hold them (``matchLabels`` and ``matchExpressions``), made into functions."""

from collections.abc import Callable, Mapping
from typing import Any

Labels = Mapping[str, str]
Selector = Callable[[Labels], bool]


def selector(written: Mapping[str, Any] | None) -> Selector | None:
    """What tells whether labels are selected; None where everything is. Unknown operators select nothing."""
    if not written:
        return None
    wanted: Labels = written.get('matchLabels') or {}
    expressions = [_expression(one) for one in written.get('matchExpressions') or ()]
    if not wanted and not expressions:
        return None

    def matches(labels: Labels) -> bool:
        return all(labels.get(key) == value for key, value in wanted.items()) and all(
            holds(labels) for holds in expressions
        )

    return matches


def _expression(written: Mapping[str, Any]) -> Selector:
    key, values = str(written.get('key', '')), frozenset(written.get('values') or ())
    match written.get('operator'):
        case 'In':
            return lambda labels: labels.get(key) in values
        case 'NotIn':
            return lambda labels: labels.get(key) not in values
        case 'Exists':
            return lambda labels: key in labels
        case 'DoesNotExist':
            return lambda labels: key not in labels
        case _:
            return lambda _: False
