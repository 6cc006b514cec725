"""A cluster as a whole, in this process: what it keeps, what it refuses, and that two of them do not meet."""

import asyncio
import contextlib
import errno
import logging
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from jobset import client
from jobset.kube import requests
from jobset.local import cluster, homes
from jobset.local.node import agent
from jobset.local.store import journal

SECONDS = 60

NAMES = [f'twins-main-0-{index}.twins' for index in range(2)]
"""The names of the pods of both JobSets."""


def config_map(name: str) -> requests.Request:
    body = {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': name}}
    return requests.create(requests.Resource('', 'v1', 'configmaps', 'ConfigMap'), 'default', body)


async def uid(running: cluster.Cluster, name: str) -> str:
    resource = requests.Resource('', 'v1', 'configmaps', 'ConfigMap')
    return str((await running.api.request(requests.read(resource, 'default', name), dict[str, Any]))['metadata']['uid'])


async def test_it_goes_on_where_it_was(tmp_path: Path) -> None:
    async with cluster.Cluster(folder=tmp_path) as first:
        await first.api.send(config_map('kept'))
        before = await uid(first, 'kept'), first.access, first.kubeconfig.read_bytes()

    async with cluster.Cluster(folder=tmp_path) as second:
        assert (await uid(second, 'kept'), second.access, second.kubeconfig.read_bytes()) == before


async def test_another_port_where_its_own_is_taken_meanwhile(tmp_path: Path) -> None:
    async with cluster.Cluster(folder=tmp_path) as first:
        port = first.access.port

    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(('127.0.0.1', port))
        taken.listen()
        async with cluster.Cluster(folder=tmp_path) as second:
            assert second.access.port not in (0, port)
            assert str(second.access.port) in second.kubeconfig.read_text()


async def test_nothing_is_left_of_one_without_a_folder() -> None:
    async with cluster.Cluster(settings=cluster.Settings(keeps_objects=False)) as running:
        folder = running.folder
        assert not (folder / 'data').exists()

    assert not folder.exists()


async def test_a_torn_end_is_told_and_no_reason_to_stop(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with cluster.Cluster(folder=tmp_path) as first:
        await first.api.send(config_map('kept'))
        before = await uid(first, 'kept')
    file = tmp_path / 'data/journal-00000000'
    with file.open('ab') as end:
        end.write(file.read_bytes()[:7])

    with caplog.at_level(logging.WARNING, 'jobset.local.store'):
        async with cluster.Cluster(folder=tmp_path) as second:
            assert await uid(second, 'kept') == before

    assert [record.getMessage() for record in caplog.records] == [
        f'{file}: an entry of 7 bytes was not complete, it is cut off'
    ]


def _file_in_the_way(folder: Path) -> str:
    (folder / 'data').touch()
    return f'{folder}/data: is not a folder'


def _pods_in_the_way(folder: Path) -> str:
    (folder / 'pods').touch()
    return f'{folder}/pods: is not a folder'


def _folder_in_the_way(folder: Path) -> str:
    (folder / 'kubeconfig').mkdir()
    return f'{folder}/kubeconfig: Is a directory'


def _damage_in_the_middle(folder: Path) -> str:
    kept, _ = journal.Journal.open(folder / 'data')
    kept.close()
    file = folder / 'data/journal-00000000'
    file.write_bytes(b'x' * 100)
    return (
        f'{file}: damaged at byte 0: the head of an entry does not fit its checksum. Nothing was changed. '
        f'Changes after this place were acknowledged and cannot be read. Restore the folder {folder}/data from a '
        'copy; or, to start anew, move it away'
    )


@pytest.mark.parametrize('prepare', [_file_in_the_way, _pods_in_the_way, _folder_in_the_way, _damage_in_the_middle])
async def test_a_folder_that_is_of_no_use(prepare: Callable[[Path], str], tmp_path: Path) -> None:
    text = prepare(tmp_path)

    with pytest.raises(homes.UnusableError) as refused:
        async with cluster.Cluster(folder=tmp_path):
            pass

    assert str(refused.value) == text


async def test_a_folder_is_used_once_at_a_time(tmp_path: Path) -> None:
    async with cluster.Cluster(folder=tmp_path):
        with pytest.raises(homes.UnusableError, match=r'data: is in use by process \d+; stop that one, or use another'):
            await cluster.Cluster(folder=tmp_path).__aenter__()


@pytest.mark.parametrize('port', ['taken', 'forbidden'])
async def test_a_port_that_cannot_be_used(port: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, 'of some other words')

    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        number = taken.getsockname()[1]
        text = f'127.0.0.1:{number} is taken by another process; stop that one, or choose another port'
        if port == 'forbidden':
            monkeypatch.setattr(asyncio.get_running_loop(), 'create_server', refuse)
            text = f'127.0.0.1:{number} cannot be used: permission denied; choose another port'

        with pytest.raises(homes.UnusableError) as refused:
            await cluster.Cluster(folder=tmp_path, settings=cluster.Settings(port=number)).__aenter__()

    assert str(refused.value) == text


async def test_what_the_block_raises_comes_out_as_it_is(tmp_path: Path) -> None:
    for error in (KeyError('a fault of the user'), OSError(errno.ENOSPC, 'a disk of the user')):
        with pytest.raises(type(error)) as raised:
            async with cluster.Cluster(folder=tmp_path, settings=cluster.Settings(keeps_objects=False)):
                raise error
        assert raised.value is error


@pytest.mark.parametrize('moment', ['at the start', 'later'])
async def test_a_part_that_fails_ends_it_all(moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Node(agent.Node):
        async def run(self) -> None:
            if moment == 'later':
                self.registered.set()
                await asyncio.sleep(0)
            raise OSError(errno.ENOSPC, 'No space left on device')

    monkeypatch.setattr(agent, 'Node', Node)

    with pytest.raises(homes.UnusableError) as refused:
        async with asyncio.timeout(SECONDS), cluster.Cluster(folder=tmp_path):
            await asyncio.Event().wait()

    assert str(refused.value) == f'{tmp_path}: No space left on device'
    assert journal.owner(tmp_path / 'data') is None


async def test_a_cancellation_goes_through(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0), cluster.Cluster(folder=tmp_path):
            await asyncio.Event().wait()

    assert journal.owner(tmp_path / 'data') is None


async def test_two_at_once_do_not_meet(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ('a', 'b')]
    async with cluster.Cluster(folder=folders[0]) as one, cluster.Cluster(folder=folders[1]) as two:
        addresses = await asyncio.gather(*(twins(each) for each in (one, two)))
        told = [await answers(one, two.access), await answers(one, one.access)]

    # Each pod has found the other one of its own cluster under the name that both clusters have.
    assert len(set(addresses[0] + addresses[1])) == 4
    assert len({ip.rsplit('.', 2)[0] for ip in addresses[0]}) == 1
    assert addresses[0][0].rsplit('.', 2)[0] != addresses[1][0].rsplit('.', 2)[0]
    assert told == [401, 200]


async def twins(running: cluster.Cluster) -> list[str]:
    """Runs two pods of fixed names that look for each other by these; the addresses of both."""
    script = f'for name in {" ".join(NAMES)}; do until getent hosts $name; do sleep 0.1; done; done; exec sleep 1000'
    await running.jobsets.create(client.build('twins', client.group('main', command=['sh', '-c', script], pods=2)))
    found: dict[str, set[str]] = {}
    async with asyncio.timeout(SECONDS), contextlib.aclosing(running.jobsets.logs('twins', follow=True)) as lines:
        async for rank, text in lines:
            found.setdefault(rank, set()).add(text.split()[0])
            if sum(map(len, found.values())) == 2 * len(NAMES):
                break
    pods = (await running.api.request(requests.list_(requests.PODS, 'default'), dict[str, Any]))['items']
    addresses = sorted(pod['status']['podIP'] for pod in pods)
    assert list(found.values()) == [set(addresses)] * 2
    return addresses


async def answers(running: cluster.Cluster, other: cluster.Access) -> int:
    """What a server says to the token of a cluster."""
    context = ssl.create_default_context(cadata=other.authority.decode())
    headers = {'Authorization': f'Bearer {running.access.token}'}
    async with (
        aiohttp.ClientSession() as session,
        session.get(f'{other.server}/api/v1/pods', ssl=context, headers=headers) as answer,
    ):
        return answer.status
