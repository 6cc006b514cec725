"""Whether a text may be a DNS label, a subdomain, a label value or a domain-prefixed path, in the words of Kubernetes.

Each function returns the reasons against the text, none when it is fine. Lengths are counted in bytes.
"""

import re
from typing import Final

from jobset.api.validation import fields

LABEL_MOST: Final = 63
SUBDOMAIN_MOST: Final = 253

TOO_LONG_LABEL: Final = f'must be no more than {LABEL_MOST} characters'
"""The reason against a label that has too many bytes: callers replace it by a text that says which label."""

_DNS_1035 = '[a-z]([-a-z0-9]*[a-z0-9])?'
_DNS_1123 = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
_SUBDOMAIN = rf'{_DNS_1123}(\.{_DNS_1123})*'
_LABEL_VALUE = '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?'
_HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"

_DNS_1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    f"'{_DNS_1035}')"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_LABEL_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'{_LABEL_VALUE}')"
)


def dns_1035_label(text: str) -> list[str]:
    """A host name of one label that starts with a letter: names of Services and of what becomes a pod's host name."""
    return _judged(text, most=LABEL_MOST, unit='characters', pattern=_DNS_1035, reason=_DNS_1035_TEXT)


def dns_1123_subdomain(text: str) -> list[str]:
    """Labels with dots between: the names of most objects."""
    return _judged(text, most=SUBDOMAIN_MOST, unit='characters', pattern=_SUBDOMAIN, reason=_SUBDOMAIN_TEXT)


def label_value(text: str) -> list[str]:
    """What may stand as the value of a Kubernetes label."""
    return _judged(text, most=LABEL_MOST, unit='bytes', pattern=_LABEL_VALUE, reason=_LABEL_VALUE_TEXT)


def domain_prefixed_path(path: str, text: str) -> list[fields.FieldError]:
    """The mistakes in the field at ``path`` whose value should look like ``acme.io/foo``."""
    if not text:
        return [fields.required(path)]
    host, _, rest = text.partition('/')
    if not host or not rest:
        return [fields.invalid(path, text, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    found = [fields.invalid(path, host, reason) for reason in dns_1123_subdomain(host)]
    if not re.fullmatch(_HTTP_PATH, rest):
        found.append(fields.invalid(path, rest, f"Invalid path (regex used for validation is '{_HTTP_PATH}')"))
    return found


def _judged(text: str, *, most: int, unit: str, pattern: str, reason: str) -> list[str]:
    reasons = []
    if len(text.encode()) > most:
        reasons.append(f'must be no more than {most} {unit}')
    if not re.fullmatch(pattern, text):
        reasons.append(reason)
    return reasons
