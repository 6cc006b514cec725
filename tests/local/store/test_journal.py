"""The journal: what it holds after a kill, a full disk, and damage."""

import asyncio
import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jobset.local.objects import Object
from jobset.local.store import framing, journal, recovery, storage

KIND = 'jobs.batch'


def job(name: str, n: int = 0) -> Object:
    metadata = {'name': name, 'namespace': 'default', 'uid': f'uid-of-{name}'}
    return {'apiVersion': 'batch/v1', 'kind': 'Job', 'metadata': metadata, 'spec': {'n': n}}


class Opened:
    """A store with its journal."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.journal, recovered = journal.Journal.open(folder, journal.Keeping(**settings))
        self.store = storage.Store(journal=self.journal, recovered=recovered)

    def __enter__(self) -> 'Opened':
        return self

    def __exit__(self, *_: object) -> None:
        self.journal.close()

    def put(self, name: str, n: int = 0) -> None:
        old = self.store.get(KIND, 'default', name)
        if old is None:
            self.store.create(KIND, job(name, n))
        else:
            self.store.update(KIND, job(name, n), expected=old)

    def drop(self, name: str) -> None:
        old = self.store.get(KIND, 'default', name)
        assert old is not None
        self.store.delete(KIND, old.decode(), expected=old)

    def state(self) -> dict[str, tuple[int, int, str]]:
        return {
            record.name: (record.decode()['spec']['n'], record.revision, record.uid) for record in self.store.walk(KIND)
        }


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != recovery.SYNCED)


def kill_before_a_sync(folder: Path) -> None:
    """Leaves a folder as a process does that is killed within its first second."""
    (folder / recovery.SYNCED).unlink()


def test_everything_is_there_again(tmp_path: Path) -> None:
    with Opened(tmp_path / 'new' / 'folder') as first:
        first.put('a')
        first.put('b')
        first.put('a', 2)
        first.drop('b')
        first.put('c')
        before = first.state()

    with Opened(tmp_path / 'new' / 'folder') as second:
        assert second.state() == before == {'a': (2, 4, 'uid-of-a'), 'c': (0, 6, 'uid-of-c')}
        assert second.store.revision == 6
        second.put('d')
        assert second.store.revision == 7


def test_the_revision_of_a_last_deletion_is_not_given_twice(tmp_path: Path) -> None:
    with Opened(tmp_path) as first:
        first.put('a')
        first.drop('a')

    with Opened(tmp_path) as second:
        assert (second.store.revision, second.state()) == (3, {})


async def test_a_snapshot_takes_the_place_of_what_is_before_it(tmp_path: Path) -> None:
    with Opened(tmp_path) as first:
        for n in range(20):
            first.put('a', n)
        first.put('b')
        first.drop('b')
        await first.journal.compact(first.store.everything)
        assert files(tmp_path) == ['journal-00000001', 'lock', 'snapshot-00000001']
        first.put('c')
        before = first.state()
        await first.journal.compact(first.store.everything)
        assert files(tmp_path) == ['journal-00000002', 'lock', 'snapshot-00000002']
        first.put('d')
        before = first.state()

    with Opened(tmp_path) as second:
        assert second.state() == before
        assert second.store.revision == 25


async def test_changes_during_a_snapshot_are_kept(tmp_path: Path) -> None:
    with Opened(tmp_path) as first:
        first.put('a')
        compacting = asyncio.create_task(first.journal.compact(first.store.everything))
        n = 0
        while not compacting.done():
            n += 1
            first.put('a', n)
            await asyncio.sleep(0)
        await compacting
        before = first.state()

    with Opened(tmp_path) as second:
        assert second.state() == before


@pytest.mark.parametrize('leave', ['before the snapshot', 'before the removal', 'half a snapshot'])
async def test_a_kill_during_compaction_loses_nothing(tmp_path: Path, leave: str) -> None:
    with Opened(tmp_path) as first:
        first.put('a')
        first.put('b')
        old = (tmp_path / 'journal-00000000').read_bytes()
        await first.journal.compact(first.store.everything)
        first.put('c')
        before = first.state()
    snapshot = tmp_path / 'snapshot-00000001'
    match leave:
        case 'before the snapshot':
            snapshot.unlink()
            (tmp_path / 'journal-00000000').write_bytes(old)
        case 'before the removal':
            (tmp_path / 'journal-00000000').write_bytes(old)
        case _:
            snapshot.rename(tmp_path / 'snapshot-00000001.new')
            (tmp_path / 'journal-00000000').write_bytes(old)

    with Opened(tmp_path) as second:
        assert second.state() == before


async def test_the_journal_syncs_and_compacts_when_it_has_grown(tmp_path: Path) -> None:
    with Opened(tmp_path, sync_seconds=0.001, compact_bytes=1000) as first:
        running = asyncio.create_task(first.journal.run(first.store.everything))
        async with asyncio.timeout(10):
            while 'snapshot-00000001' not in files(tmp_path):
                first.put('a', 1)
                await asyncio.sleep(0.001)
        running.cancel()
        await asyncio.wait([running])
        before = first.state()

    with Opened(tmp_path) as second:
        assert second.state() == before


def test_a_torn_end_is_cut_at_every_byte(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Opened(tmp_path) as first:
        first.put('a')
        first.put('b')
    path = tmp_path / 'journal-00000000'
    whole = path.read_bytes()
    ends = [offset for offset, _ in framing.decode(whole)]  # type: ignore[misc]

    for size in range(ends[1], len(whole)):
        path.write_bytes(whole[:size])
        kill_before_a_sync(tmp_path)
        with Opened(tmp_path) as second:
            expected = ['a'] if size >= ends[2] else []
            assert list(second.state()) == expected
            second.put('z')
        with Opened(tmp_path) as third:
            assert list(third.state()) == [*expected, 'z']

    assert 'was not complete, it is cut off' in caplog.text


@pytest.mark.parametrize('is_compacted', [False, True])
async def test_a_journal_without_its_beginning_stops_the_start_and_is_left(tmp_path: Path, is_compacted: bool) -> None:
    with Opened(tmp_path) as first:
        if is_compacted:
            await first.journal.compact(first.store.everything)
    path = tmp_path / f'journal-0000000{int(is_compacted)}'
    whole = path.read_bytes()

    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        (tmp_path / recovery.SYNCED).unlink(missing_ok=True)
        why = 'ends in the middle of an entry' if size else 'the file is empty, which it has never been'
        with pytest.raises(recovery.DamagedFileError, match=f'{path}: damaged at byte 0: {why}'):
            Opened(tmp_path)
        assert path.read_bytes() == whole[:size]


def test_a_journal_from_before_there_was_a_beginning(tmp_path: Path) -> None:
    with Opened(tmp_path) as first:
        first.put('a')
    path = tmp_path / 'journal-00000000'
    whole = path.read_bytes()
    _, second = (offset for offset, _ in framing.decode(whole))  # type: ignore[misc]
    path.write_bytes(whole[second:])
    kill_before_a_sync(tmp_path)

    with Opened(tmp_path) as again:
        assert list(again.state()) == ['a']


@pytest.mark.parametrize('zeros', [1, 11, 12, 4096])
def test_blocks_that_have_not_reached_the_disk_are_a_torn_end(tmp_path: Path, zeros: int) -> None:
    with Opened(tmp_path) as first:
        first.put('a')
    path = tmp_path / 'journal-00000000'
    whole = path.read_bytes()

    for content in (
        whole + bytes(zeros),
        whole + framing.encode(b'x' * 5000)[:100] + bytes(4924),
        whole + b'\x05' + bytes(zeros),
    ):
        path.write_bytes(content)
        with Opened(tmp_path) as second:
            assert list(second.state()) == ['a']
        assert path.read_bytes() == whole


def test_damage_anywhere_else_stops_the_start_and_changes_nothing(tmp_path: Path) -> None:
    with Opened(tmp_path) as first:
        first.put('a')
        first.put('b')
        first.put('c')
    path = tmp_path / 'journal-00000000'
    whole = path.read_bytes()

    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 0x41
        path.write_bytes(damaged)
        with pytest.raises(recovery.DamagedFileError) as refused:
            Opened(tmp_path)
        assert path.read_bytes() == bytes(damaged)
        assert str(path) in str(refused.value)
        assert f'damaged at byte {refused.value.offset}:' in str(refused.value)

    path.write_bytes(whole)
    with Opened(tmp_path) as second:
        assert list(second.state()) == ['a', 'b', 'c']


async def test_damage_in_a_snapshot_stops_the_start(tmp_path: Path) -> None:
    with Opened(tmp_path) as first:
        first.put('a')
        first.put('b')
        await first.journal.compact(first.store.everything)
    path = tmp_path / 'snapshot-00000001'
    whole = path.read_bytes()

    for content in (whole[:-1], whole[: len(whole) // 2], whole[:50] + b'\xff' + whole[51:], b''):
        path.write_bytes(content)
        with pytest.raises(recovery.DamagedFileError, match='snapshot-00000001'):
            Opened(tmp_path)


@pytest.mark.parametrize('missing', ['journal-00000001', 'snapshot-00000001'])
async def test_a_missing_file_stops_the_start(tmp_path: Path, missing: str) -> None:
    with Opened(tmp_path) as first:
        first.put('a')
        await first.journal.compact(first.store.everything)
        first.put('b')
    (tmp_path / missing).unlink()

    with pytest.raises(recovery.DamagedFileError, match=f'{missing}.*missing'):
        Opened(tmp_path)


def test_an_entry_that_was_taken_out_is_noticed(tmp_path: Path) -> None:
    with Opened(tmp_path) as first:
        for name in 'abc':
            first.put(name)
    path = tmp_path / 'journal-00000000'
    whole = path.read_bytes()
    _, _, second, third = (offset for offset, _ in framing.decode(whole))  # type: ignore[misc]
    path.write_bytes(whole[:second] + whole[third:])
    kill_before_a_sync(tmp_path)

    with pytest.raises(recovery.DamagedFileError, match='revision 4 follows 2'):
        Opened(tmp_path)


def test_a_file_that_has_lost_its_end_stops_the_start(tmp_path: Path) -> None:
    with Opened(tmp_path) as first:
        first.put('a')
        first.put('b')
    path = tmp_path / 'journal-00000000'
    whole = path.read_bytes()

    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(recovery.DamagedFileError) as refused:
            Opened(tmp_path)
        assert str(refused.value) == (
            f'{path}: damaged at byte {size}: ends here, and {len(whole)} bytes of it were on the disk. Nothing was '
            f'changed. Changes after this place were acknowledged and cannot be read. Restore the folder {tmp_path} '
            'from a copy; or, to start anew, move it away'
        )
        assert path.read_bytes() == whole[:size]


def test_a_folder_without_its_only_file_stops_the_start(tmp_path: Path) -> None:
    with Opened(tmp_path) as first:
        first.put('a')
    (tmp_path / 'journal-00000000').unlink()

    with pytest.raises(recovery.DamagedFileError, match=r'journal-00000000: damaged at byte 0: the file is missing'):
        Opened(tmp_path)


async def test_what_came_after_the_last_sync_may_be_torn(tmp_path: Path) -> None:
    with Opened(tmp_path) as first:
        first.put('a')
        await first.journal.sync()
        noted = (tmp_path / recovery.SYNCED).read_bytes()
        size = (tmp_path / 'journal-00000000').stat().st_size
        first.put('b')
    (tmp_path / recovery.SYNCED).write_bytes(noted)
    os.truncate(tmp_path / 'journal-00000000', size + 1)

    with Opened(tmp_path) as second:
        assert list(second.state()) == ['a']


@pytest.mark.parametrize('content', [b'', b'\0' * 30, b'x' * 30, b'\xff', b'00000000 123'])
def test_a_note_that_is_torn_itself_says_nothing(tmp_path: Path, content: bytes) -> None:
    with Opened(tmp_path) as first:
        first.put('a')
    (tmp_path / recovery.SYNCED).write_bytes(content)

    with Opened(tmp_path) as second:
        assert list(second.state()) == ['a']


async def test_the_note_follows_to_the_next_journal(tmp_path: Path) -> None:
    with Opened(tmp_path) as first:
        first.put('a')
        await first.journal.compact(first.store.everything)
        first.put('b')
        await first.journal.sync()
    os.truncate(tmp_path / 'journal-00000001', 0)

    with pytest.raises(recovery.DamagedFileError, match='journal-00000001: damaged at byte 0: ends here'):
        Opened(tmp_path)


def test_two_processes_never_share_a_folder(tmp_path: Path) -> None:
    with Opened(tmp_path), pytest.raises(journal.LockedError, match=f'in use by process {os.getpid()}'):
        Opened(tmp_path)

    with Opened(tmp_path):
        pass


def test_a_refused_start_gives_the_folder_back(tmp_path: Path) -> None:
    (tmp_path / 'journal-00000000').write_bytes(b'x' * 100)
    with pytest.raises(recovery.DamagedFileError):
        Opened(tmp_path)
    (tmp_path / 'journal-00000000').unlink()

    with Opened(tmp_path) as opened:
        opened.put('a')


def test_a_full_disk_refuses_the_change_and_takes_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    room = [100]

    def write(file: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, 'No space left on device')
        taken, room[0] = min(room[0], len(data)), 0
        return real(file, data[:taken])

    with Opened(tmp_path) as opened:
        opened.put('a')
        monkeypatch.setattr(os, 'write', write)
        with pytest.raises(journal.Unwritable, match='No space left') as refused:
            opened.put('b')
        assert refused.value.full
        assert list(opened.state()) == ['a']
        assert opened.store.revision == 2
        monkeypatch.setattr(os, 'write', real)
        opened.put('c')
        before = opened.state()

    with Opened(tmp_path) as again:
        assert again.state() == before
        assert again.store.revision == 3


def test_a_half_entry_that_cannot_be_removed_stops_all_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write

    def fail(*_: object) -> int:
        raise OSError(errno.EIO, 'Input/output error')

    with Opened(tmp_path) as opened:
        opened.put('a')
        monkeypatch.setattr(os, 'write', fail)
        monkeypatch.setattr(os, 'ftruncate', fail)
        with pytest.raises(journal.Unwritable, match='Input/output error'):
            opened.put('b')
        monkeypatch.setattr(os, 'write', real)
        with pytest.raises(journal.Unwritable, match='start again'):
            opened.put('b')

    monkeypatch.undo()
    with Opened(tmp_path) as again:
        assert list(again.state()) == ['a']


@pytest.mark.skipif(os.getuid() == 0, reason='root may write everywhere')
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(journal.Unwritable, match='Permission denied'):
        Opened(tmp_path / 'folder')


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    (tmp_path / 'file').touch()
    with pytest.raises(journal.Unwritable, match='file'):
        Opened(tmp_path / 'file')


def test_files_are_the_users_own(tmp_path: Path) -> None:
    with Opened(tmp_path / 'folder') as opened:
        opened.put('a')
        modes = {path.name: oct(path.stat().st_mode & 0o777) for path in (tmp_path / 'folder').iterdir()}

    assert modes == {'lock': '0o600', 'journal-00000000': '0o600'}
    assert oct((tmp_path / 'folder').stat().st_mode & 0o777) == '0o700'


WRITER = """
import sys
from pathlib import Path
from jobset.local.store import journal, storage
kept, recovered = journal.Journal.open(Path(sys.argv[1]))
store = storage.Store(journal=kept, recovered=recovered)
while True:
    name = f'job-{store.revision}'
    metadata = {'name': name, 'namespace': 'default', 'uid': 'u'}
    store.create('jobs.batch', {'apiVersion': 'batch/v1', 'kind': 'Job', 'metadata': metadata, 'pad': 'x' * 3000})
    print(store.revision, flush=True)
"""


def test_a_kill_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    acknowledged = 1
    for lines in (1, 50, 200):
        writer = subprocess.Popen([sys.executable, '-c', WRITER, str(tmp_path)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        for _ in range(lines):
            acknowledged = int(writer.stdout.readline())
        os.kill(writer.pid, signal.SIGKILL)
        acknowledged = max([acknowledged, *(int(line) for line in writer.stdout.read().splitlines())])
        writer.wait()

        with Opened(tmp_path) as opened:
            assert opened.store.revision >= acknowledged
            count = opened.store.count(KIND)
        assert count == opened.store.revision - 1


def test_who_uses_a_folder(tmp_path: Path) -> None:
    assert journal.owner(tmp_path / 'nothing') is None
    with Opened(tmp_path):
        assert journal.owner(tmp_path) == os.getpid()
    assert journal.owner(tmp_path) is None


async def test_half_a_snapshot_does_not_stay_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, 'No space left on device')

    with Opened(tmp_path) as first:
        first.put('a')
        monkeypatch.setattr(os, 'fchmod', lambda file, _: fail(file))
        with pytest.raises(OSError, match='No space left'):
            await first.journal.compact(first.store.everything)
        monkeypatch.undo()
        first.put('b')
        assert files(tmp_path) == ['journal-00000000', 'journal-00000001', 'lock']
        before = first.state()

    with Opened(tmp_path) as second:
        assert second.state() == before


async def test_changes_that_may_not_be_on_disk_stop_all_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.EIO, 'Input/output error')

    with Opened(tmp_path) as first:
        first.put('a')
        monkeypatch.setattr(os, 'fsync', fail)
        with pytest.raises(OSError, match='Input/output error'):
            await first.journal.compact(first.store.everything)
        monkeypatch.undo()
        with pytest.raises(journal.Unwritable, match='could not be synced, start again'):
            first.put('b')
