"""How the root folder of a container is put together so that its volumes appear where it wants them.

The container sees all of this machine, and its volumes over it. A folder that a volume is mounted at and that is not
there cannot be made on the machine; so the folder it would lie in is made anew in memory, with everything that is in it
bound into place, and the new one beside.
"""

import os.path
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol


class Look(Protocol):
    """What is asked about this machine's files."""

    def children(self, folder: str) -> Sequence[str]:
        """Names in a folder; none when it cannot be read."""

    def kind(self, path: str) -> str:
        """``folder``, ``file``, ``link`` or empty when there is nothing. Links are not followed."""

    def target(self, path: str) -> str:
        """Where a link points."""

    def resolve(self, path: str) -> str:
        """The path without links, as far as it exists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """Something of this machine that the container sees at another place."""

    source: str
    """Empty: only the place has to be there, as a folder."""

    target: str
    is_file: bool = False
    is_read_only: bool = False
    is_memory: bool = False
    """Nothing of this machine, but an empty folder in memory, which goes with the container."""


Step = tuple[str, ...]
"""One of ``folder PATH MODEL``, ``link TARGET PATH``, ``bind SOURCE PATH OPTIONAL``, ``place PATH KIND``, ``lock PATH``
and ``memory PATH``; paths are below the new root, ``MODEL`` is the folder to take the mode from.
"""


def plan(mounts: Iterable[Mount], look: Look) -> list[Step]:
    """The steps that make the root, in order."""
    wanted = sorted(((_resolved(mount.target, look), mount) for mount in mounts), key=lambda pair: _depth(pair[0]))
    rebuilt = {'/'}
    for index, (target, _) in enumerate(wanted):
        if not any(_is_below(target, other) for other, _ in wanted[:index]):
            rebuilt.update(_to_rebuild(target, look))
    steps = list(_rebuild('/', rebuilt, look))
    for target, mount in wanted:
        steps.append(('place', target, 'file' if mount.is_file else 'folder'))
        if mount.source:
            steps.append(('bind', mount.source, target, ''))
        elif mount.is_memory:
            steps.append(('memory', target))
    # At the end, because places for deeper mounts may have to be made first.
    steps.extend(('lock', target) for target, mount in wanted if mount.is_read_only)
    return steps


def _rebuild(folder: str, rebuilt: set[str], look: Look) -> Iterator[Step]:
    for name in look.children(folder):
        path = os.path.join(folder, name)  # noqa: PTH118 - paths of another root, as text
        kind = look.kind(path)
        if path in rebuilt:
            yield ('folder', path, path)
            yield from _rebuild(path, rebuilt, look)
        elif kind == 'link':
            yield ('link', look.target(path), path)
        elif kind:
            yield ('place', path, kind)
            yield ('bind', path, path, 'optional')


def _to_rebuild(target: str, look: Look) -> list[str]:
    """The folders that must be made anew so that ``target`` can be there."""
    if look.kind(target):
        return []
    parents = []
    parent = os.path.dirname(target)  # noqa: PTH120
    while parent != '/':
        parents.append(parent)
        parent = os.path.dirname(parent)  # noqa: PTH120
    return [path for path in parents if look.kind(path)]


def _resolved(target: str, look: Look) -> str:
    return look.resolve(os.path.normpath('/' + target.lstrip('/')))


def _depth(path: str) -> tuple[int, str]:
    return (0 if path == '/' else path.count('/'), path)


def _is_below(path: str, other: str) -> bool:
    return path == other or path.startswith(other.rstrip('/') + '/')
