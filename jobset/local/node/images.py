"""What stands for a container image on this machine.

Images are recorded and not run. A mapping may say what a container of some image has here instead: variables, folders
in front of the PATH, words in front of the command, a command of its own.
"""

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Image:
    """What a container of an image has here."""

    env: Mapping[str, str] = field(default_factory=dict)
    """Variables that the image would set."""

    path: Sequence[str] = ()
    """Folders in front of the PATH."""

    prefix: Sequence[str] = ()
    """Words in front of every command, as ``['conda', 'run', '-n', 'train']``."""

    command: Sequence[str] = ()
    """What the image would run where the container names no command."""

    working_dir: str = ''
    """Where it would run, unless the container says otherwise."""


_DISTRIBUTIONS: Final = ('almalinux', 'alpine', 'amazonlinux', 'archlinux', 'centos', 'debian', 'fedora', 'rockylinux')
_BARE: Final = frozenset({*_DISTRIBUTIONS, 'busybox', 'golang', 'perl', 'python', 'ruby', 'rust', 'ubuntu'})
"""Images that have no program of their own in front: what a container has as arguments is what it runs."""


def is_bare(image: str) -> bool:
    """Whether the arguments of a container of the image are its command."""
    return image.partition('@')[0].rpartition('/')[2].partition(':')[0] in _BARE


def find(image: str, known: Mapping[str, Image]) -> Image | None:
    """What stands for ``image``; None when nothing is known of it."""
    return next((found for glob, found in known.items() if fnmatch.fnmatchcase(image, glob)), None)
