"""The schema of one kind in one version."""

import abc
from collections.abc import Collection, Sequence

from jobset.local.objects import Object
from jobset.local.problems import Cause
from jobset.local.schemas.nodes import Node


class Schema(abc.ABC):
    """What the server asks of a schema; made by :func:`jobset.local.schemas.builtin` or from a CRD.

    The order in the server: ``check`` and ``unknown_fields`` right after decoding (or after patching), then ``prune``,
    all three only for what does not fit; then ``default``, and, after admission, ``validate``.
    """

    @property
    @abc.abstractmethod
    def root(self) -> Node:
        """The tree to walk along."""

    @property
    @abc.abstractmethod
    def document(self) -> Object:
        """The OpenAPI v3 schema to serve; shared, not to be changed."""

    @abc.abstractmethod
    def fits(self, obj: Object) -> bool:
        """Whether an object, or some of its parts, certainly passes ``check`` and has nothing unknown.

        It is quick, and so for nearly all objects. False says nothing: look.
        """

    @abc.abstractmethod
    def check(self, obj: Object) -> None:
        """Refuse what a Go server could not decode, with code 400: a string where a number belongs.

        After it every part of a built-in object, and the metadata of every object, have the right JSON type or are
        null.
        """

    @abc.abstractmethod
    def unknown_fields(self, obj: Object) -> Sequence[str]:
        """Paths of fields that the schema does not have, as ``spec.template.spec.containers[0].imagee``."""

    @abc.abstractmethod
    def prune(self, obj: Object) -> None:
        """Drop the unknown fields, in place."""

    @abc.abstractmethod
    def default(self, obj: Object, settled: Collection[str] = (), *, keeps_null: bool = False) -> None:
        """Fill in the defaults of the schema, and write values in their canonical form, in place.

        The parts named by ``settled`` have been through it and need not be looked into. ``keeps_null`` leaves nulls
        that no default takes the place of to be judged.
        """

    @abc.abstractmethod
    def validate(
        self, obj: Object, old: Object | None = None, *, subresource: str = '', found: Sequence[Cause] = ()
    ) -> list[Cause]:
        """Mistakes in structure, formats and rules; with ``old`` also those of the change. None for built-in kinds.

        Of a subresource only its own part is judged. ``found`` are mistakes of the metadata: after some, no rules are.
        """
