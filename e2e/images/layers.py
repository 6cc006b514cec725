"""Layers of images: a root folder, packed once and kept under a key that says what it was made from."""

import contextlib
import gzip
import hashlib
import io
import json
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self, cast

from e2e.cluster import locks

BUILD_SECONDS = 900.0

_CHUNK = 1 << 20


@dataclass(frozen=True)
class Layer:
    """One packed root folder."""

    blob: Path
    digest: str
    """SHA-256 of the packed file, in hex."""
    unpacked: str
    """SHA-256 of the tar within, in hex."""

    @classmethod
    def read(cls, note: Path) -> Self:
        data = json.loads(note.read_text())
        return cls(note.with_name(data['blob']), data['digest'], data['unpacked'])


def key(*parts: bytes | str) -> str:
    """One name for all that a layer is made from."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, 'big') + data)
    return digest.hexdigest()[:32]


def content(paths: Iterable[Path], *, base: Path) -> str:
    """A digest over files: their names below ``base`` and what they hold."""
    return key(*(part for path in sorted(paths) for part in (str(path.relative_to(base)), path.read_bytes())))


def layer(made_from: str, fill: Callable[[Path], None], *, store: Path) -> Layer:
    """The layer of key ``made_from``; ``fill`` puts its files into an empty root folder when the store lacks it."""
    note = store / f'{made_from}.json'
    with locks.held(store / f'{made_from}.lock', seconds=BUILD_SECONDS):
        if not note.exists():
            _build(note, fill)
    return Layer.read(note)


def _build(note: Path, fill: Callable[[Path], None]) -> None:
    with tempfile.TemporaryDirectory(dir=note.parent, prefix='root.') as scratch:
        root = Path(scratch) / 'root'
        root.mkdir(mode=0o755)
        fill(root)
        packed = Path(scratch) / 'layer.tar.gz'
        digest, unpacked = pack(root, packed)
        blob = note.with_name(f'{digest}.tar.gz')
        packed.rename(blob)
        draft = Path(scratch) / 'note'
        draft.write_text(json.dumps({'blob': blob.name, 'digest': digest, 'unpacked': unpacked}))
        draft.rename(note)


def pack(root: Path, packed: Path) -> tuple[str, str]:
    """Pack a root folder; returns the digests of the packed file and of the tar within.

    Equal folders give equal files: sorted, owned by root, and without times.
    """
    with packed.open('wb') as file:
        outer = _Digesting(file)
        with gzip.GzipFile(fileobj=cast('BinaryIO', outer), mode='wb', filename='', mtime=0, compresslevel=4) as zipped:
            inner = _Digesting(cast('BinaryIO', zipped))
            with tarfile.open(fileobj=cast('BinaryIO', inner), mode='w|', format=tarfile.PAX_FORMAT) as tar:
                for path in _walk(root):
                    _add(tar, path, str(path.relative_to(root)))
    return outer.hexdigest(), inner.hexdigest()


def _add(tar: tarfile.TarFile, path: Path, name: str) -> None:
    info = tar.gettarinfo(path, name)
    info.uid = info.gid = 0
    info.uname = info.gname = ''
    info.mtime = 0
    if not info.isreg():
        tar.addfile(info)
        return
    # A hard link of the folder would be a link to a file of another layer.
    info.type = tarfile.REGTYPE
    with path.open('rb') as file:
        tar.addfile(info, file)


def _walk(folder: Path) -> Iterable[Path]:
    for entry in sorted(folder.iterdir()):
        yield entry
        if entry.is_dir() and not entry.is_symlink():
            yield from _walk(entry)


class _Digesting(io.RawIOBase):
    """Passes what is written on, and keeps its digest."""

    def __init__(self, below: BinaryIO) -> None:
        self._below = below
        self._digest = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self._digest.update(data)
        self._below.write(data)
        return len(data)

    def hexdigest(self) -> str:
        return self._digest.hexdigest()


def place(source: Path, root: Path, inside: str, *, mode: int | None = None) -> None:
    """Copy one file to the path ``inside`` the root folder, through a link to what it names."""
    target = root / inside.lstrip('/')
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode if mode is not None else source.stat().st_mode & 0o755)


def link(root: Path, inside: str, to: str) -> None:
    """A symbolic link in the root folder; one that is there already stays."""
    path = root / inside.lstrip('/')
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        path.symlink_to(to)
