"""Refusals that no kind of object has a part in, in the words of kube-apiserver."""

from collections.abc import Sequence

from jobset.local.objects import Object
from jobset.local.problems import Cause, Problem
from jobset.local.server.answers import TEXT, Answer


class BareProblem(Problem):
    """One whose status has no reason, or details that stand empty, as the real server's has."""

    def __init__(self, code: int, reason: str, message: str, *, empty_details: bool = True) -> None:
        super().__init__(code, reason, message)
        self._empty_details = empty_details

    def status(self) -> Object:
        """The body of the answer."""
        body = super().status()
        if self._empty_details:
            del body['code']
            body |= {'details': {}, 'code': self.code}
        return body


def unknown_path() -> Problem:
    """A path under a group that is served, which leads nowhere."""
    return BareProblem(404, 'NotFound', 'the server could not find the requested resource')


def method_not_allowed() -> Problem:
    """The path exists, but not for this method."""
    return BareProblem(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource')


def not_acceptable(accepted: Sequence[str]) -> Problem:
    """The client takes nothing that can be given."""
    text = f'406: Not Acceptable\n\nAvailable representations: {", ".join(accepted)}'
    return BareProblem(406, 'NotAcceptable', text)


def unsupported_media(accepted: Sequence[str]) -> Problem:
    """The body is in a form that is not read here."""
    text = f'the body of the request was in an unknown format - accepted media types include: {", ".join(accepted)}'
    return Problem(415, 'UnsupportedMediaType', text)


def unsupported_patch() -> Problem:
    """A patch of a type that nobody knows."""
    return BareProblem(415, 'UnsupportedMediaType', '415: Unsupported Media Type')


def internal(message: str) -> Problem:
    """What the real server answers with 500 and no reason, because somebody there has not thought of it."""
    return BareProblem(500, '', message, empty_details=False)


def too_large(most: int) -> Problem:
    """The body is larger than the server takes."""
    return Problem(413, 'RequestEntityTooLarge', f'Request entity too large: limit is {most}')


def options(kind: str, cause: Cause) -> Problem:
    """A parameter of the request is wrong; ``kind`` is ListOptions and the like."""
    return Problem.invalid(kind, 'meta.k8s.io', '', [cause])


def page_not_found() -> Answer:
    """A path of which not even the group is known: the real server answers that in plain text."""
    return Answer(404, b'404 page not found\n', TEXT)


def from_future(wanted: int, current: int) -> Problem:
    """A resource version that has not been given out yet."""
    cause = Cause('', 'Too large resource version', 'ResourceVersionTooLarge')
    text = f'Timeout: Too large resource version: {wanted}, current: {current}'
    return FutureProblem(504, 'Timeout', text, causes=[cause], retry_after=1)


class FutureProblem(Problem):
    """One whose cause names no field."""

    def status(self) -> Object:
        """The body of the answer."""
        body = super().status()
        for cause in body['details']['causes']:
            del cause['field']
        return body
