"""The archive of attempts, and its bound."""

import msgspec

from jobset.core import archive, plan


def record(attempt: int, lines: str = '') -> plan.AttemptRecord:
    return plan.AttemptRecord(attempt=attempt, ended_at='t', reason='r', last_lines=lines)


def test_an_entry_is_named_after_its_attempt_and_replaces_itself() -> None:
    once = archive.added({}, record(0, 'first'))
    twice = archive.added(once, record(0, 'second'))
    assert {key: msgspec.json.decode(value) for key, value in twice.items()} == {
        '0': {'attempt': 0, 'endedAt': 't', 'reason': 'r', 'lastLines': 'second'}
    }


def test_the_oldest_make_room_and_the_bound_holds() -> None:
    data: dict[str, str] = {}
    for attempt in range(200):
        data = archive.added(data, record(attempt, 'ä' * 1_000))
        assert sum(len(key) + len(value.encode()) for key, value in data.items()) <= archive.MOST_BYTES
    kept = [int(key) for key in data]
    assert kept == list(range(kept[0], 200))
    assert len(kept) > 25


def test_what_others_put_there_does_not_stay() -> None:
    assert list(archive.added({'note': 'x'}, record(3))) == ['3']
