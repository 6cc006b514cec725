"""Objects and the fields in them: which there are, which differ, merged, taken out.

Source: the documentation of structured-merge-diff and what kube-apiserver 1.37 records. Maps and structs are merged
field by field unless they are atomic, lists by their identities if they are sets or maps; all else is one value.
"""

from typing import Any, Final

import msgspec

from jobset.local.patches import fieldsets
from jobset.local.patches.fieldsets import LEAF, SELF, Fields
from jobset.local.schemas import canonical, uniqueness
from jobset.local.schemas.nodes import ANYTHING, Node

_STRIPPED: Final = frozenset(
    {
        'name',
        'namespace',
        'creationTimestamp',
        'selfLink',
        'uid',
        'clusterName',
        'generation',
        'managedFields',
        'resourceVersion',
    }
)
"""Metadata that nobody owns."""

_ATOMIC: Final = 'atomic'
_STEPS: dict[str, str] = {}
"""``name`` to ``f:name``."""


def _step(name: str) -> str:
    found = _STEPS.get(name)
    if found is None:
        found = f'f:{name}'
        if len(_STEPS) < 10_000:
            _STEPS[name] = found
    return found


def _child(node: Node, name: str) -> Node:
    return node.properties.get(name) or node.additional or ANYTHING


def _identities(items: list[Any], node: Node) -> list[str]:
    """The step of each element of a list with identities."""
    if node.list_type == 'set':
        return [f'v:{fieldsets.encoded(item)}' for item in items]
    return [_identity(item, node) for item in items]


_IDENTITIES: dict[tuple[str, str], str] = {}


def _identity(item: Any, node: Node) -> str:
    if len(node.map_keys) == 1 and isinstance(item, dict):
        name = node.map_keys[0]
        value = item.get(name)
        if type(value) is str:
            found = _IDENTITIES.get((name, value))
            if found is None:
                found = f'k:{fieldsets.encoded({name: value})}'
                if len(_IDENTITIES) < 10_000:
                    _IDENTITIES[name, value] = found
            return found
    return f'k:{uniqueness.identity(item, node)}'


def _has_identities(node: Node) -> bool:
    return node.list_type in ('set', 'map')


def stripped(fields: Fields) -> Fields:
    """A set of a whole object without what nobody owns."""
    metadata = fields.get('f:metadata')
    if metadata is None and 'f:apiVersion' not in fields and 'f:kind' not in fields:
        return fields
    made = {step: part for step, part in fields.items() if step not in ('f:apiVersion', 'f:kind', 'f:metadata', SELF)}
    owned = {step: part for step, part in (metadata or {}).items() if step[2:] not in _STRIPPED and step != SELF}
    if owned:
        made['f:metadata'] = owned
    return made


# --- which fields an object has


def applied_fields(value: Any, node: Node) -> Fields:
    """The fields that a configuration speaks of: its leaves, and the elements of lists and maps."""
    return stripped(_spoken(value, node) or {})


def _spoken(value: Any, node: Node) -> Fields | None:
    """None: nothing, as for an empty list with identities."""
    if isinstance(value, dict):
        if not value or node.map_type == _ATOMIC:
            return LEAF
        made = {}
        for name, part in value.items():
            fields = _spoken(part, _child(node, name))
            if name not in node.properties:
                fields = _with_self(fields)
            if fields is not None:
                made[_step(name)] = fields
        return made or None
    if isinstance(value, list) and _has_identities(node):
        items = node.items or ANYTHING
        steps = _identities(value, node)
        return {step: _with_self(_spoken(item, items)) for step, item in zip(steps, value, strict=True)} or None
    return LEAF


def _with_self(fields: Fields | None) -> Fields:
    return LEAF if not fields else {SELF: LEAF, **fields}


def _all(value: Any, node: Node) -> Fields:
    """A value that was not there before, with everything in it."""
    if not value:
        return LEAF
    # Not isinstance: these walks are a good part of what a create costs.
    kind = type(value)
    if kind is dict:
        if node.map_type == _ATOMIC:
            return LEAF
        made: Fields = {SELF: LEAF}
        members = _members(node)
        for name, part in value.items():
            step, child = members.get(name) or _met(members, node, name)
            made[step] = _all(part, child) if type(part) in _COMPOSED else LEAF
        return made
    if kind is list and _has_identities(node):
        return {SELF: LEAF, **_elements(value, node)}
    return LEAF


_ABSENT: Final = object()
_COMPOSED: Final = frozenset({dict, list})

_Members = dict[str, tuple[str, Node]]
_MOST_MEMBERS: Final = 1000
_known_members: dict[int, tuple[Node, _Members]] = {}


def _members(node: Node) -> _Members:
    """Step and node of the fields of a map that have been met. The node is kept: its id must not come again."""
    found = _known_members.get(id(node))
    if found is None or len(found[1]) > _MOST_MEMBERS:
        found = _known_members[id(node)] = (node, {})
    return found[1]


def _met(members: _Members, node: Node, name: str) -> tuple[str, Node]:
    """A field that has not been met before."""
    found = members[name] = (_step(name), _child(node, name))
    return found


_MOST_LISTS: Final = 500
_MOST_BYTES: Final = 1 << 14
_known_lists: dict[tuple[int, bytes], tuple[Node, Fields]] = {}


def _elements(value: list[Any], node: Node) -> Fields:
    """All elements of a list with identities, with everything in them; not to be changed.

    They are the containers of a template, for the most part: much, and the same in everything that is made of it.
    """
    key = (id(node), msgspec.json.encode(value))
    found = _known_lists.get(key)
    if found is None:
        items = node.items or ANYTHING
        found = (node, {step: _all(item, items) for step, item in zip(_identities(value, node), value, strict=True)})
        if len(key[1]) <= _MOST_BYTES:
            if len(_known_lists) >= _MOST_LISTS:
                _known_lists.clear()
            _known_lists[key] = found
    return found[1]


# --- which differ


class _Changes:
    """What is written and what removed, gathered below one field."""

    __slots__ = ('removed', 'written')

    def __init__(self) -> None:
        self.written: Fields = {}
        self.removed: Fields = {}

    def add(self, step: str, old: Any, new: Any, node: Node) -> None:
        """A field that is there before and after, with different values."""
        inner = _changes(old, new, node)
        if inner is None:
            self.written[step] = LEAF
            return
        if inner.written:
            self.written[step] = inner.written
        if inner.removed:
            self.removed[step] = inner.removed


def differences(old: Any, new: Any, node: Node) -> tuple[Fields, Fields]:
    """The fields that ``new`` writes, and those that it removes."""
    changes = _changed_maps(old, new, node)
    return stripped(changes.written), stripped(changes.removed)


def _changes(old: Any, new: Any, node: Node) -> _Changes | None:
    """None: it is one value, and changes as a whole."""
    if node.map_type != _ATOMIC and isinstance(old, dict | None) and isinstance(new, dict | None):
        return _changed_maps(old or {}, new or {}, node)
    if _has_identities(node) and isinstance(old, list | None) and isinstance(new, list | None):
        return _changed_lists(old or [], new or [], node)
    return None


def _changed_maps(old: Any, new: Any, node: Node) -> _Changes:
    changes = _Changes()
    members = _members(node)
    for name, value in new.items():
        before = old.get(name, _ABSENT)
        if before is _ABSENT:
            step, child = members.get(name) or _met(members, node, name)
            changes.written[step] = _all(value, child) if type(value) in _COMPOSED else LEAF
        elif before is not value and before != value:
            step, child = members.get(name) or _met(members, node, name)
            changes.add(step, before, value, child)
    for name, value in old.items():
        if name not in new:
            changes.removed[_step(name)] = _all(value, _child(node, name))
    return changes


def _changed_lists(old: list[Any], new: list[Any], node: Node) -> _Changes:
    changes = _Changes()
    if not old:
        changes.written = _elements(new, node)
        return changes
    items = node.items or ANYTHING
    before = dict(zip(_identities(old, node), old, strict=True))
    after = dict(zip(_identities(new, node), new, strict=True))
    for step, item in after.items():
        if step not in before:
            changes.written[step] = _all(item, items)
        elif before[step] != item:
            changes.add(step, before[step], item, items)
    for step, item in before.items():
        if step not in after:
            changes.removed[step] = _all(item, items)
    return changes


_empty: dict[int, tuple[Node, dict[str, Any]]] = {}


def empty(node: Node) -> dict[str, Any]:
    """What a server holds before anybody wrote anything: for Go types more than nothing. Not to be changed."""
    found = _empty.get(id(node))
    if found is None:
        found = _empty[id(node)] = (node, _zero(node) if node.name else {})
    return found[1]


def _zero(node: Node) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in canonical.always(node):
        child = node.properties[name]
        made[name] = _zero(child) if child.properties else value
    return dict.fromkeys(node.required - made.keys()) | made


# --- merged, and taken out


def copied(value: Any) -> Any:
    """A copy that shares nothing that can be changed."""
    if isinstance(value, dict):
        return {name: copied(part) if isinstance(part, dict | list) else part for name, part in value.items()}
    if isinstance(value, list):
        return [copied(item) if isinstance(item, dict | list) else item for item in value]
    return value


def merged(live: Any, applied: Any, node: Node) -> Any:
    """``live`` with everything that ``applied`` says. Shares parts with both."""
    if isinstance(live, dict) and isinstance(applied, dict) and node.map_type != _ATOMIC:
        made = dict(live)
        for name, part in applied.items():
            made[name] = merged(live[name], part, _child(node, name)) if name in live else part
        return made
    if applied is None and _has_parts(live, node):
        # Nothing is said of what is in it.
        return live
    if isinstance(live, list) and isinstance(applied, list) and _has_identities(node):
        return _merged_lists(live, applied, node)
    return applied


def _has_parts(value: Any, node: Node) -> bool:
    """Whether others may own parts of a value."""
    return _has_identities(node) if isinstance(value, list) else isinstance(value, dict) and node.map_type != _ATOMIC


def _merged_lists(live: list[Any], applied: list[Any], node: Node) -> list[Any]:
    """The elements in the order of ``applied``; those it does not speak of stay before what followed them."""
    before = dict(zip(_identities(live, node), live, strict=True))
    after = dict(zip(_identities(applied, node), applied, strict=True))
    items = node.items or ANYTHING
    ahead = iter(after)
    made = []
    done = set()
    for step in (*before, None):
        if step is not None and step not in after:
            made.append(before[step])
            continue
        if step in done:
            continue
        for each in ahead:
            done.add(each)
            made.append(merged(before[each], after[each], items) if each in before else after[each])
            if each == step:
                break
    return made


def without(value: Any, dropped: Fields, kept: Fields, node: Node) -> None:
    """Take out of ``value``, in place, what ``dropped`` holds and ``kept`` does not, and what is empty then."""
    if isinstance(value, dict):
        for step, part in dropped.items():
            name = step[2:]
            if step == SELF or name not in value:
                continue
            child = _child(node, name)
            # A field of a struct in which nobody else has a part goes with what the server has put there.
            is_alone = name in node.properties and step not in kept and 'managedFields' not in child.properties
            if is_alone or _goes(value[name], part, kept.get(step), child):
                del value[name]
    elif isinstance(value, list) and _has_identities(node):
        items = node.items or ANYTHING
        steps = _identities(value, node)
        value[:] = [
            item
            for step, item in zip(steps, value, strict=True)
            if step not in dropped or not _goes(item, dropped[step], kept.get(step), items)
        ]


def _goes(value: Any, dropped: Fields, kept: Fields | None, node: Node) -> bool:
    """Whether a field is taken out as a whole; what is below it is taken out here."""
    if kept is None:
        if not dropped or SELF in dropped:
            return True
        if node.map_type == _ATOMIC or not isinstance(value, dict | list):
            return False
        without(value, dropped, {}, node)
        return not value
    if dropped and isinstance(value, dict | list):
        without(value, dropped, kept, node)
    return False
