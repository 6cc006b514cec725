"""Mistakes in fields, in the words of the API server. The one place that knows how each sort of them reads."""

from collections.abc import Iterable, Sequence
from typing import Any

from jobset.api.validation import fields
from jobset.local.kinds import shown
from jobset.local.problems import Cause

IMMUTABLE = 'field is immutable'


def invalid(path: str, value: object, detail: str) -> Cause:
    """The value is not acceptable."""
    return Cause(path, f'Invalid value: {shown.text(value)}: {detail}')


def senseless(path: str, detail: str) -> Cause:
    """Not acceptable, where the value is too large or says nothing: it is not shown."""
    return Cause(path, f'Invalid value: {detail}')


def each_invalid(path: str, value: object, details: Iterable[str]) -> list[Cause]:
    """One mistake for each reason against the value."""
    return [invalid(path, value, detail) for detail in details]


def required(path: str, detail: str = '') -> Cause:
    """There is no value."""
    return Cause(path, f'Required value: {detail}' if detail else 'Required value', 'FieldValueRequired')


def forbidden(path: str, detail: str) -> Cause:
    """There may not be such a value here, or not now."""
    return Cause(path, f'Forbidden: {detail}' if detail else 'Forbidden', 'FieldValueForbidden')


def unsupported(path: str, value: object, supported: Sequence[str]) -> Cause:
    """The value is none of the known ones."""
    choice = ', '.join(map(fields.quote, supported))
    return Cause(path, f'Unsupported value: {shown.text(value)}: supported values: {choice}', 'FieldValueNotSupported')


def duplicate(path: str, value: object) -> Cause:
    """The value was there before."""
    return Cause(path, f'Duplicate value: {shown.text(value)}', 'FieldValueDuplicate')


def not_found(path: str, value: object, detail: str = '') -> Cause:
    """The value names something that is not there."""
    text = f'Not found: {shown.text(value)}'
    return Cause(path, f'{text}: {detail}' if detail else text, 'FieldValueNotFound')


def too_long(path: str, most: int) -> Cause:
    """A text of more than ``most`` bytes."""
    return Cause(path, f'Too long: may not be more than {most} bytes', 'FieldValueTooLong')


def too_many(path: str, count: int, most: int) -> Cause:
    """A list of more than ``most`` items."""
    return Cause(path, f'Too many: {count}: must have at most {most} items', 'FieldValueTooMany')


def not_negative(path: str, value: int | None) -> list[Cause]:
    """The mistake of a number below 0; a number that is not there has none."""
    if value is None or value >= 0:
        return []
    return [invalid(path, value, 'must be greater than or equal to 0')]


def unchanged(path: str, value: Any, old: Any, shape: str = '') -> list[Cause]:
    """The mistake of a field that may not change and did. ``shape`` is the struct behind it, if it is one."""
    if value == old:
        return []
    return [invalid(path, shown.Inner(shape, value) if shape and value is not None else value, IMMUTABLE)]
