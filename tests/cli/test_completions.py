"""What shells offer."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobset.cli import completions, registry
from jobset.kube import errors
from tests.cli.conftest import Jobset
from tests.client import facts, fakes
from tests.client.test_kinds import aggregated


def offered(*words: str) -> list[str]:
    return [line.partition('\t')[0] for line in completions.complete(words)]


@pytest.fixture(autouse=True)
def served(cluster: fakes.Cluster) -> fakes.Cluster:
    """A cluster with one JobSet."""
    cluster.put(facts.jobset(facts.group('prep'), facts.group('train')))
    cluster.answers['GET /api'] = {'items': [aggregated('', 'v1', ('pods', 'Pod', []))]}
    cluster.answers['GET /apis'] = {'items': [aggregated('jobset.x-k8s.io', 'v1alpha2', ('jobsets', 'JobSet', []))]}
    rows = {'rows': [{'cells': ['js'], 'object': {'metadata': {'name': 'js'}}}]}
    plain = cluster._answer
    path = '/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets'
    cluster._answer = lambda request: rows if request.path == path else plain(request)  # type: ignore[method-assign]
    return cluster


@pytest.mark.parametrize(
    ('words', 'expected'),
    [
        ([''], [*registry.COMMANDS, ':4']),
        ([], [*registry.COMMANDS, ':4']),
        (['st'], ['status', ':4']),
        (['--v'], ['--version', ':4']),
        (['nope', ''], [':4']),
        (['tree', ''], ['js', ':4']),
        (['tree', 'x'], [':4']),
        (['tree', 'js', ''], [':4']),
        (['tree', '-o', ''], ['table', 'json', 'yaml', 'name', ':4']),
        (['logs', 'js', '-r', ''], ['prep', 'train', ':4']),
        (['logs', '-n', 'default', ''], ['js', ':4']),
        (['logs', '--fol'], ['--follow', ':4']),
        (['get', ''], ['pods', 'jobsets', ':4']),
        (['get', 'jobset', ''], ['js', ':4']),
        (['delete', '--cascade', 'f'], ['foreground', ':4']),
        (['validate', ''], [':0']),
        (['apply', '-f', ''], [':0']),
        (['explain', 'jobset.spec.coord'], [
            'jobset.spec.coordinator',
            'jobset.spec.coordinator.jobIndex',
            'jobset.spec.coordinator.podIndex',
            'jobset.spec.coordinator.replicatedJob',
            ':4',
        ]),
        (['completion', ''], ['bash', 'zsh', 'fish', ':4']),
        (['cluster', ''], ['up', 'down', 'status', ':4']),
    ],
)  # fmt: skip
def test_offers(words: list[str], expected: list[str]) -> None:
    assert offered(*words) == expected


def test_a_cluster_that_does_not_answer_offers_nothing(served: fakes.Cluster) -> None:
    served.answers['GET /api'] = errors.Unreachable('refused', sent=False)
    assert offered('tree', '') == [':4']


def test_why_nothing_is_offered_is_told_to_those_who_ask(
    served: fakes.Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    served.answers['GET /api'] = errors.Unreachable('refused', sent=False)
    said = []
    for value in ('', '1'):
        monkeypatch.setenv('JOBSET_DEBUG_COMPLETION', value)
        assert offered('tree', '') == [':4']
        said.append(capsys.readouterr().err)

    assert said == ['', 'jobset: no completion: no answer from the server: refused\n']


def test_in_the_protocol_of_kubectl(jobset: Jobset, monkeypatch: pytest.MonkeyPatch) -> None:
    assert jobset('__complete', '--', 'tim') == (
        0,
        'timeline\tDraw when the parts of a JobSet ran, and why they waited.\n:4\n',
        '',
    )
    monkeypatch.setattr(sys, 'argv', ['kubectl_complete-jobset', 'tree', '--con'])
    assert jobset('__complete', '--', 'tree', '--con')[1] == '--context\tThe context of the kubeconfig file.\n:4\n'


@pytest.mark.parametrize('shell', ['bash', 'zsh', 'fish'])
def test_scripts(jobset: Jobset, shell: str) -> None:
    code, out, err = jobset('completion', shell)
    assert (code, err) == (0, '')
    assert 'jobset __complete -- ' in out


def test_unknown_shell(jobset: Jobset) -> None:
    assert jobset('completion', 'tcsh') == (2, '', 'jobset: tcsh: no script for it; there are: bash, zsh, fish\n')


def test_bash_completes(jobset: Jobset, tmp_path: Path) -> None:
    script = tmp_path / 'script'
    script.write_text(jobset('completion', 'bash')[1])
    program = tmp_path / 'jobset'
    program.write_text(
        f'#!/bin/sh\nfor last; do :; done; echo "asked for $last" >&2\nexec {sys.executable} -m jobset.cli.main "$@"\n'
    )
    program.chmod(0o755)
    (tmp_path / 'file.yaml').touch()
    asking = f"""
source {script}
cd {tmp_path}
COMP_WORDS=(jobset val) COMP_CWORD=1; _jobset; echo "${{COMPREPLY[*]}}"
COMP_WORDS=(jobset validate fi) COMP_CWORD=2; _jobset; echo "${{COMPREPLY[*]}}"
"""
    environment = os.environ | {
        'PATH': f'{tmp_path}:{os.environ["PATH"]}',
        'JOBSET_DEBUG_COMPLETION': '1',
        'PYTHONPATH': str(Path(__file__).parents[2]),
    }
    done = subprocess.run(
        ['bash', '-c', asking], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines() == ['validate', 'file.yaml']
    assert done.stderr == 'asked for val\nasked for fi\n'
