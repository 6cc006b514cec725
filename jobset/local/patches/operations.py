"""JSON patch, as kube-apiserver does it.

Source: RFC 6902, and the answers of kube-apiserver 1.37, which is more lenient than the RFC: a missing member may be
replaced, tested for null and copied as null, and a missing value means null. That is why no library does it here.
"""

import copy
from collections.abc import Callable, Sequence
from typing import Any, Final

from jobset.local.objects import Object
from jobset.local.patches.merging import GO_TYPES
from jobset.local.problems import Problem

_MOST: Final = 10_000
"""Operations in one patch, as kube-apiserver limits them."""


class _RefusedError(Exception):
    """An operation cannot be done. The server does not say why."""


def json_patch(obj: Object, operations: Any) -> Object:
    """A new object that shares nothing with ``obj``.

    Raises Problem 400 for a patch that is no list of objects, 413 for one that is too long, 422 for an operation that
    cannot be done.
    """
    if operations is None:
        return copy.deepcopy(obj)
    if not isinstance(operations, list):
        what = GO_TYPES[type(operations)]
        text = f'error decoding patch: json: cannot unmarshal {what} into Go value of type []handlers.jsonPatchOp'
        raise Problem.bad_request(text)
    if len(operations) > _MOST:
        text = f'The allowed maximum operations in a JSON patch is {_MOST}, got {len(operations)}'
        raise Problem(413, 'RequestEntityTooLarge', text)
    document = copy.deepcopy(obj)
    try:
        for operation in operations:
            document = _done(document, operation)
    except (_RefusedError, RecursionError):
        raise Problem(422, 'Invalid', 'the server rejected our request due to an error in our request') from None
    return document


def _done(document: Any, operation: Any) -> Any:
    if not isinstance(operation, dict):
        raise _RefusedError
    act = _OPERATIONS.get(operation.get('op', ''))
    if act is None:
        raise _RefusedError
    path = _pointer(operation.get('path'))
    if not path:
        return _whole(document, operation)
    act(document, path, operation)
    return document


def _whole(document: Any, operation: Object) -> Any:
    """The empty path: the document itself."""
    match operation['op']:
        case 'replace' | 'add':
            return copy.deepcopy(operation.get('value'))
        case 'test' if document == operation.get('value'):
            return document
    raise _RefusedError


def _add(document: Any, path: Sequence[str], operation: Object) -> None:
    _put(document, path, copy.deepcopy(operation.get('value')))


def _remove(document: Any, path: Sequence[str], _: Object) -> None:
    _taken(document, path)


def _replace(document: Any, path: Sequence[str], operation: Object) -> None:
    container = _container(document, path)
    value = copy.deepcopy(operation.get('value'))
    if isinstance(container, list):
        container[_index(path[-1], len(container))] = value
    else:
        container[path[-1]] = value


def _move(document: Any, path: Sequence[str], operation: Object) -> None:
    _put(document, path, _taken(document, _pointer(operation.get('from'))))


def _copy(document: Any, path: Sequence[str], operation: Object) -> None:
    _put(document, path, copy.deepcopy(_found(document, _pointer(operation.get('from')))))


def _test(document: Any, path: Sequence[str], operation: Object) -> None:
    found, wanted = _found(document, path), operation.get('value')
    # ``True == 1`` in Python, not in JSON.
    if found != wanted or isinstance(found, bool) != isinstance(wanted, bool):
        raise _RefusedError


_OPERATIONS: Final[dict[str, Callable[[Any, Sequence[str], Object], None]]] = {
    'add': _add,
    'remove': _remove,
    'replace': _replace,
    'move': _move,
    'copy': _copy,
    'test': _test,
}


def _pointer(text: Any) -> list[str]:
    if text == '':
        return []
    if not isinstance(text, str) or not text.startswith('/'):
        raise _RefusedError
    return [part.replace('~1', '/').replace('~0', '~') for part in text[1:].split('/')]


def _container(document: Any, path: Sequence[str]) -> Any:
    """What holds the last step of the path."""
    for step in path[:-1]:
        if isinstance(document, list):
            document = document[_index(step, len(document))]
        elif isinstance(document, dict):
            document = document.get(step)
        else:
            raise _RefusedError
    if not path or not isinstance(document, dict | list):
        raise _RefusedError
    return document


def _found(document: Any, path: Sequence[str]) -> Any:
    container = _container(document, path)
    if isinstance(container, list):
        return container[_index(path[-1], len(container))]
    return container.get(path[-1])


def _put(document: Any, path: Sequence[str], value: Any) -> None:
    container = _container(document, path)
    if isinstance(container, dict):
        container[path[-1]] = value
    elif path[-1] == '-':
        container.append(value)
    else:
        container.insert(_index(path[-1], len(container) + 1), value)


def _taken(document: Any, path: Sequence[str]) -> Any:
    container = _container(document, path)
    if isinstance(container, list):
        return container.pop(_index(path[-1], len(container)))
    if path[-1] not in container:
        raise _RefusedError
    return container.pop(path[-1])


def _index(step: str, size: int) -> int:
    """A place in a list of ``size``; negative ones count from its end, as kube-apiserver has them."""
    if not step.removeprefix('-').isascii() or not step.removeprefix('-').isdigit():
        raise _RefusedError
    index = int(step)
    if index < 0:
        index += size
    if not 0 <= index < size:
        raise _RefusedError
    return index
