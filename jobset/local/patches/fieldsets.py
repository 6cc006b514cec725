"""Sets of fields in the form in which they are stored, ``FieldsV1``, and what can be done with them.

A set is a map from steps to sets: ``f:name`` a field, ``k:{...}`` an element of a list of type map, ``v:...`` one of a
set, ``i:0`` one by its place. An empty map is a field that belongs to the set and has nothing below it; with something
below, ``.`` says that the field itself belongs too. Sets are values: nothing here changes one, and they share parts.

Source: Kubernetes API reference, ``FieldsV1``.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

Fields = dict[str, Any]

LEAF: Final[Fields] = {}
"""A field with nothing below it."""

SELF: Final = '.'


def union(first: Fields, second: Fields) -> Fields:
    """All fields of both sets; an empty map is an empty set here."""
    if not first or first is second:
        return second
    return _union(first, second) if second else first


def _union(first: Fields, second: Fields) -> Fields:
    if first is second:
        return first
    if not first:
        return second if not second or SELF in second else {SELF: LEAF, **second}
    if not second:
        return first if SELF in first else {SELF: LEAF, **first}
    made = dict(first)
    for step, part in second.items():
        there = made.get(step)
        made[step] = part if there is None else _union(there, part)
    return made


def difference(first: Fields, second: Fields) -> Fields:
    """The fields of the first set that are not in the second."""
    if not first or not second:
        return first
    return _difference(first, second) or {}


def _difference(first: Fields, second: Fields) -> Fields | None:
    """None: nothing is left."""
    taken = not second or SELF in second
    if not first:
        return None if taken else first
    made: Fields | None = None
    if taken and SELF in first:
        made = {step: part for step, part in first.items() if step != SELF}
    for step, part in second.items():
        there = first.get(step)
        if step == SELF or there is None:
            continue
        left = _difference(there, part)
        if left is not there:
            if made is None:
                made = dict(first)
            if left is None:
                del made[step]
            else:
                made[step] = left
    return first if made is None else _collapsed(made)


def intersection(first: Fields, second: Fields) -> Fields:
    """The fields that are in both sets."""
    if not first or not second:
        return {}
    return _intersection(first, second) or {}


def _intersection(first: Fields, second: Fields) -> Fields | None:
    if not first:
        return first if not second or SELF in second else None
    if not second:
        return second if SELF in first else None
    made = {}
    for step, part in second.items():
        there = first.get(step)
        if there is not None:
            both = _intersection(there, part)
            if both is not None:
                made[step] = both
    return _collapsed(made)


def _collapsed(fields: Fields) -> Fields | None:
    if not fields:
        return None
    return LEAF if len(fields) == 1 and SELF in fields else fields


def paths(fields: Fields, before: str = '') -> Iterator[str]:
    """The fields as they stand in messages, ``.spec.list[a="n",b=0].v``: those of a level before what is below them."""
    below = []
    for step in sorted(fields):
        if step == SELF:
            continue
        part, where = fields[step], f'{before}{_shown(step)}'
        if not part or SELF in part:
            yield where
        if part:
            below.append((part, where))
    for part, where in below:
        yield from paths(part, where)


def _shown(step: str) -> str:
    kind, rest = step.split(':', 1)
    match kind:
        case 'f':
            return f'.{rest}'
        case 'k':
            keys: Mapping[str, Any] = msgspec.json.decode(rest)
            return f'[{",".join(f"{name}={encoded(value)}" for name, value in sorted(keys.items()))}]'
        case 'v':
            return f'[={rest}]'
    return f'[{rest}]'


_ENCODER: Final = msgspec.json.Encoder(order='sorted')


def encoded(value: Any) -> str:
    """A value as JSON, with sorted keys."""
    return _ENCODER.encode(value).decode()


_MOST_KNOWN: Final = 2000
_known: dict[bytes, Fields] = {}


def shared(fields: Fields) -> Fields:
    """An equal set that is kept once for all objects that have it: most objects of a kind are written alike."""
    text = msgspec.json.encode(fields)
    found = _known.get(text)
    if found is None:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        found = _known[text] = fields
    return found
