"""Image archives in the OCI layout, as ``ctr images import`` and ``docker load`` read them."""

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from e2e.images.layers import Layer

_MANIFEST = 'application/vnd.oci.image.manifest.v1+json'
_CONFIG = 'application/vnd.oci.image.config.v1+json'
_INDEX = 'application/vnd.oci.image.index.v1+json'
_LAYER = 'application/vnd.oci.image.layer.v1.tar+gzip'

_ARCHITECTURES: Mapping[str, str] = {'x86_64': 'amd64', 'aarch64': 'arm64'}


@dataclass(frozen=True, kw_only=True)
class Image:
    """Layers and how to start what is in them."""

    names: tuple[str, ...]
    layers: tuple[Layer, ...]
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    user: str = '0:0'
    environment: Mapping[str, str] = field(default_factory=dict)


def write(images: Sequence[Image], path: Path) -> Path:
    """Write one archive with all ``images``, each under all of its names. The file appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f'{path.name}.new')
    with tarfile.open(draft, 'w') as tar:
        writer = _Writer(tar)
        manifests = [entry for image in images for entry in writer.image(image)]
        writer.file('index.json', _json({'schemaVersion': 2, 'mediaType': _INDEX, 'manifests': manifests}))
        writer.file('oci-layout', _json({'imageLayoutVersion': '1.0.0'}))
    draft.rename(path)
    return path


def configuration(image: Image) -> dict[str, object]:
    """The part of an image that says how to run it."""
    path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
    environment = {'PATH': path, **image.environment}
    return {
        'architecture': _ARCHITECTURES[platform.machine()],
        'os': 'linux',
        'config': {
            'Env': [f'{name}={value}' for name, value in environment.items()],
            'Entrypoint': list(image.entrypoint),
            'Cmd': list(image.command),
            'User': image.user,
            'WorkingDir': '/',
        },
        'rootfs': {'type': 'layers', 'diff_ids': [f'sha256:{layer.unpacked}' for layer in image.layers]},
    }


class _Writer:
    """Adds blobs to an archive, each once."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self._written: set[str] = set()

    def image(self, image: Image) -> list[dict[str, object]]:
        """Write all blobs of ``image``; returns its entries of the index, one a name."""
        config = self._blob(_json(configuration(image)), _CONFIG)
        layers = [self._layer(layer) for layer in image.layers]
        manifest = self._blob(
            _json({'schemaVersion': 2, 'mediaType': _MANIFEST, 'config': config, 'layers': layers}), _MANIFEST
        )
        return [
            {
                **manifest,
                'platform': {'architecture': _ARCHITECTURES[platform.machine()], 'os': 'linux'},
                'annotations': {
                    'io.containerd.image.name': name,
                    'org.opencontainers.image.ref.name': name.rpartition(':')[2],
                },
            }
            for name in image.names
        ]

    def file(self, name: str, data: bytes) -> None:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        info.mode = 0o644
        self._tar.addfile(info, io.BytesIO(data))

    def _layer(self, layer: Layer) -> dict[str, object]:
        name = f'blobs/sha256/{layer.digest}'
        if name not in self._written:
            self._written.add(name)
            self._tar.add(layer.blob, name)
        return {'mediaType': _LAYER, 'digest': f'sha256:{layer.digest}', 'size': layer.blob.stat().st_size}

    def _blob(self, data: bytes, kind: str) -> dict[str, object]:
        digest = hashlib.sha256(data).hexdigest()
        name = f'blobs/sha256/{digest}'
        if name not in self._written:
            self._written.add(name)
            self.file(name, data)
        return {'mediaType': kind, 'digest': f'sha256:{digest}', 'size': len(data)}


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()
