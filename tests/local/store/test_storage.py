"""The store: revisions, conditions, order, history, and who is told."""

from typing import Any

import pytest

from jobset.local.objects import Object
from jobset.local.store import records, storage
from jobset.local.store.records import Event, Record, Type

KIND = 'jobs.batch'


def job(name: str, namespace: str = 'default', **spec: Any) -> Object:
    metadata = {'name': name, 'namespace': namespace, 'uid': f'uid-of-{name}'}
    return {'apiVersion': 'batch/v1', 'kind': 'Job', 'metadata': metadata, 'spec': spec}


def filled(*names: str, **options: Any) -> storage.Store:
    store = storage.Store(**options)
    for name in names:
        namespace, _, last = name.rpartition('/')
        store.create(KIND, job(last, namespace or 'default'))
    return store


def names(found: Any) -> list[str]:
    return [f'{record.namespace}/{record.name}' for record in found]


def test_each_change_of_anything_has_the_next_revision() -> None:
    store = storage.Store()

    first = store.create(KIND, job('a'))
    other = store.create('pods', job('a'))
    changed = store.update(KIND, job('a', n=1), expected=first)
    gone = store.delete(KIND, changed.decode(), expected=changed)

    assert [one.revision for one in (first, other, changed, gone)] == [2, 3, 4, 5]
    assert [one.decode()['metadata']['resourceVersion'] for one in (first, other, changed, gone)] == [
        '2',
        '3',
        '4',
        '5',
    ]
    assert store.revision == 5


def test_a_name_is_taken_once() -> None:
    store = filled('a')

    with pytest.raises(storage.TakenError):
        store.create(KIND, job('a'))

    assert store.revision == 2


def test_a_change_is_made_to_the_state_that_was_read() -> None:
    store = filled('a')
    read = store.get(KIND, 'default', 'a')
    assert read is not None
    newer = store.update(KIND, job('a', n=1), expected=read)

    with pytest.raises(storage.ChangedError) as late:
        store.update(KIND, job('a', n=2), expected=read)
    with pytest.raises(storage.ChangedError):
        store.delete(KIND, job('a'), expected=read)

    assert late.value.current is newer
    assert store.get(KIND, 'default', 'a') is newer
    assert store.revision == newer.revision


def test_what_is_gone_cannot_be_changed() -> None:
    store = filled('a')
    read = store.get(KIND, 'default', 'a')
    assert read is not None
    store.delete(KIND, read.decode(), expected=read)

    with pytest.raises(storage.ChangedError) as late:
        store.update(KIND, job('a'), expected=read)

    assert late.value.current is None


def test_order_is_that_of_etcd_keys() -> None:
    store = filled('a/z', 'a-b/y', 'a/b', 'ab/a', 'a/a')

    assert names(store.walk(KIND)) == ['a-b/y', 'a/a', 'a/b', 'a/z', 'ab/a']
    assert names(store.walk(KIND, 'a')) == ['a/a', 'a/b', 'a/z']
    assert names(store.walk(KIND, 'none')) == []
    assert names(store.walk('pods')) == []


@pytest.mark.parametrize(
    ('namespace', 'after', 'left'),
    [
        pytest.param('', ('a', 'b'), ['a/z', 'b/a', 'b/c'], id='in the middle of a namespace'),
        pytest.param('', ('a', 'z'), ['b/a', 'b/c'], id='at its end'),
        pytest.param('', ('aa', 'x'), ['b/a', 'b/c'], id='in a namespace that is not there'),
        pytest.param('b', ('b', 'a'), ['b/c'], id='within one namespace'),
        pytest.param('b', ('b', 'b'), ['b/c'], id='after a name that is not there'),
        pytest.param('', ('b', 'c'), [], id='at the very end'),
    ],
)
def test_the_rest_after_a_page(namespace: str, after: tuple[str, str], left: list[str]) -> None:
    store = filled('a/b', 'a/z', 'b/a', 'b/c')

    assert names(store.walk(KIND, namespace, after=after)) == left
    assert store.count(KIND, namespace, after=after) == len(left)


def test_a_list_of_the_past_is_what_it_was() -> None:
    store = filled('a', 'b', 'c')
    then = store.revision
    before = {record.name: record for record in store.walk(KIND)}
    store.update(KIND, job('b', n=1), expected=before['b'])
    store.delete(KIND, job('a'), expected=before['a'])
    store.create(KIND, job('aa'))
    store.create('pods', job('x'))

    assert list(store.walk(KIND, revision=then)) == list(before.values())
    assert names(store.walk(KIND, 'default', after=('default', 'a'), revision=then)) == ['default/b', 'default/c']
    assert store.count(KIND, after=('default', 'a'), revision=then) == 2
    assert names(store.walk(KIND)) == ['default/aa', 'default/b', 'default/c']


def test_the_past_is_known_as_far_as_the_ring_goes() -> None:
    store = filled('a', 'b', 'c', 'd', settings=storage.Remembering(max_events=2))

    assert [event.record.name for event in store.since(KIND, 3)] == ['c', 'd']
    with pytest.raises(storage.ExpiredError):
        store.since(KIND, 2)
    with pytest.raises(storage.ExpiredError):
        store.walk(KIND, revision=2)


def test_a_quiet_kind_loses_nothing_to_a_busy_one() -> None:
    store = storage.Store(settings=storage.Remembering(max_events=3))
    store.create('pods', job('quiet'))
    then = store.revision
    for name in 'abcde':
        store.create(KIND, job(name))

    assert list(store.since('pods', then)) == []
    with pytest.raises(storage.ExpiredError):
        store.since('pods', then - 1)
    with pytest.raises(storage.ExpiredError):
        store.since(KIND, then)


def test_the_ring_is_bounded_by_bytes() -> None:
    size = filled('a').since(KIND, 1)[0].record.size
    store = filled('a', 'b', 'c', settings=storage.Remembering(max_bytes=2 * size))

    assert [event.record.name for event in store.since(KIND, store.oldest(KIND))] == ['b', 'c']


def test_listeners_are_told_of_their_kind_until_they_stop() -> None:
    store = storage.Store()
    told: list[Event] = []
    stop = store.subscribe(KIND, told.append)

    created = store.create(KIND, job('a'))
    store.create('pods', job('a'))
    updated = store.update(KIND, job('a', n=1), expected=created)
    deleted = store.delete(KIND, job('a', n=1), expected=updated)
    stop()
    store.create(KIND, job('b'))

    assert told == [
        Event(Type.ADDED, created, None),
        Event(Type.MODIFIED, updated, created),
        Event(Type.DELETED, deleted, updated),
    ]
    assert told == list(store.since(KIND, 1))[:3]


def test_one_of_two_equal_listeners_stops_alone() -> None:
    store = storage.Store()
    first: list[Event] = []
    second: list[Event] = []
    stop = store.subscribe(KIND, first.append)
    store.subscribe(KIND, second.append)

    stop()
    stop()
    store.create(KIND, job('a'))

    assert (len(first), len(second)) == (0, 1)


def test_what_the_journal_refuses_has_not_happened() -> None:
    class Full:
        def append(self, kind: str, event: Event) -> None:
            raise OSError('full')

    store = storage.Store(journal=Full())
    told: list[Event] = []
    store.subscribe(KIND, told.append)

    with pytest.raises(OSError, match='full'):
        store.create(KIND, job('a'))

    assert (store.revision, store.get(KIND, 'default', 'a'), told, list(store.since(KIND, 1))) == (1, None, [], [])


def test_recovered_objects_are_there_and_revisions_go_on() -> None:
    old = filled('b', 'a')
    store = storage.Store(recovered=old.everything())

    assert names(store.walk(KIND)) == ['default/a', 'default/b']
    assert store.create(KIND, job('c')).revision == old.revision + 1
    with pytest.raises(storage.ExpiredError):
        store.since(KIND, old.revision - 1)


def test_labels_are_read_without_the_rest() -> None:
    obj = job('a')
    obj['metadata']['labels'] = {'x': 'y'}
    with_labels = storage.Store().create(KIND, obj)
    without = storage.Store().create(KIND, job('a'))

    assert (records.labels(with_labels), records.labels(without)) == ({'x': 'y'}, {})


def test_a_record_decodes_anew_each_time() -> None:
    record: Record = storage.Store().create(KIND, job('a'))

    record.decode()['spec']['changed'] = True

    assert record.decode()['spec'] == {}


def reread(record: Record) -> Record:
    return records.read(
        record.data,
        namespace=record.namespace,
        name=record.name,
        uid=record.uid,
        revision=record.revision,
        api_version=record.api_version,
    )


MANAGED = [{'manager': 'me', 'operation': 'Update', 'fieldsV1': {'f:spec': {}}}]


def test_managed_fields_are_kept_once_and_shown_in_place() -> None:
    store = storage.Store()
    made = []
    for name in ('a', 'b'):
        obj = job(name, text='\0managed', more='"managedFields":[]')
        obj['metadata'] = {'managedFields': list(MANAGED)} | obj['metadata'] | {'labels': {'managedFields': '[]'}}
        made.append((store.create(KIND, obj), obj))

    for record, obj in made:
        assert record.decode() == obj
        assert obj['metadata']['managedFields'] == MANAGED
        again = reread(record)
        assert again == record
        assert again.managed is record.managed
    assert made[0][0].managed is made[1][0].managed


@pytest.mark.parametrize('managed', [[], None])
def test_no_managed_fields_are_kept_as_they_are(managed: Any) -> None:
    obj = job('a')
    obj['metadata']['managedFields'] = managed

    record = storage.Store().create(KIND, obj)

    assert record.decode() == obj
    assert reread(record).decode() == obj
