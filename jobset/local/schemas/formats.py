"""Formats of strings that structural schemas may ask for. Unknown ones are not looked at, as in kube-apiserver."""

import base64
import binascii
import datetime
import ipaddress
import re
import urllib.parse
from collections.abc import Callable
from typing import Final

from jobset.api import durations

_DATE_TIME: Final = re.compile(
    r'[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?'
    r'([Zz]|[+-][0-9]{2}:[0-9]{2})'
)
_HOSTNAME: Final = re.compile(
    r'[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?(\.[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?)*\.?'
)
_UUID: Final = '[0-9a-f]{8}-?[0-9a-f]{4}-?%s[0-9a-f]{3}-?%s[0-9a-f]{3}-?[0-9a-f]{12}'
_MAC: Final = re.compile('([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}|([0-9A-Fa-f]{4}[.]){2}[0-9A-Fa-f]{4}')
_EMAIL: Final = re.compile(r'[^@\s]+@[^@\s]+')


def _parses(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def fits(text: str) -> bool:
        try:
            parse(text)
        except (ValueError, binascii.Error):
            return False
        return True

    return fits


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is not None


def _uuid(version: str, variant: str) -> Callable[[str], bool]:
    return _matches(re.compile(_UUID % (version, variant), re.IGNORECASE))


def _base64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _uri(text: str) -> None:
    parts = urllib.parse.urlsplit(text)
    if not parts.scheme and not text.startswith('/'):
        raise ValueError(text)


FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    'byte': _parses(_base64),
    'cidr': _parses(lambda text: ipaddress.ip_network(text, strict=False) if '/' in text else int('x')),
    'date': _parses(datetime.date.fromisoformat),
    'date-time': _matches(_DATE_TIME),
    'datetime': _matches(_DATE_TIME),
    'duration': _parses(durations.parse),
    'email': _matches(_EMAIL),
    'hostname': lambda text: len(text) <= 255 and _HOSTNAME.fullmatch(text) is not None,
    'ipv4': _parses(ipaddress.IPv4Address),
    'ipv6': _parses(ipaddress.IPv6Address),
    'mac': _matches(_MAC),
    'uri': _parses(_uri),
    'uuid': _uuid('[0-9a-f]', '[0-9a-f]'),
    'uuid3': _uuid('3', '[0-9a-f]'),
    'uuid4': _uuid('4', '[89ab]'),
    'uuid5': _uuid('5', '[89ab]'),
}


def fits(text: str, name: str) -> bool:
    """Whether a string has a format."""
    known = FORMATS.get(name)
    return known is None or known(text)
