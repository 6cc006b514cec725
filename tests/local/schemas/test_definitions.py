"""Definitions become kinds, and keep their names from others."""

import copy
import datetime
from typing import Any

import msgspec
import pytest

from jobset.api import crd
from jobset.local import objects
from jobset.local.schemas import components, definitions, documents
from tests.local.schemas import cases

_NOW = datetime.datetime(2026, 12, 1, tzinfo=datetime.UTC)
_LATER = _NOW + datetime.timedelta(hours=1)


def _definition(plural: str = 'tests', kind: str = 'Test', **names: Any) -> dict[str, Any]:
    made = copy.deepcopy(cases.DEFINITIONS['right'])
    made['metadata']['name'] = f'{plural}.a.example.com'
    made['spec']['names'] = {'plural': plural, 'kind': kind, **names}
    definitions.default(made)
    return made


def _conditions(definition: dict[str, Any]) -> dict[str, tuple[str, str, str]]:
    return {
        each['type']: (each['status'], each['reason'], each['lastTransitionTime'])
        for each in definition['status']['conditions']
    }


def test_our_own_definition_is_right() -> None:
    definition = crd.definition()
    definitions.default(definition)

    (kind,) = definitions.kinds(definition)

    assert definitions.validate_crd(definition) == []
    assert (kind.api_version, kind.key) == ('jobset.x-k8s.io/v1alpha2', 'jobsets.jobset.x-k8s.io')
    assert kind.subresources == {'status'}
    assert [column.name for column in kind.columns][:2] == ['Name', 'TerminalState']


def test_established_again_keeps_its_times() -> None:
    first = definitions.establish(_definition(), _NOW)

    again = definitions.establish(first, _LATER)

    assert again == first


def test_a_new_storage_version_is_remembered_with_the_old() -> None:
    first = definitions.establish(_definition(), _NOW)
    (version,) = first['spec']['versions']
    first['spec']['versions'] = [{**version, 'storage': False}, {**version, 'name': 'v2'}]

    assert definitions.establish(first, _LATER)['status']['storedVersions'] == ['v1', 'v2']
    assert [kind.api_version for kind in definitions.kinds(first)] == ['a.example.com/v1', 'a.example.com/v2']


def test_taken_names_are_not_accepted() -> None:
    other = definitions.establish(_definition(shortNames=['te']), _NOW)
    second = _definition('others', 'Test', shortNames=['te', 'ot'])

    established = definitions.establish(second, _NOW, [other])

    assert established['status']['acceptedNames'] == {'plural': 'others'}
    assert _conditions(established) == {
        'NamesAccepted': ('False', 'ListKindConflict', objects.stamp(_NOW)),
        'Established': ('False', 'NotAccepted', objects.stamp(_NOW)),
    }
    assert _conditions(definitions.establish(established, _LATER)) == {
        'NamesAccepted': ('True', 'NoConflicts', objects.stamp(_LATER)),
        'Established': ('True', 'InitialNamesAccepted', objects.stamp(_LATER)),
    }


@pytest.mark.parametrize(
    ('path', 'value'),
    [
        pytest.param(('scope',), 'Cluster', id='scope'),
        pytest.param(('names', 'kind'), 'Other', id='kind'),
    ],
)
def test_an_established_definition_keeps_what_it_is(path: tuple[str, ...], value: str) -> None:
    old = definitions.establish(_definition(), _NOW)
    new = copy.deepcopy(old)
    place = new['spec']
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value

    (cause,) = definitions.validate_crd(new, old)

    assert (cause.field, cause.message) == (f'spec.{".".join(path)}', f'Invalid value: "{value}": field is immutable')


def test_documents_say_what_kubectl_looks_for() -> None:
    definition = crd.definition()
    definitions.default(definition)

    made = documents.of_kinds(definitions.kinds(definition))

    (path,) = made
    assert path == 'apis/jobset.x-k8s.io/v1alpha2'
    document = msgspec.json.decode(made[path])
    patch = document['paths'][f'/{path}/namespaces/{{namespace}}/jobsets/{{name}}']['patch']
    gvk = {'group': 'jobset.x-k8s.io', 'kind': 'JobSet', 'version': 'v1alpha2'}
    assert patch['x-kubernetes-group-version-kind'] == gvk
    assert {'dryRun', 'fieldManager', 'fieldValidation', 'force'} <= {each['name'] for each in patch['parameters']}
    # kubectl sends strategic merge patches to whom names them here, and custom kinds do not understand them.
    assert set(patch['requestBody']['content']) == {
        'application/apply-patch+yaml',
        'application/json-patch+json',
        'application/merge-patch+json',
    }
    schema = document['components']['schemas']['io.x-k8s.jobset.v1alpha2.JobSet']
    assert schema['x-kubernetes-group-version-kind'] == [gvk]
    assert schema['properties']['metadata']['allOf'] == [
        {'$ref': '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'}
    ]


def test_documents_are_complete() -> None:
    for path, text in documents.builtin().items():
        document = msgspec.json.decode(text)
        known = document['components']['schemas']
        assert set(components.references(document)) <= known.keys(), path
        assert document['paths'], path
