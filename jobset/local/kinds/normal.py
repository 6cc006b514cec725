"""Objects as a Go server would write them after reading them: the form in which they are compared and stored.

Nulls and empty lists and maps go; zeros, ``false`` and empty texts go unless the field is a pointer; what is always
written is there; quantities and times have their canonical form. Which fields are which, :mod:`.shapes` knows.

Normal forms of hundreds of thousands of objects are made in a simulation: a shape is compiled into one dictionary, and
the walk looks at each key once.
"""

import datetime
from collections.abc import Callable, Collection
from typing import Any, Final

from jobset.local import objects
from jobset.local.kinds import amounts, shapes
from jobset.local.objects import Object

Step = Callable[[Any], Any]
"""Gives the normal form of a value."""


class Plan:
    """How to bring objects of one shape into normal form."""

    __slots__ = ('_always', '_few', '_inner', '_kept')

    def __init__(self) -> None:
        self._inner: dict[str, Step] = {}
        """What is to be done with fields that hold more than a scalar."""

        self._few: tuple[tuple[str, Step], ...] | None = None
        """The same, where it is quicker to look for each of them than at each field of the object."""

        self._kept: frozenset[str] = frozenset()
        """The fields that are kept although they are empty; null is not kept."""

        self._always: tuple[tuple[str, Callable[[], Any]], ...] = ()
        """What is written when it is not given, and how it is made."""

    def fill(self, shape: shapes.Shape) -> None:
        """Make the plan for a shape."""
        kept, always = set(), []
        for field in shape.fields:
            if field.type == _MANAGED:
                # An empty list says something here, and whoever reads it judges the rest.
                kept.add(field.name)
                continue
            step = _step(field.type)
            if step is not None:
                self._inner[field.name] = step
            # A pointer, and what is always written, may be empty.
            if not field.omitted or field.type[0] == '*':
                kept.add(field.name)
            if not field.omitted:
                always.append((field.name, _zero(field.type)))
        self._kept, self._always = frozenset(kept), tuple(always)
        if len(self._inner) <= _FEW:
            self._few = tuple(self._inner.items())

    def apply(self, obj: Any) -> Any:
        """The object itself, changed in place."""
        if not all(obj.values()):
            self._drop_empty(obj)
        if self._few is not None:
            for key, step in self._few:
                if key in obj:
                    obj[key] = step(obj[key])
        else:
            inner = self._inner
            for key, value in obj.items():
                if key in inner:
                    obj[key] = inner[key](value)
        for key, make in self._always:
            if key not in obj:
                obj[key] = make()
        return obj

    def apply_beside(self, obj: Object, settled: Collection[str]) -> None:
        """As :meth:`apply`, but the fields named by ``settled`` are in normal form already."""
        self._drop_empty(obj)
        for key, step in self._inner.items():
            if key in obj and key not in settled:
                obj[key] = step(obj[key])
        for key, make in self._always:
            if key not in obj:
                obj[key] = make()

    def _drop_empty(self, obj: Object) -> None:
        kept = self._kept
        for key in [key for key, value in obj.items() if not value and (value is None or key not in kept)]:
            del obj[key]


_FEW: Final = 4
_MANAGED: Final = '[]meta.ManagedFieldsEntry'

_plans: Final[dict[str, Plan]] = {}


def plan(name: str) -> Plan:
    """The plan for a struct, as ``core.Pod``."""
    made = _plans.get(name)
    if made is not None:
        return made
    # Kept before it is complete: a struct may contain itself.
    made = _plans[name] = Plan()
    made.fill(shapes.load()[name])
    return made


def of(name: str, obj: Object) -> None:
    """Bring ``obj`` into normal form, in place."""
    plan(name).apply(obj)


def _step(type_: str) -> Step | None:
    """What is to be done with a value that is there; None when it stays as it is."""
    bare = type_.removeprefix('*')
    if bare in _SCALAR_STEPS:
        return _SCALAR_STEPS[bare]
    if bare.startswith('[]'):
        return _listed(bare[2:])
    if bare.startswith('{}'):
        return _mapped(bare[2:])
    return plan(bare).apply


def _listed(type_: str) -> Step:
    """Null in a list is what nobody gave."""
    step, make = _step(type_), _zero(type_)

    def given(value: Any) -> Any:
        return [make() if item is None else item for item in value] if None in value else value

    def tidy(value: Any) -> Any:
        value = given(value)
        for item in value:
            step(item)  # type: ignore[misc]
        return value

    def replace(value: Any) -> Any:
        return [step(item) for item in given(value)]  # type: ignore[misc]

    return given if step is None else tidy if '.' in type_ else replace


def _mapped(type_: str) -> Step:
    step, make = _step(type_), _zero(type_)

    def given(value: Any) -> Any:
        if None not in value.values():
            return value
        return {key: make() if item is None else item for key, item in value.items()}

    def replace(value: Any) -> Any:
        return {key: step(item) for key, item in given(value).items()}  # type: ignore[misc]

    return given if step is None else replace


def _amounts(value: Any) -> Any:
    for key, amount in value.items():
        value[key] = amounts.thousandths(amount if amount is not None else 0)
    return value


def _time(value: Any) -> Any:
    if len(value) == 20 and value[-1] == 'Z':
        return value
    return objects.stamp(_moment(value))


def _micro_time(value: Any) -> Any:
    if len(value) == 27 and value[-1] == 'Z':
        return value
    return objects.micro_stamp(_moment(value))


def _moment(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text.upper())


_SCALAR_STEPS: Final[dict[str, Step | None]] = dict.fromkeys(
    ('string', 'bool', 'int', 'float', 'bytes', 'intstr', 'raw')
) | {'quantity': amounts.canonical, 'time': _time, 'microtime': _micro_time, '{}quantity': _amounts}


def _zero(type_: str) -> Callable[[], Any]:
    """How a field that nobody gave is written."""
    match type_:
        case 'string' | 'bytes':
            return str
        case 'int' | 'float' | 'intstr':
            return int
        case 'bool':
            return bool
        case 'quantity':
            return lambda: '0'
    if '.' in type_ and type_[0] not in '*[{':
        return lambda: plan(type_).apply({})
    return lambda: None
