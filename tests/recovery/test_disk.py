"""A disk that is full: what cannot be written down is refused in words, and everything else goes on."""

import asyncio
import contextlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.recovery.diary import Diary
from tests.recovery.processes import Plane
from tests.recovery.server import PAUSE, SECONDS, Object, RefusedError, Server, connected
from tests.recovery.working import NAMESPACE, Maker, Trail
from tests.recovery.writing import Writer

SIZE: Final = '6m'
FULL: Final = 507


class Disk:
    """A small one, which only processes see that :attr:`around` has been put in front of."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._holder = subprocess.Popen(
            ['unshare', '-Urm', 'sh', '-c', f'mount -t tmpfs -o size={SIZE} tmpfs {folder} && echo made && read wait'],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._holder.stdout is not None
        self.is_made = self._holder.stdout.readline() == b'made\n'
        self.around = ['nsenter', '--preserve-credentials', '-U', '-m', '-t', str(self._holder.pid)]
        self.folder = Path(f'/proc/{self._holder.pid}/root') / folder.relative_to('/')
        """The same, as this process reaches it."""

    def fill(self) -> None:
        """Take all the space that is left."""
        with contextlib.suppress(OSError), (self.folder / 'ballast').open('ab', buffering=0) as file:
            while True:
                file.write(b'x' * 4096)

    def free(self) -> None:
        """Give it back."""
        (self.folder / 'ballast').unlink()

    def close(self) -> None:
        self._holder.communicate(b'\n')


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    if shutil.which('unshare') is None or shutil.which('nsenter') is None:
        pytest.skip('util-linux is not there')
    made = Disk(tmp_path / 'disk')
    try:
        if not made.is_made:
            pytest.skip('this machine lets nobody mount anything')
        yield made
    finally:
        made.close()


async def test_a_full_disk_costs_nothing_that_was_acknowledged(disk: Disk, tmp_path: Path) -> None:
    plane = Plane(tmp_path / 'disk/plane', around=disk.around)
    plane.start()
    try:
        await plane.ready()
        async with connected(disk.folder / 'plane/kubeconfig', NAMESPACE) as server:
            await server.once('POST', '/api/v1/namespaces', {'metadata': {'name': NAMESPACE}})
            writer = Writer(server, Diary(server), 'writer', 'disk')
            trail = Trail(tmp_path / 'trail')
            running = await begin(server, trail, 'during', 'sleep 1')
            await until(server, running, lambda status: status.get('ready'))
            disk.fill()
            refusal = await until_refused(writer)
            assert refusal.code == FULL
            assert refusal.body['reason'] == 'InsufficientStorage'
            assert refusal.body['message'] == (
                f'nothing was stored: {tmp_path}/disk/plane/data/journal-00000000: No space left on device. '
                'Make some space there, then try again'
            )
            await writer.check_all()

            async with asyncio.timeout(SECONDS):
                # The pod ends, and its node cannot say so.
                while '/pods/during-' not in plane.tail():
                    await asyncio.sleep(PAUSE)
            disk.free()
            await until(server, running, has_succeeded)
            await until(server, await begin(server, trail, 'after', 'true'), has_succeeded)
            await writer.write()
            disk.fill()
            await until_refused(writer)
            await plane.kill()

            plane.start()
            refused = await plane.refused()
            assert refused.endswith('No space left on device'), refused
            assert plane.tail().splitlines()[-1] == f'jobset: {refused}'

            disk.free()
            plane.start()
            await plane.ready()
            await writer.check_all()
            await until(server, await begin(server, trail, 'at-last', 'true'), has_succeeded)
        assert await plane.stop() == 0
        assert 'Traceback' not in plane.log.read_text()
    finally:
        await plane.clear()


async def until_refused(writer: Writer) -> RefusedError:
    """Write until the disk has no space for any more."""
    while True:
        try:
            await writer.write()
        except RefusedError as error:
            return error


async def begin(server: Server, trail: Trail, name: str, command: str) -> Object:
    """A Job that runs a command."""
    group = Maker(trail.file, '').group('main', command)
    body = {
        'apiVersion': 'batch/v1',
        'kind': 'Job',
        'metadata': {'name': name},
        'spec': group['template']['spec'],
    }
    return await server.once('POST', server.path('jobs'), body)


async def until(server: Server, job: Object, holds: Callable[[Object], object]) -> None:
    """Wait for a status of a Job that never fails."""
    name, version = job['metadata']['name'], job['metadata']['resourceVersion']
    async with asyncio.timeout(SECONDS):
        async for event in server.watch('jobs', version):
            status = event['object'].get('status', {})
            assert not status.get('failed'), status
            if event['object']['metadata']['name'] == name and holds(status):
                return


def has_succeeded(status: Object) -> bool:
    return status.get('succeeded') == 1
