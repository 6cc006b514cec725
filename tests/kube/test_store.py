"""The cache against a server of which it hears in any order that can happen."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, precondition, rule

from jobset.api import meta
from jobset.kube import store


def thing(name: str, uid: str, version: int, **labels: str) -> meta.Partial:
    return meta.Partial(metadata=meta.ObjectMeta(name=name, uid=uid, resource_version=str(version), labels=labels))


def by_name(things: Iterable[meta.Partial]) -> dict[tuple[str, str], meta.Partial]:
    return {('', one.metadata.name): one for one in things}


@dataclass
class Listener:
    """Keeps what it is told, and complains about a story that makes no sense."""

    alive: dict[str, meta.Partial] = field(default_factory=dict)
    told: list[tuple[str, str, str]] = field(default_factory=list)
    newest: dict[str, int] = field(default_factory=dict)
    goes_back: bool = False
    """Whether the server may lose what it has told."""

    def __call__(self, old: meta.Partial | None, new: meta.Partial | None) -> None:
        if new is not None and not self.goes_back:
            # What was told is never taken back to be told again: not a state, and not a whole object.
            assert new.metadata.version > self.newest.get(new.metadata.name, 0)
            self.newest[new.metadata.name] = new.metadata.version
        match old, new:
            case None, meta.Partial(metadata=added):
                assert added.name not in self.alive
                self.alive[added.name] = new
                self.told.append(('add', added.name, added.uid))
            case meta.Partial(metadata=gone), None:
                assert self.alive.pop(gone.name) == old
                self.told.append(('delete', gone.name, gone.uid))
            case meta.Partial(metadata=before), meta.Partial(metadata=after):
                assert self.alive[after.name] == old
                assert before.uid == after.uid
                self.alive[after.name] = new
                self.told.append(('change', after.name, after.uid))
            case _:
                pytest.fail('a change of nothing')


def kept(one: meta.Partial) -> bool:
    return 'dropped' not in one.metadata.labels


@dataclass(frozen=True)
class Event:
    obj: meta.Partial
    deletes: bool


class Server:
    """What is there, and what has happened so far."""

    def __init__(self) -> None:
        self.version = 100
        self.objects: dict[str, meta.Partial] = {}
        self.events: list[Event] = []
        self.uids = 0

    def write(self, name: str, labels: dict[str, str]) -> meta.Partial:
        self.version += 1
        held = self.objects.get(name)
        if held is None:
            self.uids += 1
        uid = held.metadata.uid if held is not None else f'uid-{self.uids}'
        obj = self.objects[name] = thing(name, uid, self.version, **labels)
        self.events.append(Event(obj, deletes=False))
        return obj

    def delete(self, name: str) -> None:
        self.version += 1
        held = self.objects.pop(name)
        metadata = msgspec.structs.replace(held.metadata, resource_version=str(self.version))
        self.events.append(Event(meta.Partial(metadata=metadata), deletes=True))


NAMES = st.sampled_from(['a', 'b'])
LABELS = st.sampled_from([{}, {'dropped': 'yes'}])


class Following(RuleBasedStateMachine):
    """Any order of the server's changes, answers that come late, and a watch that is cut and lists anew."""

    answers = Bundle('answers')

    def __init__(self) -> None:
        super().__init__()
        self.server = Server()
        self.listener = Listener()
        self.store: store.Store[meta.Partial] = store.Store(keep=kept, on_change=self.listener)
        self.store.replace({}, self.server.version)
        self.delivered = 0  # events of the server that the watch has brought
        self.listing: tuple[dict[tuple[str, str], meta.Partial], int, int] | None = None

    @rule(target=answers, name=NAMES, labels=LABELS)
    def we_write(self, name: str, labels: dict[str, str]) -> meta.Partial:
        return self.server.write(name, labels)

    @rule(name=NAMES, labels=LABELS)
    def others_write(self, name: str, labels: dict[str, str]) -> None:
        self.server.write(name, labels)

    @rule(name=NAMES)
    def somebody_deletes(self, name: str) -> None:
        if name in self.server.objects:
            self.server.delete(name)

    @rule(answer=answers)
    def an_answer_comes(self, answer: meta.Partial) -> None:
        """At any time, even twice."""
        self.store.observe(answer)

    @precondition(lambda self: self.listing is None)
    @rule(count=st.integers(1, 5))
    def the_watch_brings(self, count: int) -> None:
        for event in self.server.events[self.delivered : self.delivered + count]:
            if event.deletes:
                self.store.remove(event.obj.metadata)
            else:
                self.store.apply(event.obj)
            self.delivered += 1

    @precondition(lambda self: self.listing is None and self.delivered == len(self.server.events))
    @rule()
    def a_bookmark_comes(self) -> None:
        self.store.bookmark(self.server.version)

    @rule()
    def a_list_is_made(self) -> None:
        self.listing = by_name(self.server.objects.values()), self.server.version, len(self.server.events)

    @precondition(lambda self: self.listing is not None)
    @rule()
    def the_list_comes(self) -> None:
        assert self.listing is not None
        objects, version, self.delivered = self.listing
        self.store.replace(objects, version)
        self.listing = None

    @invariant()
    def the_story_is_true(self) -> None:
        assert self.listener.alive == {one.metadata.name: one for one in self.store.values()}
        assert all(kept(one) for one in self.store.values())

    def teardown(self) -> None:
        if self.listing is not None:
            self.the_list_comes()
        self.the_watch_brings(len(self.server.events))
        assert self.listener.alive == {name: one for name, one in self.server.objects.items() if kept(one)}


TestFollowing = Following.TestCase
TestFollowing.settings = settings(max_examples=300, stateful_step_count=40, deadline=None)


def filled(*things: meta.Partial, version: int = 10) -> tuple[store.Store[meta.Partial], Listener]:
    listener = Listener()
    held: store.Store[meta.Partial] = store.Store(keep=kept, on_change=listener)
    held.replace(by_name(things), version)
    listener.told.clear()
    return held, listener


@pytest.mark.parametrize(
    ('answer', 'news', 'told'),
    [
        pytest.param(thing('new', 'u2', 11), True, [('add', 'new', 'u2')], id='a newer object is added at once'),
        pytest.param(thing('new', 'u2', 10), False, [], id='one as old as the last event has been deleted meanwhile'),
        pytest.param(thing('a', 'u1', 12), True, [('change', 'a', 'u1')], id='a newer state of a known one is taken'),
        pytest.param(thing('a', 'u1', 7), False, [], id='an older state of a known one is not'),
        pytest.param(
            thing('a', 'u9', 12), True, [('delete', 'a', 'u1'), ('add', 'a', 'u9')], id='a new uid is another object'
        ),
        pytest.param(
            thing('a', 'u1', 12, dropped='yes'), True, [('delete', 'a', 'u1')], id='one that is no longer kept goes'
        ),
        pytest.param(thing('n', 'u2', 12, dropped='yes'), False, [], id='one that is not kept does not come'),
    ],
)
def test_answer_to_own_write(answer: meta.Partial, news: bool, told: list[tuple[str, str, str]]) -> None:
    held, listener = filled(thing('a', 'u1', 8))

    assert held.observe(answer) is news
    assert listener.told == told


@pytest.mark.parametrize(
    ('deleted', 'told'),
    [
        pytest.param(thing('a', 'u1', 12), [('delete', 'a', 'u1')], id='the object that is held goes'),
        pytest.param(thing('a', 'u1', 9), [('delete', 'a', 'u1')], id='also when we hold a newer state of it'),
        pytest.param(thing('a', 'u0', 12), [], id='its predecessor of that name does not take it along'),
        pytest.param(thing('b', 'u2', 12), [], id='an unknown one is no news'),
    ],
)
def test_deletion(deleted: meta.Partial, told: list[tuple[str, str, str]]) -> None:
    held, listener = filled(thing('a', 'u1', 10))

    assert held.remove(deleted.metadata) is bool(told)
    assert listener.told == told


def test_event_that_our_own_write_came_before_is_no_news() -> None:
    held, listener = filled()
    held.observe(thing('a', 'u1', 15))

    assert not held.apply(thing('a', 'u1', 12))
    assert not held.apply(thing('a', 'u1', 15))
    assert listener.told == [('add', 'a', 'u1')]


def test_list_after_a_restored_backup_is_the_truth_though_older() -> None:
    held, listener = filled(thing('a', 'u1', 90), thing('b', 'u2', 95), thing('same', 'u3', 3), version=100)
    listener.goes_back = True

    held.replace(by_name([thing('a', 'u1', 40), thing('same', 'u3', 3)]), 50)

    assert listener.told == [('delete', 'b', 'u2'), ('change', 'a', 'u1')]
    assert held.seen == 50


def test_listed_object_that_cannot_be_read_stays_as_it_was() -> None:
    held, listener = filled(thing('a', 'u1', 8), thing('b', 'u2', 9))

    held.replace({}, 20, unread=[meta.Ref('', 'a')])

    assert listener.told == [('delete', 'b', 'u2')]
    assert held.get('', 'a') == thing('a', 'u1', 8)
