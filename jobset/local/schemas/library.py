"""The functions that Kubernetes adds to CEL, as far as the library can hold them.

Values of types that CEL does not have (quantities, URLs, addresses) go through it as maps with one key that no user
writes. ``size`` and ``matches`` are done here too: the ones of the library count bytes and know other patterns.
"""

import ipaddress
import itertools
import re
import urllib.parse
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final

from jobset import re2
from jobset.api import quantities
from jobset.local.schemas.evaluator import stdlib

_QUANTITY: Final = '\0quantity'
_URL: Final = '\0url'
_IP: Final = '\0ip'

NAMESPACES: Final = frozenset({'optional', 'math', 'sets', 'lists', 'strings', 'base64'})


def rewritten(source: str) -> str:
    """The expression with our names for functions that cannot be replaced under their own."""
    return re.sub(
        r"""([rR]?(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'))|\b(size|matches)\s*\(""",
        lambda found: found[0] if found[1] else f'{found[2]}_(',
        source,
    )


def _size(value: Any) -> int:
    return len(value)


def _matches(text: str, pattern: str) -> bool:
    return re2.compile(pattern).search(text)


def _find(text: str, pattern: str) -> str:
    found = _python(pattern).search(text)
    return found[0] if found else ''


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    found = [each[0] for each in _python(pattern).finditer(text)]
    return found if most < 0 else found[:most]


def _python(pattern: str) -> re.Pattern[str]:
    # Checked as Go would; what is left is the same in Python for what rules look for.
    re2.compile(pattern)
    return re.compile(pattern, re.ASCII)


def _is_sorted(values: list[Any]) -> bool:
    return all(first <= second for first, second in itertools.pairwise(values))


def _index_of(value: Any, part: Any, start: int = 0) -> int:
    if isinstance(value, str):
        return value.find(part, start)
    return value.index(part) if part in value else -1


def _last_index_of(value: Any, part: Any) -> int:
    if isinstance(value, str):
        return value.rfind(part)
    return len(value) - 1 - value[::-1].index(part) if part in value else -1


def _quantity(text: Any) -> Any:
    quantities.parse(text)
    return {_QUANTITY: str(text)}


def _is_quantity(text: Any) -> bool:
    try:
        quantities.parse(text)
    except quantities.QuantityError:
        return False
    return True


def _amount(value: Any) -> Fraction:
    return quantities.parse(value[_QUANTITY] if isinstance(value, dict) else value)


def _compared(first: Any, second: Any) -> int:
    return (_amount(first) > _amount(second)) - (_amount(first) < _amount(second))


def _added(first: Any, second: Any) -> Any:
    return {_QUANTITY: _exact(_amount(first) + _amount(second))}


def _taken(first: Any, second: Any) -> Any:
    return {_QUANTITY: _exact(_amount(first) - _amount(second))}


def _exact(amount: Fraction) -> str:
    nano = amount * 10**9
    return f'{nano.numerator // nano.denominator}n'


def _is_url(text: str) -> bool:
    parts = urllib.parse.urlsplit(text)
    return bool((parts.scheme and parts.netloc) or text.startswith('/'))


def _url(text: str) -> Any:
    if not _is_url(text):
        raise ValueError(f'URL parse error during conversion from string: {text}')
    return {_URL: text}


def _parts(value: Mapping[str, str]) -> urllib.parse.SplitResult:
    return urllib.parse.urlsplit(value[_URL])


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _ip(text: str) -> Any:
    ipaddress.ip_address(text)
    return {_IP: text}


def _is_cidr(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return '/' in text


def _format(template: str, values: list[Any]) -> str:
    ahead = iter(values)
    return re.sub(
        r'%(%|[sdfexXob]|\.[0-9]+[fe])',
        lambda found: '%' if found[1] == '%' else _placed(found[1], next(ahead)),
        template,
    )


def _placed(verb: str, value: Any) -> str:
    match verb[-1]:
        case 's':
            return _shown(value)
        case 'd':
            return str(int(value))
        case 'f' | 'e':
            return f'{value:{verb if verb[0] == "." else ".6" + verb}}'
    return f'{value:{verb}}'


def _shown(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case list():
            return f'[{", ".join(map(_shown, value))}]'
        case dict() if _QUANTITY in value:
            return str(value[_QUANTITY])
        case dict():
            return f'{{{", ".join(f"{_shown(key)}: {_shown(part)}" for key, part in value.items())}}}'
        case None:
            return 'null'
    return str(value)


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    'size_': _size,
    'matches_': _matches,
    # lists
    'isSorted': _is_sorted,
    'sum': sum,
    'min': lambda *values: min(values[0] if len(values) == 1 else values),
    'max': lambda *values: max(values[0] if len(values) == 1 else values),
    'indexOf': _index_of,
    'lastIndexOf': _last_index_of,
    'distinct': stdlib.distinct,
    'flatten': stdlib.flatten,
    'reverse': stdlib.reverse,
    'slice': stdlib.slice_,
    'sort': stdlib.sort,
    # texts
    'find': _find,
    'findAll': _find_all,
    'charAt': stdlib.char_at,
    'format': _format,
    'join': stdlib.join,
    'lowerAscii': stdlib.lower_ascii,
    'upperAscii': stdlib.upper_ascii,
    'replace': stdlib.replace,
    'split': stdlib.split,
    'substring': stdlib.substring,
    'trim': stdlib.trim,
    # quantities
    'quantity': _quantity,
    'isQuantity': _is_quantity,
    'isGreaterThan': lambda first, second: _compared(first, second) > 0,
    'isLessThan': lambda first, second: _compared(first, second) < 0,
    'compareTo': _compared,
    'add': _added,
    'sub': _taken,
    'sign': lambda value: _compared(value, '0'),
    'isInteger': lambda value: _amount(value).denominator == 1,
    'asInteger': lambda value: int(_amount(value)),
    'asApproximateFloat': lambda value: float(_amount(value)),
    # URLs
    'url': _url,
    'isURL': _is_url,
    'getScheme': lambda value: _parts(value).scheme,
    'getHost': lambda value: _parts(value).netloc,
    'getHostname': lambda value: _parts(value).hostname or '',
    'getPort': lambda value: str(_parts(value).port or ''),
    'getEscapedPath': lambda value: _parts(value).path,
    'getQuery': lambda value: urllib.parse.parse_qs(_parts(value).query),
    # addresses
    'ip': _ip,
    'isIP': _is_ip,
    'isCIDR': _is_cidr,
    'family': lambda value: ipaddress.ip_address(value[_IP]).version,
    'isLoopback': lambda value: ipaddress.ip_address(value[_IP]).is_loopback,
    'isUnspecified': lambda value: ipaddress.ip_address(value[_IP]).is_unspecified,
}
"""By the name in expressions. A method is a function whose first argument is what it is called on."""
