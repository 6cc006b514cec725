"""What is settled by sums."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobset.scheduler.topology import placing, requests, results, tree
from jobset.scheduler.topology.requests import Mode, Profile
from jobset.scheduler.topology.single import Settings
from tests.scheduler.topology import build


@pytest.mark.parametrize(
    ('on', 'wanted', 'may'),
    [
        pytest.param('[1 2] [3]', build.request(6, Mode.UNCONSTRAINED), True, id='all of it'),
        pytest.param('[1 2] [3]', build.request(7, Mode.UNCONSTRAINED), False, id='more than all'),
        pytest.param('[1 2] [3]', build.request(3, Mode.UNCONSTRAINED, units=2), False, id='leftovers are no pods'),
        pytest.param('[1 2] [3]', build.request(4, Mode.REQUIRED, 'rack'), False, id='too much for a rack'),
        pytest.param('[1 2] [3]', build.request(4, Mode.PREFERRED, 'rack'), True, id='a rack is not a must'),
        pytest.param('[1 1] [3]', build.request(4, Mode.SLICE_ONLY, slices=[('host', 2)]), False, id='loose pods'),
        pytest.param('[1 2] [3]', build.request(6, Mode.SLICE_ONLY, slices=[('rack', 3)]), True, id='whole slices'),
        pytest.param('[1 2] [3]', build.request(1, Mode.UNCONSTRAINED, leader=4), False, id='no place for the leader'),
        pytest.param('[1 2] [3]', build.request(1, Mode.REQUIRED, 'nowhere'), False, id='no such level'),
    ],
)
def test_enough_in_sum(on: str, wanted: requests.Request, may: bool) -> None:
    assert placing.Placer(build.topology(on)).may_fit([wanted]) is may


def test_nothing_fits_where_nothing_is() -> None:
    empty = tree.Tree(('rack', 'host'), ('u',), by_node=True)

    assert not placing.Placer(empty).may_fit([build.request(1, Mode.UNCONSTRAINED)])


@st.composite
def asked(draw: st.DrawFn) -> requests.Request:
    levels = build.levels(3)
    mode = draw(st.sampled_from(Mode))
    level = draw(st.sampled_from(levels)) if mode in {Mode.REQUIRED, Mode.PREFERRED} else None
    slices = []
    if draw(st.booleans()) or mode is Mode.SLICE_ONLY:
        slices.append((draw(st.sampled_from(levels)), draw(st.integers(1, 3))))
    leader = draw(st.none() | st.integers(1, 3))
    count = draw(st.integers(1, 12))
    return build.request(count, mode, level, units=draw(st.integers(1, 2)), slices=slices, leader=leader)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=3), min_size=1, max_size=4),
    st.lists(asked(), min_size=1, max_size=2),
    st.sampled_from(Profile),
)
def test_never_wrong_in_saying_no(racks: list[list[int]], gang: list[requests.Request], profile: Profile) -> None:
    inner = ' '.join(f'[{" ".join(map(str, rack))}]' for rack in racks)
    placer = placing.Placer(build.topology(f'{{{inner}}}'))

    placed = isinstance(placer.place(gang, Settings(profile=profile)), results.Placement)

    assert placer.may_fit(gang) >= placed
