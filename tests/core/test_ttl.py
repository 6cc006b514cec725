"""When a finished JobSet is removed."""

import pytest

from jobset.api import types
from jobset.core import ttl
from tests.core import build


def _ended(kind: str = 'Completed', *, holds: bool = True, seconds: float = 100) -> types.Condition:
    return build.condition(kind, holds=holds, reason='R', message='m', seconds=seconds)


@pytest.mark.parametrize(
    ('limit', 'held', 'now', 'left'),
    [
        pytest.param(None, (_ended(),), 200, None, id='without a limit it stays'),
        pytest.param(30, (), 200, None, id='a running set stays'),
        pytest.param(30, (_ended(holds=False),), 200, None, id='a false condition ends nothing'),
        pytest.param(30, (_ended(),), 110, 20.0, id='counts from the transition'),
        pytest.param(30, (_ended(),), 130, 0.0, id='over at the very second'),
        pytest.param(30, (_ended(),), 131.5, -1.5, id='long over'),
        pytest.param(0, (_ended(),), 100, 0.0, id='a limit of zero is over at once'),
        pytest.param(30, (_ended('Failed', seconds=90),), 100, 20.0, id='a failed set goes, too'),
        pytest.param(30, (_ended(seconds=150),), 100, 80.0, id='an end in the future only takes longer'),
        pytest.param(
            30,
            (_ended('Failed', seconds=90), _ended('Completed', seconds=95)),
            100,
            20.0,
            id='of two endings the first that stands there counts',
        ),
    ],
)
def test_seconds_left(limit: int | None, held: tuple[types.Condition, ...], now: float, left: float | None) -> None:
    spec: build.Manifest = {} if limit is None else {'ttlSecondsAfterFinished': limit}
    jobset = build.jobset(status=types.Status(conditions=held), **spec)

    assert ttl.seconds_left(jobset, build.at(now)) == left
