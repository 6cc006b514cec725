"""Which field a mistake is in that admission tells without a path: found by what its text names.

The texts are those of the Go controller, which says of many mistakes only that they are somewhere in the JobSet.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

Object = Mapping[str, Any]

PREFIX: Final = 'Internal error: '
"""What stands before such texts, and means nothing to the reader."""

_RULES: Final = 'spec.failurePolicy.rules'
_GROUPS: Final = 'spec.replicatedJobs'


def of(text: str, obj: Object) -> str:
    """The path of the field that the text is about; empty when there is no saying."""
    for pattern, find in _FINDERS:
        match = re.search(pattern, text)
        if match is not None:
            return next(find(obj, match), '')
    return ''


def _fixed(path: str) -> Callable[[Object, re.Match[str]], Iterator[str]]:
    return lambda _, __: iter([path])


def _size(obj: Object, match: re.Match[str]) -> Iterator[str]:
    return (f'{path}.replicas' for path, group in _entries(obj, _GROUPS) if group.get('name') == match[1])


def _dependency(obj: Object, match: re.Match[str]) -> Iterator[str]:
    for path, group in _entries(obj, _GROUPS):
        for at, dependency in _entries(obj, f'{path}.dependsOn'):
            if (group.get('name'), dependency.get('name')) == (match[1], match[2]):
                yield f'{at}.name'


def _single_restart(obj: Object, match: re.Match[str]) -> Iterator[str]:
    del match
    return (
        f'{path}.action' for path, rule in _entries(obj, _RULES) if str(rule.get('action')).startswith('RestartJob')
    )


def _rule_name(obj: Object, match: re.Match[str]) -> Iterator[str]:
    return (f'{path}.name' for path, rule in _entries(obj, _RULES) if rule.get('name') == match[1])


def _rule_length(obj: Object, match: re.Match[str]) -> Iterator[str]:
    lengths = ((path, len(str(rule.get('name', '')).encode())) for path, rule in _entries(obj, _RULES))
    return (f'{path}.name' for path, length in lengths if length == int(match[1]))


def _in_rules(field: str) -> Callable[[Object, re.Match[str]], Iterator[str]]:
    def find(obj: Object, match: re.Match[str]) -> Iterator[str]:
        for path, rule in _entries(obj, _RULES):
            yield from _items(f'{path}.{field}', rule.get(field), match[1])

    return find


def _target(obj: Object, match: re.Match[str]) -> Iterator[str]:
    path = 'spec.successPolicy.targetReplicatedJobs'
    return _items(path, _at(obj, path), match[1])


_FINDERS: Final[list[tuple[str, Callable[[Object, re.Match[str]], Iterator[str]]]]] = [
    (r"^DependsOn can't be set for the first", _fixed(f'{_GROUPS}[0].dependsOn')),
    (r"^the product of replicas and parallelism .* for replicatedJob '(.*)'", _size),
    (r'^replicatedJob: (\S+) cannot depend on replicatedJob: ([^\s:]+)', _dependency),
    (r'^InPlaceRestart restart strategy', _fixed('spec.failurePolicy.restartStrategy')),
    (r'^RestartJob and |^JobSet cannot have a failure policy rule with RestartJob', _single_restart),
    (r'^invalid failure policy rule name of length ([0-9]+),', _rule_length),
    (r"^invalid failure policy rule name '(.*?)', a", _rule_name),
    (r"^invalid replicatedJob name '(.*)' in failure policy", _in_rules('targetReplicatedJobs')),
    (r"^invalid job failure reason '(.*)' in failure policy", _in_rules('onJobFailureReasons')),
    (r'^rule names are not unique, .* \[[0-9]+ ([0-9]+)', lambda _, match: iter([f'{_RULES}[{match[1]}].name'])),
    (r"^invalid replicatedJob name '(.*)' does not appear", _target),
    (r'^coordinator replicatedJob', _fixed('spec.coordinator.replicatedJob')),
    (r'^coordinator job index', _fixed('spec.coordinator.jobIndex')),
    (r'^coordinator pod index', _fixed('spec.coordinator.podIndex')),
    (r'^job for coordinator pod|for coordinator label', _fixed('spec.coordinator')),
]


def _entries(obj: Object, path: str) -> Iterator[tuple[str, Object]]:
    """The objects of a list, with their paths."""
    listed = _at(obj, path)
    if isinstance(listed, list):
        for i, entry in enumerate(listed):
            if isinstance(entry, Mapping):
                yield f'{path}[{i}]', entry


def _items(path: str, listed: object, wanted: str) -> Iterator[str]:
    if isinstance(listed, list):
        yield from (f'{path}[{i}]' for i, entry in enumerate(listed) if entry == wanted)


def _at(obj: Object, path: str) -> object:
    value: Any = obj
    for name, index in re.findall(r'([^.\[\]]+)|\[(\d+)\]', path):
        if name:
            value = value.get(name) if isinstance(value, Mapping) else None
        else:
            value = value[int(index)] if isinstance(value, list) and int(index) < len(value) else None
    return value
