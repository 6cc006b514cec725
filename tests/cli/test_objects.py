"""``get``, ``apply`` and ``delete``: objects of any kind."""

import json
from pathlib import Path

import msgspec
import pytest

from jobset.kube import errors
from tests.cli.conftest import Jobset
from tests.client import facts, fakes
from tests.client.test_kinds import aggregated

JOBSETS = '/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets'
PODS = '/api/v1/namespaces/default/pods'


@pytest.fixture(autouse=True)
def _served(cluster: fakes.Cluster) -> None:
    """What the server has."""
    cluster.answers['GET /api'] = {'items': [aggregated('', 'v1', ('pods', 'Pod', ['po']))]}
    cluster.answers['GET /apis'] = {'items': [aggregated('jobset.x-k8s.io', 'v1alpha2', ('jobsets', 'JobSet', []))]}
    jobsets = [{'name': 'jobsets', 'kind': 'JobSet', 'namespaced': True, 'singularName': 'jobset'}]
    cluster.answers['GET /apis/jobset.x-k8s.io/v1alpha2'] = {'resources': jobsets}


def table(*rows: tuple[str, object]) -> fakes.Json:
    columns = [{'name': 'Name'}, {'name': 'Restarts'}, {'name': 'Secret', 'priority': 1}]
    made = [
        {'cells': [name, restarts, 'x'], 'object': {'metadata': {'name': name, 'namespace': 'ns'}}}
        for name, restarts in rows
    ]
    return {'columnDefinitions': columns, 'rows': made}


def test_get_is_of_jobsets_when_nothing_is_said(jobset: Jobset, cluster: fakes.Cluster) -> None:
    cluster.answers[f'GET {JOBSETS}'] = table(('a', 0), ('long-name', None))
    assert jobset('get') == (0, 'NAME        RESTARTS\na           0\nlong-name\n', '')
    assert 'as=Table' in cluster.sent[-1].accept


def test_get_wide_and_everywhere(jobset: Jobset, cluster: fakes.Cluster) -> None:
    cluster.answers['GET /api/v1/pods'] = table(('a', 0))
    assert jobset('get', 'po', '-A', '-o', 'wide')[1] == (
        'NAMESPACE   NAME   RESTARTS   SECRET\nns          a      0          x\n'
    )


def test_get_several_kinds(jobset: Jobset, cluster: fakes.Cluster) -> None:
    cluster.answers[f'GET {JOBSETS}'] = table(('a', 0))
    cluster.answers[f'GET {PODS}'] = table(('b', True))
    expected = 'NAME                       RESTARTS\njobset.jobset.x-k8s.io/a   0\n\nNAME    RESTARTS\npod/b   true\n'
    assert jobset('get', 'jobset,pods')[1] == expected


def test_get_nothing(jobset: Jobset, cluster: fakes.Cluster) -> None:
    cluster.answers[f'GET {PODS}'] = table()
    assert jobset('get', 'pods') == (0, '', 'No resources found in default namespace.\n')
    assert jobset('get', 'pots') == (1, '', 'jobset: the server has no kind "pots"; did you mean pods?\n')
    assert jobset('get', 'pod/a', 'b') == (2, '', 'jobset: b: write all as kind/name, or a kind and then names\n')
    assert jobset('get', 'pods', 'a', '-A') == (
        2,
        '',
        'jobset: an object cannot be named across all namespaces\n',
    )


def test_get_objects_as_they_are(jobset: Jobset, cluster: fakes.Cluster) -> None:
    obj = facts.jobset(facts.group('a'))
    obj['metadata']['managedFields'] = [{'manager': 'x'}]
    obj['metadata']['annotations'] = {'text': 'two\nlines\n'}
    cluster.put(obj)
    one = json.loads(jobset('get', 'jobset', 'js', '-o', 'json')[1])
    assert (one['metadata']['name'], 'managedFields' in one['metadata']) == ('js', False)
    many = json.loads(jobset('get', 'jobsets', '-o', 'json')[1])
    assert (many['kind'], [item['kind'] for item in many['items']]) == ('List', ['JobSet'])
    assert jobset('get', 'jobset/js', '-o', 'name')[1] == 'jobset.jobset.x-k8s.io/js\n'
    assert '    text: |\n      two\n      lines\n' in jobset('get', 'jobset/js', '-o', 'yaml')[1]


MANIFEST = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: js}
spec:
  replicatedJobs:
  - name: a
    extra: 1
"""


def test_apply(jobset: Jobset, tmp_path: Path, cluster: fakes.Cluster) -> None:
    file = tmp_path / 'a.yaml'
    file.write_text(MANIFEST)
    assert jobset('apply', '-f', str(file)) == (0, 'jobset.jobset.x-k8s.io/js created\n', '')
    assert cluster.sent[-1].query == 'fieldManager=jobset-cli&fieldValidation=Strict'
    assert jobset('apply', '-f', str(file)) == (0, 'jobset.jobset.x-k8s.io/js unchanged\n', '')
    file.write_text(MANIFEST.replace('extra: 1', 'extra: 2'))
    assert jobset('apply', '-f', str(file), '--force-conflicts', '--dry-run') == (
        0,
        'jobset.jobset.x-k8s.io/js configured (dry run)\n',
        '',
    )
    assert cluster.sent[-1].query == 'fieldManager=jobset-cli&force=true&fieldValidation=Strict&dryRun=All'
    assert jobset('apply', '-f', str(file), '-o', 'name')[1] == 'jobset.jobset.x-k8s.io/js\n'


def test_apply_tells_where_the_server_finds_mistakes(jobset: Jobset, tmp_path: Path, cluster: fakes.Cluster) -> None:
    file = tmp_path / 'a.yaml'
    file.write_text(MANIFEST)
    causes = (
        errors.Cause(field='spec.replicatedJobs[0].name', reason='x', message='Invalid value: "a": no'),
        errors.Cause(field='<nil>', reason='x', message='all of it'),
    )
    cluster.answers[f'PATCH {JOBSETS}/js'] = errors.Invalid(422, 'Invalid', 'is invalid', causes=causes)
    assert jobset('apply', '-f', str(file)) == (
        1,
        '',
        f'jobset: {file}:6:5: spec.replicatedJobs[0].name: Invalid value: "a": no\njobset: {file}:1:1: all of it\n',
    )
    undeclared = (
        'failed to create typed patch object: .spec.replicatedJobs[name="a"].extra: field not declared in schema'
    )
    cluster.answers[f'PATCH {JOBSETS}/js'] = errors.ServerError(500, 'InternalError', undeclared)
    assert jobset('apply', '-f', str(file))[2] == (
        f'jobset: {file}:7:5: spec.replicatedJobs[name="a"].extra: field not declared in schema\n'
    )
    cluster.answers[f'PATCH {JOBSETS}/js'] = errors.Forbidden(403, 'Forbidden', 'you may not')
    assert jobset('apply', '-f', str(file))[2] == f'jobset: {file}:1: you may not\n'


def test_what_cannot_be_applied_does_not_stop_the_others(
    jobset: Jobset,
    tmp_path: Path,
    cluster: fakes.Cluster,
) -> None:
    file = tmp_path / 'a.yaml'
    cluster.answers['GET /apis/b/v1'] = errors.NotFound(404, 'NotFound', 'no')
    file.write_text(f'apiVersion: b/v1\nkind: B\n---\n{MANIFEST}---\n{MANIFEST.replace("{name: js}", "{}")}')
    code, out, err = jobset('apply', '-f', str(file))
    assert (code, out) == (1, 'jobset.jobset.x-k8s.io/js created\n')
    assert err.splitlines() == [
        f'jobset: {file}:1: the server has no kind "B" of b/v1; is its definition installed?',
        f'jobset: {file}:12: metadata.name: Required value: an object needs a name',
    ]


def test_half_a_file_is_not_applied(jobset: Jobset, tmp_path: Path, cluster: fakes.Cluster) -> None:
    file = tmp_path / 'a.yaml'
    file.write_text(f'{MANIFEST}---\na: [\n')
    code, out, err = jobset('apply', '-f', str(file))
    assert (code, out, cluster.sent) == (1, '', [])
    assert err.startswith(f'jobset: {file}:10:1: is no YAML')


def test_apply_into_another_namespace(jobset: Jobset, tmp_path: Path, cluster: fakes.Cluster) -> None:
    file = tmp_path / 'a.yaml'
    file.write_text(MANIFEST.replace('{name: js}', '{name: js, namespace: own}'))
    assert jobset('apply', '-f', str(file))[0] == 0
    assert cluster.sent[-1].path.endswith('/namespaces/own/jobsets/js')
    assert jobset('apply', '-f', str(file), '-n', 'given') == (
        1,
        '',
        f'jobset: {file}:1: metadata.namespace: own, but --namespace says given\n',
    )


def test_apply_with_a_generated_name_creates(jobset: Jobset, tmp_path: Path, cluster: fakes.Cluster) -> None:
    file = tmp_path / 'a.yaml'
    file.write_text(MANIFEST.replace('{name: js}', '{generateName: js-}'))
    cluster.answers[f'POST {JOBSETS}'] = facts.jobset(facts.group('a'), name='js-x')
    assert jobset('apply', '-f', str(file)) == (0, 'jobset.jobset.x-k8s.io/js-x created\n', '')


def test_delete_by_name(jobset: Jobset, cluster: fakes.Cluster) -> None:
    cluster.put(facts.jobset(facts.group('a')))
    assert jobset('delete', 'jobset', 'js', '--cascade', 'foreground') == (
        0,
        'jobset.jobset.x-k8s.io "js" deleted\n',
        '',
    )
    sent = next(request for request in cluster.sent if request.method == 'DELETE')
    assert msgspec.json.decode(sent.body or b'')['propagationPolicy'] == 'Foreground'
    assert jobset('delete', 'jobset', 'js') == (1, '', 'jobset: jobsets "js" not found\n')
    assert jobset('delete', 'jobset/js', '--ignore-not-found') == (0, '', '')


def test_delete_by_file(jobset: Jobset, tmp_path: Path, cluster: fakes.Cluster) -> None:
    file = tmp_path / 'a.yaml'
    file.write_text(MANIFEST)
    cluster.put(facts.jobset(facts.group('a')))
    assert jobset('delete', '-f', str(file), '-o', 'name') == (0, 'jobset.jobset.x-k8s.io/js\n', '')
    assert cluster.objects == {}


def test_delete_waits_no_longer_than_allowed(jobset: Jobset, cluster: fakes.Cluster) -> None:
    obj = facts.jobset(facts.group('a'))
    cluster.put(obj)
    # A finalizer keeps it there.
    cluster.answers[f'DELETE {JOBSETS}/js'] = obj
    assert jobset('delete', 'jobset', 'js', '--timeout', '10ms') == (
        1,
        'jobset.jobset.x-k8s.io "js" deleted\n',
        'jobset: not everything was gone within 0.01 s\n',
    )
    assert jobset('delete', 'jobset', 'js', '--no-wait')[0] == 0


@pytest.mark.parametrize(
    ('words', 'expected'),
    [
        (['delete'], 'name either a kind and names, or files with -f'),
        (['delete', 'jobset', '-f', 'x'], 'name either a kind and names, or files with -f'),
        (['delete', 'jobset'], 'jobset: name what to delete'),
        (['delete', 'jobset', 'a', '--cascade', 'x'], '-o x: unknown; known are background, foreground, orphan'),
    ],
)
def test_delete_of_nothing(jobset: Jobset, words: list[str], expected: str) -> None:
    assert jobset(*words) == (2, '', f'jobset: {expected}\n')
