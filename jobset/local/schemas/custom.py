"""Schemas of custom resources, from the structural schemas of their CRDs.

Source: Kubernetes documentation, "Extend the Kubernetes API with CustomResourceDefinitions".
"""

import functools
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from jobset.local.objects import Object
from jobset.local.problems import Cause
from jobset.local.schemas import builtins, canonical, decoding, defaulting, quick, rules, structure, unknown
from jobset.local.schemas.components import REFERENCE
from jobset.local.schemas.nodes import OBJECT_META, Node, plain
from jobset.local.schemas.schema import Schema

_SKIPPED: Final = (
    'some validation rules were not checked because the object was invalid; correct the existing errors to '
)
_BLOCKING: Final = frozenset(
    {
        'FieldValueRequired',
        'FieldValueTooLong',
        'FieldValueTooMany',
        'FieldValueTypeInvalid',
        'FieldValueNotSupported',
    }
)
"""Mistakes after which rules are not looked at: they could not be evaluated, or would take too long."""


class Custom(Schema):
    """The schema of one version of a CRD, which must have passed :mod:`jobset.local.schemas.structural`."""

    def __init__(self, kind: str, version: str, schema: Mapping[str, Any]) -> None:
        self._kind = kind
        self._version = version
        self._schema = schema

    @functools.cached_property
    def root(self) -> Node:
        return root(self._schema)

    @functools.cached_property
    def document(self) -> Object:
        properties = dict(self._schema.get('properties') or {})
        reference = {'$ref': f'{REFERENCE}{OBJECT_META}'}
        properties['metadata'] = {'description': 'Standard object metadata.', 'allOf': [reference]}
        standard = builtins.builtin('', 'v1', 'Pod').document['properties']
        for name in ('apiVersion', 'kind'):
            properties[name] = {**standard[name], **properties.get(name, {})}
        return {**self._schema, 'type': 'object', 'properties': properties}

    @functools.cached_property
    def _fits(self) -> quick.Test:
        return quick.test(self.root)

    @functools.cached_property
    def _structure(self) -> structure.Structure:
        return structure.Structure(self.root)

    @functools.cached_property
    def _rules(self) -> rules.Rules:
        return rules.Rules(self.root)

    def fits(self, obj: Object) -> bool:
        return self._fits(obj)

    def check(self, obj: Object) -> None:
        try:
            _check_metadata(obj, self.root)
        except decoding.UndecodableError as error:
            raise decoding.refuse(self._kind, self._version, error) from None

    def unknown_fields(self, obj: Object) -> Sequence[str]:
        # What is not in a Go struct is looked at in alphabetical order.
        return sorted(unknown.fields(obj, self.root))

    def prune(self, obj: Object) -> None:
        unknown.fields(obj, self.root, drop=True)
        _write_whole(obj)

    def default(self, obj: Object, settled: Collection[str] = (), *, keeps_null: bool = False) -> None:
        metadata = obj.get('metadata')
        if isinstance(metadata, dict) and 'metadata' not in settled:
            # The one part that the server holds in a Go struct.
            if keeps_null:
                _drop_empty(metadata)
            else:
                canonical.write(metadata, builtins.object_meta())
        defaulting.fill(obj, self.root, settled, keeps_null=keeps_null)

    def validate(
        self, obj: Object, old: Object | None = None, *, subresource: str = '', found: Sequence[Cause] = ()
    ) -> list[Cause]:
        causes = self._structure.mistakes(obj, old, part=subresource)
        if self._rules.empty:
            return causes
        if any(cause.reason in _BLOCKING for cause in (*found, *causes)):
            return [*causes, Cause('<nil>', f'Invalid value: null: {_SKIPPED}complete validation')]
        return causes + self._rules.mistakes(obj, old)


def root(schema: Mapping[str, Any]) -> Node:
    """The tree of the schema of a whole object."""
    return _node({**schema, 'x-kubernetes-embedded-resource': True}, is_root=True)


def part(schema: Mapping[str, Any]) -> Node:
    """The tree of a part of a schema."""
    return _node(schema)


def _node(schema: Mapping[str, Any], *, is_root: bool = False) -> Node:
    properties = {key: _node(part) for key, part in (schema.get('properties') or {}).items()}
    embedded = bool(schema.get('x-kubernetes-embedded-resource'))
    if embedded:
        string = Node(type='string', schema={'type': 'string'})
        properties.setdefault('apiVersion', string)
        properties.setdefault('kind', string)
        properties['metadata'] = builtins.object_meta()
    items, additional = schema.get('items'), schema.get('additionalProperties')
    facts = plain(schema)
    if embedded and not is_root:
        facts['required'] |= {'apiVersion', 'kind'}
    return Node(
        properties=properties,
        items=_node(items) if isinstance(items, Mapping) else None,
        additional=_node(additional) if isinstance(additional, Mapping) else _anything(additional),
        preserve_unknown=bool(schema.get('x-kubernetes-preserve-unknown-fields')),
        int_or_string=bool(schema.get('x-kubernetes-int-or-string')),
        embedded=embedded and not is_root,
        **facts,
    )


def _anything(additional: object) -> Node | None:
    return Node(preserve_unknown=True) if additional is True else None


def _drop_empty(metadata: Object) -> None:
    for key in ('annotations', 'finalizers', 'labels', 'ownerReferences'):
        if key in metadata and not metadata[key]:
            del metadata[key]


def _write_whole(value: Any) -> None:
    """Write numbers without a fraction as Go does: ``2.0`` as ``2``, in place."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in list(entries):
        if isinstance(part, float) and part.is_integer() and abs(part) < _EXACT:
            value[key] = int(part)
        elif isinstance(part, dict | list):
            _write_whole(part)


_EXACT: Final = 2**53


def _check_metadata(obj: Any, node: Node, path: str = '') -> None:
    """The metadata of the object, and of the objects in it, must be such."""
    if isinstance(obj, list):
        if node.items is not None:
            for index, item in enumerate(obj):
                _check_metadata(item, node.items, f'{path}[{index}]')
        return
    if not isinstance(obj, dict):
        return
    for key, part in obj.items():
        child = node.properties.get(key) or node.additional
        where = f'{path}.{key}' if path else key
        if key == 'metadata' and child is builtins.object_meta():
            try:
                decoding.check(part, child)
            except decoding.UndecodableError as error:
                text = str(error) if not path else f'{where}: Invalid value: {structure.shown(part)}: {error}'
                raise decoding.UndecodableError(text) from None
        elif child is not None:
            _check_metadata(part, child, where)
