"""What the garbage collector makes of what it knows; and that it looks at an object when something has changed."""

from collections.abc import Mapping, Sequence

import pytest

from jobset.api import meta
from jobset.kube import requests
from jobset.local.controllers.collecting import decisions, graph

THINGS = requests.Resource('', 'v1', 'things', 'Thing')
FOREGROUND, BACKGROUND = requests.Propagation.FOREGROUND, requests.Propagation.BACKGROUND
SOLID, WAITING, ABSENT, UNKNOWN = decisions.Owner


def _ref(uid: str, *, block: bool = False, name: str = '') -> meta.OwnerReference:
    return meta.OwnerReference(api_version='v1', kind='Thing', name=name or uid, uid=uid, block_owner_deletion=block)


def _item(uid: str, *owners: meta.OwnerReference, finalizers: Sequence[str] = (), deleting: bool = False) -> graph.Item:
    return graph.Item(
        THINGS,
        graph.Metadata(
            name=uid,
            namespace='n',
            uid=uid,
            owner_references=owners or None,
            finalizers=tuple(finalizers) or None,
            deletion_timestamp='2026-11-30T12:00:00Z' if deleting else None,
        ),
    )


def _known(*items: graph.Item) -> graph.Graph:
    found = graph.Graph()
    for item in items:
        found.put(item)
    return found


A, B, BLOCKED = _ref('a'), _ref('b'), _ref('x', block=True)


def _delete(propagation: requests.Propagation, owners: Sequence[meta.OwnerReference] | None = None) -> decisions.Delete:
    return decisions.Delete(propagation, owners)


@pytest.mark.parametrize(
    ('item', 'states', 'others', 'action'),
    [
        pytest.param(_item('x'), {}, (), decisions.Nothing(), id='no owner'),
        pytest.param(_item('x', A), {'a': SOLID}, (), decisions.Nothing(), id='an owner'),
        pytest.param(_item('x', A), {'a': ABSENT}, (), _delete(BACKGROUND), id='its owner is gone'),
        pytest.param(_item('x', A, B), {'a': UNKNOWN, 'b': SOLID}, (), decisions.Verify([A]), id='who knows'),
        pytest.param(_item('x', A, B), {'a': ABSENT, 'b': SOLID}, (), decisions.Write([B]), id='one of two is gone'),
        pytest.param(_item('x', A, B), {'a': WAITING, 'b': SOLID}, (), decisions.Write([B]), id='one of two is going'),
        pytest.param(_item('x', A, B), {'a': ABSENT, 'b': ABSENT}, (), _delete(BACKGROUND), id='both are gone'),
        pytest.param(_item('x', A), {'a': WAITING}, (), _delete(BACKGROUND), id='awaited, and alone'),
        pytest.param(
            _item('x', A), {'a': WAITING}, (_item('y', BLOCKED),), _delete(FOREGROUND), id='awaited, with its own'
        ),
        pytest.param(
            _item('x', _ref('a', block=True)),
            {'a': WAITING},
            (_item('y', BLOCKED, finalizers=['foregroundDeletion'], deleting=True),),
            _delete(FOREGROUND, [A]),
            id='awaited, in a circle',
        ),
        pytest.param(
            _item('x', A, finalizers=['orphan']),
            {'a': ABSENT},
            (),
            _delete(requests.Propagation.ORPHAN),
            id='its own wish for its dependants',
        ),
        pytest.param(_item('x', A, deleting=True), {'a': ABSENT}, (), decisions.Nothing(), id='goes already'),
        pytest.param(
            _item('x', deleting=True, finalizers=['foregroundDeletion']),
            {},
            (_item('y', _ref('x')),),
            decisions.Release('foregroundDeletion'),
            id='nobody blocks',
        ),
        pytest.param(
            _item('x', deleting=True, finalizers=['foregroundDeletion']),
            {},
            (_item('y', BLOCKED), _item('z', BLOCKED, finalizers=['foregroundDeletion'], deleting=True)),
            decisions.Await(['y']),
            id='two block, and one of them waits itself',
        ),
        pytest.param(
            _item('x', deleting=True, finalizers=['orphan', 'foregroundDeletion']),
            {},
            (_item('y', BLOCKED),),
            decisions.SetFree([_item('y', BLOCKED)]),
            id='sets free first',
        ),
    ],
)
def test_decisions(
    item: graph.Item,
    states: Mapping[str, decisions.Owner],
    others: Sequence[graph.Item],
    action: decisions.Action,
) -> None:
    assert decisions.decide(_known(item, *others), item, lambda _, owner: states[owner.uid]) == action


def test_what_is_looked_at() -> None:
    known = graph.Graph()
    owner, going = _item('a'), _item('a', finalizers=['foregroundDeletion'], deleting=True)
    assert list(known.put(owner)) == []
    assert list(known.put(_item('x', A))) == []
    assert list(known.put(_item('late', B))) == ['late']
    assert list(known.put(_item('forged', _ref('a', name='other')))) == ['forged']
    assert list(known.put(owner)) == []
    assert set(known.put(going)) == {'a', 'x', 'forged'}
    assert list(known.drop('x')) == ['a']
    assert list(known.put(_item('forged'))) == ['a', 'forged']
    assert list(known.drop('a')) == []
    assert known.get('a') is None
    assert [item.metadata.uid for item in known.dependants('b')] == ['late']
    assert list(known.drop('b')) == ['late']
    assert list(known.forget(THINGS)) == ['late', 'forged']
