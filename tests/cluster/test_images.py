"""Images: the same folder gives the same layer, and an archive holds what a container runtime wants to read."""

import gzip
import hashlib
import json
import os
import tarfile
from pathlib import Path

import pytest

from e2e.images import archives, controller, layers, system
from e2e.images.archives import Image
from e2e.images.layers import Layer


def fill(root: Path) -> None:
    (root / 'bin').mkdir(mode=0o755)
    layers.link(root, 'bin/sh', '/bin/busybox')
    tool = root / 'bin' / 'busybox'
    tool.write_bytes(b'tool')
    tool.chmod(0o755)
    (root / 'tmp').mkdir()
    (root / 'tmp').chmod(0o1777)


@pytest.fixture
def layer(tmp_path: Path) -> Layer:
    return layers.layer('key', fill, store=tmp_path / 'store')


def test_layer_holds_the_folder_without_its_times_and_owners(layer: Layer) -> None:
    with tarfile.open(layer.blob) as tar:
        found = [(one.name, one.mode, one.linkname, one.mtime, one.uid, one.gid) for one in tar]

    assert found == [
        ('bin', 0o755, '', 0, 0, 0),
        ('bin/busybox', 0o755, '', 0, 0, 0),
        ('bin/sh', 0o777, '/bin/busybox', 0, 0, 0),
        ('tmp', 0o1777, '', 0, 0, 0),
    ]


def test_digests_are_those_of_the_file_and_of_the_tar_within(layer: Layer) -> None:
    packed = layer.blob.read_bytes()

    assert layer.digest == hashlib.sha256(packed).hexdigest()
    assert layer.unpacked == hashlib.sha256(gzip.decompress(packed)).hexdigest()


def test_equal_folders_give_equal_layers(layer: Layer, tmp_path: Path) -> None:
    def fill_later(root: Path) -> None:
        fill(root)
        os.utime(root / 'bin' / 'busybox', (1_000_000, 1_000_000))

    assert layers.layer('other', fill_later, store=tmp_path / 'store').digest == layer.digest


def test_layer_of_a_known_key_is_not_made_again(layer: Layer, tmp_path: Path) -> None:
    again = layers.layer('key', lambda root: pytest.fail(f'{root} was filled'), store=tmp_path / 'store')

    assert again == layer


def test_interrupted_layer_is_made_again(tmp_path: Path) -> None:
    def interrupted(root: Path) -> None:
        fill(root)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        layers.layer('key', interrupted, store=tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ['key.lock']
    assert layers.layer('key', fill, store=tmp_path).blob.is_file()


def read(archive: Path, name: str) -> bytes:
    with tarfile.open(archive) as tar:
        file = tar.extractfile(name)
        assert file is not None
        return file.read()


def test_archive_leads_from_each_name_to_the_layers(layer: Layer, tmp_path: Path) -> None:
    image = Image(
        names=('localhost/a:1', 'docker.io/library/a:latest'), layers=(layer,), entrypoint=('/a',), user='7:7'
    )

    archive = archives.write([image], tmp_path / 'out' / 'a.tar')

    index = json.loads(read(archive, 'index.json'))
    called = [entry['annotations']['io.containerd.image.name'] for entry in index['manifests']]
    manifests = {entry['digest'] for entry in index['manifests']}
    manifest = json.loads(read(archive, f'blobs/sha256/{manifests.pop().removeprefix("sha256:")}'))
    config = json.loads(read(archive, f'blobs/sha256/{manifest["config"]["digest"].removeprefix("sha256:")}'))
    assert called == ['localhost/a:1', 'docker.io/library/a:latest']
    assert not manifests
    assert [one['digest'] for one in manifest['layers']] == [f'sha256:{layer.digest}']
    assert config['rootfs']['diff_ids'] == [f'sha256:{layer.unpacked}']
    assert config['config']['Entrypoint'] == ['/a']
    assert config['config']['User'] == '7:7'
    assert list(tmp_path.glob('out/*')) == [archive]


def test_every_blob_is_named_by_its_digest_and_stored_once(layer: Layer, tmp_path: Path) -> None:
    images = [Image(names=(name,), layers=(layer,)) for name in ('a:1', 'b:1')]

    archive = archives.write(images, tmp_path / 'both.tar')

    with tarfile.open(archive) as tar:
        blobs = [name for name in tar.getnames() if name.startswith('blobs/')]
    assert len(blobs) == len(set(blobs)) == 3  # one layer, and one configuration and manifest, equal for both
    assert all(hashlib.sha256(read(archive, name)).hexdigest() == Path(name).name for name in blobs)


def test_controller_layer_follows_its_source_alone(tmp_path: Path) -> None:
    package = tmp_path / 'jobset'
    package.mkdir()
    (package / 'a.py').write_text('x = 1\n')
    before = layers.content([package / 'a.py'], base=tmp_path)
    os.utime(package / 'a.py', (1, 1))
    touched = layers.content([package / 'a.py'], base=tmp_path)
    (package / 'a.py').write_text('x = 2\n')

    assert touched == before
    assert layers.content([package / 'a.py'], base=tmp_path) != before


def test_dockerfile_makes_the_same_image_as_the_builder() -> None:
    text = (controller.CHECKOUT / 'Dockerfile').read_text()

    assert f'USER {system.NONROOT}:{system.NONROOT}' in text
    assert 'ENTRYPOINT ["/manager"]' in text
    assert '--require-hashes' in text


@pytest.mark.parametrize(
    ('path', 'inside'),
    [
        pytest.param('/lib/x86_64-linux-gnu/libc.so.6', 'usr/lib/x86_64-linux-gnu/libc.so.6', id='a library'),
        pytest.param('/usr/bin/python3.11', 'usr/bin/python3.11', id='a program'),
        pytest.param('/etc/python3.11/sitecustomize.py', 'etc/python3.11/sitecustomize.py', id='a setting'),
    ],
)
def test_debian_file_goes_where_images_have_it(path: str, inside: str) -> None:
    assert system.merged(Path(path)) == inside
