"""The program as a whole: help, versions, what goes wrong."""

import errno
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

import jobset as package
from jobset.cli import failures, main, registry
from jobset.kube import auth, errors
from tests.cli.conftest import Jobset
from tests.client import fakes

TOO_SMALL = 'Input should be greater than or equal to 0'

HEAVY = {'aiohttp', 'kubernetes', 'yaml', 'rich', 'asyncio', 'msgspec', 'jobset.client', 'jobset.api', 'cryptography'}


def test_a_home_that_may_not_be_used_is_named_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('JOBSET_HOME', str(tmp_path))
    inside, outside = (PermissionError(errno.EACCES, 'Permission denied', name) for name in (f'{tmp_path}/a', '/b'))

    assert failures.describe(inside) == f'{tmp_path}/a: Permission denied; set JOBSET_HOME to a folder of yours'
    assert failures.describe(outside) == '/b: Permission denied'


def test_help_lists_all_commands(jobset: Jobset) -> None:
    for words in ((), ('--help',), ('-h',)):
        code, out, err = jobset(*words)
        assert (code, err) == (0, '')
        assert [line.split()[0] for line in out.split('Commands:\n')[1].splitlines()] == list(registry.COMMANDS)


@pytest.mark.parametrize('words', [['--help'], []])
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    code = f"""
import json, sys
from jobset.cli import main
main.main({words!r})
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True, timeout=60)
    assert HEAVY & set(json.loads(done.stderr)) == set()


def test_version(jobset: Jobset) -> None:
    assert jobset('--version') == (0, f'jobset {package.__version__}\n', '')


@pytest.mark.parametrize(
    ('words', 'expected'),
    [
        (['tre'], "jobset: No such command 'tre'. Did you mean 'tree'? see \"jobset --help\"\n"),
        (['--nope'], 'jobset: No such option: --nope; see "jobset --help"\n'),
        (['tree'], 'jobset: Missing argument \'NAME\'; see "jobset tree --help"\n'),
        (['tree', 'a', '-o', 'xml'], 'jobset: -o xml: unknown; known are table, json, yaml, name\n'),
        (
            ['logs', 'a', '--tail', '-1'],
            f'jobset: Invalid value for \'--tail\': {TOO_SMALL}; see "jobset logs --help"\n',
        ),
    ],
)
def test_words_that_make_no_sense(jobset: Jobset, words: list[str], expected: str) -> None:
    assert jobset(*words) == (2, '', expected)


def test_every_command_has_help(jobset: Jobset) -> None:
    for name in registry.COMMANDS:
        code, out, err = jobset(name, '--help')
        assert (code, err) == (0, ''), name
        assert out.startswith(f'Usage: jobset {name}'), name


@pytest.mark.parametrize(
    ('error', 'line'),
    [
        (errors.NotFound(404, 'NotFound', 'jobsets "js" not found', where='GET /x'), 'jobsets "js" not found'),
        (errors.Forbidden(403, 'Forbidden', 'you may not', where='GET /x'), 'you may not'),
        (
            errors.Unauthorized(401, 'Unauthorized', 'Unauthorized'),
            'the server does not accept the credentials; log in again, or choose another --context',
        ),
        (errors.Unreachable('Connection refused', sent=False), 'no answer from the server: Connection refused'),
        (auth.Misconfigured('/x: no such file; name a kubeconfig file'), '/x: no such file; name a kubeconfig file'),
        (OSError(28, 'No space left on device', 'file'), 'file: No space left on device'),
        (OSError('several\nlines'), 'several lines'),
        (
            ZeroDivisionError('division by zero'),
            'a fault of jobset itself: ZeroDivisionError: division by zero; with JOBSET_TRACEBACK=1 it says more',
        ),
    ],
)
def test_what_goes_wrong_is_one_line(
    jobset: Jobset,
    cluster: fakes.Cluster,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    line: str,
) -> None:
    monkeypatch.setenv('KUBECONFIG', 'none')
    monkeypatch.setenv('JOBSET_HOME', '/nonexistent')
    cluster.answers['GET /apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets/js'] = error
    assert jobset('tree', 'js') == (1, '', f'jobset: {line}\n')


def test_a_local_cluster_is_offered_when_another_does_not_answer(
    jobset: Jobset,
    cluster: fakes.Cluster,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv('JOBSET_HOME', str(tmp_path))
    (tmp_path / 'clusters' / 'mine').mkdir(parents=True)
    (tmp_path / 'clusters' / 'mine' / 'kubeconfig').write_text('')
    refused = errors.Unreachable('refused', sent=False)
    cluster.answers['GET /apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets/js'] = refused
    hint = '; clusters on this machine: mine; start one with "jobset cluster up NAME", or choose one with --cluster'
    assert jobset('tree', 'js') == (1, '', f'jobset: no answer from the server: refused{hint}\n')
    assert jobset('tree', 'js', '--context', 'c') == (1, '', 'jobset: no answer from the server: refused\n')


def test_interruption_is_quiet(jobset: Jobset, cluster: fakes.Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    async def interrupted(request: object) -> bytes:
        del request
        raise KeyboardInterrupt

    monkeypatch.setattr(cluster, 'send', interrupted)
    assert jobset('tree', 'js') == (130, '', '')


def test_a_reader_that_has_gone_is_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, 'stdout', Gone())
    assert main.main(['explain']) == main.CUT_OFF


def test_head_in_a_real_pipe() -> None:
    script = f'{sys.executable} -m jobset.cli.main explain --recursive | head -n 1; echo ${{PIPESTATUS[0]}}'
    done = subprocess.run(['bash', '-c', script], capture_output=True, text=True, check=True, timeout=60)
    first, code = done.stdout.splitlines()
    assert (first, done.stderr) == ('GROUP:      jobset.x-k8s.io', '')
    assert code in ('0', str(main.CUT_OFF))


def test_as_a_plugin_of_kubectl(jobset: Jobset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, 'argv', ['/usr/bin/kubectl-jobset'])
    assert jobset('tree', '--help')[1].startswith('Usage: kubectl jobset tree')
