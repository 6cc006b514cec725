"""Volumes as folders of this machine: made, kept up to date, removed."""

import contextlib
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

from jobset.local.node import mounts
from jobset.local.node.environment import Problem
from jobset.local.node.model import Spec
from jobset.local.node.volumes import File, Files


def write(folder: Path, wanted: Files) -> None:
    """Makes ``folder`` hold exactly these files. Each one is replaced as a whole, and only when it has changed."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in [path for path in folder.rglob('*') if not path.is_dir()]:
        if str(path.relative_to(folder)) not in wanted:
            path.unlink()
    for name, file in wanted.items():
        path = folder / name
        if not _is_same(path, file):
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh = path.with_name(f'.{path.name}.new')
            fresh.write_bytes(file.data)
            fresh.chmod(file.mode)
            fresh.replace(path)


def made(folder: Path) -> Path:
    """The folder, made for everybody when it is not there."""
    if not folder.is_dir():
        folder.mkdir(parents=True)
        folder.chmod(0o777)
    return folder


def host_path(source: Spec) -> Path:
    """The folder or file of a ``hostPath`` volume, made where it says so. Raises :class:`Problem`."""
    path, kind = Path(source['path']), source.get('type') or ''
    try:
        if kind == 'DirectoryOrCreate':
            path.mkdir(parents=True, exist_ok=True)
        elif kind == 'FileOrCreate':
            path.touch()
    except OSError as error:
        raise Problem(f'hostPath {path} cannot be made: {error.strerror}') from None
    checks: dict[str, tuple[Callable[[], bool], str]] = {
        'Directory': (path.is_dir, 'a directory'),
        'DirectoryOrCreate': (path.is_dir, 'a directory'),
        'File': (path.is_file, 'a file'),
        'FileOrCreate': (path.is_file, 'a file'),
        'Socket': (path.is_socket, 'a socket file'),
        'CharDevice': (path.is_char_device, 'a character device'),
        'BlockDevice': (path.is_block_device, 'a block device'),
    }
    if kind in checks and not checks[kind][0]():
        raise Problem(f'hostPath type check failed: {path} is not {checks[kind][1]}')
    if not path.exists():
        # Runtimes make what is not there.
        with contextlib.suppress(OSError):
            path.mkdir(parents=True)
    return path


def below(volume: Path, sub_path: str) -> Path:
    """The part of a volume that is mounted; a folder is made when there is nothing. Raises :class:`Problem`."""
    path = (volume / sub_path).resolve()
    if not path.is_relative_to(volume.resolve()):
        raise Problem(f'subPath {sub_path!r} leads out of the volume')
    if not path.exists():
        try:
            path.mkdir(parents=True)
        except OSError as error:
            raise Problem(f'failed to create subPath directory {sub_path!r}: {error.strerror}') from None
    return path


def remove(folder: Path) -> None:
    """Removes a folder with all that is in it, also what its owner made unwritable."""

    def unlock(again: Callable[[str], object], path: str, _: object) -> None:
        with contextlib.suppress(OSError):
            Path(path).parent.chmod(stat.S_IRWXU)
            if Path(path).is_dir():
                Path(path).chmod(stat.S_IRWXU)
            again(path)

    if folder.exists():
        shutil.rmtree(folder, onerror=unlock)
    if folder.exists():
        shutil.rmtree(folder, ignore_errors=True)


class Machine(mounts.Look):
    """This machine's files, for :func:`mounts.plan`."""

    def children(self, folder: str) -> list[str]:
        try:
            return sorted(os.listdir(folder))  # noqa: PTH208 - names, as text
        except OSError:
            return []

    def kind(self, path: str) -> str:
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            return ''
        return 'link' if stat.S_ISLNK(mode) else 'folder' if stat.S_ISDIR(mode) else 'file'

    def target(self, path: str) -> str:
        return os.readlink(path)  # noqa: PTH115

    def resolve(self, path: str) -> str:
        return os.path.realpath(path)


def _is_same(path: Path, file: File) -> bool:
    try:
        return path.read_bytes() == file.data and stat.S_IMODE(path.stat().st_mode) == file.mode
    except OSError:
        return False
