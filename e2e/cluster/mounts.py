"""What is still mounted below a folder."""

import re
import subprocess
from pathlib import Path


def below(folder: Path, *, table: str) -> list[Path]:
    """Mount points in ``folder``, the last mounted first. ``table`` is the text of ``/proc/self/mountinfo``."""
    points = [Path(_plain(line.split()[4])) for line in table.splitlines()]
    return [point for point in reversed(points) if point.is_relative_to(folder)]


def clear(folder: Path) -> None:
    """Unmount everything in ``folder``. Raises ``CalledProcessError`` for what cannot be."""
    for point in below(folder.resolve(), table=Path('/proc/self/mountinfo').read_text()):
        # Lazily: a process of a pod that the kernel has not let go of yet must not stop us.
        subprocess.run(['umount', '--lazy', point], check=True, timeout=30)


def _plain(escaped: str) -> str:
    """The kernel writes spaces and backslashes of a path as octal numbers."""
    return re.sub(r'\\([0-7]{3})', lambda match: chr(int(match.group(1), 8)), escaped)
