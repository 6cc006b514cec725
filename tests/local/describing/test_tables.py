"""Tables and metadata, in the shapes that kube-apiserver 1.37 was seen to give."""

import datetime

from jobset.local import resources
from jobset.local.describing import tables
from tests.local.describing import made

NOW = datetime.datetime(2026, 11, 30, 12, tzinfo=datetime.UTC)
WIDGET = {
    'apiVersion': 'h-g.example.com/v1',
    'kind': 'Widget',
    'metadata': {'name': 'a', 'namespace': 'n', 'resourceVersion': '317', 'creationTimestamp': '2026-11-30T11:59:00Z'},
    'spec': {'size': 3},
}
METADATA = {'kind': 'PartialObjectMetadata', 'apiVersion': 'meta.k8s.io/v1', 'metadata': WIDGET['metadata']}


def test_without_columns_of_its_own_a_kind_has_name_and_age() -> None:
    table = tables.render(made.WIDGETS, [WIDGET], NOW, metadata={'resourceVersion': '320', 'continue': 'token'})

    columns = table.pop('columnDefinitions')
    assert table == {
        'kind': 'Table',
        'apiVersion': 'meta.k8s.io/v1',
        'metadata': {'resourceVersion': '320', 'continue': 'token'},
        'rows': [{'cells': ['a', '60s'], 'object': METADATA}],
    }
    assert [(c['name'], c['type'], c['format'], c['priority']) for c in columns] == [
        ('Name', 'string', 'name', 0),
        ('Age', 'date', '', 0),
    ]


def test_columns_of_a_kind() -> None:
    size = resources.Column('Size', lambda obj, _: obj['spec'].get('size'), 'integer', '', 'How large.', 1)
    kind = made.kind('h-g.example.com', 'v1', 'widgets', 'Widget', columns=(tables.NAME, size))

    table = tables.render(kind, [WIDGET, {**WIDGET, 'spec': {}}], NOW, metadata={})

    assert table['columnDefinitions'][1] == {
        'name': 'Size',
        'type': 'integer',
        'format': '',
        'description': 'How large.',
        'priority': 1,
    }
    assert [row['cells'] for row in table['rows']] == [['a', 3], ['a', None]]


def test_what_goes_with_a_row() -> None:
    def row(include: tables.Include) -> object:
        return tables.render(made.WIDGETS, [WIDGET], NOW, include=include)['rows'][0]['object']

    assert row(tables.Include.NONE) is None
    assert row(tables.Include.METADATA) == METADATA
    assert row(tables.Include.OBJECT) == WIDGET


def test_one_object_gives_its_version_and_later_events_of_a_watch_no_columns() -> None:
    table = tables.render(made.WIDGETS, [WIDGET], NOW, is_first=False)

    assert (table['metadata'], table['columnDefinitions']) == ({'resourceVersion': '317'}, None)


def test_a_bookmark_has_a_row_of_nothing() -> None:
    bookmark = {'metadata': {'resourceVersion': '299', 'annotations': {'k8s.io/initial-events-end': 'true'}}}

    table = tables.render(made.WIDGETS, [bookmark], NOW, is_first=False)

    assert table['metadata'] == {'resourceVersion': '299'}
    assert [row['cells'] for row in table['rows']] == [['', '<unknown>']]


def test_metadata_alone() -> None:
    assert tables.partial(WIDGET) == METADATA
    assert tables.partials([WIDGET], {'resourceVersion': '320'}) == {
        'kind': 'PartialObjectMetadataList',
        'apiVersion': 'meta.k8s.io/v1',
        'metadata': {'resourceVersion': '320'},
        'items': [METADATA],
    }
