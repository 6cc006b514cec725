"""Sets of indexes and their text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobset.local.jobs import indexes


@pytest.mark.parametrize(
    ('numbers', 'text'),
    [
        pytest.param([], '', id='none'),
        pytest.param([4], '4', id='one'),
        pytest.param([1, 2], '1,2', id='two in a row are no range'),
        pytest.param([1, 2, 3], '1-3', id='three are'),
        pytest.param([7, 3, 1, 5, 4], '1,3-5,7', id='as documented'),
        pytest.param([0, 0, 1, 3], '0,1,3', id='doubles'),
    ],
)
def test_text(numbers: list[int], text: str) -> None:
    assert str(indexes.of(numbers)) == text


@pytest.mark.parametrize(
    ('text', 'count', 'numbers'),
    [
        pytest.param('1,3-5,7', None, [1, 3, 4, 5, 7], id='all'),
        pytest.param('1,3-5,7', 5, [1, 3, 4], id='those below a number only'),
        pytest.param('', 5, [], id='nothing'),
        pytest.param('1,x,4-y,6', None, [1, 6], id='what cannot be read is left out'),
        pytest.param('3-5,1', None, [1, 3, 4, 5], id='out of order'),
        pytest.param('2-4', 0, [], id='none is wanted'),
    ],
)
def test_parsing(text: str, count: int | None, numbers: list[int]) -> None:
    assert list(indexes.parse(text, count)) == numbers


@given(st.sets(st.integers(0, 40)), st.sets(st.integers(0, 40)), st.integers(0, 45))
def test_sets(one: set[int], other: set[int], below: int) -> None:
    a, b = indexes.of(one), indexes.of(other)

    assert set(a.plus(other)) == set(a.union(b)) == one | other
    assert a.union(b).runs == indexes.of(one | other).runs
    assert a.common(b) == len(one & other)
    assert len(a) == len(one)
    assert list(a.gaps(below)) == [index for index in range(below) if index not in one]
    assert [index for index in range(45) if index in a] == sorted(one)
    assert indexes.parse(str(a)) == a


def test_a_million_indexes_are_two_numbers() -> None:
    assert indexes.parse('0-999999').runs == ((0, 999_999),)
    assert next(indexes.parse('0-999998').gaps(1_000_000)) == 999_999
