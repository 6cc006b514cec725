"""Strategic merge patch: a merge patch that knows which lists are sets of named things.

Source: Kubernetes, "Strategic Merge Patch" (sig-api-machinery), and the answers of kube-apiserver 1.37 where it is
silent: mistakes in directives are answered with code 500.
"""

from collections.abc import Sequence
from typing import Any, Final

from jobset.local.objects import Object
from jobset.local.patches.merging import GO_TYPES
from jobset.local.problems import Cause, Problem
from jobset.local.schemas.nodes import ANYTHING, Node

_PATCH: Final = '$patch'
_RETAIN: Final = '$retainKeys'
_DELETE_FROM: Final = '$deleteFromPrimitiveList/'
_ORDER: Final = '$setElementOrder/'


def strategic(obj: Object, patch: Any, node: Node) -> Object:
    """A new object that may share parts with ``obj`` and ``patch``, patched along the merge keys of ``node``.

    Raises Problem 400, 422 or 500 for a patch that makes no sense.
    """
    if not isinstance(patch, dict):
        what = GO_TYPES.get(type(patch), 'null')
        raise Problem.bad_request(f'json: cannot unmarshal {what} into Go value of type map[string]interface {{}}')
    try:
        return _map(obj, patch, node)
    except _WrongTypeError as error:
        cause = Cause('patch', f'Invalid value: "{_go(patch)}": {error}')
        raise Problem.invalid('', '', '', [cause]) from None


class _WrongTypeError(Exception):
    """The patch has another type than the schema."""


def _map(live: Object, patch: Object, node: Node) -> Object:
    directive = patch.get(_PATCH)
    if directive is not None:
        if directive == 'replace':
            return {key: _without_directives(value) for key, value in patch.items() if key != _PATCH}
        if directive == 'delete':
            return {}
        raise _failed(f'unknown patch type: {directive} in map: {_go(patch)}')
    for key in patch:
        if key[:1] == '$':
            merged = _retained(live, patch)
            _direct(merged, patch, node)
            return merged
    merged = dict(live)
    properties, others = node.properties, node.additional or ANYTHING
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            _member(merged, key, value, None, properties.get(key) or others)
    return merged


def _direct(merged: Object, patch: Object, node: Node) -> None:
    """The members of a patch with directives among them."""
    for key, value in patch.items():
        if key in (_PATCH, _RETAIN):
            continue
        name, deleted, order = key, None, None
        if key.startswith(_DELETE_FROM):
            name, deleted = key.removeprefix(_DELETE_FROM), value
        elif key.startswith(_ORDER):
            name = key.removeprefix(_ORDER)
            if name in patch:
                continue  # done together with the elements
            order = value
        if name is not key:
            _directed(merged, name, deleted, order, _child(node, name))
        else:
            _member(merged, key, value, patch.get(_ORDER + key), _child(node, key))


def _child(node: Node, key: str) -> Node:
    return node.properties.get(key) or node.additional or ANYTHING


def _retained(live: Object, patch: Object) -> Object:
    """The live map without what ``$retainKeys`` does not name."""
    kept = patch.get(_RETAIN)
    if kept is None:
        return dict(live)
    if not isinstance(kept, list):
        raise Problem.bad_request('invalid patch format of retainKeys')
    for key, value in patch.items():
        if value is not None and not key.startswith('$') and key not in kept:
            raise Problem.bad_request('invalid patch format of retainKeys')
    return {key: value for key, value in live.items() if key in kept}


def _directed(merged: Object, name: str, deleted: Any, order: Any, node: Node) -> None:
    """Directives beside a list: elements to delete, an order without elements to change."""
    live = merged.get(name)
    if not isinstance(live, list):
        return
    if isinstance(deleted, list):
        merged[name] = [item for item in live if item not in deleted]
    elif isinstance(order, list):
        merged[name] = _ordered(live, [], order, node)


def _member(merged: Object, key: str, value: Any, order: Any, node: Node) -> None:
    if value is None:
        merged.pop(key, None)
        return
    if not isinstance(value, dict | list):
        if node.type == 'array' or node.properties or node.additional is not None:
            _typed(value, node)
        merged[key] = value
        return
    _typed(value, node)
    live = merged.get(key)
    if isinstance(value, dict) and isinstance(live, dict):
        merged[key] = _map(live, value, node)
        if value.get(_PATCH) == 'delete':
            del merged[key]
    elif isinstance(value, list) and 'merge' in node.merge_strategy.split(',') and (live or order):
        merged[key] = _list(live or [], value, order, node)
    elif isinstance(value, list) and isinstance(live, list):
        # Replaced as a whole, whatever stands in it.
        merged[key] = value
    elif isinstance(value, dict) and _PATCH in value:
        # The directive is about what is not there, and nothing comes of it.
        merged.pop(key, None)
    else:
        merged[key] = _without_directives(value)


def _typed(value: Any, node: Node) -> None:
    if node.type == 'array' and not isinstance(value, list):
        raise _WrongTypeError(f'cannot restore slice from {_kind(value)}')
    if node.properties and not isinstance(value, dict):
        raise _WrongTypeError(f'cannot restore struct from: {_kind(value)}')
    if node.additional is not None and not isinstance(value, dict):
        raise _WrongTypeError(f'cannot restore map from: {_kind(value)}')


def _kind(value: Any) -> str:
    return {'object': 'map', 'array': 'slice', 'number': 'int'}.get(GO_TYPES[type(value)], GO_TYPES[type(value)])


def _list(live: list[Any], patch: list[Any], order: Any, node: Node) -> list[Any]:
    merged = None if order else _named(live, patch, node)
    return _any_list(live, patch, order, node) if merged is None else merged


def _named(live: list[Any], patch: list[Any], node: Node) -> list[Any] | None:
    """The list for the usual patch: of maps without directives, all known in their order, or all new; None for others.

    All of them must have different texts as their merge keys.
    """
    name, inner = node.merge_key, node.items or ANYTHING
    if {type(item) for item in live + patch} != {dict}:
        return None
    names = [item.get(name) for item in live]
    places = {one: place for place, one in enumerate(names) if type(one) is str}
    wanted = [item.get(name) for item in patch if _PATCH not in item]
    if len(places) != len(live) or len(wanted) != len(patch) or {type(one) for one in wanted} - {str}:
        return None
    found = [places[one] for one in wanted if one in places]
    if not found and len(set(wanted)) == len(wanted):
        return [_map({}, item, inner) for item in patch] + live
    if len(found) != len(wanted) or found != sorted(set(found)):
        return None
    merged = list(live)
    for place, item in zip(found, patch, strict=True):
        merged[place] = _map(live[place], item, inner)
    return merged


def _any_list(live: list[Any], patch: list[Any], order: Any, node: Node) -> list[Any]:
    kinds = {type(item) is dict for item in (*live, *patch)}
    if len(kinds) > 1:
        raise _failed(f'list element types are not identical: [{_go(live)} {_go(patch)}]')
    if kinds != {True}:
        if isinstance(order, list):
            _check_order(patch, order, node)
        merged = live + [item for index, item in enumerate(patch) if item not in live and item not in patch[:index]]
        return _ordered(merged, patch, order, node, live)
    if any(item.get(_PATCH) == 'replace' for item in patch):
        return [_without_directives(item) for item in patch if item.get(_PATCH) != 'replace']
    if isinstance(order, list):
        _check_order([item for item in patch if item.get(_PATCH) != 'delete'], order, node)
    merged = list(live)
    kept = [item for item in patch if _changed(merged, item, node)]
    return _ordered(merged, kept, order, node, live)


def _changed(merged: list[Any], item: Object, node: Node) -> bool:
    """Put one element of a patch into a list of maps; False when it is a deletion."""
    key = _key(item, node)
    places = [place for place, found in enumerate(merged) if found.get(node.merge_key) == key]
    directive = item.get(_PATCH)
    if directive == 'delete':
        for place in reversed(places):
            del merged[place]
        return False
    if directive is not None:
        if directive == 'merge':
            raise _failed('merging lists cannot yet be specified in the patch')
        raise _failed(f'unknown patch type: {directive} in map: {_go(item)}')
    inner = node.items or ANYTHING
    if places:
        merged[places[0]] = _map(merged[places[0]], item, inner)
    else:
        merged.append(_map({}, item, inner))
    return True


def _key(item: Object, node: Node) -> Any:
    if node.merge_key not in item:
        raise _failed(f'map: {_go(item)} does not contain declared merge key: {node.merge_key}')
    return item[node.merge_key]


def _ordered(
    merged: list[Any], patch: Sequence[Any], order: Any, node: Node, server: Sequence[Any] | None = None
) -> list[Any]:
    """The elements in the order of the patch, those that only the server has between them as they stood."""
    ids = _ids(merged, node)
    by_id = dict(zip(ids, merged, strict=True)) if len(set(ids)) == len(ids) else None
    if by_id is None:
        return merged
    wanted = _ids(order, node) if isinstance(order, list) else _ids(patch, node)
    first = [each for each in wanted if each in by_id]
    rest = [each for each in ids if each not in set(wanted)]
    stood = {each: place for place, each in enumerate(ids if server is None else _ids(server, node))}
    result = []
    while first and rest:
        takes_rest = stood.get(rest[0], -1) < stood.get(first[0], -1)
        result.append((rest if takes_rest else first).pop(0))
    return [by_id[each] for each in (*result, *first, *rest)]


def _ids(items: Sequence[Any], node: Node) -> list[Any]:
    return [repr(_key(item, node)) if isinstance(item, dict) else repr(item) for item in items]


def _check_order(patch: Sequence[Any], order: list[Any], node: Node) -> None:
    """The elements of the patch must stand in the order, in that order."""
    ahead = iter(_ids(order, node))
    if not all(each in ahead for each in _ids(patch, node)):
        raise _failed(f"The order in patch list:\n{_go(patch)}\n doesn't match $setElementOrder list:\n{_go(order)}\n")


def _without_directives(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_directives(part) if isinstance(part, dict | list) else part
            for key, part in value.items()
            if part is not None and (key[:1] != '$' or not _is_directive(key))
        }
    if isinstance(value, list):
        return [_without_directives(item) for item in value if not isinstance(item, dict) or _PATCH not in item]
    return value


def _is_directive(key: str) -> bool:
    return key in (_PATCH, _RETAIN) or key.startswith((_DELETE_FROM, _ORDER))


def _failed(text: str) -> Problem:
    return Problem(500, '', text)


def _go(value: Any) -> str:
    """A value as Go prints it."""
    match value:
        case dict():
            return f'map[{" ".join(f"{key}:{_go(part)}" for key, part in sorted(value.items()))}]'
        case list() | tuple():
            return f'[{" ".join(map(_go, value))}]'
        case bool():
            return str(value).lower()
        case None:
            return '<nil>'
    return str(value)
