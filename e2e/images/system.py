"""Images of the machine's own Debian: pause, a shell, bash, and Python with its standard library."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from e2e.images.archives import Image
from e2e.images.layers import Layer, content, key, layer, link, place

BUSYBOX = Path('/bin/busybox')
BASH = Path('/bin/bash-static')
PYTHON = Path('/usr/bin/python3')

NONROOT = 65532
"""User of images that need no rights, as distroless images have it."""

_PASSWD = f"""root:x:0:0:root:/root:/bin/sh
nobody:x:65534:65534:nobody:/:/bin/false
nonroot:x:{NONROOT}:{NONROOT}:nonroot:/:/bin/false
"""
_GROUP = f'root:x:0:\nnogroup:x:65534:\nnonroot:x:{NONROOT}:\n'

_NEEDLESS = re.compile(r'/usr/share/(doc|man|lintian|bug|pixmaps|applications|binfmts)/')


class ImageError(RuntimeError):
    """An image cannot be made here; the message says what is missing."""


def images(pause: Path, *, store: Path) -> list[Image]:
    """What every full cluster has. ``pause`` is the built program, ``store`` keeps the layers."""
    shell_layer = shell(store=store)
    return [
        Image(names=('localhost/pause:1',), layers=(_pause(pause, store=store),), entrypoint=('/pause',)),
        Image(
            names=('localhost/busybox:1', 'docker.io/library/busybox:latest'),
            layers=(shell_layer,),
            command=('sh',),
        ),
        Image(
            names=('localhost/bash:1', 'docker.io/library/bash:latest'),
            layers=(shell_layer, _bash(store=store)),
            command=('bash',),
        ),
        Image(
            names=('localhost/jobset-python:dev', 'docker.io/library/python:3-slim'),
            layers=(shell_layer, python(store=store)),
            command=('python3',),
        ),
    ]


def shell(*, store: Path) -> Layer:
    """The base of all others: the usual folders, users, and busybox under all of its names."""

    def fill(root: Path) -> None:
        for folder in (
            'usr/bin',
            'usr/sbin',
            'usr/lib',
            'usr/lib64',
            'etc',
            'root',
            'var',
            'run',
            'tmp',
            'dev',
            'proc',
            'sys',
        ):
            (root / folder).mkdir(parents=True, mode=0o755)
        (root / 'tmp').chmod(0o1777)
        for name in ('bin', 'sbin', 'lib', 'lib64'):
            link(root, name, f'usr/{name}')
        link(root, 'var/run', '/run')
        link(root, 'var/tmp', '/tmp')
        (root / 'etc/passwd').write_text(_PASSWD)
        (root / 'etc/group').write_text(_GROUP)
        place(BUSYBOX, root, 'usr/bin/busybox', mode=0o755)
        for applet in _said(str(BUSYBOX), '--list-full').split():
            folder = 'usr/sbin' if '/sbin/' in f'/{applet}' else 'usr/bin'
            link(root, f'{folder}/{Path(applet).name}', '/usr/bin/busybox')

    return layer(key('shell', _recipe(), _bytes(BUSYBOX)), fill, store=store)


def python(*, store: Path) -> Layer:
    """Debian's Python with its standard library, compiled ahead; lies on :func:`shell`."""
    version = python_version()
    packages = [f'python{version}-minimal', f'libpython{version}-minimal', f'libpython{version}-stdlib']

    def fill(root: Path) -> None:
        for path in _owned(packages):
            if path.is_symlink() and not path.is_dir():
                link(root, merged(path), str(path.readlink()))
            elif path.is_file():
                place(path, root, merged(path))
        for name in ('python3', 'python'):
            link(root, f'usr/bin/{name}', f'python{version}')
        for library in libraries(programs(root)):
            place(library, root, merged(library))
        compile_ahead(root, f'usr/lib/python{version}')

    # Any library of the machine may be one that Python needs; the list of all packages changes seldom enough.
    return layer(key('python', _recipe(), _said('dpkg-query', '--show')), fill, store=store)


def python_version() -> str:
    """Minor version of Debian's Python, such as ``3.11``."""
    return _said(str(PYTHON), '-c', 'import sys; print("%d.%d" % sys.version_info[:2])').strip()


def compile_ahead(root: Path, *folders: str) -> None:
    """Compile the Python files of the root folder's ``folders``.

    The files that result are never compared with their source: images carry no times to compare.
    """
    _said(
        *(str(PYTHON), '-m', 'compileall', '-q', '--invalidation-mode', 'unchecked-hash'),
        *('-s', str(root), '-p', '/', *(str(root / folder) for folder in folders)),
        # A few files of a wheel may be templates or of another Python: those stay uncompiled.
        accepted=(0, 1),
    )


def programs(root: Path) -> list[Path]:
    """All programs and shared libraries in a root folder that are linked dynamically."""
    found = [path for path in root.rglob('*') if path.is_file() and not path.is_symlink()]
    return [path for path in found if _elf(path)]


def libraries(programs: Sequence[Path]) -> list[Path]:
    """Shared libraries of the machine that ``programs`` need.

    Raises :class:`ImageError` for a library that the machine lacks.
    """
    if not programs:
        return []
    said = _said('ldd', *map(str, programs), accepted=(0, 1))
    absent = sorted(set(re.findall(r'(\S+) => not found', said)))
    if absent:
        raise ImageError(f'image: the shared libraries {", ".join(absent)} are not on this machine; install them')
    paths = {Path(path) for path in re.findall(r'(?:=> |\t)(/\S+) \(0x', said)}
    within = {program.parent for program in programs}
    # A wheel brings libraries of its own beside the programs that use them.
    return sorted(path for path in paths if path.parent not in within)


def merged(path: Path) -> str:
    """Where a file of Debian lies in an image, which has /bin and /lib only as links."""
    return f'usr{path}' if path.parts[1] in {'bin', 'sbin', 'lib', 'lib64'} else str(path).lstrip('/')


def _pause(program: Path, *, store: Path) -> Layer:
    return layer(
        key('pause', _recipe(), _bytes(program)), lambda root: place(program, root, 'pause', mode=0o755), store=store
    )


def _bash(*, store: Path) -> Layer:
    def fill(root: Path) -> None:
        place(BASH, root, 'usr/bin/bash', mode=0o755)
        # Where the image "bash" of the public registry has it.
        link(root, 'usr/local/bin/bash', '/usr/bin/bash')

    return layer(key('bash', _recipe(), _bytes(BASH)), fill, store=store)


def _owned(packages: Sequence[str]) -> list[Path]:
    listed = _said('dpkg-query', '--listfiles', *packages)
    return [Path(line) for line in listed.splitlines() if line.startswith('/') and not _NEEDLESS.match(line)]


def _elf(path: Path) -> bool:
    with path.open('rb') as file:
        return file.read(4) == b'\x7fELF'


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise ImageError(f'image: {path} is not on this machine; start a full cluster, which installs it') from None


def _recipe() -> str:
    """What this module does is part of what a layer is made from."""
    here = Path(__file__)
    return content([here, here.with_name('layers.py')], base=here.parent)


def _said(*argv: str, accepted: tuple[int, ...] = (0,)) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode not in accepted:
        raise ImageError(f'image: {" ".join(argv)[:200]}: {done.stderr.strip()[-1000:]}')
    return done.stdout
