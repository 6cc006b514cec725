"""The CRD against its file, against that of the Go controller, and the embedded schemas against what was decided."""

import json
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from jobset.api import crd, embedded, facts, schema, types

Json = Any

REPOSITORY = pathlib.Path(__file__).parents[2]
REFERENCE = json.loads((pathlib.Path(__file__).parent / 'data' / 'crd-schema.json').read_text())
REFERRED = {'batch/v1 JobTemplateSpec': embedded.JOB_TEMPLATE, 'v1 PersistentVolumeClaim': embedded.CLAIM}

LATER = (('spec', 'scheduling'), ('spec', 'activeDeadlineSeconds'), ('status', 'executionAttempts'))
"""Fields that the Go controller has in a later version, behind gates."""


def test_the_file_is_the_generated_one() -> None:
    assert (REPOSITORY / 'crds' / crd.FILE).read_text() == crd.text()


def test_the_file_holds_the_definition() -> None:
    assert yaml.safe_load(crd.text()) == crd.definition()


def test_the_file_can_be_written_anew(tmp_path: pathlib.Path) -> None:
    target = tmp_path / 'crd.yaml'

    subprocess.run([sys.executable, '-m', 'jobset.api.crd', target], check=True, cwd=REPOSITORY)

    assert target.read_text() == crd.text()


def test_kubectl_can_keep_the_last_applied_definition() -> None:
    # Client-side apply stores the object in an annotation; all annotations together may have 256 KiB.
    assert len(json.dumps(crd.definition(), separators=(',', ':'))) < 200 * 1024


def test_the_definition_is_that_of_the_go_controller() -> None:
    definition: Json = crd.definition()
    spec = definition['spec']
    (version,) = spec['versions']
    ours = {
        'group': spec['group'],
        'names': spec['names'],
        'scope': spec['scope'],
        'version': version['name'],
        'subresources': version['subresources'],
        'additionalPrinterColumns': version['additionalPrinterColumns'],
        'schema': {'openAPIV3Schema': _undescribed(version['schema']['openAPIV3Schema'])},
    }

    assert definition['metadata']['name'] == f'{REFERENCE["names"]["plural"]}.{REFERENCE["group"]}'
    assert (version['served'], version['storage']) == (True, True)
    properties = ours['schema']['openAPIV3Schema']['properties']
    assert [properties[part]['properties'].pop(name)['type'] for part, name in LATER] == [
        'object',
        'integer',
        'integer',
    ]
    assert list(_differences(REFERENCE, ours, '')) == []


def _undescribed(node: Json) -> Json:
    if isinstance(node, list):
        return [_undescribed(item) for item in node]
    if not isinstance(node, dict):
        return node
    # A property may itself be called "description"; what describes is a text.
    kept = {key: item for key, item in node.items() if key != 'description' or not isinstance(item, str)}
    return {key: _undescribed(item) for key, item in kept.items()}


def _differences(theirs: Json, ours: Json, path: str) -> Iterator[str]:
    if isinstance(theirs, dict) and '$ref' in theirs:
        theirs = embedded.load()[REFERRED[theirs['$ref']]]
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in sorted(theirs.keys() | ours.keys()):
            yield from _differences(theirs.get(key, 'absent'), ours.get(key, 'absent'), f'{path}.{key}')
    elif theirs != ours:
        yield f'{path}: there {theirs}, here {ours}'


def test_every_field_is_described() -> None:
    described = {
        f'{cls.__name__}.{name}': fact.text for cls, known in facts.FIELDS.items() for name, fact in known.items()
    }

    assert [name for name, text in described.items() if not text.endswith('.')] == []


def test_a_field_without_facts_cannot_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(facts.FIELDS[types.Coordinator], 'pod_index')

    with pytest.raises(schema.SchemaError, match='Coordinator: fields and facts differ in pod_index'):
        schema.jobset()


def _nodes(node: Json, path: str = '') -> Iterator[tuple[str, Json]]:
    yield path, node
    for name, child in node.get('properties', {}).items():
        yield from _nodes(child, f'{path}.{name}')
    for key, sign in (('items', '[]'), ('additionalProperties', '{}')):
        if key in node:
            yield from _nodes(node[key], path + sign)


def _every() -> Iterator[tuple[str, Json]]:
    for name, node in embedded.load().items():
        yield from _nodes(node, name)


def test_only_the_known_defaults_are_embedded() -> None:
    found = {(path.rpartition('.')[2], node['default']) for path, node in _every() if 'default' in node}

    assert found == {
        ('protocol', 'TCP'),
        ('service', ''),
        ('name', ''),
        ('optional', False),
        ('fsType', 'ext4'),
        ('fsType', 'xfs'),
        ('readOnly', False),
        ('iscsiInterface', 'default'),
        ('pool', 'rbd'),
        ('user', 'admin'),
        ('keyring', '/etc/ceph/keyring'),
        ('storageMode', 'ThinProvisioned'),
    }


def test_embedded_metadata_is_limited() -> None:
    found = {path: set(node['properties']) for path, node in _every() if path.endswith('.metadata')}
    allowed = {'annotations', 'finalizers', 'labels', 'name', 'namespace'}

    assert found == {
        'JobTemplateSpec.metadata': allowed,
        'JobTemplateSpec.spec.template.metadata': allowed,
        'JobTemplateSpec.spec.template.spec.volumes[].ephemeral.volumeClaimTemplate.metadata': allowed,
        'PersistentVolumeClaim.metadata': allowed,
    }


def test_the_keys_of_embedded_lists_are_always_there() -> None:
    missing = [
        f'{path}: {key}'
        for path, node in _every()
        for key in node.get('x-kubernetes-list-map-keys', ())
        if key not in node['items'].get('required', ()) and 'default' not in node['items']['properties'][key]
    ]

    assert missing == []


@pytest.mark.parametrize(
    ('path', 'part'),
    [
        pytest.param(
            'JobTemplateSpec.spec.template.spec.containers',
            {'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name']},
            id='containers merge by name',
        ),
        pytest.param(
            'JobTemplateSpec.spec.template.spec.containers[].ports',
            {'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['containerPort', 'protocol']},
            id='ports merge by number and protocol',
        ),
        pytest.param('JobTemplateSpec.spec', {'required': ['template']}, id='a Job needs pods'),
        pytest.param('JobTemplateSpec.spec.template.spec', {'required': ['containers']}, id='a pod needs containers'),
        pytest.param(
            'JobTemplateSpec.spec.template.spec.containers[].livenessProbe.httpGet.port',
            {'x-kubernetes-int-or-string': True, 'anyOf': [{'type': 'integer'}, {'type': 'string'}]},
            id='a port by name or number',
        ),
        pytest.param(
            'PersistentVolumeClaim.spec.resources.requests{}',
            {'x-kubernetes-int-or-string': True},
            id='a quantity',
        ),
        pytest.param(
            'JobTemplateSpec.spec.template.spec.schedulingGroup.podGroupName', {'type': 'string'}, id='a pod group'
        ),
        pytest.param('JobTemplateSpec.spec.managedBy', {'type': 'string'}, id='a Job by another controller'),
    ],
)
def test_embedded_parts(path: str, part: Json) -> None:
    node = dict(_every())[path]

    assert {key: node.get(key) for key in part} == part


def test_no_value_list_is_embedded() -> None:
    assert [path for path, node in _every() if 'enum' in node] == []


DOCUMENT: Json = {
    'components': {
        'schemas': {
            'io.k8s.api.batch.v1.JobTemplateSpec': {
                'type': 'object',
                'description': 'dropped',
                'properties': {
                    'metadata': {'allOf': [{'$ref': '#/components/schemas/M'}], 'default': {}},
                    'name': {'type': 'string', 'default': '', 'enum': ['a']},
                    'needed': {'type': 'string', 'default': ''},
                    'again': {'$ref': '#/components/schemas/io.k8s.api.batch.v1.JobTemplateSpec'},
                },
                'required': ['needed'],
                'x-kubernetes-unions': [],
            },
            'io.k8s.api.core.v1.PersistentVolumeClaim': {'type': 'object', 'x-kubernetes-map-type': 'atomic'},
            'M': {'type': 'array', 'items': {'type': 'string'}, 'x-kubernetes-list-type': 'set'},
        }
    }
}


def test_convert() -> None:
    assert embedded.convert(DOCUMENT) == {
        'JobTemplateSpec': {
            'type': 'object',
            'properties': {
                'metadata': {'type': 'array', 'items': {'type': 'string'}, 'x-kubernetes-list-type': 'set'},
                'name': {'type': 'string', 'default': ''},
                'needed': {'type': 'string'},
                'again': {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True},
            },
            'required': ['needed'],
        },
        'PersistentVolumeClaim': {'type': 'object', 'x-kubernetes-map-type': 'atomic'},
    }


def test_a_schema_of_an_unknown_shape_is_refused() -> None:
    schemas = {**DOCUMENT['components']['schemas'], 'M': {'not': {}}}

    with pytest.raises(embedded.UnknownShapeError, match=r"JobTemplateSpec > M: a schema without a type: \['not'\]"):
        embedded.convert({'components': {'schemas': schemas}})
