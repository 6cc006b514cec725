"""The match conditions of webhooks: expressions that must all be true for a request to be sent.

Source: ``admissionregistration.k8s.io/v1``, ``matchConditions``. The variable ``authorizer`` is not there.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

_Parts = dict[str, Any]
"""Fields, each with the fields of it; none of a field that is needed as a whole."""


class ConditionError(Exception):
    """A condition cannot be evaluated for this request."""


class Condition:
    """One expression. Compiled when first needed: to load the evaluator takes longer than many a run."""

    def __init__(self, written: Mapping[str, Any]) -> None:
        self._expression = str(written.get('expression', ''))
        self._program: Any = None
        self._parts = _named(self._expression)

    def holds(self, variables: Mapping[str, Callable[[], Any]]) -> bool:
        """Its value for ``object``, ``oldObject`` and ``request``, each made if needed. Raises :class:`ConditionError`.

        The evaluator copies what it is given, and a pod is large: it gets the parts that the expression names.
        """
        known = {name: _narrowed(variables[name](), parts) for name, parts in self._parts.items()}
        try:
            if self._program is None:
                import cel  # noqa: PLC0415 - see above

                self._program = cel.compile(self._expression)
            return self._program.execute(known) is True
        except Exception as error:
            # Whatever the evaluator raises, it is about this expression.
            raise ConditionError(f"expression '{self._expression}' resulted in error: {_text(error)}") from error


_NAMES: Final = re.compile(r'\b(object|oldObject|request)\b((?:\.[A-Za-z_]\w*)*)(\s*\()?')


def _named(expression: str) -> _Parts:
    """What an expression may look at of each variable; rather too much than too little."""
    named: _Parts = {}
    whole: set[int] = set()
    for name, path, is_call in _NAMES.findall(expression):
        steps = [name, *path.split('.')[1:]]
        if is_call and path:
            # The last one is a function.
            del steps[-1]
        here = named
        for step in steps[:-1]:
            here = here.setdefault(step, {})
        last = here.setdefault(steps[-1], {})
        whole.add(id(last))
    return _cut(named, whole)


def _cut(parts: _Parts, whole: set[int]) -> _Parts:
    return {name: {} if id(inner) in whole else _cut(inner, whole) for name, inner in parts.items()}


def _narrowed(value: Any, parts: _Parts) -> Any:
    if not parts or not isinstance(value, dict):
        return value
    return {name: _narrowed(value[name], inner) for name, inner in parts.items() if name in value}


def _text(error: Exception) -> str:
    return f'no such key: {error.args[0]}' if isinstance(error, KeyError) and error.args else str(error)
