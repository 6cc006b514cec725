import datetime

import pytest

from jobset.api import durations


@pytest.mark.parametrize(
    ('text', 'seconds'),
    [
        ('15s', 15),
        ('1m30s', 90),
        ('1h', 3600),
        ('100ms', 0.1),
        ('1.5s', 1.5),
        ('.5m', 30),
        ('2.s', 2),
        ('7us', 0.000007),
        ('7µs', 0.000007),
        ('0', 0),
        ('-10s', -10),
        ('+10s', 10),
    ],
)
def test_parse(text: str, seconds: float) -> None:
    assert durations.parse(text) == datetime.timedelta(seconds=seconds)


@pytest.mark.parametrize('text', ['', '15', 's', '1 s', '1d', '1m30', '--1s', '.s', '999999999999999h'])
def test_no_duration(text: str) -> None:
    with pytest.raises(durations.DurationError):
        durations.parse(text)
