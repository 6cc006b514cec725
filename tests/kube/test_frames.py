"""A watch as bytes, cut anywhere."""

import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobset.api import meta
from jobset.kube import errors, frames


class Spec(msgspec.Struct, frozen=True, gc=False):
    """Something to get wrong."""

    size: int = 0


class Thing(meta.Partial, frozen=True, gc=False, kw_only=True, rename='camel'):
    """An object with a field of its own."""

    spec: Spec = Spec()


def thing(name: str, version: int, size: int = 0) -> Thing:
    return Thing(metadata=meta.ObjectMeta(name=name, resource_version=str(version)), spec=Spec(size))


STREAM = (
    b'{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"1"},"spec":{"size":5,"other":[1,{}]}}}\n'
    b'{"type":"MODIFIED","object":{"metadata":{"name":"\xc3\xa4","resourceVersion":"2"}}}\r\n'
    b'\n'
    b'{"type":"MODIFIED","object":{"metadata":{"name":"odd","resourceVersion":"3"},"spec":{"size":"big"}}}\n'
    b'{"type":"DELETED","object":{"metadata":{"name":"odd","resourceVersion":"4"},"spec":null}}\n'
    b'{"type":"DELETED","object":{"metadata":{"name":"a","resourceVersion":"5"}}}\n'
    b'{"type":"BOOKMARK","object":{"kind":"Job","metadata":{"resourceVersion":"6"},"spec":{"size":"none"}}}\n'
    b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}\n'
)
EVENTS = [
    frames.Added(thing('a', 1, 5)),
    frames.Modified(thing('ä', 2)),
    frames.Unread(thing('odd', 3).metadata, False, 'Expected `int`, got `str` - at `$.object.spec.size`'),
    frames.Unread(thing('odd', 4).metadata, True, 'Expected `object`, got `null` - at `$.object.spec`'),
    frames.Deleted(thing('a', 5)),
    frames.Bookmark(meta.Partial(metadata=meta.ObjectMeta(resource_version='6'))),
    frames.Failed(errors.Status(code=410, reason='Expired')),
]


@given(cuts=st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_events_do_not_depend_on_where_the_stream_is_cut(cuts: list[int]) -> None:
    decoder = frames.Decoder(Thing)
    places = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[start:end] for start, end in itertools.pairwise(places)]

    assert [event for piece in pieces for event in decoder.feed(piece)] == EVENTS


def test_an_unfinished_line_is_not_an_event() -> None:
    decoder = frames.Decoder(Thing)

    assert list(decoder.feed(STREAM[:-1])) == EVENTS[:-1]


@pytest.mark.parametrize(
    'line',
    [
        pytest.param(b'<html>\n', id='not JSON'),
        pytest.param(b'{"type":"ADDED"}\n', id='no object'),
        pytest.param(b'{"type":"ADDED","object":{"metadata":[]}}\n', id='no metadata'),
    ],
)
def test_what_is_no_event_at_all(line: bytes) -> None:
    with pytest.raises(errors.Malformed, match='a watch event cannot be read'):
        frames.Decoder(Thing).feed(line)


def test_a_type_that_is_not_known_yet_is_not_read() -> None:
    (event,) = frames.Decoder(Thing).feed(b'{"type":"RENAMED","object":{"metadata":{"name":"a"}}}\n')

    assert event == frames.Unread(meta.ObjectMeta(name='a'), False, "Invalid value 'RENAMED' - at `$.type`")


def test_a_line_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, 'MAX_LINE', 10)
    decoder = frames.Decoder(Thing)
    decoder.feed(b'x' * 10)

    with pytest.raises(errors.Malformed, match='a watch event has more than 10 bytes'):
        decoder.feed(b'x')


@pytest.mark.parametrize(
    ('annotations', 'ends'),
    [
        pytest.param({}, False, id='an ordinary bookmark'),
        pytest.param({frames.INITIAL_EVENTS_END: 'true'}, True, id='the end of a list'),
        pytest.param({frames.INITIAL_EVENTS_END: 'false'}, False, id='not the end'),
    ],
)
def test_end_of_a_streamed_list(annotations: dict[str, str], ends: bool) -> None:
    assert frames.Bookmark(meta.Partial(metadata=meta.ObjectMeta(annotations=annotations))).ends_list is ends
