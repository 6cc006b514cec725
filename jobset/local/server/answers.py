"""What comes in and what goes out, without HTTP."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from jobset.kube import httpserver
from jobset.kube.httpserver import Stream
from jobset.local.objects import Object
from jobset.local.problems import Problem

__all__ = ['JSON', 'LOG', 'PROTOBUF', 'TEXT', 'YAML', 'Answer', 'Call', 'Stream', 'encode', 'warnings']

JSON: Final = 'application/json'
YAML: Final = 'application/yaml'
PROTOBUF: Final = 'application/vnd.kubernetes.protobuf'
TEXT: Final = 'text/plain; charset=utf-8'
LOG: Final = 'text/plain'
"""Of the log of a container, as the real server calls it."""

encode: Final = msgspec.json.Encoder().encode


class Call(msgspec.Struct):
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

    said: list[str] = msgspec.field(default_factory=list)
    """Warnings for the client, whatever becomes of the request."""


class Answer(httpserver.Answer):
    """A complete answer."""

    __slots__ = ()

    @classmethod
    def of(cls, obj: Object, status: int = 200, headers: Sequence[tuple[str, str]] = ()) -> 'Answer':
        """An object as JSON."""
        return cls(status, encode(obj), JSON, headers)

    @classmethod
    def refusal(cls, problem: Problem) -> 'Answer':
        """What a problem looks like to the client."""
        headers = () if problem.retry_after is None else (('Retry-After', str(problem.retry_after)),)
        return cls.of(problem.status(), problem.code, headers)


def warnings(texts: Iterable[str]) -> list[tuple[str, str]]:
    """As headers, each once."""
    return [('Warning', f'299 - "{_escaped(text)}"') for text in dict.fromkeys(texts)]


def _escaped(text: str) -> str:
    # A header is one line of printable characters.
    shown = text.replace('\\', '\\\\').replace('"', '\\"')
    return ''.join(one if ' ' <= one <= '~' else ' ' for one in shown)
