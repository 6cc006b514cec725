"""Refusals as the API server words them: a code, a reason, and a ``metav1.Status`` as the body.

Source: Kubernetes API conventions, "Response Status Kind"; texts as kube-apiserver 1.37 gives them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from jobset.local.objects import Object


@dataclass(frozen=True, slots=True)
class Cause:
    """One mistake in one field."""

    field: str
    """Its path, as ``spec.template.spec.containers[0].name``."""

    message: str
    reason: str = 'FieldValueInvalid'
    """``FieldValueInvalid``, ``FieldValueRequired``, ``FieldValueForbidden``, ``FieldValueNotSupported``,
    ``FieldValueDuplicate``, ``FieldValueNotFound``, ``FieldValueTypeInvalid``, ``FieldValueTooLong`` or
    ``FieldValueTooMany``; ``FieldManagerConflict`` for applies.
    """

    def as_object(self) -> Object:
        """As it stands in ``details.causes``."""
        return {'reason': self.reason, 'message': self.message, 'field': self.field}


class Problem(Exception):  # noqa: N818 - what is told to the client, as a value that is raised
    """A request is refused. Raised anywhere below the server, which answers with :meth:`status`."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        group: str = '',
        kind: str = '',
        name: str = '',
        uid: str = '',
        causes: Sequence[Cause] = (),
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.causes = tuple(causes)
        self.retry_after = retry_after
        self._details: Object = {
            key: value for key, value in (('name', name), ('group', group), ('kind', kind), ('uid', uid)) if value
        }

    def status(self) -> Object:
        """The body of the answer."""
        details = dict(self._details)
        if self.causes:
            details['causes'] = [cause.as_object() for cause in self.causes]
        if self.retry_after is not None:
            details['retryAfterSeconds'] = self.retry_after
        body: Object = {'kind': 'Status', 'apiVersion': 'v1', 'metadata': {}, 'status': 'Failure'}
        body |= {'message': self.message, **({'reason': self.reason} if self.reason else {})}
        if details:
            body['details'] = details
        body['code'] = self.code
        return body

    @classmethod
    def not_found(cls, plural: str, group: str, name: str) -> Self:
        """No such object."""
        return cls(404, 'NotFound', f'{_full(plural, group)} "{name}" not found', group=group, kind=plural, name=name)

    @classmethod
    def already_exists(cls, plural: str, group: str, name: str) -> Self:
        """An object of that name is there."""
        text = f'{_full(plural, group)} "{name}" already exists'
        return cls(409, 'AlreadyExists', text, group=group, kind=plural, name=name)

    @classmethod
    def conflict(cls, plural: str, group: str, name: str, why: str) -> Self:
        """The object is not what the writer believes it to be."""
        text = f'Operation cannot be fulfilled on {_full(plural, group)} "{name}": {why}'
        return cls(409, 'Conflict', text, group=group, kind=plural, name=name)

    @classmethod
    def invalid(cls, kind: str, group: str, name: str, causes: Sequence[Cause]) -> Self:
        """Fields with wrong values, all at once. Equal mistakes are told once, in the message at least."""
        texts = list(dict.fromkeys(f'{cause.field}: {cause.message}' for cause in causes))
        what = texts[0] if len(texts) == 1 else f'[{", ".join(texts)}]'
        text = f'{_full(kind, group)} "{name}" is invalid: {what}'
        return cls(422, 'Invalid', text, group=group, kind=kind, name=name, causes=causes)

    @classmethod
    def bad_request(cls, message: str) -> Self:
        """The request makes no sense."""
        return cls(400, 'BadRequest', message)

    @classmethod
    def forbidden(cls, plural: str, group: str, name: str, why: str) -> Self:
        """The request is understood, and not allowed."""
        text = f'{_full(plural, group)} "{name}" is forbidden: {why}'
        return cls(403, 'Forbidden', text, group=group, kind=plural, name=name)

    @classmethod
    def expired(cls, message: str) -> Self:
        """The resource version is too old for a watch or a page."""
        return cls(410, 'Expired', message)


def _full(name: str, group: str) -> str:
    return f'{name}.{group}' if group else name
