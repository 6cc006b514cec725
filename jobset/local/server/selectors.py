"""Label and field selectors: read from a parameter, and asked about objects.

Source: Kubernetes, "Labels and Selectors" (grammar) and "Field Selectors"; error texts as kube-apiserver gives them.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from jobset.local import objects
from jobset.local.objects import Object
from jobset.local.problems import Problem
from jobset.local.resources import Kind
from jobset.local.server import metadata

Labels = Mapping[str, str]

_SYMBOLS: Final = frozenset({',', '(', ')', '=', '==', '!=', '<', '>'})

_TOKEN: Final = re.compile(r'\s*(==|!=|=|!|,|\(|\)|<|>|[^\s=!,()<>]+|$)')


@dataclass(frozen=True)
class Requirement:
    """One part of a label selector; all of them must hold."""

    key: str
    operator: str
    """``in``, ``notin``, ``exists``, ``!``, ``>`` or ``<``."""

    values: frozenset[str] = frozenset()

    def matches(self, labels: Labels) -> bool:
        """Whether it holds for an object with these labels."""
        value = labels.get(self.key)
        match self.operator:
            case 'in':
                return value is not None and value in self.values
            case 'notin':
                # An object without the label is not in the set either.
                return value is None or value not in self.values
            case 'exists':
                return value is not None
            case '!':
                return value is None
            case _:
                return self._compare(value)

    def _compare(self, value: str | None) -> bool:
        try:
            number, bound = int(value or ''), int(next(iter(self.values)))
        except ValueError:
            return False
        return number > bound if self.operator == '>' else number < bound


@dataclass(frozen=True)
class Selector:
    """Which objects a request is about."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[tuple[Callable[[Object], str], bool, str], ...] = ()
    """How to get the value of the field, whether it must be equal, and to what."""

    name: str = ''
    """The one name that is asked for, if it is one."""

    @property
    def takes_all(self) -> bool:
        """Whether it leaves nothing out."""
        return not self.labels and not self.fields

    def matches(self, obj: Object) -> bool:
        """Whether an object is meant."""
        if self.labels:
            found = objects.metadata(obj).get('labels') or {}
            if not all(one.matches(found) for one in self.labels):
                return False
        return all((read(obj) == value) is wanted for read, wanted, value in self.fields)

    def matches_labels(self, labels: Labels) -> bool:
        """Whether an object with these labels is meant, where ``fields`` is empty."""
        return all(one.matches(labels) for one in self.labels)


ALL: Final = Selector()


def parse(kind: Kind, label_selector: str, field_selector: str) -> Selector:
    """The selector of a request. Raises Problem 400."""
    if not label_selector and not field_selector:
        return ALL
    found = fields(kind, field_selector)
    names = [value for key, wanted, value in _field_terms(field_selector) if key == 'metadata.name' and wanted]
    return Selector(labels(label_selector), found, names[0] if names else '')


@lru_cache(maxsize=1024)
def labels(text: str) -> tuple[Requirement, ...]:
    """The requirements of a label selector. Raises Problem 400."""
    if not text.strip():
        return ()
    return tuple(_Parser(text).requirements())


def fields(kind: Kind, text: str) -> tuple[tuple[Callable[[Object], str], bool, str], ...]:
    """The conditions of a field selector. Raises Problem 400."""
    found = []
    for key, wanted, value in _field_terms(text):
        read = _readers(kind).get(key)
        if read is None:
            raise Problem.bad_request(_unknown_field(kind, key))
        found.append((read, wanted, value))
    return tuple(found)


def _readers(kind: Kind) -> Mapping[str, Callable[[Object], str]]:
    common: dict[str, Callable[[Object], str]] = {'metadata.name': objects.name}
    if kind.namespaced:
        common['metadata.namespace'] = objects.namespace
    return common | dict(kind.selectable)


def _unknown_field(kind: Kind, key: str) -> str:
    if kind.selectable:
        return f'field label not supported: {key}'
    return f'"{key}" is not a known field selector: only "metadata.name", "metadata.namespace"'


def _field_terms(text: str) -> Iterator[tuple[str, bool, str]]:
    for term in re.split(r'(?<!\\),', text):
        if not term:
            continue
        for operator, wanted in (('!=', False), ('==', True), ('=', True)):
            key, found, value = term.partition(operator)
            if found:
                yield key, wanted, re.sub(r'\\(.)', r'\1', value)
                break
        else:
            raise Problem.bad_request(f"invalid selector: '{text}'; can't understand '{term}'")


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = [match[1] for match in _TOKEN.finditer(text)]
        if self._tokens[-1] != '':
            self._tokens.append('')
        self._place = 0

    def requirements(self) -> Iterator[Requirement]:
        while True:
            token = self._peek()
            if token in _SYMBOLS:
                raise Problem.bad_request(f"found '{token}', expected: !, identifier, or 'end of string'")
            yield self._requirement()
            token = self._take()
            if not token:
                return
            if token != ',':  # noqa: S105
                raise Problem.bad_request(f"found '{token}', expected: ',' or 'end of string'")
            if self._peek() in ('', ','):
                raise Problem.bad_request(f"found '{self._peek()}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        if self._peek() == '!':
            self._take()
            return Requirement(self._key(), '!')
        key = self._key()
        operator = self._peek()
        if operator in ('', ','):
            return Requirement(key, 'exists')
        self._take()
        match operator:
            case 'in' | 'notin':
                return Requirement(key, operator, self._values())
            case '=' | '==':
                return Requirement(key, 'in', frozenset({self._value()}))
            case '!=':
                return Requirement(key, 'notin', frozenset({self._value()}))
            case '<' | '>':
                return Requirement(key, operator, frozenset({self._number()}))
            case _:
                wanted = 'in, notin, =, ==, !=, gt, lt'
                raise self._unparsed(f"found '{operator}', expected: {wanted}")

    def _key(self) -> str:
        key = self._take()
        if not key or key in ('in', 'notin') or not re.match(r'[^=!,()<>]', key):
            raise self._unparsed(f"found '{key}', expected: identifier")
        for reason in metadata.qualified_name(key):
            raise self._unparsed(f'<nil>: Invalid value: "{key}": {reason}')
        return key

    def _value(self) -> str:
        if self._peek() in ('', ','):
            return ''
        value = self._take()
        if value in _SYMBOLS:
            raise self._unparsed(f"found '{value}', expected: identifier")
        return self._judged(value)

    def _values(self) -> frozenset[str]:
        opening = self._take()
        if opening != '(':
            raise self._unparsed(f"found '{opening}' expected: '('")
        values: set[str] = set()
        current = ''
        while True:
            token = self._take()
            match token:
                case ')':
                    values.add(self._judged(current))
                    return frozenset(values)
                case ',':
                    values.add(self._judged(current))
                    current = ''
                case '':
                    raise self._unparsed("found '', expected: ',' or ')'")
                case _ if current:
                    raise self._unparsed(f"found '{token}', expected: ',' or ')'")
                case _:
                    current = token

    def _number(self) -> str:
        value = self._take()
        if not re.fullmatch(r'-?\d+', value):
            why = "for 'Gt', 'Lt' operators, the value must be an integer"
            raise self._unparsed(f'values[0]: Invalid value: "{value}": {why}')
        return value

    def _judged(self, value: str) -> str:
        for reason in metadata.label_value(value):
            raise self._unparsed(f'values[0]: Invalid value: "{value}": {reason}')
        return value

    def _peek(self) -> str:
        return self._tokens[self._place]

    def _take(self) -> str:
        token = self._tokens[self._place]
        if token:
            self._place += 1
        return token

    def _unparsed(self, why: str) -> Problem:
        return Problem.bad_request(f'unable to parse requirement: {why}')
