"""Logs as the API server gives them out."""

import asyncio
import re
from pathlib import Path

import pytest

from jobset.local.node import logfiles
from jobset.local.node.agent import Node
from jobset.local.problems import Problem
from jobset.local.server.logs import Wanted
from tests.local.node.conftest import running
from tests.local.node.following import output, until_logged
from tests.local.node.plane import Plane
from tests.local.node.pods import container, is_running, pod, shown


async def test_parts_of_a_log(plane: Plane, node: Node) -> None:
    plane.put('pods', 'one', spec=pod(container('for i in 1 2 3 4; do echo line $i; done; printf tail')))
    await plane.ended('one')

    assert await output(node, plane, 'one') == 'line 1\nline 2\nline 3\nline 4\ntail'
    assert await output(node, plane, 'one', tail_lines=2) == 'line 4\ntail'
    assert await output(node, plane, 'one', tail_lines=0) == ''
    assert await output(node, plane, 'one', limit_bytes=9) == 'line 1\nli'
    assert await output(node, plane, 'one', since_time='2999-01-01T00:00:00Z') == ''
    assert await output(node, plane, 'one', follow=True, tail_lines=1) == 'tail'
    stamped = (await output(node, plane, 'one', timestamps=True)).splitlines()
    assert re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z line 1', stamped[0])


async def test_following(plane: Plane, node: Node) -> None:
    spec = pod(
        container(
            r'echo begin; until test -e /v/go; do sleep 0.05; done; printf "1%%\r2%%\n"',
            volumeMounts=[{'name': 'v', 'mountPath': '/v'}],
        ),
        volumes=[{'name': 'v', 'hostPath': {'path': str(node.logs.folder)}}],
    )
    plane.put('pods', 'one', spec=spec)
    await plane.until(lambda: is_running(plane.pod('one')))
    got = []

    async with asyncio.timeout(20):
        async for piece in node.logs.read(plane.pod('one'), Wanted(container='main', follow=True)):
            got.append(piece.decode())
            if 'begin' in ''.join(got):
                (node.logs.folder / 'go').touch()

    assert ''.join(got) == 'begin\n1%\r2%\n'


async def test_previous(plane: Plane, node: Node) -> None:
    mounts = [{'name': 'v', 'mountPath': '/v'}]
    script = 'echo x >> /v/runs; echo run $(wc -l < /v/runs); test $(wc -l < /v/runs) -ge 2 && exec sleep 100; exit 1'
    spec = pod(container(script, volumeMounts=mounts), volumes=[{'name': 'v'}], restartPolicy='Always')
    plane.put('pods', 'one', spec=spec)
    await plane.until(lambda: plane.phase('one') == 'Running' and shown(plane.pod('one'))['restartCount'] == 1)
    await until_logged(node, plane, 'one', 'run 2')

    assert await output(node, plane, 'one', previous=True) == 'run 1\n'
    assert await output(node, plane, 'one') == 'run 2\n'


async def test_rotation_loses_nothing_to_those_who_follow(plane: Plane, tmp_path: Path) -> None:
    async with running(plane, tmp_path / 'node', log_bytes=2000, log_files=3) as node:
        plane.put('pods', 'one', spec=pod(container('for i in $(seq 200); do echo line $i; sleep 0.001; done')))
        await plane.until(lambda: plane.phase('one') in ('Running', 'Succeeded'))
        followed = await output(node, plane, 'one', follow=True)
        await plane.ended('one')

        assert followed.splitlines() == [f'line {number}' for number in range(1, 201)]
        files = [*(tmp_path / 'node' / 'logs').rglob('0.log*')]
        assert len(files) == 3
        assert all(file.stat().st_size <= 2000 for file in files)
        assert (await output(node, plane, 'one', tail_lines=1)) == 'line 200\n'


async def test_nothing_to_read(plane: Plane, node: Node) -> None:
    spec = pod(container('true', volumeMounts=[]), volumes=[{'name': 'v', 'configMap': {'name': 'no'}}])
    plane.put('pods', 'one', spec=spec)
    await plane.until(lambda: 'status' in plane.pod('one'))

    with pytest.raises(Problem, match='container "main" in pod "one" is waiting to start: ContainerCreating'):
        await output(node, plane, 'one')
    with pytest.raises(Problem, match='previous terminated container "main" in pod "one" not found'):
        await output(node, plane, 'one', previous=True)


@pytest.mark.parametrize('keeps', [pytest.param(True, id='kept'), pytest.param(False, id='removed')])
async def test_logs_after_the_pod(plane: Plane, tmp_path: Path, keeps: bool) -> None:
    async with running(plane, tmp_path / 'node', keep_logs=keeps):
        plane.put('pods', 'one', spec=pod(container('echo hello')))
        uid = (await plane.ended('one'))['metadata']['uid']
        await plane.delete('one', grace=0)
        # The node takes deletions in order: when a later pod is gone, the first one is dealt with.
        plane.put('pods', 'two', spec=pod(container('true')))
        await plane.ended('two')

    where = logfiles.folder(tmp_path / 'node' / 'logs', namespace='default', pod='one', uid=uid)
    assert where.exists() is keeps
    assert not (tmp_path / 'node' / 'pods' / uid).exists()


async def test_each_run_by_its_number_also_when_the_pod_is_gone(plane: Plane, tmp_path: Path) -> None:
    async with running(plane, tmp_path / 'node', keep_logs=True) as node:
        mounts = [{'name': 'v', 'mountPath': '/v'}]
        script = 'echo x >> /v/runs; echo run $(wc -l < /v/runs); test $(wc -l < /v/runs) -ge 3 && exit 0; exit 1'
        spec = pod(container(script, volumeMounts=mounts), volumes=[{'name': 'v'}], restartPolicy='OnFailure')
        plane.put('pods', 'one', spec=spec)
        await plane.ended('one')
        gone = {'metadata': plane.pod('one')['metadata']}

        for number in range(3):
            wanted = Wanted(container='main', run=number, follow=True)
            assert [piece async for piece in node.logs.read(gone, wanted)] == [f'run {number + 1}\n'.encode()]
        with pytest.raises(Problem, match='run 3 of container "main" in pod "one" has no log'):
            await anext(node.logs.read(gone, Wanted(container='main', run=3)))
