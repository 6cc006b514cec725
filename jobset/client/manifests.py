"""Manifest files: the objects that they hold, and where each field of them stands.

What is wrong with a file is a value like what is right: :func:`read` never raises for anything that a file can be.
"""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from jobset.client import garbage, values

Object = dict[str, Any]
"""One JSON object."""

STDIN: Final = '-'
"""The name under which standard input is read."""

MOST_BYTES: Final = 8 << 20
"""Bytes of one file: many times what a server takes in one request, and still no burden for a laptop's memory."""

_SUFFIXES: Final = frozenset({'.yaml', '.yml', '.json'})


class Position(NamedTuple):
    """A place in a file, counted from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Problem:
    """One mistake. ``str()`` of it is the whole line that a user reads."""

    file: str
    position: Position | None
    field: str
    """Path of the field; empty where the mistake belongs to none."""

    text: str

    unreadable: bool = False
    """Whether there is nothing to judge, because the file cannot be read at all."""

    def __str__(self) -> str:
        where = self.file if self.position is None else f'{self.file}:{self.position.line}:{self.position.column}'
        return ': '.join(part for part in (where, self.field, self.text) if part)


@dataclass(frozen=True)
class Document:
    """One object of a file."""

    obj: Object
    file: str
    node: yaml.MappingNode = field(repr=False, compare=False)

    is_whole: bool = True
    """Whether all of it could be read; what could not is among the problems of the file."""

    @property
    def line(self) -> int:
        """The line in which it begins."""
        return self.position('').line

    @property
    def kind(self) -> str:
        """Its kind, empty when it says none."""
        return _text(self.obj.get('kind'))

    @property
    def api_version(self) -> str:
        """Its group and version, empty when it says none."""
        return _text(self.obj.get('apiVersion'))

    @property
    def name(self) -> str:
        """Its name, or the beginning of it that the server completes; empty when it has neither."""
        metadata = self.obj.get('metadata')
        if not isinstance(metadata, dict):
            return ''
        return _text(metadata.get('name')) or _text(metadata.get('generateName'))

    def position(self, path: str) -> Position:
        """Where a field stands; of one that is not there, where the nearest field around it stands.

        Paths are as the server writes them: ``spec.replicatedJobs[1].name``, ``metadata.labels[example.com/a]``.
        """
        node: yaml.Node = self.node
        mark = node.start_mark
        for step in steps(path):
            found = _step(node, step)
            if found is None:
                break
            mark, node = found
        return Position(mark.line + 1, mark.column + 1)

    def problem(self, path: str, text: str) -> Problem:
        """A mistake in a field of this object."""
        return Problem(self.file, self.position(path), path, text)


@dataclass(frozen=True)
class Contents:
    """What a file holds: its objects as far as they can be read, in order, and what is wrong with it."""

    documents: Sequence[Document] = ()
    problems: Sequence[Problem] = ()


def read(file: str) -> Contents:
    """The contents of a file; ``-`` is standard input."""
    try:
        if file == STDIN:
            content = sys.stdin.buffer.read(MOST_BYTES + 1)
            file = '<stdin>'
        else:
            with Path(file).open('rb') as opened:
                content = opened.read(MOST_BYTES + 1)
    except OSError as error:
        text = f'cannot be read: {error.strerror}'
        return Contents(problems=[Problem(file, None, '', text, unreadable=True)])
    if len(content) > MOST_BYTES:
        text = f'has more than {MOST_BYTES >> 20} MiB; split it'
        return Contents(problems=[Problem(file, None, '', text, unreadable=True)])
    return parse(content, file)


def read_all(files: Sequence[str], *, recursive: bool = False) -> Contents:
    """The contents of files, and of the manifests in folders, in the order given."""
    parts: list[Contents] = []
    for file in files:
        if file == STDIN or not Path(file).is_dir():
            parts.append(read(file))
            continue
        inside = sorted(Path(file).rglob('*') if recursive else Path(file).iterdir())
        found = [read(str(path)) for path in inside if path.suffix in _SUFFIXES and path.is_file()]
        missing = Problem(file, None, '', 'a folder without .yaml, .yml or .json files', unreadable=True)
        parts.extend(found or [Contents(problems=[missing])])
    documents = [document for part in parts for document in part.documents]
    return Contents(documents, [problem for part in parts for problem in part.problems])


def parse(content: bytes, file: str) -> Contents:
    """The contents of a text that is called ``file`` in messages."""
    try:
        text = content.decode('utf-8-sig')
    except UnicodeDecodeError as error:
        line = content.count(b'\n', 0, error.start) + 1
        column = error.start - content.rfind(b'\n', 0, error.start)
        return Contents(problems=[Problem(file, Position(line, column), '', 'is no UTF-8 text')])
    if text.lstrip()[:1] in ('{', '['):
        text = _yaml_from_json(text)
    reading = _Reading(file)
    with garbage.left_alone():
        reading.read(text)
    if not reading.documents and not reading.problems:
        reading.problems.append(Problem(file, None, '', 'is empty: it holds no object'))
    return Contents(reading.documents, reading.problems)


@dataclass
class _Reading:
    """One file while it is read."""

    file: str
    documents: list[Document] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def read(self, text: str) -> None:
        try:
            for node in _compose(text):
                self._take(node)
        except yaml.YAMLError as error:
            self.problems.append(self._no_yaml(error, text))
        except RecursionError:
            self.problems.append(Problem(self.file, None, '', 'is nested too deeply'))

    def _take(self, node: yaml.Node | None) -> None:
        if node is None or (isinstance(node, yaml.ScalarNode) and node.value == ''):
            # Nothing between two separators is what kubectl ignores, too.
            return
        if not isinstance(node, yaml.MappingNode):
            self._complain('', 'must be an object, with fields such as apiVersion and kind', node)
            return
        before = len(self.problems)
        try:
            obj = values.Builder(self._complain).build(node)
        except values.TooLargeError as error:
            self._complain('', str(error), node)
            return
        assert isinstance(obj, dict)  # noqa: S101 - for the type checker; a mapping has become one
        if obj.get('kind') == 'List' and isinstance(obj.get('items'), list):
            self._take_items(node, obj['items'], is_whole=len(self.problems) == before)
        else:
            self.documents.append(Document(obj, self.file, node, is_whole=len(self.problems) == before))

    def _take_items(self, node: yaml.MappingNode, items: list[object], *, is_whole: bool) -> None:
        """The objects of a list: each is one of its own."""
        for i, item in enumerate(items):
            found = _step(_step(node, 'items')[1], i)  # type: ignore[index]  # it was just read from there
            if isinstance(item, dict) and found is not None and isinstance(found[1], yaml.MappingNode):
                self.documents.append(Document(item, self.file, found[1], is_whole=is_whole))
            else:
                self._complain(f'items[{i}]', 'must be an object', node)

    def _complain(self, path: str, text: str, node: yaml.Node) -> None:
        mark = node.start_mark
        self.problems.append(Problem(self.file, Position(mark.line + 1, mark.column + 1), path, text))

    def _no_yaml(self, error: yaml.YAMLError, content: str) -> Problem:
        mark = getattr(error, 'problem_mark', None)
        if mark is not None and (tab := _tab(content, mark.line)):
            return Problem(self.file, Position(mark.line + 1, tab), '', 'is no YAML: a tab; use spaces to indent')
        what = getattr(error, 'problem', None) or getattr(error, 'reason', None) or 'it cannot be parsed'
        context = getattr(error, 'context', None)
        text = f'is no YAML: {what} ({context})' if context else f'is no YAML: {what}'
        return Problem(self.file, None if mark is None else Position(mark.line + 1, mark.column + 1), '', text)


def _tab(content: str, line: int) -> int:
    """The column of the first tab that is in the way of what a line begins with, from 1; 0 where there is none."""
    lines = content.splitlines()
    found = _START.match(lines[line]) if line < len(lines) else None
    return found[0].find('\t') + 1 if found else 0


_START: Final = re.compile(r'[-\s]*')
"""The indentation of a line, and the marks of entries of lists."""


def _compose(text: str) -> Iterator[yaml.Node | None]:
    # The C loader is ten times as fast, and not everywhere.
    loader = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)(text)
    try:
        while loader.check_node():
            yield loader.get_node()
    finally:
        loader.dispose()


def _yaml_from_json(text: str) -> str:
    """JSON without the two things that YAML lacks: tabs for indentation, and characters written in two halves."""
    text = text.replace('\t', ' ')
    return _PAIR.sub(lambda match: match[1] + json.loads(f'"{match[2]}"'), text)


_PAIR: Final = re.compile(r'(?<!\\)((?:\\\\)*)(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})')
_STEP: Final = re.compile(r'\.?([^.\[\]]+)|\[([^\]]*)\]')


def steps(path: str) -> Iterator[str | int]:
    """The fields and indexes that a path goes through."""
    for match in _STEP.finditer(path):
        key, bracketed = match.groups()
        if key is not None:
            yield key
        else:
            yield int(bracketed) if bracketed.isdecimal() else bracketed if '=' in bracketed else bracketed.strip('"\'')


def _step(node: yaml.Node, step: str | int) -> tuple[yaml.Mark, yaml.Node] | None:
    """The place and the node of a part of a node; None where it has no such part."""
    if isinstance(node, yaml.SequenceNode):
        entries: list[yaml.Node] = node.value
        entry = entries[step] if isinstance(step, int) and step < len(entries) else _keyed(entries, str(step))
        return None if entry is None else (entry.start_mark, entry)
    if not isinstance(node, yaml.MappingNode):
        return None
    for key, value in node.value:
        if values.key_text(key) == str(step) and not values.is_merge(key):
            return key.start_mark, value
    for key, value in node.value:
        if values.is_merge(key):
            for source in value.value if isinstance(value, yaml.SequenceNode) else (value,):
                found = _step(source, step)
                if found is not None:
                    return found
    return None


def _keyed(entries: list[yaml.Node], step: str) -> yaml.Node | None:
    """The entry of a list that ``name="a"`` means: so applies name entries, by the values of their keys."""
    wanted = [part.partition('=')[::2] for part in step.split(',')]
    return next((entry for entry in entries if all(_has(entry, key, value.strip('"')) for key, value in wanted)), None)


def _has(entry: yaml.Node, key: str, value: str) -> bool:
    found = _step(entry, key)
    return found is not None and isinstance(found[1], yaml.ScalarNode) and found[1].value == value


def _text(value: object) -> str:
    return value if isinstance(value, str) else ''
