"""What the server knows of a kind of objects: names, subresources, columns, schema, and the rules of the kind.

Built-in kinds are made in :mod:`jobset.local.kinds`, those of CustomResourceDefinitions in
:mod:`jobset.local.schemas.definitions`. The server (:mod:`jobset.local.server`) treats both alike.
"""

import datetime
import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from jobset.local import schemas
from jobset.local.objects import Object
from jobset.local.problems import Cause

VERBS: Final = ('create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch')
"""In the order of discovery."""

LookUp = Callable[[str, str, str], Object | None]
"""Finds an object by ``plural.group`` (``plural`` alone for the core group), namespace and name."""


Listed = Callable[[str, str], Sequence[Object]]
"""All objects of a ``plural.group`` in a namespace; in all namespaces when that is empty. Not to be changed."""


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What rules may know beside the object."""

    now: datetime.datetime
    look_up: LookUp
    listed: Listed = lambda _plural, _namespace: ()
    """For what depends on others of its kind: the default priority class, addresses that are taken."""


class Rules:
    """How objects of a kind are completed and judged; this class is that of a kind without rules of its own.

    The server calls ``default`` first. Then, for a create: ``prepare_create``, ``default``, ``admit``, the schema,
    ``validate``; for an update: ``prepare_update``, ``default``, the schema, ``validate_update``; for the status
    subresource: ``prepare_status``, ``default``, the schema, ``validate_status``. The generic part of the metadata
    (name, uid, timestamps, generation, managed fields, labels, owner references, finalizers) is the server's business.

    The methods may change ``obj`` in place, never ``old``. They raise :class:`~jobset.local.problems.Problem` where the
    server would answer something else than 422.
    """

    brings_into_form: bool = False
    """Whether ``default`` writes all values in canonical form, so that ``default`` of the schema is not needed."""

    has_generation: bool = True
    """Whether ``metadata.generation`` counts changes outside metadata and status."""

    has_status: bool = True
    """Whether ``status`` is written through the subresource only."""

    spares_stored: bool = False
    """Whether none of the methods changes parts that are complete, so that an update may share them with ``old``."""

    def prepare_create(self, obj: Object, context: Context) -> None:
        """Remove what a creator may not set."""
        if self.has_status:
            obj.pop('status', None)

    def default(self, obj: Object, settled: Collection[str] = ()) -> None:
        """Fill in what is not given. The parts named by ``settled`` have been through it already."""

    def admit(self, obj: Object, context: Context) -> None:
        """What kube-apiserver's own admission plugins do on creation, as resolving a priority class."""

    def validate(self, obj: Object) -> list[Cause]:
        """Mistakes of a new object beyond its schema, in the order in which kube-apiserver gives them."""
        return []

    def prepare_update(self, obj: Object, old: Object, context: Context) -> None:
        """Put back what this request may not change."""
        if self.has_status:
            _copy('status', old, obj)

    def validate_update(self, obj: Object, old: Object) -> list[Cause]:
        """Mistakes of the new state and of the change."""
        return self.validate(obj)

    def prepare_status(self, obj: Object, old: Object, context: Context) -> None:
        """Put back all but the status; of the metadata the server does it."""
        for key, part in old.items():
            if key not in _OWN and obj.get(key) is not part:
                obj[key] = part
        for key in obj.keys() - old.keys() - _OWN:
            del obj[key]

    def validate_status(self, obj: Object, old: Object) -> list[Cause]:
        """Mistakes of a new status."""
        return []

    def warnings(self, obj: Object, old: Object | None) -> Sequence[str]:
        """What is to be said of an object that is taken: new when there is no ``old``; not asked for a status."""
        return ()

    def grace_seconds(self, obj: Object, wanted: int | None) -> int:
        """How long a deletion waits for somebody to confirm it; 0 for kinds that are deleted at once. See pods."""
        return 0


_OWN: Final = frozenset({'status', 'metadata', 'apiVersion', 'kind'})
"""What a write of the status may change, and what is always the same."""


def _copy(key: str, source: Object, target: Object) -> None:
    if key in source:
        target[key] = source[key]
    else:
        target.pop(key, None)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of ``kubectl get``."""

    name: str
    cell: Callable[[Object, datetime.datetime], object]
    """The cell for an object at a time: text, a number, or None."""

    type: str = 'string'
    format: str = ''
    description: str = ''
    priority: int = 0
    """Above 0: shown by ``-o wide`` only."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """Between the form that a kind is served in and the one it is stored in, when that is the form of another version.

    Rules, schemas and patches of a kind see its served form only. Both functions make new objects, apart from parts
    that are the same in both, which are shared; ``apiVersion`` is converted too.
    """

    inward: Callable[[Object], Object]
    """The stored form."""

    outward: Callable[[Object], Object]
    """The served form."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind in one version."""

    group: str
    """Empty for the core group."""

    version: str
    plural: str
    singular: str
    kind: str
    namespaced: bool = True
    short_names: Sequence[str] = ()
    categories: Sequence[str] = ()
    subresources: frozenset[str] = frozenset({'status'})
    """Of ``status``, ``log``, ``binding``, ``eviction``, ``scale``."""

    verbs: Sequence[str] = VERBS
    rules: Rules = field(default_factory=Rules)
    columns: Sequence[Column] = ()
    """None at all: name and age."""

    schema: schemas.Schema
    storage: str = ''
    """Where objects lie, when another version of the same kind is stored there: ``plural.group``. See ``key``."""

    conversion: Conversion | None = None
    """How, when the form stored there is not the served one."""

    selectable: Mapping[str, Callable[[Object], str]] = field(default_factory=dict)
    """Field selectors beyond ``metadata.name`` and ``metadata.namespace``, as ``spec.nodeName`` of pods."""

    @functools.cached_property
    def api_version(self) -> str:
        """As written in ``apiVersion``."""
        return f'{self.group}/{self.version}' if self.group else self.version

    @functools.cached_property
    def stored_group(self) -> str:
        """The group that refusals of an object name: the one in which it is stored."""
        return self.key.partition('.')[2]

    @functools.cached_property
    def key(self) -> str:
        """``plural.group``, the same for all versions: where the store keeps the objects."""
        return self.storage or (f'{self.plural}.{self.group}' if self.group else self.plural)
