"""No process outlives what it belongs to."""

# ruff: noqa: ASYNC220 - processes are what these tests are about

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

from jobset.local.node import leftovers
from jobset.local.node.agent import Node
from tests.local.node.conftest import running
from tests.local.node.following import exists, until_ended, until_logged
from tests.local.node.plane import Plane
from tests.local.node.pods import condition, container, is_running, pod, shown, state

_STRAYS = """
setsid sh -c 'sleep 1000 & echo $!; exec sleep 1000' & echo $!
trap '' TERM
echo $$$$ end
while :; do sleep 0.1; done
"""


async def test_strays_end_with_the_main_process(plane: Plane, node: Node) -> None:
    plane.put('pods', 'one', spec=pod(container('setsid sleep 1000 & echo $!')))

    ended = await plane.ended('one')

    files = [*(node.logs.folder).rglob('0.log')]
    stray = int(files[0].read_text().split()[-1])
    assert ended['status']['phase'] == 'Succeeded'
    assert not exists(stray)


async def test_all_end_with_the_node(plane: Plane, tmp_path: Path) -> None:
    async with running(plane, tmp_path / 'node') as node:
        script = 'setsid sleep 1000 & echo $!; echo $$$$ end; exec sleep 1000'
        plane.put('pods', 'one', spec=pod(container(script)))
        pids = [int(word) for word in (await until_logged(node, plane, 'one', 'end')).split()[:2]]

    assert not any(exists(pid) for pid in pids)


_NODE = """
import asyncio, sys
from pathlib import Path
from tests.local.node.conftest import running
from tests.local.node.following import until_logged
from tests.local.node.plane import Plane
from tests.local.node.pods import container, pod

async def main():
    plane = Plane()
    async with running(plane, Path(sys.argv[1])) as node:
        script = sys.argv[2]
        plane.put('pods', 'one', spec=pod(container(script)))
        text = await until_logged(node, plane, 'one', 'end')
        print(*[word for word in text.split() if word.isdigit()], flush=True)
        await asyncio.sleep(1000)

asyncio.run(main())
"""


async def test_all_end_when_the_node_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, '-c', _NODE, str(tmp_path / 'node'), _STRAYS]
    victim = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, 'PYTHONPATH': str(Path.cwd())})
    assert victim.stdout is not None
    loop = asyncio.get_running_loop()
    pids = [int(word) for word in (await loop.run_in_executor(None, victim.stdout.readline)).split()]
    assert len(pids) >= 2
    assert all(exists(pid) for pid in pids)

    victim.send_signal(signal.SIGKILL)

    for pid in pids:
        await until_ended(pid)
    victim.wait()
    victim.stdout.close()


async def test_leftovers_are_ended(tmp_path: Path) -> None:
    ours = subprocess.Popen(['sleep', '1000'], start_new_session=True)
    other = subprocess.Popen(['sleep', '1000'], start_new_session=True)
    leftovers.note(tmp_path / 'uid' / 'pids' / 'main', ours.pid)
    file = tmp_path / 'uid' / 'pids' / 'other'
    file.write_text(f'{other.pid} 1\n')

    assert leftovers.end(tmp_path) == [ours.pid]

    assert ours.wait() == -signal.SIGKILL
    assert other.poll() is None
    other.kill()
    other.wait()


async def test_leftovers_are_ended_with_all_that_they_have_started(tmp_path: Path) -> None:
    script = "setsid sh -c 'sleep 1000 & echo $!; wait' & wait"
    ours = subprocess.Popen(['sh', '-c', script], start_new_session=True, stdout=subprocess.PIPE)
    assert ours.stdout is not None
    deepest = int(ours.stdout.readline())
    leftovers.note(tmp_path / 'uid' / 'pids' / 'main', ours.pid)

    assert leftovers.end(tmp_path) == [ours.pid]

    await until_ended(deepest)
    ours.wait()
    ours.stdout.close()
    assert leftovers.end(tmp_path) == []


def test_what_has_ended_is_no_leftover(tmp_path: Path) -> None:
    ours = subprocess.Popen(['true'])
    os.waitid(os.P_PID, ours.pid, os.WEXITED | os.WNOWAIT)
    leftovers.note(tmp_path / 'uid' / 'pids' / 'main', ours.pid)

    assert leftovers.end(tmp_path) == []

    ours.wait()


async def test_a_node_that_comes_back(plane: Plane, tmp_path: Path) -> None:
    async with running(plane, tmp_path / 'node') as node:
        plane.put('pods', 'never', spec=pod(container('exec sleep 1000')))
        plane.put('pods', 'always', spec=pod(container('echo up; exec sleep 1000'), restartPolicy='Always'))
        await until_logged(node, plane, 'always', 'up')
        await plane.until(lambda: plane.phase('never') == 'Running')

    async with running(plane, tmp_path / 'node'):
        failed = await plane.ended('never')
        await plane.until(lambda: shown(plane.pod('always'))['restartCount'] == 1)
        await plane.until(lambda: plane.phase('always') == 'Running')

    assert state(failed)['reason'] == 'ContainerStatusUnknown'
    assert condition(failed, 'DisruptionTarget')['reason'] == 'TerminationByKubelet'
    assert shown(plane.pod('always'))['lastState']['terminated']['exitCode'] == 137


async def test_a_pod_that_is_deleted_while_its_node_is_away_leaves_no_folder(plane: Plane, tmp_path: Path) -> None:
    async with running(plane, tmp_path / 'node') as node:
        plane.put('pods', 'never', spec=pod(container('echo up; exec sleep 1000')))
        await until_logged(node, plane, 'never', 'up')
    folder = tmp_path / 'node' / 'pods' / plane.pod('never')['metadata']['uid']
    assert folder.is_dir()
    await plane.delete('never')

    async with running(plane, tmp_path / 'node'):
        await plane.gone('never')

    assert not folder.exists()


async def test_a_killed_launcher_takes_its_container_along(plane: Plane, node: Node) -> None:
    plane.put('pods', 'one', spec=pod(container('echo $$$$; exec sleep 1000')))
    pid = int(await until_logged(node, plane, 'one', '\n'))
    launcher = int(Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[1])  # noqa: ASYNC240

    os.kill(launcher, signal.SIGKILL)
    ended = await plane.ended('one')

    assert state(ended)['exitCode'] == 137
    await until_ended(pid)


async def test_a_killed_container_does_not_matter_to_others(plane: Plane, node: Node) -> None:
    plane.put('pods', 'one', spec=pod(container('echo $$$$; exec sleep 1000'), container('exec sleep 1000', 'other')))
    pid = int(await until_logged(node, plane, 'one', '\n'))
    await plane.until(lambda: is_running(plane.pod('one'), 'other'))

    os.kill(pid, signal.SIGKILL)
    await plane.until(lambda: state(plane.pod('one'))['is'] == 'terminated')

    assert state(plane.pod('one'))['exitCode'] == 137
    assert state(plane.pod('one'), 'other')['is'] == 'running'
    assert plane.phase('one') == 'Running'
