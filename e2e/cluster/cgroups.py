"""The cgroup that holds all pods of one cluster, and whatever runs in it."""

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from e2e.cluster import processes
from e2e.cluster.names import Names

ROOT = Path('/sys/fs/cgroup')

_END_SECONDS = 30.0


def create(names: Names) -> None:
    """Make the cgroup in each hierarchy. Kubelet wants to find it there."""
    for hierarchy in _hierarchies():
        ours = hierarchy / names.cgroup
        ours.mkdir(exist_ok=True)
        if (hierarchy / 'cgroup.controllers').exists():
            _delegate(hierarchy)
            _delegate(ours)
        for setting in ('cpuset.cpus', 'cpuset.mems'):
            # In version 1 a new cpuset is empty, and no process can enter it.
            if (
                (ours / setting).exists()
                and (hierarchy / setting).exists()
                and not (ours / setting).read_text().strip()
            ):
                (ours / setting).write_text((hierarchy / setting).read_text())


def end_all(names: Names) -> None:
    """Kill every process of every pod. Raises :class:`processes.NotReadyError` when new ones keep coming."""
    deadline = time.monotonic() + _END_SECONDS
    while found := set(_processes(names)):
        if time.monotonic() > deadline:
            raise processes.NotReadyError(
                f'{names.cgroup}: processes {sorted(found)} do not end; is a kubelet left over?'
            )
        for pid in found:
            if identity := processes.running(pid):
                processes.end(identity, grace_seconds=0)


def remove(names: Names) -> None:
    """Remove the cgroup with all that kubelet made below it. Raises OSError when a process is still inside."""
    deadline = time.monotonic() + _END_SECONDS
    for folder in _folders(names):
        while True:
            try:
                folder.rmdir()
                break
            except OSError:
                # The kernel lets go of a killed process a moment after its end.
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)


def _delegate(folder: Path) -> None:
    """Version 2: let the children of ``folder`` have every controller that it has itself."""
    for controller in (folder / 'cgroup.controllers').read_text().split():
        (folder / 'cgroup.subtree_control').write_text(f'+{controller}')


def _hierarchies() -> list[Path]:
    """The root of each hierarchy: one in version 2, one a controller in version 1, where links name the joined ones."""
    if (ROOT / 'cgroup.controllers').exists():
        return [ROOT]
    return [one for one in sorted(ROOT.iterdir()) if one.is_dir() and not one.is_symlink() and os.path.ismount(one)]


def _folders(names: Names) -> Iterator[Path]:
    """Each folder of the cgroup, the inner ones first."""
    for hierarchy in _hierarchies():
        for folder, _, _ in os.walk(hierarchy / names.cgroup, topdown=False):
            yield Path(folder)


def _processes(names: Names) -> Iterable[int]:
    for folder in _folders(names):
        try:
            yield from map(int, (folder / 'cgroup.procs').read_text().split())
        except FileNotFoundError:
            continue
