"""Where embedded clusters live on disk.

::

    ~/.jobset/                     or $JOBSET_HOME
      clusters/<name>/             one that was started with `jobset cluster up`
        kubeconfig                 readable by its user only: it holds the token
        process.json               who runs it
        plane.log                  and plane.log.1, plane.log.2 when it has grown
        data/  pods/  logs/  volumes/
      runs/<time>-<name>/          what `jobset run` leaves: the same, without a process
"""

import contextlib
import datetime
import pathlib
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from jobset.client.homes import DEFAULT, ENVIRONMENT, home

__all__ = ['DEFAULT', 'ENVIRONMENT', 'Home', 'UnusableError', 'clusters', 'home', 'of_cluster', 'of_run', 'strip']

LOGS: Final = 'logs'

_NAME: Final = re.compile(r'[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?')


class UnusableError(Exception):
    """A cluster cannot be started or reached. The text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of one cluster."""

    name: str
    folder: pathlib.Path

    @property
    def kubeconfig(self) -> pathlib.Path:
        """How to reach it."""
        return self.folder / 'kubeconfig'

    @property
    def process(self) -> pathlib.Path:
        """Who runs it."""
        return self.folder / 'process.json'

    @property
    def log(self) -> pathlib.Path:
        """What a cluster in the background says of itself."""
        return self.folder / 'plane.log'

    @property
    def data(self) -> pathlib.Path:
        """The journal of its objects."""
        return self.folder / 'data'

    def prepare(self) -> None:
        """Make the folder, for its user only. Raises :class:`UnusableError`."""
        with _usable(self.folder, 'made'):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.folder.chmod(0o700)


@contextlib.contextmanager
def _usable(folder: pathlib.Path, what: str) -> Iterator[None]:
    """Says what to do where everything local cannot be kept in the place that is meant for it."""
    try:
        yield
    except OSError as error:
        text = f'{folder}: cannot be {what}: {error.strerror}; set {ENVIRONMENT} to a folder of yours'
        raise UnusableError(text) from error


def of_cluster(name: str = DEFAULT) -> Home:
    """Where the cluster of that name lives. Raises :class:`UnusableError` for a name that is none."""
    if not _NAME.fullmatch(name):
        raise UnusableError(f'cluster "{name}": a name has lower-case letters, digits and "-", 40 at most')
    return Home(name, home() / 'clusters' / name)


def clusters() -> list[Home]:
    """All clusters that were started once and not taken away, by name. Raises :class:`UnusableError`."""
    return [each for each in _within('clusters') if _NAME.fullmatch(each.name)]


def of_runs() -> list[Home]:
    """What all runs have left, and those that go on. Raises :class:`UnusableError`."""
    return _within('runs')


def _within(kind: str) -> list[Home]:
    folder = home() / kind
    with _usable(folder, 'read'):
        found = sorted(each for each in folder.iterdir() if each.is_dir()) if folder.is_dir() else []
    return [Home(each.name, each) for each in found]


def of_run(name: str, now: datetime.datetime) -> Home:
    """A new folder for a run; never one that is there. Raises :class:`UnusableError`."""
    stem = f'{now:%Y%m%d-%H%M%S}-{name[:40]}'
    folder = home() / 'runs' / stem
    count = 1
    with _usable(folder, 'made'):
        while folder.exists():
            count += 1
            folder = home() / 'runs' / f'{stem}-{count}'
    return Home(folder.name, folder)


def strip(home: Home) -> None:
    """Take away all that a run has left but its logs; and the folder, when there are none."""
    if not home.folder.is_dir():
        return
    for left in home.folder.iterdir():
        if left.name != LOGS:
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink()
    logs = home.folder / LOGS
    if not logs.is_dir() or not any(logs.iterdir()):
        shutil.rmtree(home.folder, ignore_errors=True)
