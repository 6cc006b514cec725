r"""JSONPath as Kubernetes uses it in CRDs: ``.spec.items[?(@.type=="Ready")].status``, ``.a.b\.c``, ``['a']``, ``[0]``.

Source: Kubernetes documentation, "JSONPath Support". Of scripts there are comparisons and bare paths, nothing else.
"""

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

Step = Callable[[Any], Iterator[Any]]

_NAME: Final = re.compile(r'\.((?:\\.|[^.\[\]\\\s])+)')
_QUOTED: Final = re.compile(r"""\[\s*(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)")\s*\]""")
_INDEX: Final = re.compile(r'\[\s*(-?[0-9]+)\s*\]')
_SLICE: Final = re.compile(r'\[\s*(-?[0-9]*)\s*:\s*(-?[0-9]*)\s*(?::\s*(-?[0-9]*)\s*)?\]')
_FILTER: Final = re.compile(
    r'\[\?\(\s*@(?P<path>(?:\.[^=!<>()\s\[\]]+|\[[^\]]*\])*)\s*(?:(?P<operator>==|!=|<=|>=|<|>)\s*(?P<value>[^)]+?)\s*)?\)\]'
)


_OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    '==': operator.eq,
    '!=': operator.ne,
    '<': operator.lt,
    '<=': operator.le,
    '>': operator.gt,
    '>=': operator.ge,
}


class PathError(ValueError):
    """The text is no path."""


def compile(text: str) -> Callable[[Any], list[Any]]:  # noqa: A001 - as in ``re``
    """A function that gives all values at the path; raises :class:`PathError`."""
    steps = _steps(text.removeprefix('{').removesuffix('}').removeprefix('$'))

    def found(value: Any) -> list[Any]:
        values = [value]
        for step in steps:
            values = [part for each in values for part in step(each)]
        return values

    return found


def _steps(text: str) -> Sequence[Step]:
    steps: list[Step] = []
    place = 0
    while place < len(text):
        step, place = _step(text, place)
        if step is not None:
            steps.append(step)
    return steps


def _step(text: str, place: int) -> tuple[Step | None, int]:
    """The step that begins at a place, and where the next one does; none for the last dot."""
    for mark, step in (('[*]', _all), ('.*', _all), ('..', _everything)):
        if text.startswith(mark, place):
            # Of two dots the second one begins the next step.
            return step, place + (1 if mark == '..' else len(mark))
    for pattern, make in _FORMS:
        if found := pattern.match(text, place):
            return make(found), found.end()
    if text[place:] == '.':
        return None, len(text)
    raise PathError(f'unexpected {text[place:]!r} in path {text!r}')


def _all(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        yield from value
    elif isinstance(value, dict):
        yield from value.values()


def _everything(value: Any) -> Iterator[Any]:
    yield value
    for part in _all(value):
        yield from _everything(part)


def _member(name: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return step


def _element(index: int) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= index < len(value):
            yield value[index]

    return step


def _elements(which: slice) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list):
            yield from value[which]

    return step


def _filter(found: re.Match[str]) -> Step:
    path = compile(found['path'])
    sign, wanted = found['operator'], _literal(found['value'])

    def fits(item: Any) -> bool:
        values = path(item)
        if sign is None:
            return bool(values)
        return bool(values) and _compare(sign, values[0], wanted)

    def step(value: Any) -> Iterator[Any]:
        return (item for item in _all(value) if fits(item))

    return step


def _compare(sign: str, value: Any, wanted: Any) -> bool:
    try:
        return bool(_OPERATORS[sign](value, wanted))
    except TypeError:  # of different types
        return False


def _literal(text: str | None) -> Any:
    if text is None:
        return None
    if len(text) > 1 and text[0] == text[-1] and text[0] in '\'"':
        return text[1:-1]
    if text in ('true', 'false'):
        return text == 'true'
    try:
        return float(text) if '.' in text else int(text)
    except ValueError:
        raise PathError(f'{text!r} is neither a text nor a number') from None


def _unescaped(text: str) -> str:
    return re.sub(r'\\(.)', r'\1', text)


def _slice(found: re.Match[str]) -> Step:
    return _elements(slice(*(int(each) if each else None for each in found.groups())))


_FORMS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Step]], ...]] = (
    (_NAME, lambda found: _member(_unescaped(found[1]))),
    (_QUOTED, lambda found: _member(_unescaped(found[1] if found[1] is not None else found[2]))),
    (_INDEX, lambda found: _element(int(found[1]))),
    (_SLICE, _slice),
    (_FILTER, _filter),
)
