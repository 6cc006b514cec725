"""Reads what a journal folder holds: the newest snapshot, then all changes after it.

A torn end of the newest journal is cut off: nobody was told that it had happened. That is so of what was written after
the last sync only, and how far that had come is noted. Anything else that is wrong stops the start, and the files stay
as they are, because the changes after the wrong place were acknowledged.
"""

import logging
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from jobset.local.store import framing, records, storage
from jobset.local.store.records import Record, Type

logger = logging.getLogger(__name__)

SNAPSHOT: Final = 'snapshot'
"""Type of the first entry of a snapshot."""

JOURNAL: Final = 'journal'
"""Type of the first entry of a journal. Those that were begun before there was one begin with a change."""

SYNCED: Final = 'synced'
"""The file that says how far the newest journal had come to the disk."""

_SYNCED: Final = re.compile(r'(\d{8}) (\d{20})\n')
_NAME: Final = re.compile(r'(snapshot|journal)-(\d{8})')

_BEGINNING: Final = b'["journal",'

_Head = tuple[str, str, int, str, str, str, str]
_heads: Final = msgspec.json.Decoder(_Head)
_openings: Final = msgspec.json.Decoder(tuple[str, int, int])


class DamagedFileError(Exception):
    """A file is not what was written; the text says which, where, and what to do."""

    def __init__(self, path: Path, offset: int, why: str) -> None:
        super().__init__(
            f'{path}: damaged at byte {offset}: {why}. Nothing was changed. Changes after this place were acknowledged '
            f'and cannot be read. Restore the folder {path.parent} from a copy; or, to start anew, move it away'
        )
        self.path = path
        self.offset = offset


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a folder holds, and where to go on writing."""

    recovered: storage.Recovered
    number: int
    snapshot_bytes: int = 0


def snapshot_path(folder: Path, number: int) -> Path:
    """The file of a snapshot."""
    return folder / f'snapshot-{number:08}'


def journal_path(folder: Path, number: int) -> Path:
    """The file of the changes after it."""
    return folder / f'journal-{number:08}'


def read(folder: Path) -> Found:
    """Reads everything, and cuts off a torn end. Raises :class:`DamagedFileError` and OSError."""
    snapshots, journals = _numbers(folder, 'snapshot'), _numbers(folder, 'journal')
    state = _State()
    base = max(snapshots, default=0)
    size = 0
    if snapshots:
        path = snapshot_path(folder, base)
        _read_snapshot(path, state)
        size = path.stat().st_size
    later = sorted(number for number in journals if number >= base)
    _demand_all(folder, base, later)
    _demand_synced(folder, base)
    for number in later:
        _read_journal(journal_path(folder, number), state, is_last=number == later[-1])
    for leftover in folder.glob('*-*.new'):
        leftover.unlink()
    remove_before(folder, base)
    objects = [(kind, record) for kind, kept in state.objects.items() for record in kept.values()]
    recovered = storage.Recovered(revision=state.revision, objects=objects)
    return Found(recovered=recovered, number=later[-1] if later else base, snapshot_bytes=size)


def note_synced(folder: Path, number: int, size: int) -> None:
    """Write down that so many bytes of a journal are on the disk. Raises OSError."""
    # In place, in one write of one length: a new file would cost a sync of the folder each time.
    handle = os.open(folder / SYNCED, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.pwrite(handle, f'{number:08} {size:020}\n'.encode(), 0)
    finally:
        os.close(handle)


def _demand_synced(folder: Path, base: int) -> None:
    """That no file is shorter than it was once. A note that cannot be read says nothing."""
    try:
        noted = _SYNCED.fullmatch((folder / SYNCED).read_text())
    except (FileNotFoundError, UnicodeDecodeError):
        return
    if noted is None or int(noted[1]) < base:
        return
    path, size = journal_path(folder, int(noted[1])), int(noted[2])
    if not path.exists():
        raise DamagedFileError(path, 0, f'the file is missing, of which {size} bytes were on the disk')
    here = path.stat().st_size
    if here < size:
        raise DamagedFileError(path, here, f'ends here, and {size} bytes of it were on the disk')


def remove_before(folder: Path, number: int) -> None:
    """Removes what the snapshot of this number stands for."""
    for what, path_of in (('snapshot', snapshot_path), ('journal', journal_path)):
        for old in _numbers(folder, what):
            if old < number:
                path_of(folder, old).unlink(missing_ok=True)


class _State:
    def __init__(self) -> None:
        self.revision = 1
        self.objects: dict[str, dict[tuple[str, str], Record]] = {}


def _numbers(folder: Path, what: str) -> set[int]:
    matches = (_NAME.fullmatch(name) for name in os.listdir(folder))  # noqa: PTH208 - names are all that is needed
    return {int(match[2]) for match in matches if match is not None and match[1] == what}


def _demand_all(folder: Path, base: int, journals: list[int]) -> None:
    first = base or (journals[0] if journals else 0)
    for place, number in enumerate(journals):
        if number != first + place:
            missing = journal_path(folder, first + place)
            raise DamagedFileError(missing, 0, 'the file is missing, and a later one is there')
    if not base and journals and journals[0] != 0:
        raise DamagedFileError(snapshot_path(folder, journals[0]), 0, 'the file is missing, and its journal is there')
    if base and not journals:
        raise DamagedFileError(journal_path(folder, base), 0, 'the file is missing, and its snapshot is there')


def _read_snapshot(path: Path, state: _State) -> None:
    expected = -1
    count = 0
    for offset, body in _entries(path, cut=False):
        head, _, data = body.partition(b'\n')
        if expected < 0:
            try:
                kind, state.revision, expected = _openings.decode(head)
            except msgspec.MsgspecError as error:
                raise DamagedFileError(path, offset, f'not the first entry of a snapshot: {error}') from None
            if kind != SNAPSHOT:
                raise DamagedFileError(path, offset, f'not a snapshot but {kind!r}')
            continue
        _, record_kind, record = _record(path, offset, head, data)
        state.objects.setdefault(record_kind, {})[record.place] = record
        count += 1
    if count != expected:
        raise DamagedFileError(path, path.stat().st_size, f'holds {count} objects of {max(expected, 0)}')


def _read_journal(path: Path, state: _State, *, is_last: bool) -> None:
    if not path.stat().st_size:
        raise DamagedFileError(path, 0, 'the file is empty, which it has never been')
    for offset, body in _entries(path, cut=is_last):
        head, _, data = body.partition(b'\n')
        if not offset and head.startswith(_BEGINNING):
            continue
        change, kind, record = _record(path, offset, head, data)
        if record.revision != state.revision + 1:
            raise DamagedFileError(path, offset, f'revision {record.revision} follows {state.revision}')
        state.revision = record.revision
        kept = state.objects.setdefault(kind, {})
        if change == Type.DELETED:
            kept.pop(record.place, None)
        else:
            kept[record.place] = record


def _record(path: Path, offset: int, head: bytes, data: bytes) -> tuple[str, str, Record]:
    try:
        change, kind, revision, namespace, name, uid, api_version = _heads.decode(head)
        if change == Type.DELETED:
            return change, kind, Record(namespace, name, uid, revision, api_version, b'')
        return (
            change,
            kind,
            records.read(
                data,
                namespace=namespace,
                name=name,
                uid=uid,
                revision=revision,
                api_version=api_version,
            ),
        )
    except msgspec.MsgspecError as error:
        raise DamagedFileError(path, offset, f'not a change: {error}') from None


def _entries(path: Path, *, cut: bool) -> Iterator[tuple[int, bytes]]:
    """Offset and body of each entry; a torn end is cut off where ``cut``."""
    torn: framing.TornEnd | None = None
    data = path.read_bytes()
    try:
        for entry in framing.decode(data):
            if isinstance(entry, framing.TornEnd):
                torn = entry
                break
            yield entry[0], bytes(entry[1])
    except framing.DamagedError as error:
        raise DamagedFileError(path, error.offset, error.why) from None
    if torn is None:
        return
    if not cut or not torn.offset:
        # What a file begins with is there before the file is.
        raise DamagedFileError(path, torn.offset, 'ends in the middle of an entry')
    logger.warning('%s: an entry of %d bytes was not complete, it is cut off', path, len(data) - torn.offset)
    with path.open('r+b') as file:
        file.truncate(torn.offset)
        os.fsync(file.fileno())
