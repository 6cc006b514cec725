"""Objects by owner, whatever order they change in."""

from hypothesis import given
from hypothesis import strategies as st

from jobset.api import meta
from jobset.kube import index, store


def owner(uid: str) -> meta.OwnerReference:
    return meta.OwnerReference(api_version='v1', kind='Owner', name=uid, uid=uid, controller=True)


def owners(one: meta.Partial) -> list[str]:
    return [reference.uid for reference in one.metadata.owner_references]


NAMES = st.sampled_from(['a', 'b', 'c'])
OWNERS = st.lists(st.sampled_from(['x', 'y']), unique=True).map(lambda uids: tuple(owner(uid) for uid in uids))


@given(steps=st.lists(st.tuples(NAMES, st.sampled_from(['put', 'new', 'drop']), OWNERS), max_size=30))
def test_index_is_what_a_search_would_find(
    steps: list[tuple[str, str, tuple[meta.OwnerReference, ...]]],
) -> None:
    by_owner = index.Index(owners)
    held: store.Store[meta.Partial] = store.Store(on_change=by_owner.on_change)
    uids = {'a': 0, 'b': 0, 'c': 0}
    for version, (name, what, references) in enumerate(steps, start=1):
        uids[name] += what == 'new'
        one = meta.ObjectMeta(
            name=name, uid=f'{name}{uids[name]}', resource_version=str(version), owner_references=references
        )
        if what == 'drop':
            held.remove(one)
        else:
            held.apply(meta.Partial(metadata=one))

    for uid in ('x', 'y'):
        found = {one.metadata.uid: one for one in held.values() if uid in owners(one)}
        assert by_owner.get(uid) == found
