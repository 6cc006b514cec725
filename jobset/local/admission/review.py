"""One request for admission, as the server has it, and one answer, as a webhook gives it."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from jobset.local import resources
from jobset.local.objects import Object


class User(msgspec.Struct, frozen=True, kw_only=True):
    """Who sends the request."""

    name: str = 'system:admin'
    uid: str = ''
    groups: Sequence[str] = ('system:masters', 'system:authenticated')
    extra: Mapping[str, Sequence[str]] = msgspec.field(default_factory=dict)

    def as_object(self) -> Object:
        """As ``userInfo``."""
        found: Object = {'username': self.name}
        if self.uid:
            found['uid'] = self.uid
        found['groups'] = list(self.groups)
        if self.extra:
            found['extra'] = {key: list(values) for key, values in self.extra.items()}
        return found


class Review(msgspec.Struct, kw_only=True):
    """What is asked about. The objects are read, never changed, by those who answer.

    ``warnings`` collects what the webhooks want to be told to the client, as headers ``Warning: 299 - "…"``.
    """

    operation: str
    """``CREATE``, ``UPDATE``, ``DELETE`` or ``CONNECT``."""

    kind: resources.Kind
    subresource: str = ''
    namespace: str = ''
    name: str = ''
    """Empty for a creation with ``generateName`` whose name is not made yet."""

    object: Object | None = None
    """None for a deletion."""

    old_object: Object | None = None
    """None for a creation."""

    dry_run: bool = False
    user: User = User()
    options: Object | None = None
    """CreateOptions, UpdateOptions, PatchOptions or DeleteOptions, with ``kind`` and ``apiVersion``."""

    body_kind: tuple[str, str, str] | None = None
    """Group, version and kind of ``object`` where it is not of ``kind``: of an Eviction, a Binding, a Scale."""

    warnings: list[str] = msgspec.field(default_factory=list)


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a webhook says."""

    allowed: bool
    patch: Sequence[Mapping[str, Any]] = ()
    """Operations of RFC 6902."""

    status: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """A ``metav1.Status`` that explains a refusal."""

    warnings: Sequence[str] = ()
