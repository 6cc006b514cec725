"""Lists that are sets or maps: no element twice, and which element of the old list is the same as one of the new."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from jobset.local.problems import Cause
from jobset.local.schemas.nodes import Node


@dataclass(frozen=True, slots=True)
class _Plan:
    """Where in a value lists with identities are: only there is looked."""

    node: Node
    members: Mapping[str, '_Plan']
    inner: '_Plan | None'
    """Of list items and map values."""

    checked: bool


class Lists:
    """The lists of one schema that may hold nothing twice."""

    def __init__(self, root: Node) -> None:
        self._plan = _plan(root)

    def mistakes(self, obj: Any, old: Any = None) -> list[Cause]:
        """The elements that are there a second time; lists that stood so before are left alone."""
        found: list[Cause] = []
        if self._plan is not None:
            _walk(obj, old, self._plan, '', found)
        return found


def identity(item: Any, node: Node) -> str:
    """What makes an element of a list with identities itself, as text."""
    if node.list_type == 'map' and isinstance(item, dict):
        return encoded(key(item, node))
    return encoded(item)


def key(item: Mapping[str, Any], node: Node) -> dict[str, Any]:
    """The key of an element of a list of type map; defaults of the schema stand in for what is missing."""
    found = {}
    properties = node.items.properties if node.items is not None else {}
    for name in node.map_keys:
        value = item.get(name)
        if value is None and name in properties:
            value = properties[name].default
        if value is not None:
            found[name] = value
    return found


_ENCODER: Final = msgspec.json.Encoder(order='sorted')


def encoded(value: Any) -> str:
    """As JSON, with sorted keys."""
    return _ENCODER.encode(value).decode()


def partners(value: list[Any], old: Any, node: Node) -> Mapping[int, Any]:
    """For each index, the element of the old list that is the same one; for atomic lists nothing is."""
    if not isinstance(old, list) or node.list_type != 'map':
        return {}
    before = {identity(item, node): item for item in old}
    found = {}
    for index, item in enumerate(value):
        each = identity(item, node)
        if each in before:
            found[index] = before[each]
    return found


def _plan(node: Node) -> _Plan | None:
    members = {name: plan for name, child in node.properties.items() if (plan := _child_plan(name, child)) is not None}
    inner_node = node.items or node.additional
    inner = _plan(inner_node) if inner_node is not None else None
    checked = node.list_type in ('set', 'map')
    return _Plan(node, members, inner, checked) if members or inner or checked else None


def _child_plan(name: str, child: Node) -> _Plan | None:
    # Metadata has rules of its own.
    return None if name == 'metadata' and 'creationTimestamp' in child.properties else _plan(child)


def _walk(value: Any, old: Any, plan: _Plan, path: str, found: list[Cause]) -> None:
    if isinstance(value, dict):
        if plan.members:
            for name, part in value.items():
                child = plan.members.get(name)
                if child is not None and part:
                    _walk(part, _member(old, name), child, f'{path}.{name}' if path else name, found)
        elif plan.inner is not None:
            for name, part in value.items():
                _walk(part, _member(old, name), plan.inner, f'{path}[{name}]', found)
    elif isinstance(value, list):
        if plan.checked and value and not _differ(value, plan.node) and value != old:
            found.extend(_duplicates(value, plan.node, path))
        if plan.inner is not None:
            for index, item in enumerate(value):
                _walk(item, None, plan.inner, f'{path}[{index}]', found)


def _member(old: Any, name: str) -> Any:
    return old.get(name) if isinstance(old, dict) else None


def _differ(value: list[Any], node: Node) -> bool:
    """Whether all elements certainly differ; the common case, without making texts of them."""
    try:
        if node.list_type == 'set':
            return len(value) == len(set(value)) and not any(isinstance(item, float | bool) for item in value)
        if len(node.map_keys) == 1:
            (name,) = node.map_keys
            keys = {item[name] for item in value}
        else:
            keys = {tuple([item[name] for name in node.map_keys]) for item in value}
    except (TypeError, KeyError):
        return False
    return len(keys) == len(value)


def _duplicates(value: list[Any], node: Node, path: str) -> Iterator[Cause]:
    seen = set()
    for index, item in enumerate(value):
        if node.list_type == 'map' and item is None:
            continue
        if node.list_type == 'map' and not isinstance(item, dict):
            text = f'Invalid value: {encoded(item)}: must be an object for an array of list-type map'
            yield Cause(f'{path}[{index}]', text)
            continue
        each = identity(item, node)
        if each in seen:
            yield Cause(f'{path}[{index}]', f'Duplicate value: {each}', 'FieldValueDuplicate')
        seen.add(each)
