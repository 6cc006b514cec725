"""``jobset run`` as a person uses it: a process, its lines, its exit code, what it leaves."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
from typing import Any

import pytest

from tests.scenarios.space import jobset, replicated

Object = dict[str, Any]

SECONDS = 60


class Runner:
    """Runs the command with a home of its own."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.home = folder / 'home'
        self._folder = folder

    def file(self, *objects: Object, name: str = 'set.yaml') -> str:
        path = self._folder / name
        path.write_text('\n---\n'.join(json.dumps(each) for each in objects))
        return str(path)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, '-m', 'jobset.cli.main', 'run', *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, 'JOBSET_HOME': str(self.home)},
        )

    def run(self, *arguments: str) -> tuple[int, str, str]:
        process = self.start(*arguments)
        output, errors = process.communicate(timeout=SECONDS)
        return process.returncode, output, errors


@pytest.fixture
def runner(tmp_path: pathlib.Path) -> Runner:
    return Runner(tmp_path)


def news(output: str) -> list[str]:
    """Lines without their times, and without how many pods are in which state on the way."""
    lines = [re.sub(r'^ *\d+\.\d s  (\S+) +', r'\1 ', line) for line in output.splitlines()]
    return [line for line in lines if not re.search(r'\d pods?:|after \d|^logs:', line)]


def test_a_jobset_runs_to_its_end(runner: Runner) -> None:
    code, output, errors = runner.run(runner.file(jobset('hello', replicated('main', 'echo so it goes'))))

    assert (code, errors) == (0, '')
    assert sorted(news(output)) == [
        '[main-0-0] so it goes',
        'hello Completed: jobset completed successfully',
        'hello created',
        'main complete',
        'main waits for its pods',
    ]


def test_logs_are_kept_and_nothing_else(runner: Runner) -> None:
    _, output, _ = runner.run(runner.file(jobset('hello', replicated('main', 'echo so it goes'))))

    (folder,) = [pathlib.Path(line.removeprefix('logs: ')) for line in output.splitlines() if line.startswith('logs: ')]
    (log,) = folder.rglob('*.log')
    assert log.read_text().split(' ', 3)[3] == 'so it goes\n'
    assert [each.name for each in folder.parent.iterdir()] == ['logs']


def test_the_exit_code_is_that_of_the_container_that_failed(runner: Runner) -> None:
    code, output, _ = runner.run(runner.file(jobset('bad', replicated('main', 'echo why; exit 7'))))

    assert code == 7
    assert 'main-0-0 exit code 7' in news(output)
    assert '[main-0-0] why' in news(output)


def test_a_command_that_does_not_exist(runner: Runner) -> None:
    bad = jobset('bad', replicated('main', 'unused'))
    (container,) = bad['spec']['replicatedJobs'][0]['template']['spec']['template']['spec']['containers']
    container['command'] = ['no-such-program', '--now']

    code, output, _ = runner.run(runner.file(bad))

    assert code == 128
    summary = output.splitlines()[-2]
    assert 'main-0-0: exit code 128 (StartError)' in summary
    assert 'no-such-program' in summary


def test_a_run_that_takes_too_long(runner: Runner) -> None:
    code, output, _ = runner.run(
        runner.file(jobset('long', replicated('main', 'echo up; exec sleep 3600'))), '--timeout', '3s'
    )

    assert code == 124
    assert re.search(r'^long: not finished after \d+\.\d s: it still runs$', output, re.MULTILINE)


@pytest.mark.parametrize(('number', 'code'), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_it_with_all_its_processes(runner: Runner, number: signal.Signals, code: int) -> None:
    mark = f'sleep {3600 + os.getpid() % 1000}.{number.value}'
    process = runner.start(runner.file(jobset('long', replicated('main', f'echo up; exec {mark}'))))
    assert process.stdout is not None
    assert any('[main-0-0]' in line for line in process.stdout)

    process.send_signal(number)
    _, errors = process.communicate(timeout=SECONDS)

    assert process.returncode == code
    assert re.fullmatch(rf'long: ended by {number.name}; logs: .*/logs\n', errors)
    assert not [line for line in _commands() if mark in line]


def _commands() -> list[str]:
    found = []
    for path in pathlib.Path('/proc').glob('[0-9]*/cmdline'):
        try:
            found.append(path.read_bytes().replace(b'\0', b' ').decode(errors='replace').strip())
        except OSError:
            continue
    return found


def test_fields_can_be_set(runner: Runner) -> None:
    file = runner.file(jobset('hello', replicated('main', 'echo here')))

    code, output, _ = runner.run(file, '--set', 'spec.replicatedJobs[main].replicas=2')

    assert code == 0
    assert sorted(line for line in news(output) if line.startswith('[')) == ['[main-0-0] here', '[main-1-0] here']


@pytest.mark.parametrize(
    ('content', 'errors'),
    [
        pytest.param(
            'a: [1',
            "jobset: FILE:2:1: is no YAML: did not find expected ',' or ']' (while parsing a flow sequence)\n",
            id='not YAML',
        ),
        pytest.param('', 'jobset: FILE: is empty: it holds no object\n', id='empty'),
        pytest.param(
            'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n',
            'jobset: FILE: no JobSet to run; found: ConfigMap\n',
            id='another kind',
        ),
        pytest.param(
            'apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a}\nspec:\n  replicatdJobs: []\n',
            'jobset: FILE:5:3: spec.replicatdJobs: unknown field; did you mean replicatedJobs?\n',
            id='unknown field',
        ),
    ],
)
def test_bad_input_is_named_with_its_place(runner: Runner, content: str, errors: str) -> None:
    path = pathlib.Path(runner.file())
    path.write_text(content)

    code, output, said = runner.run(str(path))

    assert (code, output, said.replace(str(path), 'FILE')) == (2, '', errors)


def test_a_home_that_cannot_be_written(runner: Runner) -> None:
    runner.home.write_text('not a folder')

    code, output, errors = runner.run(runner.file(jobset('hello', replicated('main', 'true'))))

    assert (code, output) == (1, '')
    assert errors.startswith(f'jobset: {runner.home}/runs/')
    assert errors.endswith('cannot be made: Not a directory; set JOBSET_HOME to a folder of yours\n')


def test_what_a_killed_run_has_left_is_taken_away_by_the_next_one(runner: Runner) -> None:
    file = runner.file(jobset('long', replicated('main', 'echo up; exec sleep 3600')))
    process = runner.start(file)
    assert process.stdout is not None
    assert any('[main-0-0]' in line for line in process.stdout)
    process.kill()
    process.communicate(timeout=SECONDS)
    (killed,) = (runner.home / 'runs').iterdir()
    before = {each.name for each in killed.iterdir()}

    runner.run(runner.file(jobset('hello', replicated('main', 'true')), name='next.yaml'))

    assert {'kubeconfig', 'logs', 'pods'} <= before
    assert [each.name for each in killed.iterdir()] == ['logs']


def test_several_jobsets_are_told_apart(runner: Runner) -> None:
    one, two = (jobset(name, replicated('main', f'echo {name}')) for name in ('one', 'two'))

    code, output, _ = runner.run(runner.file(one, two))

    assert code == 0
    assert sorted(line for line in news(output) if line.startswith('[')) == [
        '[one/main-0-0] one',
        '[two/main-0-0] two',
    ]


def test_a_run_that_waits_for_a_change_can_be_ended(runner: Runner) -> None:
    process = runner.start(runner.file(jobset('hello', replicated('main', 'true'))), '--watch')
    assert process.stderr is not None
    assert process.stderr.readline() == 'waiting for a change of the files; Ctrl-C ends it\n'

    process.send_signal(signal.SIGINT)

    assert process.wait(SECONDS) == 130


def test_initial_containers_are_heard_too(runner: Runner) -> None:
    wanted = jobset('begins', replicated('main', 'echo then'))
    pod = wanted['spec']['replicatedJobs'][0]['template']['spec']['template']['spec']
    pod['initContainers'] = [{'name': 'first', 'image': 'busybox', 'command': ['echo', 'before']}]

    code, output, _ = runner.run(runner.file(wanted))

    assert code == 0
    assert [line for line in news(output) if line.startswith('[')] == [
        '[main-0-0 first] before',
        '[main-0-0 main] then',
    ]


@pytest.mark.parametrize(('action', 'runs'), [('Restart', 2), ('RestartAllContainers', 4)])
def test_every_line_of_every_run_is_shown_once_and_in_order(runner: Runner, action: str, runs: int) -> None:
    count = 'echo x >> /v/runs; n=$(wc -l < /v/runs); echo run $n line 1; echo run $n line 2; '
    initial = {'name': 'first', 'image': 'sh', 'command': ['sh', '-c', 'echo up']}
    pod: Object = {'volumes': [{'name': 'v', 'emptyDir': {}}], 'initContainers': [initial]}
    restarting = jobset('again', replicated('main', f'{count} [ $n = {runs} ] || exit 42', **pod))
    (container,) = restarting['spec']['replicatedJobs'][0]['template']['spec']['template']['spec']['containers']
    rule = {'action': action, 'exitCodes': {'operator': 'In', 'values': [42]}}
    container |= {'restartPolicy': 'Never', 'restartPolicyRules': [rule]}
    container['volumeMounts'] = [{'name': 'v', 'mountPath': '/v'}]

    code, output, errors = runner.run(runner.file(restarting))

    assert (code, errors) == (0, '')
    shown = [line for line in news(output) if line.startswith('[main-0-0 main]')]
    assert shown == [f'[main-0-0 main] run {run} line {line}' for run in range(1, runs + 1) for line in (1, 2)]
    assert news(output).count('[main-0-0 first] up') == (1 if action == 'Restart' else runs)


def summary(output: str) -> list[str]:
    """The lines below the last word on the JobSet; pods without the ends of their names."""
    lines = output.splitlines()
    first = max(place for place, line in enumerate(lines) if ' after ' in line)
    return [re.sub(r'-[a-z0-9]{5}(?=[,)])', '', line.strip()) for line in lines[first + 1 : -1]]


def test_the_exit_code_is_that_of_the_failure_that_ended_it(runner: Runner) -> None:
    stopped = replicated('beside', 'echo up; exec sleep 3600')
    failing = replicated('main', '[ $ATTEMPT = 1 ] && exit 5; sleep 0.5; exit 4')
    obj = jobset('twice', stopped, failing, failurePolicy={'maxRestarts': 1})

    code, output, _ = runner.run(runner.file(obj))

    assert code == 5
    assert summary(output) == [
        'main-0-0: exit code 5 (pod twice-main-0-0, container main, attempt 1)',
        'main-0-0: exit code 4 (pod twice-main-0-0, container main, attempt 0)',
    ]
    assert re.search(r'^twice: Failed after \d+\.\d s, 1 restart: jobset failed', output, re.MULTILINE)


def test_a_deadline_is_named_in_the_summary(runner: Runner) -> None:
    late = jobset('late', replicated('main', 'exec sleep 3600'))
    late['spec']['replicatedJobs'][0]['template']['spec']['activeDeadlineSeconds'] = 1

    code, output, _ = runner.run(runner.file(late))

    assert code == 1
    assert summary(output) == [
        'main-0: DeadlineExceeded: Job was active longer than specified deadline (job late-main-0)'
    ]


def test_a_probe_that_failed_is_named_in_the_summary(runner: Runner) -> None:
    probed = jobset('probed', replicated('main', 'exec sleep 3600'))
    (container,) = probed['spec']['replicatedJobs'][0]['template']['spec']['template']['spec']['containers']
    container['livenessProbe'] = {'exec': {'command': ['false']}, 'failureThreshold': 1, 'periodSeconds': 1}

    code, output, _ = runner.run(runner.file(probed))

    assert code == 143
    lines = summary(output)
    assert 'main-0-0: exit code 143 (pod probed-main-0-0, container main)' in lines
    assert any('failed liveness probe' in line for line in lines)


def test_a_kept_cluster_is_among_those_that_run(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    process = runner.start(runner.file(jobset('hello', replicated('main', 'true'))), '--keep')
    assert process.stderr is not None
    assert 'the cluster is up' in process.stderr.readline()
    (folder,) = (runner.home / 'runs').iterdir()
    monkeypatch.setenv('JOBSET_HOME', str(runner.home))

    for words in (['status'], ['status', folder.name]):
        said = subprocess.run(
            [sys.executable, '-m', 'jobset.cli.main', 'cluster', *words],
            capture_output=True,
            text=True,
            check=True,
            timeout=SECONDS,
        )
        assert re.fullmatch(
            rf'{folder.name}: running at https://127\.0\.0\.1:\d+, pid {process.pid}, of "jobset run"\n', said.stdout
        )
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=SECONDS)
