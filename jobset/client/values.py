"""The nodes of a YAML document as JSON values, with every mistake on the way and its place.

Nodes rather than PyYAML's own constructor, because nodes know where they stand: lines for messages, keys given twice.
Aliases are expanded, within a bound: a dozen lines can stand for more values than a machine has memory for.
"""

import base64
import binascii
from collections.abc import Callable, Iterator
from typing import Any, Final

import yaml

from jobset.client import scalars

MOST_VALUES: Final = 300_000
"""Values that one document may have with its aliases expanded: more than fit into the largest object of a server."""

_TAG: Final = 'tag:yaml.org,2002:'
_MERGE: Final = '<<'
_RESOLVER: Final[Any] = yaml.resolver.Resolver()

Complain = Callable[[str, str, yaml.Node], None]
"""Called with the path of a field, what is wrong with it, and the node where that stands."""


class TooLargeError(ValueError):
    """A document stands for more values than it may."""


class Builder:
    """Makes the value of one document. Mistakes are given to ``complain`` and stepped around."""

    def __init__(self, complain: Complain) -> None:
        self._complain = complain
        self._left = MOST_VALUES
        self._within: set[int] = set()

    def build(self, node: yaml.Node, path: str = '') -> object:
        """The value of a node and all below it. Raises :class:`TooLargeError`."""
        self._left -= 1
        if self._left < 0:
            raise TooLargeError(f'stands for more than {MOST_VALUES} values; are aliases nested?')
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        if id(node) in self._within:
            self._complain(path, 'refers to itself through an alias', node)
            return None
        self._within.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, path)
            return [self.build(entry, f'{path}[{i}]') for i, entry in enumerate(node.value)]
        finally:
            self._within.discard(id(node))

    def _mapping(self, node: yaml.MappingNode, path: str) -> dict[str, object]:
        made: dict[str, object] = {}
        first: dict[str, int] = {}
        merged: list[tuple[str, yaml.Node]] = []
        for key, value in node.value:
            if is_merge(key):
                merged.append((path, value))
                continue
            name = self._key(key, path)
            if name is None:
                continue
            at = child(path, name)
            if name in first:
                self._complain(at, f'given twice, first in line {first[name]}; remove one', key)
                continue
            first[name] = key.start_mark.line + 1
            made[name] = self.build(value, at)
        for at, value in merged:
            for given in self._merged(value, at):
                made = given | made
        return made

    def _merged(self, node: yaml.Node, path: str) -> Iterator[dict[str, object]]:
        """The mappings that ``<<`` brings in; of equal keys the first one's counts."""
        for source in node.value if isinstance(node, yaml.SequenceNode) else (node,):
            given = self.build(source, path)
            if isinstance(given, dict):
                yield given
            else:
                self._complain(path, '"<<" takes an object or a list of them', source)

    def _key(self, node: yaml.Node, path: str) -> str | None:
        name = key_text(node)
        if name is None:
            self._complain(path, 'a key must be a text', node)
        return name

    def _scalar(self, node: yaml.ScalarNode, path: str) -> object:
        try:
            return _value(node)
        except ValueError as error:
            self._complain(path, str(error), node)
            return None


def child(path: str, name: str) -> str:
    """The path of a field, or of an entry of a map whose key could be taken for several fields."""
    if '.' in name or '[' in name:
        return f'{path}[{name}]'
    return f'{path}.{name}' if path else name


def is_merge(key: yaml.Node) -> bool:
    """Whether the value of this key is a mapping to be merged into that one."""
    return isinstance(key, yaml.ScalarNode) and key.value == _MERGE and key.tag == f'{_TAG}merge'


def key_text(node: yaml.Node) -> str | None:
    """A key as JSON has it, always a text; None for what cannot be one."""
    if not isinstance(node, yaml.ScalarNode):
        return None
    try:
        value = _value(node)
    except ValueError:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    return 'null' if value is None else str(value)


def _value(node: yaml.ScalarNode) -> object:
    kind = node.tag.removeprefix(_TAG)
    text: str = node.value
    if node.style in ('"', "'", '|', '>') and kind == 'str':
        return text
    match kind:
        case 'str' | 'bool' | 'int' | 'float' | 'null' | 'timestamp' | 'value' | 'merge':
            # PyYAML has resolved a plain scalar in its own way, or somebody has written the tag out.
            return _tagged(kind, text)
        case 'binary':
            try:
                return base64.b64decode(text, validate=False).decode()
            except (binascii.Error, UnicodeDecodeError):
                raise ValueError('!!binary: no base64 of a text') from None
    raise ValueError(f'unknown tag {node.tag}; remove it')


def _tagged(kind: str, text: str) -> object:
    value = scalars.plain(text)
    if kind == 'str' and not isinstance(value, str):
        implicit = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False))
        # Without the "!!str" that somebody has written in front of it, it would be something else to PyYAML, too.
        return value if implicit == f'{_TAG}str' else text
    return value
