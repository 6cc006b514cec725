"""The controller's image: Python, the packages of ``requirements/run.txt``, and the package ``jobset``.

``python -m e2e.images.controller ARCHIVE`` writes it. The ``Dockerfile`` makes the same on a machine with Docker.
"""

import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from e2e.cluster import names
from e2e.images import archives, system
from e2e.images.archives import Image
from e2e.images.layers import Layer, content, key, layer, place

NAME = 'localhost/jobset-controller:dev'
CHECKOUT = Path(__file__).resolve().parents[2]

_MANAGER = """#!/usr/bin/python3
import sys

from jobset.controller.main import main

sys.exit(main())
"""

_INSTALL_SECONDS = 600


def image(*, checkout: Path = CHECKOUT, store: Path) -> Image:
    """The image of ``checkout`` as it is now. Only the layers that changed are made anew."""
    base = (system.shell(store=store), system.python(store=store))
    return Image(
        names=(NAME,),
        layers=(*base, _packages(checkout, base=base, store=store), _jobset(checkout, store=store)),
        entrypoint=('/manager',),
        user=f'{system.NONROOT}:{system.NONROOT}',
        # Nothing may be written in its root, so Python need not try.
        environment={'PYTHONDONTWRITEBYTECODE': '1', 'PYTHONUNBUFFERED': '1'},
    )


def folder(version: str) -> str:
    """Where Debian's Python looks for packages that Debian did not bring."""
    return f'usr/local/lib/python{version}/dist-packages'


def _packages(checkout: Path, *, base: Sequence[Layer], store: Path) -> Layer:
    lock = checkout / 'requirements' / 'run.txt'
    version = system.python_version()

    def fill(root: Path) -> None:
        target = root / folder(version)
        _install(lock, target, version=version)
        for library in system.libraries(system.programs(root)):
            place(library, root, system.merged(library))
        system.compile_ahead(root, folder(version))

    made_from = key('packages', lock.read_bytes(), version, _recipe(), *(one.digest for one in base))
    return layer(made_from, fill, store=store)


def _install(lock: Path, target: Path, *, version: str) -> None:
    done = subprocess.run(
        [
            *(sys.executable, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-compile'),
            *('--require-hashes', '--only-binary=:all:', f'--python-version={version}'),
            *(f'--target={target}', f'--requirement={lock}'),
        ],
        capture_output=True,
        text=True,
        timeout=_INSTALL_SECONDS,
        check=False,
    )
    if done.returncode:
        raise system.ImageError(f'image: pip install of {lock.name}: {done.stderr.strip()[-1000:]}')


def _jobset(checkout: Path, *, store: Path) -> Layer:
    version = system.python_version()
    package = checkout / 'jobset'
    files = [
        path
        for path in package.rglob('*')
        if path.is_file() and path.suffix != '.pyc' and '__pycache__' not in path.parts
    ]
    project = (checkout / 'pyproject.toml').read_bytes()

    def fill(root: Path) -> None:
        for path in files:
            place(path, root, f'{folder(version)}/{path.relative_to(checkout)}', mode=0o644)
        _metadata(tomllib.loads(project.decode()), root / folder(version))
        system.compile_ahead(root, f'{folder(version)}/jobset')
        manager = root / 'manager'
        manager.write_text(_MANAGER)
        manager.chmod(0o755)

    return layer(key('jobset', content(files, base=checkout), project, version, _recipe()), fill, store=store)


def _metadata(project: dict[str, dict[str, str]], target: Path) -> None:
    """What an installer would note down, so that the package knows its own version."""
    name, version = project['project']['name'], project['project']['version']
    notes = target / f'{name}-{version}.dist-info'
    notes.mkdir()
    (notes / 'METADATA').write_text(f'Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n')


def _recipe() -> str:
    here = Path(__file__)
    return content([here, here.with_name('layers.py'), here.with_name('system.py')], base=here.parent)


def build(archive: Path) -> Path:
    """Write the archive of this checkout's controller; returns its path."""
    return archives.write([image(store=names.cache() / 'layers')], archive)


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit('usage: python -m e2e.images.controller ARCHIVE')
    print(build(Path(sys.argv[1])))
