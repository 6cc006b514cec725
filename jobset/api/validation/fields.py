"""What is wrong with which field, and how the API server's clients are told.

The texts and the shape of the answer are those of Kubernetes itself: ``<path>: Invalid value: <value>: <detail>``, and
a ``metav1.Status`` of code 422 with one cause for each error.
"""

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from jobset.api import keys

NO_FIELD = '<nil>'
"""What stands for the path of an error that belongs to no single field."""


class Kind(enum.Enum):
    """What sort of mistake it is: the reason of the cause, and the words that open the text."""

    REQUIRED = ('FieldValueRequired', 'Required value')
    INVALID = ('FieldValueInvalid', 'Invalid value')
    FORBIDDEN = ('FieldValueForbidden', 'Forbidden')
    TOO_LONG = ('FieldValueTooLong', 'Too long')
    INTERNAL = ('InternalError', 'Internal error')

    @property
    def reason(self) -> str:
        """The ``reason`` of the cause."""
        return self.value[0]

    @property
    def words(self) -> str:
        """The words that open the text."""
        return self.value[1]


@dataclass(frozen=True)
class FieldError:
    """One mistake. ``str()`` of it is the whole line that a user reads."""

    kind: Kind
    path: str
    detail: str
    value: str | None = None
    """The rendered value; None where a text of this kind shows none."""

    @property
    def message(self) -> str:
        """The text without the path."""
        parts = (self.kind.words, self.value, self.detail)
        return ': '.join(part for part in parts if part is not None and part != '')

    def __str__(self) -> str:
        return f'{self.path}: {self.message}'

    def cause(self) -> dict[str, str]:
        """This mistake as an entry of ``details.causes``."""
        return {'reason': self.kind.reason, 'message': self.message, 'field': self.path}


def invalid(path: str, value: object, detail: str) -> FieldError:
    """The value of a field is not acceptable. ``value`` may be anything that has a JSON form."""
    return FieldError(Kind.INVALID, path, detail, quote(value) if isinstance(value, str) else _json(value))


def required(path: str, detail: str = '') -> FieldError:
    """A field has no value."""
    return FieldError(Kind.REQUIRED, path, detail)


def forbidden(path: str, detail: str) -> FieldError:
    """A value that would be fine at another moment."""
    return FieldError(Kind.FORBIDDEN, path, detail)


def too_long(path: str, most: int) -> FieldError:
    """A value of more than ``most`` bytes."""
    return FieldError(Kind.TOO_LONG, path, f'may not be more than {most} bytes')


def plain(text: str) -> FieldError:
    """A mistake that belongs to no single field."""
    return FieldError(Kind.INTERNAL, NO_FIELD, text)


def status_422(name: str, errors: Iterable[FieldError]) -> dict[str, object]:
    """The answer to a request with these mistakes, as a ``metav1.Status``. Equal mistakes are told once."""
    different = tuple(dict.fromkeys(errors))
    return {
        'kind': 'Status',
        'apiVersion': 'v1',
        'metadata': {},
        'status': 'Failure',
        'message': f'{keys.KIND}.{keys.GROUP} {quote(name)} is invalid: {_joined(different)}',
        'reason': 'Invalid',
        'details': {
            'name': name,
            'group': keys.GROUP,
            'kind': keys.KIND,
            'causes': [error.cause() for error in different],
        },
        'code': 422,
    }


def _joined(errors: Sequence[FieldError]) -> str:
    lines = tuple(dict.fromkeys(str(error) for error in errors))
    return lines[0] if len(lines) == 1 else f'[{", ".join(lines)}]'


_ESCAPES = {
    '\a': '\\a',
    '\b': '\\b',
    '\f': '\\f',
    '\n': '\\n',
    '\r': '\\r',
    '\t': '\\t',
    '\v': '\\v',
    '\\': '\\\\',
    '"': '\\"',
}


def quote(text: str) -> str:
    """The text in double quotes, with what cannot be printed written as escapes."""
    return '"' + ''.join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    code = ord(character)
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    if code < 0x80:
        return f'\\x{code:02x}'
    return f'\\u{code:04x}' if code < 0x10000 else f'\\U{code:08x}'


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
