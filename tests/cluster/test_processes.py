"""Programs in the background: found again by their record, and never mistaken for another process."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.cluster import processes
from e2e.cluster.processes import Identity, Program

SLEEPER = ['sleep', '600']


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    made = Program(name='sleeper', record=tmp_path / 'pids' / 'sleeper', log=tmp_path / 'logs' / 'sleeper.log')
    yield made
    made.stop(grace_seconds=1)


def start(program: Program, *argv: str) -> Identity:
    program.start(argv, surroundings=os.environ)
    identity = processes.read(program.record)
    assert identity is not None
    return identity


def test_program_runs_under_the_recorded_pid_and_ends_by_it(program: Program) -> None:
    identity = start(program, *SLEEPER)
    words = Path(f'/proc/{identity.pid}/cmdline').read_bytes().split(b'\0')

    program.stop()

    assert words[:2] == [b'sleep', b'600']
    assert processes.running(identity.pid) is None
    assert not program.record.exists()


def test_program_survives_the_process_that_started_it(program: Program) -> None:
    script = (
        'import os, signal, sys; from pathlib import Path; from e2e.cluster.processes import Program\n'
        f'Program(name="s", record=Path({str(program.record)!r}), log=Path({str(program.log)!r}))'
        f'.start({SLEEPER!r}, surroundings=os.environ)\n'
        'os.kill(os.getpid(), signal.SIGKILL)'
    )
    surroundings = {**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)}

    died = subprocess.run([sys.executable, '-c', script], check=False, timeout=60, env=surroundings)

    assert died.returncode == -signal.SIGKILL
    assert processes.alive(program.record)


def test_reused_pid_is_left_alone(program: Program) -> None:
    """The record of an earlier process whose pid the kernel has given to another one since."""
    bystander = start(program, *SLEEPER)
    earlier = Identity(pid=bystander.pid, started=bystander.started - 1, boot=bystander.boot)
    before_the_boot = Identity(
        pid=bystander.pid, started=bystander.started, boot='00000000-0000-0000-0000-000000000000'
    )

    for stale in (earlier, before_the_boot):
        processes.end(stale, grace_seconds=0)

    assert processes.running(bystander.pid) == bystander


def test_record_of_a_reused_pid_counts_as_ended_and_is_dropped(program: Program, tmp_path: Path) -> None:
    bystander = start(program, *SLEEPER)
    stale = Program(name='stale', record=tmp_path / 'stale', log=program.log)
    fields = program.record.read_text().split(' ')
    fields[21] = str(int(fields[21]) - 1)
    stale.record.write_text(' '.join(fields))
    assert processes.read(stale.record) == Identity(bystander.pid, bystander.started - 1, bystander.boot)

    alive = processes.alive(stale.record)
    stale.stop()

    assert not alive
    assert not stale.record.exists()
    assert processes.running(bystander.pid) == bystander


def test_program_that_ignores_the_request_is_killed(program: Program) -> None:
    # It says that it ignores the signal before it is asked to end.
    identity = start(program, 'sh', '-c', 'trap "" TERM; echo deaf; exec sleep 600')
    processes.wait_until(lambda: program.log.read_text() == 'deaf\n', seconds=30, what='the signal to be ignored')

    program.stop(grace_seconds=0)

    assert processes.running(identity.pid) is None


def test_stop_without_a_start_does_nothing(program: Program) -> None:
    program.stop()

    assert not program.record.exists()


def test_program_that_ends_at_once_is_reported_with_the_end_of_its_log(program: Program) -> None:
    def report() -> None:
        program.start(['sh', '-c', 'echo port in use; exit 1'], surroundings=os.environ)
        processes.wait_until(lambda: False, seconds=30, what='a miracle', programs=[program])

    with pytest.raises(processes.NotReadyError, match=r'(?s)sleeper: ended on its own.*sleeper\.log:\nport in use'):
        report()


def test_wait_ends_with_the_name_of_what_did_not_come() -> None:
    with pytest.raises(processes.NotReadyError, match='waited 0 s for the moon'):
        processes.wait_until(lambda: False, seconds=0, what='the moon')


@pytest.mark.parametrize(
    ('record', 'identity'),
    [
        pytest.param('7 (sh) S' + ' 0' * 18 + ' 123 0\nb\n', Identity(7, 123, 'b'), id='an ordinary program'),
        pytest.param('7 (a) b (c) R' + ' 0' * 18 + ' 5\nb', Identity(7, 5, 'b'), id='brackets and spaces in its name'),
        pytest.param('', None, id='an empty record'),
        pytest.param('7 (sh) S 0\nb\n', None, id='a record cut short'),
        pytest.param('7 (sh) S' + ' 0' * 18 + ' 123 0\n', None, id='a record without the boot'),
    ],
)
def test_record_is_read(record: str, identity: Identity | None) -> None:
    assert processes.parse(record) == identity


def test_processes_are_found_by_program_and_argument_together(program: Program) -> None:
    mark = f'/{os.getpid()}.sock'
    identity = start(program, sys.executable, '-c', 'import time; time.sleep(600)', mark)
    name = Path(sys.executable).name

    assert list(processes.matching(mark, program=name)) == [identity]
    assert list(processes.matching(mark, program='bash')) == []
    assert list(processes.matching(mark[:-1], program=name)) == []
