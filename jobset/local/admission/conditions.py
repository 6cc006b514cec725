"""The match conditions of webhooks: expressions that must all be true for a request to be sent.

Source: ``admissionregistration.k8s.io/v1``, ``matchConditions``. The variable ``authorizer`` is not there.
"""

from collections.abc import Mapping
from typing import Any

from jobset.local.objects import Object


class ConditionError(Exception):
    """A condition cannot be evaluated for this request."""


class Condition:
    """One expression. Compiled when first needed: to load the evaluator takes longer than many a run."""

    def __init__(self, written: Mapping[str, Any]) -> None:
        self._expression = str(written.get('expression', ''))
        self._program: Any = None

    def holds(self, variables: Object) -> bool:
        """Its value for ``object``, ``oldObject`` and ``request``. Raises :class:`ConditionError`."""
        try:
            if self._program is None:
                import cel  # noqa: PLC0415 - see above

                self._program = cel.compile(self._expression)
            return self._program.execute(variables) is True
        except Exception as error:
            # Whatever the evaluator raises, it is about this expression.
            raise ConditionError(f"expression '{self._expression}' resulted in error: {_text(error)}") from error


def _text(error: Exception) -> str:
    return f'no such key: {error.args[0]}' if isinstance(error, KeyError) and error.args else str(error)
