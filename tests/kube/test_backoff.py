"""Waiting times after failures."""

from hypothesis import given
from hypothesis import strategies as st

from jobset.kube import backoff


def test_delays_double_up_to_the_cap_and_start_anew() -> None:
    pause = backoff.Backoff(base=1, cap=10, jitter=0)

    assert [pause.next() for _ in range(6)] == [1, 2, 4, 8, 10, 10]
    pause.reset()
    assert [pause.next(), pause.next(at_least=7), pause.next(cap=3)] == [1, 7, 3]


def test_failures_that_something_came_through_do_not_add_up() -> None:
    pause = backoff.Backoff(base=1, cap=100, jitter=0)

    assert [pause.next(cap=4) for _ in range(8)] == [1, 2, 4, 4, 4, 4, 4, 4]
    assert [pause.next() for _ in range(3)] == [4, 8, 16]
    assert [pause.next(cap=4), pause.next()] == [4, 4]


@given(failures=st.integers(0, 10_000), jitter=st.floats(0, 1))
def test_delays_are_bounded_however_long_it_takes(failures: int, jitter: float) -> None:
    delay = backoff.delay(failures, base=0.005, factor=3, cap=60)

    assert 0.005 <= delay <= 60
    assert delay <= backoff.jittered(delay, jitter) <= delay * (1 + jitter) * 1.000001


def test_those_who_fail_together_do_not_come_back_together() -> None:
    pauses = {backoff.Backoff(base=1, cap=10).next() for _ in range(100)}

    assert len(pauses) > 90
    assert all(1 <= pause <= 1.5 for pause in pauses)
