"""The parameters of a request, and what of them writes, lists and deletions have in common.

Source: Kubernetes API concepts; meaning of odd values as kube-apiserver takes them.
"""

from typing import Final, Self
from urllib.parse import parse_qsl

import msgspec

from jobset.local.problems import Cause, Problem
from jobset.local.server import refusals

STRICT: Final = 'Strict'
WARN: Final = 'Warn'
IGNORE: Final = 'Ignore'


class Params:
    """A query string."""

    __slots__ = ('_values',)

    def __init__(self, query: str) -> None:
        self._values: dict[str, list[str]] = {}
        if query:
            for key, value in parse_qsl(query, keep_blank_values=True):
                self._values.setdefault(key, []).append(value)

    def text(self, key: str) -> str:
        """The first value; empty when there is none."""
        values = self._values.get(key)
        return values[0] if values else ''

    def all(self, key: str) -> list[str]:
        """All values."""
        return self._values.get(key, [])

    def flag(self, key: str) -> bool:
        """Whether it is given and does not say no."""
        return key in self._values and self.text(key).lower() not in ('0', 'false')

    def number(self, key: str) -> int | None:
        """A whole number. Raises Problem 400."""
        value = self.text(key)
        if not value:
            return None
        try:
            return int(value)
        except ValueError:
            raise Problem.bad_request(f'strconv.ParseInt: parsing "{value}": invalid syntax') from None

    def __bool__(self) -> bool:
        return bool(self._values)

    def __contains__(self, key: str) -> bool:
        return key in self._values


class Writing(msgspec.Struct):
    """How a write is meant."""

    dry_run: bool = False
    validation: str = WARN
    manager: str = ''
    """As given; empty when the client names none."""

    force: bool = False

    @classmethod
    def read(cls, params: Params, kind: str, *, warns: bool = True, is_apply: bool = False) -> Self:
        """``kind`` is that of the options, as CreateOptions. Raises Problem 422."""
        if not params and not is_apply:
            return cls(validation=WARN if warns else IGNORE)
        validation = params.text('fieldValidation')
        if validation not in ('', STRICT, WARN, IGNORE):
            text = f'Unsupported value: "{validation}": supported values: "", "Ignore", "Strict", "Warn"'
            raise refusals.options(kind, Cause('fieldValidation', text, 'FieldValueNotSupported'))
        manager = params.text('fieldManager')
        if len(manager) > 128:
            raise refusals.options(
                kind, Cause('fieldManager', 'Too long: may not be more than 128 bytes', 'FieldValueTooLong')
            )
        force = params.flag('force')
        if is_apply and not manager:
            text = 'Required value: is required for apply patch'
            raise refusals.options(kind, Cause('fieldManager', text, 'FieldValueRequired'))
        if force and not is_apply and kind == 'PatchOptions':
            text = 'Forbidden: may not be specified for non-apply patch'
            raise refusals.options(kind, Cause('force', text, 'FieldValueForbidden'))
        return cls(dry_run(params.all('dryRun'), kind), validation or (WARN if warns else IGNORE), manager, force)


def dry_run(values: list[str], kind: str) -> bool:
    """Whether nothing is to be stored. Raises Problem 422."""
    given = [value for value in values if value]
    if any(value != 'All' for value in given):
        shown = ','.join(f'"{value}"' for value in given)
        text = f'Unsupported value: [{shown}]: supported values: "All"'
        raise refusals.options(kind, Cause('dryRun', text, 'FieldValueNotSupported'))
    return bool(given)


def version(text: str) -> int:
    """A resource version as a number. Raises ValueError."""
    if not text.isascii() or not text.isdigit():
        raise ValueError(f'strconv.ParseUint: parsing "{text}": invalid syntax')
    return int(text)
