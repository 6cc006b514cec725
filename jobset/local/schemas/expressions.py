"""CEL expressions over JSON values, evaluated by the library common-expression-language.

The library knows no types. What Kubernetes' type checker would refuse is refused here as far as it can be seen without
one: bad syntax, unknown variables and functions, fields of ``self`` that the schema does not have. Optional field
selection (``.?``) is not there, and so is refused too.
"""

import datetime
import functools
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from jobset.api import durations
from jobset.local.schemas import library
from jobset.local.schemas.evaluator import cel
from jobset.local.schemas.nodes import Node

_MACROS: Final = frozenset({'has', 'all', 'exists', 'exists_one', 'existsOne', 'map', 'filter'})
_STANDARD: Final = frozenset(
    {
        'bool',
        'bytes',
        'contains',
        'double',
        'duration',
        'dyn',
        'endsWith',
        'getDate',
        'getDayOfMonth',
        'getDayOfWeek',
        'getDayOfYear',
        'getFullYear',
        'getHours',
        'getMilliseconds',
        'getMinutes',
        'getMonth',
        'getSeconds',
        'hasValue',
        'int',
        'matches',
        'max',
        'min',
        'of',
        'ofNonZeroValue',
        'none',
        'optional',
        'or',
        'orValue',
        'size',
        'startsWith',
        'string',
        'timestamp',
        'type',
        'uint',
        'value',
    }
)
_TYPES: Final = frozenset({'bool', 'bytes', 'double', 'int', 'list', 'map', 'null_type', 'string', 'type', 'uint'})
_RESERVED: Final = frozenset(
    [
        'true',
        'false',
        'null',
        'in',
        'as',
        'break',
        'const',
        'continue',
        'else',
        'for',
        'function',
        'if',
        'import',
        'let',
        'loop',
        'package',
        'namespace',
        'return',
        'var',
        'void',
        'while',
    ]
)
_TOKEN: Final = re.compile(
    r"""(?P<text>[rR]?(?:\"{3}.*?\"{3}|'{3}.*?'{3}|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'))"""
    r'|(?P<name>[_a-zA-Z][_a-zA-Z0-9]*)|(?P<other>\s+|.)',
    re.DOTALL,
)


_WHOLE: Final = frozenset(
    {'isSorted', 'indexOf', 'lastIndexOf', 'distinct', 'flatten', 'reverse', 'slice', 'sort', 'format', 'min', 'max'}
)
"""Functions that may compare or print whole objects."""


class RefusedError(ValueError):
    """An expression that cannot be compiled. The text says why, as kube-apiserver would."""


class FailedError(Exception):
    """An expression that cannot be evaluated for a value. The text says why."""


class Expression:
    """A compiled expression about ``self`` and ``oldSelf``."""

    def __init__(self, source: str, node: Node, *, is_optional: bool = False) -> None:
        self._program = _program(source)
        self._needs = needs(node)
        self._node = node
        self._optional = is_optional
        names = {name for name, _ in _names(library.rewritten(source))}
        self._functions = {name: library.FUNCTIONS[name] for name in names & library.FUNCTIONS.keys()}
        self.uses_old = 'oldSelf' in names
        apart = _takes_apart(source) and not self._functions.keys() & _WHOLE
        self._seen = frozenset(map(unescaped, names)) if apart else None
        # The commonest rule of all, and the one that would be handed the largest values.
        self._compares_only = re.sub(r'\s', '', source) in ('self==oldSelf', 'oldSelf==self') and not is_optional

    def holds(self, value: Any, old: Any) -> bool:
        """Whether the expression is true."""
        if self._compares_only:
            return bool(value == old)
        return self.value(value, old) is True

    def value(self, value: Any, old: Any) -> Any:
        """What the expression comes to; raises :class:`FailedError`."""
        variables = {'self': self._given(value)}
        if self.uses_old:
            variables['oldSelf'] = self._old(old)
        context = cel.Context(variables=variables, functions=self._functions) if self._functions else variables
        try:
            return self._program.execute(context)
        except KeyError as error:
            raise FailedError(f'no such key: {error.args[0]}') from None
        except ZeroDivisionError:
            raise FailedError('division by zero') from None
        except (ValueError, TypeError, RuntimeError, IndexError, OverflowError) as error:
            raise FailedError(str(error).split('. Check', 1)[0]) from None

    def _given(self, value: Any) -> Any:
        if self._needs or self._seen is not None:
            return converted(value, self._node, self._seen)
        return value

    def _old(self, old: Any) -> Any:
        if not self._optional:
            return self._given(old)
        return cel.OptionalValue.none() if old is None else cel.OptionalValue.of(self._given(old))


def compiled(source: str, node: Node, *, is_optional: bool = False) -> Expression:
    """The expression, about values of ``node``; raises :class:`RefusedError`."""
    expression = Expression(source, node, is_optional=is_optional)
    _check_names(source, node)
    return expression


@functools.lru_cache(maxsize=2000)
def _program(source: str) -> Any:
    try:
        return cel.compile(library.rewritten(source))
    except Exception as error:
        text = str(error).split("': ", 1)[-1].replace('\n|', '\n |')
        raise RefusedError(f'compilation failed: {text}') from None


def _names(source: str) -> Iterator[tuple[str, int]]:
    """Names in an expression outside of texts, and where they stand."""
    for token in _TOKEN.finditer(source):
        if token.lastgroup == 'name':
            yield token['name'], token.start()


def _check_names(source: str, node: Node) -> None:
    known = {'self', 'oldSelf', 'true', 'false', 'null', 'in', *_TYPES, *library.NAMESPACES} | set(_bound(source))
    for name, start in _names(source):
        before = source[:start].rstrip()[-1:]
        after = source[start + len(name) :].lstrip()[:1]
        if after == '(':
            if name not in _MACROS and name not in _STANDARD and name not in library.FUNCTIONS:
                raise _undeclared(source, name, start, at=start + len(name))
        elif before not in ('.', '{') and name not in known and not (before == ',' and after == ':'):
            raise _undeclared(source, name, start)
        if name == 'self' and before != '.':
            _check_path(source, start + len(name), node)


def _bound(source: str) -> Iterator[str]:
    """The variables of macros: ``all(x, ...)``, ``cel.bind(x, ...)``."""
    return (
        found[1] for found in re.finditer(r'\.\s*(?:all|exists|exists_one|existsOne|map|filter)\(\s*(\w+)\s*,', source)
    )


def _undeclared(source: str, name: str, start: int, *, at: int = -1) -> RefusedError:
    return _refused(source, start if at < 0 else at, f"undeclared reference to '{name}' (in container '')")


def _refused(source: str, start: int, text: str) -> RefusedError:
    line = source[:start].count('\n')
    column = start - (source.rfind('\n', 0, start) + 1)
    shown = source.split('\n')[line]
    mark = f'{"." * column}^'
    return RefusedError(f'compilation failed: ERROR: <input>:{line + 1}:{column + 1}: {text}\n | {shown}\n | {mark}')


_SELECT: Final = re.compile(r'\s*\.\s*([_a-zA-Z]\w*)\s*(\()?')


def _check_path(source: str, position: int, node: Node) -> None:
    """``self.a.b``: each step must be a property of the one before."""
    while (step := _SELECT.match(source, position)) and not step[2]:
        dot = source.index('.', position)
        if node.type in ('string', 'integer', 'boolean', 'number', 'array') and not node.int_or_string:
            kind = {'integer': 'int', 'boolean': 'bool', 'number': 'double', 'array': 'list'}.get(node.type, node.type)
            raise _refused(source, dot, f"type '{kind}' does not support field selection")
        if node.type != 'object' or node.preserve_unknown or node.additional is not None:
            return
        child = node.properties.get(unescaped(step[1]))
        if child is None:
            raise _refused(source, dot, f"undefined field '{step[1]}'")
        node, position = child, step.end()


def unescaped(name: str) -> str:
    """The property that a name in an expression means: ``a__dot__b`` is ``a.b``."""
    if name.startswith('__') and name.endswith('__') and name[2:-2] in _RESERVED:
        return name[2:-2]
    for escape, plain in (('__dot__', '.'), ('__dash__', '-'), ('__slash__', '/'), ('__underscores__', '__')):
        name = name.replace(escape, plain)
    return name


def escaped(name: str) -> str:
    """The other way round."""
    if name in _RESERVED:
        return f'__{name}__'
    for plain, escape in (('__', '__underscores__'), ('.', '__dot__'), ('-', '__dash__'), ('/', '__slash__')):
        name = name.replace(plain, escape)
    return name


_CONVERSIONS: Final[dict[str, Callable[[str], Any]]] = {
    'date-time': lambda text: datetime.datetime.fromisoformat(text.upper()),
    'date': lambda text: datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC),
    'duration': durations.parse,
}


@functools.lru_cache(maxsize=10_000)
def needs(node: Node) -> bool:
    """Whether values of a node are not, in CEL, what they are in JSON."""
    return (
        node.type == 'number'
        or node.format in _CONVERSIONS
        or any(
            escaped(name) != name or (name != 'metadata' and needs(child)) for name, child in node.properties.items()
        )
        or (node.items is not None and needs(node.items))
        or (node.additional is not None and needs(node.additional))
    )


def converted(value: Any, node: Node, seen: frozenset[str] | None = None) -> Any:
    """A value as CEL sees it: times as times, numbers as floats, names of fields as they can be written.

    With ``seen``, only fields of these names are kept: handing a value over to the library is what takes the time.
    """
    if isinstance(value, dict):
        made = {}
        for name, part in value.items():
            child = node.properties.get(name)
            if child is None:
                if seen is None or not node.properties or name in seen:
                    made[name] = part if node.additional is None else converted(part, node.additional, seen)
            elif seen is None or name in seen:
                made[name] = made[escaped(name)] = converted(part, child, seen)
        return made
    if isinstance(value, list):
        return [converted(item, node.items, seen) for item in value] if node.items is not None else value
    if node.type == 'number' and isinstance(value, int):
        return float(value)
    if node.format in _CONVERSIONS and isinstance(value, str):
        return _CONVERSIONS[node.format](value)
    return value


_COMPARISON: Final = re.compile(r"""(\S+)\s*[!=]=\s*(\S+)""")
_LITERAL: Final = re.compile(r"""[rR]?["'].*|-?[0-9][0-9.]*[u]?\)*|(true|false|null)\)*""", re.DOTALL)


def _takes_apart(source: str) -> bool:
    """Whether an expression looks at single fields only, never at a whole object, as by comparing it."""
    if re.search(r'\bin\b', source):
        return False
    return all(
        _LITERAL.fullmatch(left.lstrip('(')) or _LITERAL.fullmatch(right)
        for left, right in _COMPARISON.findall(re.sub(r'\s*([!=]=)\s*', r' \1 ', source))
    )
