"""What every container has for itself, as one made from an image would: an empty ``/tmp``, and a ``/dev/shm``.

Some folders of the user may lie below the ``/tmp`` of this machine: the one that the cluster was started in, with the
scripts that it runs; the environment whose programs are on the PATH. Containers see these at their places all the same.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from jobset.local.node import folders
from jobset.local.node.mounts import Look, Mount

TMP: Final = '/tmp'  # noqa: S108 - its name, not a file in it
SHARED_MEMORY: Final = '/dev/shm'  # noqa: S108


def shown() -> list[str]:
    """The folders of the user below ``/tmp`` that programs which run here may need."""
    named = [os.environ.get(name, '') for name in ('HOME', 'VIRTUAL_ENV', 'CONDA_PREFIX')]
    found = {os.path.realpath(path) for path in [_working_folder(), sys.prefix, *named] if path}
    return sorted(path for path in found if _is_below_tmp(path) and Path(path).is_dir())


def fresh(folder: Path) -> None:
    """Makes an empty folder for everybody, whatever was there."""
    folders.remove(folder)
    folder.mkdir(parents=True)
    folder.chmod(0o1777)


def mounts(taken: Iterable[Mount], look: Look, *, tmp: Path, kept: Sequence[str]) -> Iterator[Mount]:
    """The folder ``tmp`` as ``/tmp``, with the folders ``kept`` in it, and memory as ``/dev/shm``.

    Where the container has a volume at one of both, it has that.
    """
    targets = {look.resolve(mount.target.rstrip('/') or '/') for mount in taken}
    if look.resolve(TMP) not in targets:
        yield Mount(source=str(tmp), target=TMP)
        for path in kept:
            if _is_below_tmp(path) and look.resolve(path) not in targets:
                yield Mount(source=path, target=path)
    if look.kind(SHARED_MEMORY) and look.resolve(SHARED_MEMORY) not in targets:
        yield Mount(source='', target=SHARED_MEMORY, is_memory=True)


def _is_below_tmp(path: str) -> bool:
    return os.path.realpath(path).startswith(os.path.realpath(TMP) + '/')


def _working_folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - text, as the others
    except FileNotFoundError:
        return ''
