"""Clusters in the background, as a person starts, looks at and ends them; each of the processes is a real one."""

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jobset.cli import main
from jobset.local import __main__ as process
from jobset.local import cluster, daemon, homes
from jobset.local.store import journal

SECONDS = 30

Told = tuple[int, list[str]]
Jobset = Callable[..., Told]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> homes.Home:
    monkeypatch.setenv(homes.ENVIRONMENT, str(tmp_path))
    monkeypatch.delenv('JOBSET_TRACEBACK', raising=False)
    return homes.of_cluster('one')


@pytest.fixture
def jobset(home: homes.Home, capsys: pytest.CaptureFixture[str]) -> Iterator[Jobset]:
    """Runs ``jobset cluster``; gives the exit code and all lines."""

    def run(*words: str) -> Told:
        capsys.readouterr()
        code = main.main(['cluster', *words])
        told = capsys.readouterr()
        return code, (told.out + told.err).splitlines()

    yield run
    daemon.down(home)


def running(home: homes.Home) -> daemon.Running:
    found = daemon.running(home)
    assert found is not None
    return found


def ask(home: homes.Home, method: str, path: str, body: object = None) -> Any:
    config = json.loads(home.kubeconfig.read_text())
    server = config['clusters'][0]['cluster']['server']
    request = urllib.request.Request(  # noqa: S310 - our own server
        server + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={'Authorization': f'Bearer {config["users"][0]["user"]["token"]}', 'Content-Type': 'application/json'},
    )
    context = ssl._create_unverified_context()  # noqa: S323 - its certificate is tested elsewhere
    with urllib.request.urlopen(request, timeout=SECONDS, context=context) as answer:  # noqa: S310
        return json.load(answer)


def kill(pid: int) -> None:
    watched = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    ended(watched)


def ended(watched: int) -> None:
    import select

    assert select.select([watched], [], [], SECONDS)[0], 'the process does not end'
    os.close(watched)


POD = {
    'metadata': {'name': 'sleeper'},
    'spec': {
        'restartPolicy': 'Never',
        'containers': [{'name': 'main', 'image': 'none', 'command': ['sh', '-c', 'setsid sleep 1000 & echo $!; wait']}],
    },
}
PODS = '/api/v1/namespaces/default/pods'


def test_a_cluster_from_its_start_to_its_end(home: homes.Home, jobset: Jobset) -> None:
    assert jobset('status') == (0, ['no clusters; start one with "jobset cluster up"'])
    assert jobset('status', 'one') == (3, ['one: not running'])
    assert jobset('down', 'one') == (1, ['jobset: there is no cluster "one"; there is none'])

    code, told = jobset('up', 'one')
    first = running(home)
    assert (code, told) == (0, [f'cluster "one" is up at {first.server}', f'export KUBECONFIG={home.kubeconfig}'])
    assert jobset('up', 'one') == (0, told)
    assert running(home) == first
    for words in (('status',), ('status', 'one')):
        assert jobset(*words) == (0, [f'one: running at {first.server}, pid {first.pid}'])
    uid = ask(home, 'POST', '/api/v1/namespaces/default/configmaps', {'metadata': {'name': 'kept'}})['metadata']['uid']

    # It dies, and goes on where it was, at the same place.
    kill(first.pid)
    assert jobset('status', 'one') == (3, ['one: not running'])
    assert jobset('up', 'one') == (0, told)
    second = running(home)
    assert second.pid != first.pid
    assert ask(home, 'GET', '/api/v1/namespaces/default/configmaps/kept')['metadata']['uid'] == uid

    # It is ended with all that its pods have started.
    pods = [os.pidfd_open(pid) for pid in processes_of_a_pod(home)]
    assert jobset('down', 'one', '--keep-data') == (0, ['cluster "one" is down'])
    assert not second.is_alive()
    for each in pods:
        ended(each)
    assert jobset('status', 'one') == (3, ['one: not running'])
    assert jobset('down', 'one', '--keep-data') == (0, ['cluster "one" was not running'])
    assert journal.owner(home.data) is None
    assert not home.process.exists()
    assert 'Traceback' not in home.log.read_text()
    assert jobset('down', 'one') == (0, ['cluster "one" is down'])
    assert not home.folder.exists()


def processes_of_a_pod(home: homes.Home) -> list[int]:
    """Starts a pod; the numbers of its main process and of its child."""
    ask(home, 'POST', PODS, POD)
    with_logs = home.folder / 'logs'
    for _ in range(SECONDS * 20):
        for file in with_logs.glob('default_sleeper_*/main/0.log'):
            if words := file.read_text().split():
                child = int(words[-1])
                stat = Path(f'/proc/{child}/stat').read_text()
                return [child, int(stat.rpartition(')')[2].split()[1])]
        threading.Event().wait(0.05)
    raise AssertionError('the pod does not start')


def test_who_starts_it_at_the_same_time_gets_the_same(home: homes.Home, jobset: Jobset) -> None:
    found: list[daemon.Running] = []
    threads = [threading.Thread(target=lambda: found.append(daemon.up(home))) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(3 * SECONDS)

    assert found == [running(home)] * 3
    # One that has been killed leaves nothing that is in the way of its end.
    kill(found[0].pid)
    assert jobset('down', 'one') == (0, ['cluster "one" is down'])
    assert not home.folder.exists()


def test_a_number_that_belongs_to_another_process_now(home: homes.Home, jobset: Jobset) -> None:
    home.prepare()
    other = subprocess.Popen(['sleep', '1000'])
    home.process.write_text(json.dumps({'pid': other.pid, 'started': 1, 'server': 'https://127.0.0.1:1'}))

    assert jobset('status', 'one') == (3, ['one: not running'])
    assert jobset('down', 'one') == (0, ['cluster "one" is down'])

    assert other.poll() is None
    other.kill()
    other.wait()


@pytest.mark.parametrize('text', ['', '[]', '{}', '{"pid": 1}', '{"pid": null, "started": 0, "server": ""}', '\0'])
def test_a_note_that_says_nothing(text: str, home: homes.Home, jobset: Jobset) -> None:
    home.prepare()
    home.process.write_text(text)

    assert jobset('status', 'one') == (3, ['one: not running'])


def test_one_that_has_not_said_yet_that_it_runs_is_ended_too(home: homes.Home, jobset: Jobset) -> None:
    home.prepare()
    script = (
        'import sys, time; from pathlib import Path; from jobset.local.store import journal; '
        'kept = journal.Journal.open(Path(sys.argv[1])); print("open", flush=True); time.sleep(1000)'
    )
    other = subprocess.Popen([sys.executable, '-c', script, str(home.data)], stdout=subprocess.PIPE)
    assert other.stdout is not None
    assert other.stdout.readline() == b'open\n'

    text = f'{home.data}: is in use by process {other.pid}; stop that one, or use another folder'
    assert jobset('up', 'one') == (1, [f'jobset: cluster "one" cannot be started: {text}'])
    assert jobset('down', 'one') == (0, ['cluster "one" is down'])

    assert other.wait(SECONDS) == -signal.SIGTERM
    other.stdout.close()


def test_a_port_that_is_taken(home: homes.Home, jobset: Jobset) -> None:
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        port = taken.getsockname()[1]

        told = jobset('up', 'one', '--port', str(port))

    text = f'127.0.0.1:{port} is taken by another process; stop that one, or choose another port'
    assert told == (1, [f'jobset: cluster "one" cannot be started: {text}'])
    assert home.log.read_text().splitlines()[-1] == f'jobset: {text}'
    assert 'Traceback' not in home.log.read_text()


def test_a_damaged_journal_is_left_as_it_is(home: homes.Home, jobset: Jobset) -> None:
    home.data.mkdir(parents=True)
    file = home.data / 'journal-00000000'
    file.write_bytes(b'nothing that was ever written here')

    code, (line,) = jobset('up', 'one')

    assert code == 1
    assert line == (
        f'jobset: cluster "one" cannot be started: {file}: damaged at byte 0: the head of an entry does not fit its '
        'checksum. Nothing was changed. Changes after this place were acknowledged and cannot be read. '
        f'Restore the folder {home.data} from a copy; or, to start anew, move it away'
    )
    assert 'Traceback' not in home.log.read_text()
    assert file.read_bytes() == b'nothing that was ever written here'


def test_a_home_that_is_a_file(tmp_path: Path, jobset: Jobset, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / 'file').touch()
    monkeypatch.setenv(homes.ENVIRONMENT, str(tmp_path / 'file'))

    text = f'{tmp_path}/file/clusters/one: cannot be made: Not a directory; set JOBSET_HOME to a folder of yours'
    assert jobset('up', 'one') == (1, [f'jobset: {text}'])
    assert jobset('status')[0] == 0
    assert jobset('down', 'one') == (1, ['jobset: there is no cluster "one"; there is none'])


def test_a_log_that_cannot_be_written(home: homes.Home, jobset: Jobset) -> None:
    home.log.mkdir(parents=True)

    assert jobset('up', 'one') == (1, [f'jobset: {home.log}: Is a directory'])


def test_a_port_that_is_none(jobset: Jobset) -> None:
    code, (line,) = jobset('up', 'one', '--port', '65536')

    assert (code, line.startswith("jobset: Invalid value for '--port'")) == (2, True)


def test_a_fault_of_ours_is_told_to_whoever_waits(
    home: homes.Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(**_: object) -> cluster.Cluster:
        raise ZeroDivisionError('by zero')

    reading, writing = os.pipe()
    monkeypatch.setattr(cluster, 'Cluster', fail)
    monkeypatch.setattr(sys, 'argv', ['jobset.local', '--name', home.name, '--ready-fd', str(writing)])

    assert process.main() == process.FAULTY

    line = 'a fault of jobset itself: ZeroDivisionError: by zero'
    assert os.read(reading, 1000).decode() == line
    assert capsys.readouterr().err.splitlines()[-1] == f'jobset: {line}'
    for each in (reading, writing):
        os.close(each)
