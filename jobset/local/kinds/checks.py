"""Whether a text may be a name, a label, a port … Each function gives the reasons against it, none when it is fine.

The reasons are those of Kubernetes. What is judged is mostly the same few names over and over: answers are kept.
"""

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from jobset.api.validation import names
from jobset.local.kinds import faults
from jobset.local.problems import Cause

_LABEL: Final = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
_SUBDOMAIN: Final = rf'{_LABEL}(\.{_LABEL})*'
_NAME_PART: Final = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'
_CONFIG_KEY: Final = '[-._a-zA-Z0-9]+'
_HEADER: Final = '[-A-Za-z0-9]+'

_is_label: Final = re.compile(_LABEL).fullmatch
_is_label_1035: Final = re.compile('[a-z]([-a-z0-9]*[a-z0-9])?').fullmatch
_is_subdomain: Final = re.compile(_SUBDOMAIN).fullmatch
_is_name_part: Final = re.compile(_NAME_PART).fullmatch
_is_config_key: Final = re.compile(_CONFIG_KEY).fullmatch
_is_header: Final = re.compile(_HEADER).fullmatch
_is_variable: Final = re.compile('[ -<>-~]+').fullmatch
_is_port_name: Final = re.compile('[-a-z0-9]+').fullmatch

_kept: Final = functools.lru_cache(maxsize=4096)

PORT_RANGE: Final = 'must be between 1 and 65535, inclusive'


@_kept
def dns_label(text: str) -> Sequence[str]:
    """A host name of one label: names of containers, volumes, namespaces."""
    if len(text) <= names.LABEL_MOST and _is_label(text):
        return []
    reasons = [names.TOO_LONG_LABEL] if len(text.encode()) > names.LABEL_MOST else []
    if not _is_label(text):
        if _is_subdomain(text):
            reasons.append('must not contain dots')
        else:
            reasons.append(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
                "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
                f"'{_LABEL}')"
            )
    return reasons


def dns_1035_label(text: str) -> list[str]:
    """A host name of one label that starts with a letter."""
    return [] if len(text) <= names.LABEL_MOST and _is_label_1035(text) else names.dns_1035_label(text)


@_kept
def dns_subdomain(text: str) -> Sequence[str]:
    """Labels with dots between: names of most objects."""
    return [] if len(text) <= names.SUBDOMAIN_MOST and _is_subdomain(text) else names.dns_1123_subdomain(text)


def label_value(text: str) -> list[str]:
    """The value of a label."""
    return [] if not text or (len(text) <= names.LABEL_MOST and _is_name_part(text)) else names.label_value(text)


@_kept
def qualified_name(text: str) -> Sequence[str]:
    """The key of a label, and everything that is written like one."""
    prefix, slash, name = text.rpartition('/')
    if not slash and len(name) <= names.LABEL_MOST and _is_name_part(name):
        return []
    part = (
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
        f"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME_PART}')"
    )
    if '/' in prefix:
        return [f"a valid label key {part} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    reasons = []
    if slash:
        reasons = (
            [f'prefix part {reason}' for reason in byte_worded(dns_subdomain(prefix))]
            if prefix
            else ['prefix part must be non-empty']
        )
    if not name:
        reasons.append('name part must be non-empty')
    elif len(name.encode()) > names.LABEL_MOST:
        reasons.append(f'name part must be no more than {names.LABEL_MOST} bytes')
    if not _is_name_part(name):
        reasons.append(f'name part {part}')
    return reasons


def byte_worded(reasons: Sequence[str]) -> list[str]:
    """The reasons as newer parts of the server word them: limits in bytes."""
    return [reason.replace(' characters', ' bytes') if 'no more than' in reason else reason for reason in reasons]


@_kept
def config_key(text: str) -> Sequence[str]:
    """The key of an entry of a ConfigMap or Secret: it becomes the name of a file."""
    if len(text) <= names.SUBDOMAIN_MOST and _is_config_key(text) and text[:2] != '..' and text != '.':
        return []
    reasons = []
    if len(text.encode()) > names.SUBDOMAIN_MOST:
        reasons.append(f'must be no more than {names.SUBDOMAIN_MOST} characters')
    if not _is_config_key(text):
        reasons.append(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
            f"'KEY_NAME',  or 'key-name', regex used for validation is '{_CONFIG_KEY}')"
        )
    if text == '.':
        reasons.append("must not be '.'")
    elif text == '..':
        reasons.append("must not be '..'")
    elif text.startswith('..'):
        reasons.append("must not start with '..'")
    return reasons


@_kept
def variable(text: str) -> Sequence[str]:
    """The name of an environment variable."""
    if _is_variable(text):
        return []
    if not text:
        return ['environment variable name must be non-empty']
    return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]


def port(number: int) -> list[str]:
    """The number of a port."""
    return [] if 1 <= number <= 65535 else [PORT_RANGE]


@_kept
def port_name(text: str) -> Sequence[str]:
    """The name of a port."""
    reasons = []
    if len(text.encode()) > 15:
        reasons.append('must be no more than 15 characters')
    if not _is_port_name(text):
        reasons.append('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)')
    if not any('a' <= character <= 'z' for character in text):
        reasons.append('must contain at least one letter (a-z)')
    if '--' in text:
        reasons.append('must not contain consecutive hyphens')
    if text and (text[0] == '-' or text[-1] == '-'):
        reasons.append('must not begin or end with a hyphen')
    return reasons


def header(text: str) -> list[str]:
    """The name of an HTTP header."""
    if _is_header(text):
        return []
    rule = "a valid HTTP header must consist of alphanumeric characters or '-'"
    return [f"{rule} (e.g. 'X-Header-Name', regex used for validation is '{_HEADER}')"]


def port_or_name(path: str, value: int | str) -> list[Cause]:
    """A port by number or by name."""
    return faults.each_invalid(path, value, port(value) if isinstance(value, int) else port_name(value))


def labels(path: str, found: Mapping[str, str] | None) -> list[Cause]:
    """Mistakes in labels, by key."""
    causes: list[Cause] = []
    if not found:
        return causes
    for key, value in found.items():
        if reasons := qualified_name(key):
            causes += faults.each_invalid(path, key, reasons)
        if reasons := label_value(value):
            causes += faults.each_invalid(path, value, reasons)
    return causes


def annotations(path: str, found: Mapping[str, str] | None) -> list[Cause]:
    """Mistakes in annotations: their keys, and their size in all."""
    causes: list[Cause] = []
    size = 0
    for key, value in (found or {}).items():
        if reasons := qualified_name(key.lower()):
            causes += faults.each_invalid(path, key, reasons)
        size += len(key) + len(value)
    if size > _ANNOTATIONS_MOST:
        causes.append(faults.too_long(path, _ANNOTATIONS_MOST))
    return causes


_ANNOTATIONS_MOST: Final = 256 * 1024


def selector(path: str, found: Mapping[str, Any] | None) -> list[Cause]:
    """Mistakes in a label selector."""
    if not found:
        return []
    causes = labels(f'{path}.matchLabels', found.get('matchLabels'))
    for i, expression in enumerate(found.get('matchExpressions') or ()):
        where = f'{path}.matchExpressions[{i}]'
        values = expression.get('values') or ()
        operator = expression.get('operator') or ''
        wrong = values_of(where, operator, values)
        if wrong is None:
            wrong = [faults.invalid(f'{where}.operator', operator, 'not a valid selector operator')]
        causes += wrong
        causes += faults.each_invalid(f'{where}.key', expression.get('key', ''), qualified_name(expression['key']))
        for j, value in enumerate(values):
            causes += faults.each_invalid(f'{where}.values[{j}]', value, label_value(value))
    return causes


def values_of(path: str, operator: str, values: Sequence[str]) -> list[Cause] | None:
    """Mistakes in the number of values of a requirement; None for operators that not every selector knows."""
    match operator:
        case 'In' | 'NotIn' if not values:
            return [faults.required(f'{path}.values', "must be specified when `operator` is 'In' or 'NotIn'")]
        case 'Exists' | 'DoesNotExist' if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            return [faults.forbidden(f'{path}.values', text)]
        case 'In' | 'NotIn' | 'Exists' | 'DoesNotExist':
            return []
        case _:
            return None


def matches(found: Mapping[str, Any], tags: Mapping[str, str]) -> bool:
    """Whether labels satisfy a label selector. One that makes no sense matches nothing."""
    for key, value in (found.get('matchLabels') or {}).items():
        if tags.get(key) != value:
            return False
    for expression in found.get('matchExpressions') or ():
        key, values = expression.get('key'), expression.get('values') or ()
        match expression.get('operator'):
            case 'In' if tags.get(key) in values:
                pass
            case 'NotIn' if tags.get(key) not in values:
                pass
            case 'Exists' if key in tags:
                pass
            case 'DoesNotExist' if key not in tags:
                pass
            case _:
                return False
    return True
