"""Cells that the tables of several kinds share."""

import dataclasses
import datetime
from collections.abc import Iterable, Mapping
from typing import Any, Final

from jobset.local.describing import ages, tables
from jobset.local.objects import Object

NONE: Final = '<none>'
UNSET: Final = '<unset>'
UNKNOWN: Final = '<unknown>'

NAME: Final = tables.NAME
AGE: Final = dataclasses.replace(tables.AGE, type='string')


def labels(found: Mapping[str, str] | None) -> str:
    """Labels in one cell."""
    return ','.join(f'{key}={found[key]}' for key in sorted(found)) if found else NONE


def selector(found: Mapping[str, Any] | None) -> str:
    """A label selector in one cell."""
    if found is None:
        return NONE
    parts = [(key, f'{key}={value}') for key, value in (found.get('matchLabels') or {}).items()]
    for expression in found.get('matchExpressions') or ():
        key, values = expression.get('key', ''), ','.join(sorted(expression.get('values') or ()))
        match expression.get('operator'):
            case 'In':
                parts.append((key, f'{key} in ({values})'))
            case 'NotIn':
                parts.append((key, f'{key} notin ({values})'))
            case 'Exists':
                parts.append((key, key))
            case _:
                parts.append((key, f'!{key}'))
    return ','.join(text for _, text in sorted(parts, key=lambda part: part[0])) or NONE


def since(stamp: object, now: datetime.datetime) -> str:
    """How long ago a time in an object was."""
    return ages.since(stamp, now)


def listed(values: Iterable[str]) -> str:
    """Texts in one cell."""
    return ','.join(values)


def condition(obj: Object, name: str) -> Object | None:
    """The condition of an object of this type, if it has it."""
    for found in (obj.get('status') or {}).get('conditions') or ():
        if found.get('type') == name:
            return dict(found)
    return None


def access_modes(modes: Iterable[str] | None) -> str:
    """Access modes in their short form, in the order of kubectl."""
    given = set(modes or ())
    short = {'ReadWriteOnce': 'RWO', 'ReadOnlyMany': 'ROX', 'ReadWriteMany': 'RWX', 'ReadWriteOncePod': 'RWOP'}
    return ','.join(text for mode, text in short.items() if mode in given)


def class_name(obj: Object) -> str:
    """The storage class of a volume or claim."""
    annotations = (obj.get('metadata') or {}).get('annotations') or {}
    found = annotations.get('volume.beta.kubernetes.io/storage-class')
    return str(found if found is not None else (obj.get('spec') or {}).get('storageClassName') or '')
