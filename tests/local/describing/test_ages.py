"""Ages, as kubectl prints them."""

import datetime

import pytest

from jobset.local.describing import ages

NOW = datetime.datetime(2026, 11, 30, 12, tzinfo=datetime.UTC)
MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ('seconds', 'text'),
    [
        (-2, '<invalid>'),
        (-1.9, '0s'),
        (0, '0s'),
        (5.9, '5s'),
        (119, '119s'),
        (120, '2m'),
        (123, '2m3s'),
        (10 * MINUTE - 1, '9m59s'),
        (10 * MINUTE + 59, '10m'),
        (3 * HOUR - 1, '179m'),
        (3 * HOUR, '3h'),
        (3 * HOUR + 20 * MINUTE, '3h20m'),
        (8 * HOUR - 1, '7h59m'),
        (8 * HOUR + 59 * MINUTE, '8h'),
        (2 * DAY - 1, '47h'),
        (2 * DAY, '2d'),
        (2 * DAY + 4 * HOUR, '2d4h'),
        (8 * DAY - 1, '7d23h'),
        (8 * DAY + 23 * HOUR, '8d'),
        (400 * DAY, '400d'),
        (2 * YEAR - 1, '729d'),
        (2 * YEAR, '2y'),
        (2 * YEAR + 3 * DAY, '2y3d'),
        (8 * YEAR - 1, '7y364d'),
        (9 * YEAR + 300 * DAY, '9y'),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert ages.human(datetime.timedelta(seconds=seconds)) == text


@pytest.mark.parametrize(
    ('stamp', 'text'),
    [
        pytest.param('2026-11-30T11:58:00Z', '2m', id='seconds'),
        pytest.param('2026-11-30T11:59:50.500000Z', '9s', id='microseconds'),
        pytest.param('2026-11-30T12:00:30Z', '<invalid>', id='in the future'),
        pytest.param(None, '<unknown>', id='absent'),
        pytest.param('', '<unknown>', id='empty'),
        pytest.param('yesterday', '<unknown>', id='no time'),
        pytest.param('2026-11-30T11:58:00', '<unknown>', id='no zone'),
        pytest.param(5, '<unknown>', id='a number'),
    ],
)
def test_since_a_stamp(stamp: object, text: str) -> None:
    assert ages.since(stamp, NOW) == text
