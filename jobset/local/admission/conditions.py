"""The match conditions of webhooks: expressions that must all be true for a request to be sent.

Source: ``admissionregistration.k8s.io/v1``, ``matchConditions``. The variable ``authorizer`` is not there.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

_Parts = dict[str, Any]
"""Fields or keys, each with those in it that are needed; None where the value is needed as a whole."""


class ConditionError(Exception):
    """A condition cannot be evaluated for this request."""


class Condition:
    """One expression. Compiled when first needed: to load the evaluator takes longer than many a run."""

    def __init__(self, written: Mapping[str, Any]) -> None:
        self._expression = str(written.get('expression', ''))
        self._program: Any = None
        self._parts = _named(self._expression)
        # What came out for which parts: they are small, and nearly always the same few.
        self._known: dict[bytes, bool] = {}

    def holds(self, variables: Mapping[str, Callable[[], Any]]) -> bool:
        """Its value for ``object``, ``oldObject`` and ``request``, each made if needed. Raises :class:`ConditionError`.

        The evaluator copies what it is given, and a pod is large: it gets the parts that the expression names.
        """
        known = {name: _narrowed(variables[name](), parts) for name, parts in self._parts.items()}
        try:
            encoded = _encode(known)
            found = self._known.get(encoded)
            if found is None:
                found = self._evaluated(known)
                if len(encoded) <= _MOST_BYTES and len(self._known) < _MOST_KNOWN:
                    self._known[encoded] = found
            return found
        except Exception as error:
            # Whatever the evaluator raises, it is about this expression.
            raise ConditionError(f"expression '{self._expression}' resulted in error: {_text(error)}") from error

    def _evaluated(self, known: _Parts) -> bool:
        if self._program is None:
            import cel  # noqa: PLC0415 - see above

            self._program = cel.compile(self._expression)
        return self._program.execute(known) is True


_encode: Final = msgspec.json.Encoder().encode

_MOST_BYTES: Final = 1024
_MOST_KNOWN: Final = 1000

_PATH: Final = r'\b(object|oldObject|request)\b((?:\.[A-Za-z_]\w*+)*+)'
_SIGHT: Final = re.compile(
    rf'\bhas\(\s*{_PATH}\s*\)'
    rf"""|(?<!\w)(?:'([^'\\]*)'|"([^"\\]*)")\s+in\s+{_PATH}(?!\s*[\w.?\[(])"""
    rf'|{_PATH}(\s*\()?'
)
"""A look at a variable: whether a field is there, whether a map has a key, or at the value, of which a call is made."""


def _named(expression: str) -> _Parts:
    """What an expression may look at of each variable; rather too much than too little."""
    named: _Parts = {}
    for has, has_path, one, other, holder, holder_path, name, path, is_call in _SIGHT.findall(expression):
        if has:
            _add(named, [has, *has_path.split('.')[1:]], {})
        elif holder:
            _add(named, [holder, *holder_path.split('.')[1:]], {one or other: None})
        else:
            # The last step of a call is a function.
            _add(named, [name, *path.split('.')[1 : -1 if is_call and path else None]], None)
    return named


def _add(parts: _Parts, path: Sequence[str], what: _Parts | None) -> None:
    *steps, last = path
    for step in steps:
        inner = parts.setdefault(step, {})
        if inner is None:
            return
        parts = inner
    if what is None or parts.get(last, what) is None:
        parts[last] = None
    else:
        parts[last] = (parts.get(last) or {}) | what


def _narrowed(value: Any, parts: _Parts | None) -> Any:
    if parts is None or not isinstance(value, dict):
        return value
    return {name: _narrowed(value[name], inner) for name, inner in parts.items() if name in value}


def _text(error: Exception) -> str:
    return f'no such key: {error.args[0]}' if isinstance(error, KeyError) and error.args else str(error)
