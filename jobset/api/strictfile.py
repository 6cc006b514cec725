"""A YAML file read strictly into dataclasses: each mistake is told with its file, line and field.

Field names are the dataclass' own in camel case. A field that is unknown or given twice is a mistake; null, and an
empty text where the default is not empty, leave the default.
"""

import dataclasses
import datetime
import pathlib
import typing
from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

from jobset.api import durations

_T = typing.TypeVar('_T')


@dataclass(frozen=True)
class Problem:
    """One mistake. ``str()`` of it is the whole line that a user reads."""

    file: str
    line: int | None
    field: str
    text: str

    def __str__(self) -> str:
        where = self.file if self.line is None else f'{self.file}:{self.line}'
        return ': '.join(part for part in (where, self.field, self.text) if part)


@dataclass
class Reader:
    """Reads one file, and remembers where each field stands and what is wrong with it."""

    file: str
    problems: list[Problem] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)

    def complain(self, path: str, text: str, node: yaml.Node | None = None) -> None:
        """Note a mistake in the field at ``path``, which stands where it was read or at ``node``."""
        line = self.lines.get(path) if node is None else node.start_mark.line + 1
        self.problems.append(Problem(self.file, line, path, text))

    def read(self, wanted: type[_T]) -> _T | None:
        """The contents of the file; None when there was not even a mapping to read from."""
        root = self._root()
        return None if root is None else self._object(root, wanted, '')

    def _root(self) -> yaml.MappingNode | None:
        try:
            with pathlib.Path(self.file).open(encoding='utf-8') as file:
                root = yaml.compose(file, Loader=yaml.SafeLoader)
        except OSError as error:
            self.problems.append(Problem(self.file, None, '', f'cannot be read: {error.strerror}'))
        except UnicodeDecodeError as error:
            self.problems.append(Problem(self.file, None, '', f'is no UTF-8 text: {error.reason} at {error.start}'))
        except yaml.YAMLError as error:
            mark = getattr(error, 'problem_mark', None)
            text = f'is no YAML: {getattr(error, "problem", None) or error}'
            self.problems.append(Problem(self.file, None if mark is None else mark.line + 1, '', text))
        else:
            if isinstance(root, yaml.MappingNode):
                return root
            self.problems.append(Problem(self.file, 1, '', 'must hold an object, with fields such as apiVersion'))
        return None

    def _object(self, node: yaml.MappingNode, wanted: type[_T], path: str) -> _T:
        assert dataclasses.is_dataclass(wanted)  # noqa: S101 - for the type checker
        fields = {_camel(known.name): known for known in dataclasses.fields(wanted)}
        hints = typing.get_type_hints(wanted)
        given: dict[str, object] = {}
        for name, at, key, value in self._entries(node, path):
            known = fields.get(name)
            if known is None:
                self.complain(at, f'unknown field; known here are: {", ".join(sorted(fields))}', key)
            else:
                read = self._value(value, hints[known.name], at)
                if read is not None and (read != '' or known.default == ''):
                    given[known.name] = read
        return typing.cast(_T, wanted(**given))

    def _entries(self, node: yaml.MappingNode, path: str) -> Iterator[tuple[str, str, yaml.Node, yaml.Node]]:
        seen: dict[str, int] = {}
        for key, value in node.value:
            name = str(key.value)
            at = f'{path}.{name}' if path else name
            line = key.start_mark.line + 1
            if name in seen:
                self.complain(at, f'given twice, first in line {seen[name]}; remove one', key)
                continue
            seen[name] = self.lines[at] = line
            yield name, at, key, value

    def _value(self, node: yaml.Node, wanted: object, path: str) -> object:
        """What stands at ``node`` as a ``wanted``; None where nothing does, or something else."""
        wanted = _without_none(wanted)
        if node.tag == 'tag:yaml.org,2002:null':
            return None
        if dataclasses.is_dataclass(wanted) and isinstance(wanted, type):
            if isinstance(node, yaml.MappingNode):
                return self._object(node, wanted, path)
            self._mistyped(path, node, 'an object')
            return None
        match typing.get_origin(wanted):
            case None:
                return self._scalar(node, wanted, path)
            case origin if origin is tuple:
                return self._list(node, typing.get_args(wanted)[0], path)
            case _:
                return self._map(node, typing.get_args(wanted)[1], path)

    def _list(self, node: yaml.Node, wanted: object, path: str) -> tuple[object, ...] | None:
        if not isinstance(node, yaml.SequenceNode):
            self._mistyped(path, node, 'a list')
            return None
        items = (self._value(entry, wanted, f'{path}[{i}]') for i, entry in enumerate(node.value))
        return tuple(item for item in items if item is not None)

    def _map(self, node: yaml.Node, wanted: object, path: str) -> dict[str, object] | None:
        if not isinstance(node, yaml.MappingNode):
            self._mistyped(path, node, 'an object')
            return None
        read = {name: self._value(value, wanted, at) for name, at, _, value in self._entries(node, path)}
        return {name: value for name, value in read.items() if value is not None}

    def _scalar(self, node: yaml.Node, wanted: object, path: str) -> object:
        if wanted is datetime.timedelta:
            return self._duration(node, path)
        value = _constructed(node)
        if wanted is float and type(value) is int:
            return float(value)
        if type(value) is wanted:
            return value
        self._mistyped(path, node, _WORDS[wanted])
        return None

    def _duration(self, node: yaml.Node, path: str) -> datetime.timedelta | None:
        try:
            return durations.parse(str(_constructed(node)))
        except durations.DurationError as error:
            self.complain(path, str(error), node)
            return None

    def _mistyped(self, path: str, node: yaml.Node, wanted: str) -> None:
        shown = repr(node.value) if isinstance(node, yaml.ScalarNode) else 'a list or an object'
        self.complain(path, f'must be {wanted}, not {shown}', node)


def _constructed(node: yaml.Node) -> object:
    """The value of a scalar; the node itself where it is no scalar, or says something that YAML has no value for."""
    if not isinstance(node, yaml.ScalarNode):
        return node
    try:
        value: object = yaml.SafeLoader('').construct_object(node, deep=True)
    except (yaml.YAMLError, ValueError):
        return node
    return value


_WORDS: typing.Final[dict[object, str]] = {
    bool: 'true or false',
    int: 'a whole number',
    float: 'a number',
    str: 'a text (in quotes, if it looks like something else)',
}


def _without_none(wanted: object) -> object:
    options = [option for option in typing.get_args(wanted) if option is not type(None)]
    return options[0] if type(None) in typing.get_args(wanted) else wanted


def _camel(name: str) -> str:
    first, *rest = name.split('_')
    return first + ''.join(part.capitalize() for part in rest)
