"""``jobset validate``: every mistake that a server would find, with its place."""

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from jobset.api import types
from jobset.cli import madejobs
from jobset.local.problems import Cause
from tests.cli.conftest import Jobset

GOOD = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: js
spec:
  replicatedJobs:
  - name: prep
    template: &template
      spec:
        template:
          spec:
            restartPolicy: Never
            containers:
            - name: main
              image: busybox
              resources: {limits: {cpu: 0.5}}
  - name: train
    replicas: 2
    dependsOn:
    - {name: prep, status: Complete}
    template: *template
"""

MAIN = 'template.spec.template.spec.containers[0]'

SAMPLES = Path(__file__).parents[2] / 'samples'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the manifest is written."""
    return tmp_path / 'f.yaml'


def found(jobset: Jobset, file: Path, text: str, *options: str) -> list[str]:
    file.write_text(text)
    code, out, err = jobset('validate', str(file), *options)
    assert (code, err) == (1, '')
    return [line.removeprefix(f'{file}:') for line in out.splitlines()]


def test_samples_are_valid(jobset: Jobset) -> None:
    code, out, err = jobset('validate', str(SAMPLES))
    assert (code, err) == (0, '')
    assert f'{SAMPLES}/pipeline.yaml:15: ConfigMap pipeline: structure checked\n' in out
    assert f'{SAMPLES}/pipeline.yaml:221: JobSet pipeline: valid\n' in out


def test_good(jobset: Jobset, file: Path) -> None:
    file.write_text(GOOD)
    assert jobset('validate', str(file)) == (0, f'{file}:1: JobSet js: valid\n', '')


@pytest.mark.parametrize(
    ('old', 'new', 'expected'),
    [
        pytest.param(
            'replicas: 2',
            'replicaz: 2',
            ['18:5: spec.replicatedJobs[1].replicaz: unknown field; did you mean replicas?'],
            id='mistyped field',
        ),
        pytest.param(
            'image: busybox',
            'imagee: busybox',
            [f'15:15: spec.replicatedJobs[0].{MAIN}.imagee: unknown field; did you mean image?',
             f'15:15: spec.replicatedJobs[1].{MAIN}.imagee: unknown field; did you mean image?'],
            id='mistyped field behind an alias',
        ),
        pytest.param(
            'replicas: 2',
            'replicas: two',
            ['18:5: spec.replicatedJobs[1].replicas: Invalid value: "string": '],
            id='wrong type',
        ),
        pytest.param(
            'name: prep, status: Complete',
            'name: nobody, status: Complete',
            ['20:8: spec.replicatedJobs[1].dependsOn[0].name: replicatedJob: train cannot depend on '],
            id='rule of admission',
        ),
        pytest.param(
            'status: Complete',
            'status: Done',
            ['20:20: spec.replicatedJobs[1].dependsOn[0].status: Unsupported value: "Done": supported values: '],
            id='unknown value',
        ),
        pytest.param(
            '  name: js\n',
            '  name: J_S\n',
            ['4:3: metadata.name: Invalid value: "J_S": '],
            id='name',
        ),
        pytest.param('  name: js\n', '  labels: {}\n', [
            '3:1: metadata.name: Required value: name or generateName is required',
        ], id='no name'),
        pytest.param('v1alpha2', 'v1', [
            '1:1: apiVersion: "jobset.x-k8s.io/v1" is not known; use jobset.x-k8s.io/v1alpha2',
        ], id='another version'),
        pytest.param('kind: JobSet\n', '', [
            '1:1: kind: Required value: an object without it is of no kind',
        ], id='no kind'),
        pytest.param('restartPolicy: Never', 'restartPolicy: Always', [
            '12:13: spec.replicatedJobs[0].template.spec.template.spec.restartPolicy: Required value: ',
            '12:13: spec.replicatedJobs[1].template.spec.template.spec.restartPolicy: ',
        ], id='a template that makes no Job'),
        pytest.param('    replicas: 2\n', '    replicas: 2\n    replicas: 3\n', [
            '19:5: spec.replicatedJobs[1].replicas: given twice, first in line 18; remove one',
        ], id='key given twice'),
    ],
)  # fmt: skip
def test_mistakes(jobset: Jobset, file: Path, old: str, new: str, expected: list[str]) -> None:
    lines = found(jobset, file, GOOD.replace(old, new))
    assert len(lines) == len(expected)
    for line, start in zip(lines, expected, strict=True):
        assert line.startswith(start)


def test_all_mistakes_at_once_in_the_order_of_the_file(jobset: Jobset, file: Path) -> None:
    text = GOOD.replace('replicas: 2', 'replicaz: 2').replace('name: js', 'name: JS').replace('prep, st', 'no, st')
    assert [line.split(':')[0] for line in found(jobset, file, text)] == ['4', '18', '20']


def test_several_documents(jobset: Jobset, file: Path) -> None:
    other = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\nData: {}\n'
    foreign = 'apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t}\n'
    assert found(jobset, file, f'{GOOD}---\n{other}---\n{foreign}') == [
        '1: JobSet js: valid',
        '26:1: Data: unknown field; did you mean data?',
        '28: Thing t: skipped: its kind is not known here',
    ]


@pytest.mark.parametrize(
    ('content', 'expected'),
    [
        (b'', ': is empty: it holds no object'),
        (b'a: [', ":2:1: is no YAML: did not find expected node content (while parsing a flow node)"),
        (b'hello', ':1:1: must be an object, with fields such as apiVersion and kind'),
        (b'\xff\xfe', ':1:1: is no UTF-8 text'),
    ],
)  # fmt: skip
def test_what_is_no_manifest(jobset: Jobset, file: Path, content: bytes, expected: str) -> None:
    file.write_bytes(content)
    assert jobset('validate', str(file)) == (1, f'{file}{expected}\n', '')


def test_what_cannot_be_read(jobset: Jobset, tmp_path: Path) -> None:
    assert jobset('validate', str(tmp_path / 'no')) == (
        2,
        f'{tmp_path}/no: cannot be read: No such file or directory\n',
        '',
    )


def test_standard_input(jobset: Jobset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, 'stdin', SimpleNamespace(buffer=io.BytesIO(GOOD.encode())))
    assert jobset('validate', '-') == (0, '<stdin>:1: JobSet js: valid\n', '')


def test_for_programs(jobset: Jobset, file: Path) -> None:
    file.write_text(GOOD.replace('replicas: 2', 'replicaz: 2'))
    code, out, _ = jobset('validate', str(file), '-o', 'json')
    assert (code, json.loads(out)) == (
        1,
        {
            'valid': False,
            'objects': [
                {
                    'file': str(file),
                    'line': 1,
                    'apiVersion': 'jobset.x-k8s.io/v1alpha2',
                    'kind': 'JobSet',
                    'name': 'js',
                    'valid': False,
                    'checked': 'full',
                }
            ],
            'problems': [
                {
                    'file': str(file),
                    'line': 18,
                    'column': 5,
                    'field': 'spec.replicatedJobs[1].replicaz',
                    'message': 'unknown field; did you mean replicas?',
                }
            ],
        },
    )


def test_feature_gates(jobset: Jobset, file: Path) -> None:
    text = GOOD.replace('spec:\n', 'spec:\n  failurePolicy: {restartStrategy: InPlaceRestart}\n', 1)
    lines = found(jobset, file, text)
    assert [line.split(':')[0] for line in lines] == ['6']
    assert 'InPlaceRestart' in lines[0]
    lines = found(jobset, file, text, '--feature-gates', 'InPlaceRestart=true')
    assert all('feature gate' not in line for line in lines)
    assert jobset('validate', str(file), '--feature-gates', 'Nope=true')[0] == 2
    assert jobset('validate', str(file), '--feature-gates', 'Nope') == (
        2,
        '',
        'jobset: --feature-gates Nope: write Nope=true or Nope=false\n',
    )


def test_equal_templates_are_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[str] = []

    def judge(made: Any) -> list[Cause]:
        judged.append(made['metadata']['name'])
        return [Cause('spec.completions', 'Invalid value')]

    monkeypatch.setattr(madejobs, '_judged', judge)
    groups = [('a', 'x'), ('b', 'x'), ('long', 'x'), ('c', 'y'), ('d', 'x')]
    parts = [{'name': name, 'template': {'metadata': {'labels': {'l': label}}}} for name, label in groups]
    body = {'metadata': {'name': 'js'}, 'spec': {'replicatedJobs': parts}}

    causes = list(madejobs.check(msgspec.json.decode(msgspec.json.encode(body), type=types.JobSet)))

    assert judged == ['js-a-0', 'js-long-0', 'js-c-0']
    assert [cause.field for cause in causes] == [
        f'spec.replicatedJobs[{place}].template.spec.completions' for place in range(5)
    ]
    assert [cause.message.rpartition('; ')[2] for cause in causes] == [
        f'no Job of {name} could be created' for name, _ in groups
    ]


def test_an_object_that_was_not_read_as_a_whole_is_not_called_valid(jobset: Jobset, file: Path) -> None:
    file.write_text(
        GOOD + '---\n' + GOOD.replace('replicas: 2', 'replicas: 2\n    replicas: 3').replace('name: js', 'name: bad')
    )

    code, output, _ = jobset('validate', str(file))
    report = json.loads(jobset('validate', str(file), '-o', 'json')[1])

    assert (code, [line for line in output.splitlines() if line.endswith('valid')]) == (
        1,
        [f'{file}:1: JobSet js: valid'],
    )
    assert [(one['name'], one['valid']) for one in report['objects']] == [('js', True), ('bad', False)]
