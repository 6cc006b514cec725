"""Schemas as trees of nodes: what the walks of this package and of :mod:`jobset.local.patches` go along.

Nodes are made from OpenAPI v3, one for each ``$ref``, so a tree may contain itself: schemas of schemas do.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from jobset.local.schemas.components import REFERENCE

Json = Mapping[str, Any]

_META: Final = 'io.k8s.apimachinery.pkg.apis.meta.v1.'
_APIEXTENSIONS: Final = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.'
OBJECT_META: Final = f'{_META}ObjectMeta'
QUANTITY: Final = 'io.k8s.apimachinery.pkg.api.resource.Quantity'
INT_OR_STRING: Final = 'io.k8s.apimachinery.pkg.util.intstr.IntOrString'

_FREE: Final = frozenset(
    {
        f'{_META}FieldsV1',
        f'{_META}Patch',
        'io.k8s.apimachinery.pkg.runtime.RawExtension',
        f'{_APIEXTENSIONS}JSON',
        f'{_APIEXTENSIONS}JSONSchemaPropsOrArray',
        f'{_APIEXTENSIONS}JSONSchemaPropsOrBool',
        f'{_APIEXTENSIONS}JSONSchemaPropsOrStringArray',
    }
)
"""Types that hold any JSON. Other types without properties are empty structs."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Node:
    """One place in a schema. Compared by identity; a tree may contain itself."""

    type: str = ''
    """``object``, ``array``, ``string``, ``integer``, ``number`` or ``boolean``; empty for anything."""

    format: str = ''
    """As OpenAPI has it: ``int32``, ``date-time``; ``quantity`` and ``micro-time`` for those types of Kubernetes."""

    name: str = ''
    """Of the Go type, as ``v1.PodSpec``; empty for plain types and in CRDs."""

    properties: Mapping[str, 'Node'] = field(default_factory=dict)
    items: 'Node | None' = None
    additional: 'Node | None' = None
    """Of the values of a map."""

    required: frozenset[str] = frozenset()
    list_type: str = ''
    """``atomic``, ``set`` or ``map``; empty where the schema says nothing, which means atomic."""

    map_keys: Sequence[str] = ()
    map_type: str = ''
    """``granular`` or ``atomic``; empty where the schema says nothing, which means granular."""

    merge_key: str = ''
    merge_strategy: str = ''
    """Of strategic merge patches: ``merge``, ``retainKeys``, ``merge,retainKeys``, or nothing for replace."""

    preserve_unknown: bool = False
    int_or_string: bool = False
    nullable: bool = False
    embedded: bool = False
    """A whole object with apiVersion, kind and metadata."""

    default: Any = None
    """None: there is none."""

    schema: Json = field(default_factory=dict)
    """The piece of OpenAPI that it was made from."""

    def __repr__(self) -> str:
        return f'<Node {self.name or self.type or "any"}>'


ANYTHING: Final = Node(preserve_unknown=True)
"""Of a place that no schema describes."""


class Nodes:
    """Makes nodes from the components of built-in kinds, and keeps them."""

    def __init__(self, components: Json) -> None:
        self._components = components
        self._made: dict[str, Node] = {}

    def named(self, name: str) -> Node:
        """The node of one component."""
        made = self._made.get(name)
        if made is None:
            # Kept before it is complete: what it contains may contain it.
            made = self._made[name] = Node()
            _fill(made, self._component(name))
        return made

    def _component(self, name: str) -> Node:
        schema = self._components[name]
        short = '.'.join(name.rsplit('.', 2)[-2:])
        if name == QUANTITY:
            return Node(format='quantity', name='resource.Quantity', schema=schema)
        if name == INT_OR_STRING:
            return Node(format='int-or-string', int_or_string=True, name='intstr.IntOrString', schema=schema)
        if name == f'{_META}MicroTime':
            return Node(type='string', format='micro-time', name='v1.MicroTime', schema=schema)
        if name in _FREE:
            return Node(type=schema.get('type', ''), preserve_unknown=True, name=short, schema=schema)
        return dataclasses.replace(self._inline(schema), name=short)

    def of(self, schema: Json) -> Node:
        """The node of a piece of a document."""
        reference = schema.get('$ref') or (schema['allOf'][0].get('$ref') if 'allOf' in schema else None)
        if reference is None:
            return self._inline(schema)
        node = self.named(reference.removeprefix(REFERENCE))
        if 'default' not in schema:
            return node
        return dataclasses.replace(node, default=schema['default'])

    def _inline(self, schema: Json) -> Node:
        items, additional = schema.get('items'), schema.get('additionalProperties')
        return Node(
            properties={key: self.of(part) for key, part in schema.get('properties', {}).items()},
            items=None if items is None else self.of(items),
            additional=self.of(additional) if isinstance(additional, dict) else None,
            **plain(schema),
        )


def plain(schema: Json) -> dict[str, Any]:
    """The facts of a node that are said in its own piece of OpenAPI, as arguments of :class:`Node`."""
    return {
        'type': schema.get('type', ''),
        'format': schema.get('format', ''),
        'required': frozenset(schema.get('required') or ()),
        'list_type': schema.get('x-kubernetes-list-type', ''),
        'map_keys': tuple(schema.get('x-kubernetes-list-map-keys') or ()),
        'map_type': schema.get('x-kubernetes-map-type', ''),
        'merge_key': schema.get('x-kubernetes-patch-merge-key', ''),
        'merge_strategy': schema.get('x-kubernetes-patch-strategy', ''),
        'nullable': bool(schema.get('nullable')),
        'default': schema.get('default'),
        'schema': schema,
    }


def _fill(target: Node, source: Node) -> None:
    for each in dataclasses.fields(Node):
        object.__setattr__(target, each.name, getattr(source, each.name))
