"""The one file that goes into other people's images: the same bytes each time, old Pythons, few imports."""

import ast
import hashlib
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from jobset.agent import barrier, groups, neighbours, rounds, settings
from jobset.api import keys
from tests.agent.pods import JOBSET, ROOT, RULE, Pods, interpreters, jobset, packed, pod
from tests.agent.server import Json, Server

SOURCES = sorted((ROOT / 'jobset' / 'agent').glob('*.py'))
AT_MOST = {'json', 'os', 'signal', 'socket', 'ssl', 'sys', 'threading', 'time'}
"""Each further module is time that every restart waits for."""


def test_the_same_sources_make_the_same_bytes(tmp_path: Path) -> None:
    files = [packed(tmp_path / name) for name in ('one', 'two')]

    assert len({hashlib.sha256(file.read_bytes()).hexdigest() for file in files}) == 1
    with zipfile.ZipFile(files[0]) as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
        assert set(archive.namelist()) == {
            '__main__.py',
            'jobset/__init__.py',
            *(f'jobset/agent/{source.name}' for source in SOURCES),
        }


def test_it_is_a_program_and_fits_into_a_config_map(packed: Path) -> None:
    assert packed.read_bytes().startswith(b'#!/usr/bin/env python3\n')
    assert packed.stat().st_mode & 0o777 == 0o755
    assert packed.stat().st_size < 1 << 17


@pytest.mark.parametrize('source', SOURCES, ids=lambda source: source.name)
def test_sources_are_those_of_old_pythons_and_import_little(source: Path) -> None:
    tree = ast.parse(source.read_text(), feature_version=(3, 8))

    imported = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(str(node.module))
    assert imported <= {*AT_MOST, '__future__', 'jobset.agent'}


@pytest.mark.parametrize('python', interpreters())
def test_runs_with_every_python_of_this_machine(plane: Server, agents: Pods, python: str) -> None:
    plane.put('jobsets', JOBSET, jobset())
    plane.put('pods', 'pod-0', pod())
    agent = agents.start('pod-0', '--', 'echo', 'done', python=python)
    plane.until(lambda: plane.annotation('pod-0') == '0', 'an announcement')

    plane.status(JOBSET, currentInPlaceRestartAttempt=0)

    assert agent.ended() == 0
    assert 'done' in agent.lines


def test_a_pod_that_is_set_up_wrongly_is_told_so(packed: Path) -> None:
    done = subprocess.run(
        [sys.executable, '-I', '-S', str(packed)],
        env={'JOBSET_SERVICE_ACCOUNT_DIR': '/nowhere'},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr == (
        'jobset-agent: /nowhere/namespace: No such file or directory; mount the service account into this container\n'
    )


def test_names_are_those_of_the_api() -> None:
    assert f'{keys.LABELS}/' == rounds.LABELS == groups.LABELS
    assert keys.REPLICATED_JOB_NAME == groups.REPLICATED_JOB
    assert keys.JOB_INDEX == groups.JOB_INDEX
    assert groups.OF_ONE_ATTEMPT == (keys.JOBSET_NAME, keys.JOBSET_UID, keys.RESTART_ATTEMPT)
    assert barrier.BARRIER.startswith(f'{keys.GROUP}/')
    assert settings.BARRIER_VARIABLE.startswith('JOBSET_')


IN_1 = {'action': 'RestartAllContainers', 'exitCodes': {'operator': 'In', 'values': [1]}}
ONE = {'action': 'Restart', 'exitCodes': {'operator': 'In', 'values': [1]}}


@pytest.mark.parametrize(
    ('rules', 'code', 'restarts'),
    [
        pytest.param([RULE], 1, True, id='any error'),
        pytest.param([IN_1], 1, True, id='this one'),
        pytest.param([IN_1], 2, False, id='another one'),
        pytest.param([ONE, RULE], 1, False, id='the first rule that fits counts'),
        pytest.param([ONE, RULE], 2, True, id='whichever it is'),
        pytest.param([], 1, False, id='none'),
    ],
)
def test_rules_of_the_stored_pod(rules: list[Json], code: int, restarts: bool) -> None:
    one = pod(rules=rules)
    one['spec']['containers'] = [{'name': 'worker', 'restartPolicyRules': [RULE]}]

    assert neighbours.restart_with(one, code) is restarts


def fake_processes(root: Path, *, first: str) -> 'subprocess.Popen[bytes]':
    """A folder as ``/proc`` of a pod: its first process, this one below a shell, and one of another container."""
    other = subprocess.Popen(['sleep', '3600'])
    for process, parent in ((os.getpid(), 4), (4, 1), (1, 0), (other.pid, 1)):
        folder = root / str(process)
        folder.mkdir()
        (folder / 'stat').write_text(f'{process} (a) b) S {parent} 0 0')
    (root / 'self').mkdir()
    (root / '1' / 'comm').write_text(f'{first}\n')
    return other


def test_neighbours_of_a_pod_end(tmp_path: Path) -> None:
    other = fake_processes(tmp_path, first='pause')

    neighbours.kill(str(tmp_path))

    assert other.wait(30) == -signal.SIGKILL


def test_processes_of_a_machine_are_left_alone(tmp_path: Path) -> None:
    other = fake_processes(tmp_path, first='systemd')

    neighbours.kill(str(tmp_path))

    # A signal that came before would have ended it before this one.
    other.send_signal(signal.SIGTERM)
    assert other.wait(30) == -signal.SIGTERM
