"""The log of one run: nothing of it is lost without a word."""

import contextlib
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobset.local import clock
from jobset.local.node import logfiles

ENTRY = len('2026-01-01T00:00:00.000000000Z stdout F \n')
"""Bytes of an entry around its text."""


class Log:
    """A log that is being written, through one stream."""

    def __init__(self, folder: Path) -> None:
        self.events: list[str] = []
        self.writer = logfiles.Writer(
            folder / 'main' / '0.log', now=clock.wall, most_bytes=1000, most_files=2, on_loss=self.events.append
        )
        self.end = self.writer.pipe('stdout')

    def say(self, text: str) -> None:
        """A line is written, and taken."""
        os.write(self.end, f'{text}\n'.encode())
        (reader,) = self.writer._pending
        self.writer._take(reader)

    def kept(self) -> list[str]:
        return [line.split(' ', 3)[3] for line in self.writer.file.read_text().splitlines()]

    @contextlib.contextmanager
    def full(self, room: int) -> Iterator[None]:
        """There is room for so many bytes more in a file."""
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.writer.file.stat().st_size + room, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
async def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


async def test_what_a_stream_holds_when_the_log_is_closed_is_taken(log: Log) -> None:
    os.write(log.end, b'last\nno end')
    log.writer.close()

    assert log.kept() == ['last', 'no end']


@pytest.mark.parametrize('room', [pytest.param(0, id='none'), pytest.param(10, id='for a part of an entry')])
async def test_a_full_disk_leaves_a_gap_that_is_named(log: Log, room: int) -> None:
    log.say('first')
    with log.full(room):
        log.say('second')
        log.say('third')
    log.say('fourth')
    log.say('fifth')

    lost = 2 * ENTRY + len('second' + 'third')
    assert log.kept() == ['first', f'jobset: {lost} bytes of output are missing here', 'fourth', 'fifth']
    assert log.events == [
        'its output is not kept: No space left on device' if room else 'its output is not kept: File too large',
        f'its output is kept again, {lost} bytes of it are lost',
    ]


async def test_output_that_is_lost_at_the_end_is_named(log: Log) -> None:
    log.say('first')
    with log.full(0):
        log.say('second')
        log.writer.close()

    lost = ENTRY + len('second')
    assert log.kept() == ['first']
    assert log.events == ['its output is not kept: File too large', f'{lost} bytes of its output are lost']


async def test_a_rotation_that_came_half_way_is_ended_later(log: Log) -> None:
    log.say('x' * 990)
    log.writer.file.with_name('0.log.1').mkdir()
    log.say('second')
    log.writer.file.with_name('0.log.1').rmdir()
    log.say('third')

    assert log.kept() == [f'jobset: {ENTRY + 6} bytes of output are missing here', 'third']
    assert log.events == [
        'its output is not kept: Is a directory',
        f'its output is kept again, {ENTRY + 6} bytes of it are lost',
    ]
