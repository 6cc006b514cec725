"""JSON patch, as kube-apiserver does it.

Source: RFC 6902, and the answers of kube-apiserver 1.37, which is more lenient than the RFC: a missing member may be
replaced, tested for null and copied as null, and a missing value means null. That is why no library does it here.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from jobset.local.objects import Object
from jobset.local.patches import values
from jobset.local.patches.merging import GO_TYPES
from jobset.local.problems import Problem

_MOST: Final = 10_000
"""Operations in one patch, as kube-apiserver limits them."""


class _RefusedError(Exception):
    """An operation cannot be done. The server does not say why."""


def json_patch(obj: Object, operations: Any) -> Object:
    """A new object that may share parts with both.

    Raises Problem 400 for a patch that is no list of objects, 413 for one that is too long, 422 for an operation that
    cannot be done.
    """
    if operations is None:
        return dict(obj)
    if not isinstance(operations, list):
        what = GO_TYPES[type(operations)]
        text = f'error decoding patch: json: cannot unmarshal {what} into Go value of type []handlers.jsonPatchOp'
        raise Problem.bad_request(text)
    if len(operations) > _MOST:
        text = f'The allowed maximum operations in a JSON patch is {_MOST}, got {len(operations)}'
        raise Problem(413, 'RequestEntityTooLarge', text)
    return carry_out(obj, operations)


def carry_out(obj: Object, operations: Sequence[Any]) -> Object:
    """The same, of however many operations: webhooks may change as much as they like. Raises Problem 422."""
    draft = _Draft(obj)
    try:
        for operation in operations:
            _do(draft, operation)
    except (_RefusedError, RecursionError):
        raise Problem(422, 'Invalid', 'the server rejected our request due to an error in our request') from None
    changed: Object = draft.document
    return changed


class _Draft:
    """A document that is being patched: what an operation changes is copied before, all else is shared."""

    def __init__(self, obj: Object) -> None:
        self.document: Any = obj
        self._copies: dict[int, Any] = {}
        """By id, which means something for as long as the object is kept."""

    def container(self, path: Sequence[str]) -> Any:
        """What holds the last step of the path, to be changed."""
        here = self.document = self._copied(self.document)
        for step in path[:-1]:
            if isinstance(here, list):
                place = _index(step, len(here))
                here[place] = inner = self._copied(here[place])
            else:
                here[step] = inner = self._copied(here.get(step))
            here = inner
        return here

    def _copied(self, container: Any) -> Any:
        if not isinstance(container, dict | list):
            raise _RefusedError
        if id(container) in self._copies:
            return container
        made = container.copy()
        self._copies[id(made)] = made
        return made


def _do(draft: _Draft, operation: Any) -> None:
    if not isinstance(operation, dict):
        raise _RefusedError
    act = _OPERATIONS.get(operation.get('op', ''))
    if act is None:
        raise _RefusedError
    path = _pointer(operation.get('path'))
    if path:
        act(draft, path, operation)
    else:
        _whole(draft, operation)


def _whole(draft: _Draft, operation: Object) -> None:
    """The empty path: the document itself."""
    match operation['op']:
        case 'replace':
            draft.document = operation.get('value')
        case 'test' if draft.document == operation.get('value'):
            pass
        case _:
            raise _RefusedError


def _add(draft: _Draft, path: Sequence[str], operation: Object) -> None:
    _put(draft.container(path), path[-1], operation.get('value'))


def _remove(draft: _Draft, path: Sequence[str], _: Object) -> None:
    _taken(draft.container(path), path[-1])


def _replace(draft: _Draft, path: Sequence[str], operation: Object) -> None:
    container = draft.container(path)
    value = operation.get('value')
    if isinstance(container, list):
        container[_index(path[-1], len(container))] = value
    else:
        container[path[-1]] = value


def _move(draft: _Draft, path: Sequence[str], operation: Object) -> None:
    source = _pointer(operation.get('from'))
    if not source:
        raise _RefusedError
    value = _taken(draft.container(source), source[-1])
    _put(draft.container(path), path[-1], value)


def _copy(draft: _Draft, path: Sequence[str], operation: Object) -> None:
    # Twice the same part in one document, and a change of the one would be one of the other.
    value = values.copied(_found(draft.document, _pointer(operation.get('from'))))
    _put(draft.container(path), path[-1], value)


def _test(draft: _Draft, path: Sequence[str], operation: Object) -> None:
    found, wanted = _found(draft.document, path), operation.get('value')
    # ``True == 1`` in Python, not in JSON.
    if found != wanted or isinstance(found, bool) != isinstance(wanted, bool):
        raise _RefusedError


_OPERATIONS: Final[dict[str, Callable[[_Draft, Sequence[str], Object], None]]] = {
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


def _found(document: Any, path: Sequence[str]) -> Any:
    if not path:
        raise _RefusedError
    for step in path:
        if isinstance(document, list):
            document = document[_index(step, len(document))]
        elif isinstance(document, dict):
            document = document.get(step)
        else:
            raise _RefusedError
    return document


def _put(container: Any, step: str, value: Any) -> None:
    if isinstance(container, dict):
        container[step] = value
    elif step == '-':
        container.append(value)
    else:
        container.insert(_index(step, len(container) + 1), value)


def _taken(container: Any, step: str) -> Any:
    if isinstance(container, list):
        return container.pop(_index(step, len(container)))
    if step not in container:
        raise _RefusedError
    return container.pop(step)


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
