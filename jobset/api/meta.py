"""What every Kubernetes object carries, as far as this project reads it.

These are *partial* structs: fields that nobody here reads are skipped while decoding and never become Python objects.
"""

import msgspec


class OwnerReference(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True, gc=False):
    """Who an object belongs to. ``uid`` decides; the name may have been given to somebody else since."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class Identity(msgspec.Struct, frozen=True, kw_only=True, rename='camel', omit_defaults=True, gc=False):
    """Which object this is, and in which version: the least that a cache has to know of it."""

    name: str = ''
    namespace: str = ''
    uid: str = ''
    resource_version: str = ''

    @property
    def version(self) -> int:
        """The resource version as a number: versions of one resource can be compared; 0 when there is none.

        Kubernetes guarantees this order since 1.35, and etcd has always given it.
        """
        return int(self.resource_version or 0)


class ObjectMeta(Identity, frozen=True, kw_only=True, rename='camel', omit_defaults=True, gc=False):
    """``metadata`` of any object. Times are RFC 3339 text; an absent map or list may also arrive as null."""

    generation: int = 0
    generate_name: str | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None
    finalizers: tuple[str, ...] | None = None

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages this object, if any."""
        return next((owner for owner in self.owner_references or () if owner.controller), None)
