"""What a request can fail with: one class for each thing that a caller can do about it.

* :class:`RetryLater` and those below it: nothing is wrong with the request; try again, not before ``retry_after``.
* :class:`Conflict`, :class:`AlreadyExists`, :class:`NotFound`, :class:`Gone`: the world differs from what the caller
  believed; look again, then decide.
* :class:`Invalid`: the object must be changed; sending it again is of no use.
* :class:`Unauthorized`, :class:`Forbidden`: somebody must grant something.
* :class:`NotLeading`: another replica has the duty; nothing was sent.
"""

# The names say what has happened, as the server's own reasons do; a suffix would only repeat "except".
# ruff: noqa: N818

from collections.abc import Mapping
from typing import Final

import msgspec


class Cause(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One of several faults of an object: the path of the field, a machine-readable reason, a text."""

    field: str = ''
    reason: str = ''
    message: str = ''


class NotLeading(Exception):
    """A write was refused before it was sent, because this replica does not lead."""


class ApiError(Exception):
    """A request that did not succeed.

    ``code`` is the HTTP status (0 when there was no answer), ``reason`` the word from the Status body that programs may
    compare, ``message`` the text for people, ``where`` the method and path.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        where: str = '',
        causes: tuple[Cause, ...] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(code, reason, message)
        self.code = code
        self.reason = reason
        self.message = message
        self.where = where
        self.causes = causes
        self.retry_after = retry_after
        """Seconds that the server asks to wait before the next request, if it does."""

    def __str__(self) -> str:
        status = f'{self.code} {self.reason}' if self.code else self.reason
        return f'{self.where}: {status}: {self.message}' if self.where else f'{status}: {self.message}'


class NotFound(ApiError):
    """404: the object, or the whole kind, is not there."""


class AlreadyExists(ApiError):
    """409 on create: the name is taken."""


class Conflict(ApiError):
    """409 on a write: the object has changed, or its uid is another one."""


class Gone(ApiError):
    """410: the resource version or the continue token is too old; list again."""


class Unauthorized(ApiError):
    """401: the credentials are not accepted, after one refresh."""


class Forbidden(ApiError):
    """403: the role lacks this permission, a quota is exceeded, or the namespace is being deleted."""


class Invalid(ApiError):
    """400, 405, 406, 413, 415 or 422: the request itself must be changed; ``causes`` name the fields."""


class RetryLater(ApiError):
    """The request may succeed unchanged, later."""

    is_outage = False
    """Whether it failed for want of a server that answers, so that it says nothing about the request."""


class TooManyRequests(RetryLater):
    """429: the server did not look at the request."""


class ServerError(RetryLater):
    """5xx: the server failed; a write may or may not have happened."""


class Unreachable(RetryLater):
    """No complete answer: refused, cut or timed out. ``sent`` tells whether the server may have seen the request."""

    is_outage = True

    def __init__(self, message: str, *, where: str = '', sent: bool) -> None:
        super().__init__(0, type(self).__name__, message, where=where)
        self.sent = sent


class Silent(Unreachable):
    """Nothing has come on an open connection for too long."""


class Malformed(RetryLater):
    """The answer is not what the caller can read; a proxy's page, or an object of an unexpected shape."""


class _Details(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    causes: tuple[Cause, ...] | None = None
    retry_after_seconds: int = 0


class Status(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """The body of an answer that is not an object: of failures, and of some deletions."""

    status: str = ''
    reason: str = ''
    message: str = ''
    code: int = 0
    details: _Details | None = None


_STATUS: Final = msgspec.json.Decoder(Status)

_CLASSES: Final[Mapping[int, type[ApiError]]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: Invalid,
    406: Invalid,
    410: Gone,
    413: Invalid,
    415: Invalid,
    422: Invalid,
    429: TooManyRequests,
}


def from_answer(code: int, body: bytes, *, where: str, retry_after: str | None = None) -> ApiError:
    """The error that an answer with this HTTP status stands for; ``retry_after`` is the header, if there was one."""
    try:
        status = _STATUS.decode(body)
    except msgspec.MsgspecError:
        # Not from an API server: a proxy or a load balancer answers in its own way, at any length.
        status = Status(message=body[:200].decode(errors='replace').strip())
    return from_status(status, code=code, where=where, retry_after=retry_after)


def from_status(status: Status, *, code: int = 0, where: str, retry_after: str | None = None) -> ApiError:
    """The error that a Status stands for; ``code`` wins over the one inside."""
    code = code or status.code
    details = status.details or _Details()
    error = _class_of(code, status.reason)
    wait = _seconds(retry_after)
    if wait is None and details.retry_after_seconds > 0:
        wait = float(details.retry_after_seconds)
    return error(
        code,
        status.reason or error.__name__,
        status.message or 'the server gave no message',
        where=where,
        causes=details.causes or (),
        retry_after=wait,
    )


def _class_of(code: int, reason: str) -> type[ApiError]:
    if code == 409:
        return AlreadyExists if reason == 'AlreadyExists' else Conflict
    if code >= 500:
        return ServerError
    return _CLASSES.get(code, ApiError)


def _seconds(header: str | None) -> float | None:
    # The other form of the header, a date, is not used by API servers and would compare two clocks.
    try:
        return max(0.0, float(header)) if header is not None else None
    except ValueError:
        return None
