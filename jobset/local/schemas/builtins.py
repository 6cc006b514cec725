"""Schemas of the built-in kinds, from the vendored OpenAPI data (:mod:`jobset.local.schemas.components`)."""

import functools
from collections.abc import Collection, Sequence

from jobset.local.objects import Object
from jobset.local.problems import Cause
from jobset.local.schemas import canonical, components, decoding, quick, unknown
from jobset.local.schemas.nodes import OBJECT_META, Node, Nodes
from jobset.local.schemas.schema import Schema


@functools.cache
def nodes() -> Nodes:
    """The nodes of the vendored schemas."""
    return Nodes(components.schemas())


def object_meta() -> Node:
    """The node of metadata, the same in every kind."""
    return nodes().named(OBJECT_META)


@functools.cache
def builtin(group: str, version: str, kind: str) -> Schema:
    """The schema of a built-in kind; raises KeyError for one that is not vendored."""
    path = f'apis/{group}/{version}' if group else f'api/{version}'
    return _Builtin(kind, version, components.paths()[path]['kinds'][kind])


class _Builtin(Schema):
    """A kind with Go types: decoding judges its structure, the rules of the kind do the rest."""

    def __init__(self, kind: str, version: str, name: str) -> None:
        self._kind = kind
        self._version = version
        self._name = name

    @functools.cached_property
    def root(self) -> Node:
        return nodes().named(self._name)

    @functools.cached_property
    def document(self) -> Object:
        return dict(components.schemas()[self._name])

    @functools.cached_property
    def _fits(self) -> quick.Test:
        return quick.test(self.root)

    def fits(self, obj: Object) -> bool:
        return self._fits(obj)

    def check(self, obj: Object) -> None:
        try:
            decoding.check(obj, self.root)
        except decoding.UndecodableError as error:
            raise decoding.refuse(self._kind, self._version, error) from None

    def unknown_fields(self, obj: Object) -> Sequence[str]:
        return unknown.fields(obj, self.root)

    def prune(self, obj: Object) -> None:
        unknown.fields(obj, self.root, drop=True)

    def default(self, obj: Object, settled: Collection[str] = (), *, keeps_null: bool = False) -> None:
        canonical.write(obj, self.root)

    def validate(
        self, obj: Object, old: Object | None = None, *, subresource: str = '', found: Sequence[Cause] = ()
    ) -> list[Cause]:
        return []
