"""What comes in and what goes out, without HTTP."""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from jobset.local.objects import Object
from jobset.local.problems import Problem

JSON: Final = 'application/json'
YAML: Final = 'application/yaml'
PROTOBUF: Final = 'application/vnd.kubernetes.protobuf'
TEXT: Final = 'text/plain; charset=utf-8'

encode: Final = msgspec.json.Encoder().encode


@dataclass(slots=True)
class Call:
    """One request; ``path`` and ``query`` are percent-encoded."""

    method: str
    path: str
    query: str = ''
    body: bytes = b''
    content_type: str = ''
    accept: str = ''
    user_agent: str = ''
    warns: bool = True
    """Whether anybody reads warnings; where not, unknown fields are dropped without looking for them."""

    said: list[str] = field(default_factory=list)
    """Warnings for the client, whatever becomes of the request."""


@dataclass(slots=True)
class Answer:
    """A complete answer."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: Sequence[tuple[str, str]] = ()

    @classmethod
    def of(cls, obj: Object, status: int = 200, headers: Sequence[tuple[str, str]] = ()) -> 'Answer':
        """An object as JSON."""
        return cls(status, encode(obj), JSON, headers)

    @classmethod
    def refusal(cls, problem: Problem) -> 'Answer':
        """What a problem looks like to the client."""
        headers = () if problem.retry_after is None else (('Retry-After', str(problem.retry_after)),)
        return cls.of(problem.status(), problem.code, headers)


@dataclass(slots=True)
class Stream:
    """An answer that goes on: its pieces as they come. Whoever gives up on it closes ``pieces``."""

    pieces: AsyncIterator[bytes]
    content_type: str = JSON
    headers: Sequence[tuple[str, str]] = ()
    status: int = 200


def warnings(texts: Iterable[str]) -> list[tuple[str, str]]:
    """As headers, each once."""
    return [('Warning', f'299 - "{_escaped(text)}"') for text in dict.fromkeys(texts)]


def _escaped(text: str) -> str:
    # A header is one line of printable characters.
    shown = text.replace('\\', '\\\\').replace('"', '\\"')
    return ''.join(one if ' ' <= one <= '~' else ' ' for one in shown)
