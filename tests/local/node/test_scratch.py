"""The ``/tmp`` and ``/dev/shm`` that every container has for itself, though all of a test lies below ``/tmp``."""

import functools
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobset.local.node.agent import Node
from tests.local.node.conftest import running
from tests.local.node.following import output
from tests.local.node.plane import Plane
from tests.local.node.pods import container, is_ready, pod, shown

_WRITES_AND_WAITS = """
ls -A /tmp /dev/shm
echo $HOSTNAME > /tmp/mine
echo $HOSTNAME > /dev/shm/mine
stat -c '%a %n' /tmp /dev/shm
touch /tmp/ready
exec sleep 100
"""

_PROBE = {'exec': {'command': ['test', '-e', '/tmp/ready']}, 'periodSeconds': 1}


@pytest.fixture
def below_tmp(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in the ``/tmp`` of this machine, wherever tests have theirs."""
    folder = Path('/tmp') / f'scratch-{uuid.uuid4()}'
    folder.mkdir()
    yield folder
    for path in sorted(folder.rglob('*'), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    folder.rmdir()


def _is_ready(plane: Plane, name: str) -> bool:
    return is_ready(plane.pod(name))


async def test_pods_do_not_meet(plane: Plane, node: Node) -> None:
    for name in ('a', 'b'):
        plane.put('pods', name, spec=pod(container(_WRITES_AND_WAITS, readinessProbe=_PROBE)))
        await plane.until(functools.partial(_is_ready, plane, name))

    read = [await node.execute('default', name, ['cat', '/tmp/mine', '/dev/shm/mine']) for name in ('a', 'b')]

    assert read == [(0, 'a\na\n'), (0, 'b\nb\n')]
    assert not Path('/tmp/mine').exists()  # noqa: ASYNC240
    for name in ('a', 'b'):
        assert (await output(node, plane, name)).split('\n')[-3:-1] == ['1777 /tmp', '1777 /dev/shm']


async def test_a_restart_begins_with_nothing(plane: Plane, node: Node) -> None:
    script = 'ls /tmp /dev/shm | grep -c left; touch /tmp/left /dev/shm/left; exit 1'
    plane.put('pods', 'one', spec=pod(container(script), restartPolicy='OnFailure'))

    await plane.until(lambda: 'status' in plane.pod('one') and shown(plane.pod('one'))['restartCount'] == 2)

    assert await output(node, plane, 'one', previous=True) == '0\n'


async def test_containers_of_a_pod_have_one_each(plane: Plane, node: Node) -> None:
    first = container('touch /tmp/left', 'first')
    plane.put('pods', 'one', spec=pod(container('ls /tmp | grep -c left'), initContainers=[first]))

    await plane.ended('one')

    assert await output(node, plane, 'one') == '0\n'


async def test_volumes_of_the_machine(plane: Plane, node: Node, below_tmp: Path) -> None:
    (below_tmp / 'file').write_text('of the machine\n')
    mounts = [{'name': 'v', 'mountPath': '/data'}, {'name': 'v', 'mountPath': str(below_tmp / 'there')}]
    script = f'cat /data/file {below_tmp}/there/file; ls {below_tmp}; echo back > /data/new'
    volumes = [{'name': 'v', 'hostPath': {'path': str(below_tmp)}}]
    plane.put('pods', 'one', spec=pod(container(script, volumeMounts=mounts), volumes=volumes))

    await plane.ended('one')

    assert await output(node, plane, 'one') == 'of the machine\nof the machine\nthere\n'
    assert (below_tmp / 'new').read_text() == 'back\n'


@pytest.mark.parametrize('path', ['/tmp', '/tmp/', '/dev/shm'])
async def test_a_volume_in_its_stead(plane: Plane, node: Node, path: str) -> None:
    mounts = [{'name': 'v', 'mountPath': path}, {'name': 'v', 'mountPath': '/data'}]
    script = f'echo here > {path}/file; cat /data/file'
    plane.put('pods', 'one', spec=pod(container(script, volumeMounts=mounts), volumes=[{'name': 'v'}]))

    await plane.ended('one')

    assert await output(node, plane, 'one') == 'here\n'


async def test_the_folder_that_the_cluster_was_started_in(
    plane: Plane, tmp_path: Path, below_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = below_tmp / 'project'
    inside.mkdir()
    (inside / 'train.sh').write_text('echo trained; ls ..\n')
    monkeypatch.chdir(inside)
    async with running(plane, tmp_path / 'node') as node:
        spec = pod(container('sh train.sh', workingDir=str(inside)))
        plane.put('pods', 'one', spec=spec)

        await plane.ended('one')

        assert await output(node, plane, 'one') == 'trained\nproject\n'


async def test_a_message_below_tmp(plane: Plane, node: Node) -> None:
    main = container('echo why > /tmp/message', terminationMessagePath='/tmp/message')
    plane.put('pods', 'one', spec=pod(main))

    ended = await plane.ended('one')

    assert shown(ended)['state']['terminated']['message'] == 'why\n'


async def test_switched_off(plane: Plane, tmp_path: Path, below_tmp: Path) -> None:
    async with running(plane, tmp_path / 'node', private_tmp=False) as node:
        plane.put('pods', 'one', spec=pod(container(f'touch {below_tmp}/seen')))
        await plane.ended('one')
        assert await output(node, plane, 'one') == ''

    assert (below_tmp / 'seen').exists()


async def test_without_namespaces(plane: Plane, tmp_path: Path) -> None:
    async with running(plane, tmp_path / 'node', namespaces=False) as node:
        plane.put('pods', 'one', spec=pod(container('echo $TMPDIR; ls -A $TMPDIR; mktemp')))
        ended = await plane.ended('one')

        uid = ended['metadata']['uid']
        where = f'{tmp_path}/node/pods/{uid}/containers/main/tmp'
        lines = (await output(node, plane, 'one')).splitlines()
        assert lines[0] == where
        assert lines[1].startswith(f'{where}/tmp.')
