"""Which child Jobs a JobSet should have."""

import pytest

from jobset.core import children
from tests.core import build


@pytest.mark.parametrize(
    ('parts', 'expected'),
    [
        pytest.param((), (), id='a set without replicated jobs has no children'),
        pytest.param(
            (build.part('a', 2), build.part('b', None)),
            (
                (children.Child('js-a-0', 0, 0), children.Child('js-a-1', 0, 1)),
                (children.Child('js-b-0', 1, 0),),
            ),
            id='names count from zero, and an absent number of replicas is one',
        ),
        pytest.param((build.part('a', 0),), ((),), id='zero replicas are no children, and stay zero'),
    ],
)
def test_expected(parts: tuple[build.Manifest, ...], expected: tuple[tuple[children.Child, ...], ...]) -> None:
    jobset = build.jobset(*parts)

    assert tuple(tuple(children.wanted(jobset, position)) for position in range(len(parts))) == expected


def test_names_are_never_shortened() -> None:
    jobset = build.jobset(build.part('w' * 60, 1), metadata={'name': 'j' * 60})

    assert next(children.wanted(jobset, 0)).name == f'{"j" * 60}-{"w" * 60}-0'
