"""The schemas of what a JobSet embeds: the template of a Job and the volume claim of Kubernetes.

They are data, made from the OpenAPI documents that an API server serves, in the structural form that a CRD needs::

    kubectl get --raw /openapi/v3/apis/batch/v1 > batch.json
    kubectl get --raw /openapi/v3/api/v1 > core.json
    python -m jobset.api.embedded batch.json core.json

Descriptions are left out: they are two thirds of the size, every API server holds each version of a CRD in memory, and
``kubectl explain job.spec.template`` has them. Without them ``kubectl apply`` can also install the CRD, whose copy then
fits into an annotation.
"""

import argparse
import functools
import importlib.resources
import json
import pathlib
from collections.abc import Mapping
from typing import Final

JsonSchema = dict[str, object]

KUBERNETES: Final = '1.37.2'
"""The version of the API server that served the documents."""

JOB_TEMPLATE: Final = 'JobTemplateSpec'
CLAIM: Final = 'PersistentVolumeClaim'

_FILE: Final = 'embedded.json'
_SOURCES: Final = {
    JOB_TEMPLATE: 'io.k8s.api.batch.v1.JobTemplateSpec',
    CLAIM: 'io.k8s.api.core.v1.PersistentVolumeClaim',
}
_REF: Final = '#/components/schemas/'
_META: Final = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'
_QUANTITY: Final = 'io.k8s.apimachinery.pkg.api.resource.Quantity'
_KEPT: Final = frozenset({'type', 'format', 'required', 'nullable'})
"""Not ``enum``: whether a value is known is for the server that gets the Job to say, which may know more of them."""

_KEPT_EXTENSIONS: Final = frozenset({'x-kubernetes-list-type', 'x-kubernetes-list-map-keys', 'x-kubernetes-map-type'})
_DEFAULTED: Final = frozenset(
    {'fsType', 'iscsiInterface', 'keyring', 'name', 'optional', 'pool', 'protocol', 'readOnly', 'service'}
    | {'storageMode', 'user'}
)
"""The optional fields whose defaults the Go controller's CRD has too.

Another one would be written into every template, where it was not before, and the templates are immutable. The defaults
of required fields are only how Go writes a value that is always there.
"""

_QUANTITY_PATTERN: Final = (
    r'^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$'
)


class UnknownShapeError(ValueError):
    """A document says something for which there is no structural form yet. The text says where."""


@functools.cache
def load() -> Mapping[str, JsonSchema]:
    """The schemas kept with this package, under :data:`JOB_TEMPLATE` and :data:`CLAIM`. Not to be changed."""
    text = importlib.resources.files('jobset.api').joinpath('data', _FILE).read_text()
    schemas: dict[str, JsonSchema] = json.loads(text)['schemas']
    return schemas


def convert(*documents: Mapping[str, object]) -> dict[str, JsonSchema]:
    """The schemas as the OpenAPI v3 ``documents`` of a server have them; of equal names the first document's counts."""
    definitions: dict[str, JsonSchema] = {}
    for document in reversed(documents):
        definitions |= _children(_child(document, 'components'), 'schemas')
    return {name: _definition(source, definitions, ()) for name, source in _SOURCES.items()}


def _definition(name: str, definitions: Mapping[str, JsonSchema], within: tuple[str, ...]) -> JsonSchema:
    if name == _META:
        return _metadata()
    if name == _QUANTITY:
        return _int_or_string() | {'pattern': _QUANTITY_PATTERN}
    if name in within:
        # A CRD cannot refer to itself: from the second round on, anything goes.
        return {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True}
    return _structural(definitions[name], definitions, (*within, name))


def _structural(node: JsonSchema, definitions: Mapping[str, JsonSchema], within: tuple[str, ...]) -> JsonSchema:
    if node.get('format') == 'int-or-string':
        return _int_or_string()
    if (name := _referred(node)) is not None:
        own = {key: value for key, value in node.items() if key in _KEPT_EXTENSIONS}
        return _definition(name, definitions, within) | own
    if 'type' not in node:
        raise UnknownShapeError(f'{" > ".join(within)}: a schema without a type: {sorted(node)}')
    made: JsonSchema = {key: value for key, value in node.items() if key in _KEPT | _KEPT_EXTENSIONS}
    for key in ('items', 'additionalProperties'):
        if key in node:
            made[key] = _structural(_child(node, key), definitions, within)
    if 'properties' in node:
        made['properties'] = {
            name: _structural(child, definitions, within) | _default(name, child, node)
            for name, child in _children(node, 'properties')
        }
    return made


def _default(name: str, node: JsonSchema, parent: JsonSchema) -> JsonSchema:
    required = parent.get('required')
    if name not in _DEFAULTED or 'default' not in node or (isinstance(required, list) and name in required):
        return {}
    return {'default': node['default']}


def _referred(node: JsonSchema) -> str | None:
    ref = node.get('$ref')
    if ref is None and isinstance(all_of := node.get('allOf'), list) and len(all_of) == 1:
        ref = all_of[0].get('$ref')
    return ref.removeprefix(_REF) if isinstance(ref, str) else None


def _metadata() -> JsonSchema:
    """What may be said about an object that is a part of another one."""
    texts: JsonSchema = {'type': 'object', 'additionalProperties': {'type': 'string'}}
    return {
        'type': 'object',
        'properties': {
            'annotations': texts,
            'finalizers': {'type': 'array', 'items': {'type': 'string'}},
            'labels': texts,
            'name': {'type': 'string'},
            'namespace': {'type': 'string'},
        },
    }


def _int_or_string() -> JsonSchema:
    return {'anyOf': [{'type': 'integer'}, {'type': 'string'}], 'x-kubernetes-int-or-string': True}


def _child(node: Mapping[str, object], key: str) -> JsonSchema:
    child = node[key]
    if not isinstance(child, dict):
        raise UnknownShapeError(f'{key}: an object was expected, not {type(child).__name__}')
    return child


def _children(node: Mapping[str, object], key: str) -> list[tuple[str, JsonSchema]]:
    parent = _child(node, key)
    return [(name, _child(parent, name)) for name in parent]


def main() -> None:
    """Make the data of this package anew, from the documents named on the command line."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument('document', nargs='+', type=pathlib.Path, help='an OpenAPI v3 document of the API server')
    documents = [json.loads(path.read_text()) for path in parser.parse_args().document]
    data = {'kubernetes': KUBERNETES, 'schemas': convert(*documents)}
    target = pathlib.Path(__file__).parent / 'data' / _FILE
    target.write_text(json.dumps(data, indent=1, sort_keys=True) + '\n')


if __name__ == '__main__':
    main()
