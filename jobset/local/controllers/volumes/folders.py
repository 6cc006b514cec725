"""The folders behind volumes."""

import asyncio
import shutil
from pathlib import Path
from typing import Final

MODE: Final = 0o770


class Folders:
    """Makes and removes folders below one; everything else is left alone."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def path(self, name: str) -> str:
        """Where the folder of that name is, or will be."""
        return str(self._root / name)

    async def make(self, path: str) -> None:
        """Makes the folder. Raises OSError."""
        await asyncio.to_thread(self._make, Path(path))

    async def remove(self, path: str) -> None:
        """Removes the folder and all that is in it. Raises OSError; one that is gone is fine."""
        await asyncio.to_thread(self._remove, Path(path))

    def _make(self, path: Path) -> None:
        path.mkdir(mode=MODE, parents=True, exist_ok=True)

    def _remove(self, path: Path) -> None:
        # A volume is an object that others may write: its path is not to be trusted with more than our own folder.
        if path.parent.resolve() != self._root:
            raise PermissionError(f'{path}: not a folder of {self._root}')
        if path.is_symlink():
            path.unlink()
        elif path.exists():
            shutil.rmtree(path)


class NoFolders(Folders):
    """For clusters without a disk: simulated ones."""

    def __init__(self) -> None:
        super().__init__(Path('/nowhere'))

    async def make(self, path: str) -> None:
        """Does nothing."""

    async def remove(self, path: str) -> None:
        """Does nothing."""
