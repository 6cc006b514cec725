"""What every Kubernetes object carries: its name, its identity, its owners.

Kinds are decoded in part: a structure names the fields that are read, and the rest never becomes a Python object.
Derive such structures from :class:`Partial`, with the same options::

    class Job(meta.Partial, frozen=True, gc=False, kw_only=True, rename='camel'):
        spec: JobSpec = JobSpec()

Where thousands of objects are held, derive their metadata from :class:`Identity` instead, and name only what is read.
"""

from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

if TYPE_CHECKING:
    StringMap = dict[str, str]
    Strings = tuple[str, ...]
    Owners = tuple['OwnerReference', ...]
else:
    # A client may write null where a map or a list is meant. Decoding accepts it and Common makes it empty, so that
    # no reader has to think of it; for readers the type is the plain one.
    StringMap = dict[str, str] | None
    Strings = tuple[str, ...] | None
    Owners = tuple['OwnerReference', ...] | None


class Ref(NamedTuple):
    """The name of an object among those of its resource; the namespace is empty for cluster-wide ones."""

    namespace: str
    name: str


class OwnerReference(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """Who an object belongs to, and whether that owner manages it. The uid decides: a name may be given again."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class Identity(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """Which object this is, and in which version: the least that a cache has to know of it."""

    name: str = ''
    namespace: str = ''
    uid: str = ''
    resource_version: str = ''

    @property
    def ref(self) -> Ref:
        """Namespace and name together."""
        return Ref(self.namespace, self.name)

    @property
    def version(self) -> int:
        """The resource version as a number: versions of one resource can be compared; 0 when there is none.

        Kubernetes guarantees this order since 1.35, and etcd has always given it.
        """
        return int(self.resource_version or 0)


class Common(Identity, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """What of ``metadata`` nearly everybody reads; what is absent or null is empty. Times are RFC 3339 text."""

    labels: StringMap = msgspec.field(default_factory=dict)
    annotations: StringMap = msgspec.field(default_factory=dict)
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    owner_references: Owners = ()
    finalizers: Strings = ()

    def __post_init__(self) -> None:
        # Made for every object that is read, mostly for nothing: hence one look at all of them first.
        null: object = None
        if (
            self.labels is not null
            and self.annotations is not null
            and self.owner_references is not null
            and self.finalizers is not null
        ):
            return
        # "Not" rather than "is None": for the type checker there is no None, and an empty value may be set anew.
        if not self.labels:
            msgspec.structs.force_setattr(self, 'labels', {})
        if not self.annotations:
            msgspec.structs.force_setattr(self, 'annotations', {})
        if not self.owner_references:
            msgspec.structs.force_setattr(self, 'owner_references', ())
        if not self.finalizers:
            msgspec.structs.force_setattr(self, 'finalizers', ())

    @property
    def is_deleting(self) -> bool:
        """Whether the object has been asked to go."""
        return self.deletion_timestamp is not None

    @property
    def controller(self) -> OwnerReference | None:
        """The one owner that manages the object."""
        return next((owner for owner in self.owner_references if owner.controller), None)


class ObjectMeta(Common, frozen=True, gc=False, kw_only=True, rename='camel', omit_defaults=True):
    """``metadata`` of an object as read from the server."""

    generate_name: str = ''
    generation: int = 0


class Condition(msgspec.Struct, frozen=True, kw_only=True, rename='camel', gc=False):
    """A condition in the status of an object that others write."""

    type: str
    status: str = ''
    reason: str = ''
    message: str = ''
    last_transition_time: str | None = None


class Object(Protocol):
    """Anything with ``metadata``."""

    @property
    def metadata(self) -> Identity:
        """Name and identity."""


class Partial(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename='camel'):
    """A kind of which only the metadata is read; the base of those that read more."""

    metadata: ObjectMeta = ObjectMeta()
