"""Command line and configuration file: which one wins, and what is said about bad ones."""

import logging
import pathlib
from typing import Any

import pytest
import yaml

from jobset.admission import listen
from jobset.controller import options

FILE: dict[str, Any] = {
    'apiVersion': 'config.jobset.x-k8s.io/v1alpha1',
    'kind': 'Configuration',
    'metrics': {'bindAddress': '127.0.0.1:1111'},
    'health': {'healthProbeBindAddress': '127.0.0.1:2222'},
    'leaderElection': {'leaderElect': False},
    'clientConnection': {'qps': 20, 'burst': 30},
}


@pytest.fixture(autouse=True)
def _outside_a_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv('KUBERNETES_SERVICE_HOST', raising=False)


@pytest.fixture
def file(tmp_path: pathlib.Path) -> str:
    path = tmp_path / 'configuration.yaml'
    path.write_text(yaml.safe_dump(FILE))
    return str(path)


def value(read: options.Options, what: str) -> object:
    return {
        'metrics': str(read.metrics),
        'health': str(read.health),
        'leads': read.leader_elect,
        'qps': read.qps,
        'burst': read.burst,
    }[what]


@pytest.mark.parametrize(
    ('what', 'flag', 'by_default', 'by_file', 'by_flag'),
    [
        pytest.param(
            'metrics', '--metrics-bind-address=[::1]:5', '127.0.0.1:8443', '127.0.0.1:1111', '[::1]:5', id='metrics'
        ),
        pytest.param(
            'health', '--health-probe-bind-address=:6', '127.0.0.1:8081', '127.0.0.1:2222', '127.0.0.1:6', id='health'
        ),
        pytest.param('leads', '--leader-elect', True, False, True, id='leader election, bare'),
        pytest.param('leads', '--leader-elect=true', True, False, True, id='leader election, on'),
        pytest.param('qps', '--kube-api-qps=7.5', None, 20.0, 7.5, id='requests a second'),
        pytest.param('qps', '--kube-api-qps=-1', None, 20.0, None, id='a negative rate is none'),
        pytest.param('burst', '--kube-api-burst=9', None, 30, 9, id='burst'),
    ],
)
def test_flag_beats_file_beats_default(
    what: str,
    flag: str,
    by_default: object,
    by_file: object,
    by_flag: object,
    *,
    file: str,
) -> None:
    assert value(options.read([]), what) == by_default
    assert value(options.read(['--config', file]), what) == by_file
    assert value(options.read(['--config', file, flag]), what) == by_flag
    assert value(options.read([flag]), what) == by_flag


def test_flag_that_switches_off_beats_a_file_that_switches_on(tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'on.yaml'
    path.write_text(yaml.safe_dump(FILE | {'leaderElection': {'leaderElect': True}}))

    assert options.read(['--config', str(path), '--leader-elect=false']).leader_elect is False


@pytest.mark.parametrize(
    ('arguments', 'metrics', 'health'),
    [
        pytest.param([], listen.Address(None, 8443), listen.Address(None, 8081), id='every interface in a pod'),
        pytest.param(
            ['--metrics-bind-address=0', '--health-probe-bind-address=0'], None, None, id='"0" switches a server off'
        ),
    ],
)
def test_addresses_in_a_pod(
    arguments: list[str],
    metrics: listen.Address | None,
    health: listen.Address | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv('KUBERNETES_SERVICE_HOST', '10.0.0.1')

    read = options.read(arguments)

    assert (read.metrics, read.health) == (metrics, health)


@pytest.mark.parametrize(
    ('given', 'level'),
    [
        pytest.param('debug', logging.DEBUG, id='debug'),
        pytest.param('info', logging.INFO, id='info'),
        pytest.param('error', logging.ERROR, id='error'),
        pytest.param('panic', logging.CRITICAL, id='panic'),
        pytest.param('1', logging.INFO, id='1'),
        pytest.param('2', logging.INFO, id='2, as the manifests have it'),
        pytest.param('5', logging.DEBUG, id='5'),
    ],
)
def test_log_levels(given: str, level: int) -> None:
    assert options.read([f'--zap-log-level={given}']).log_level == level


def test_webhooks_are_served_unless_told_not_to() -> None:
    assert options.read([]).webhooks is True
    assert options.read(['--disable-webhooks']).webhooks is False


def test_flags_of_the_go_controller_are_all_taken() -> None:
    given = ['--zap-devel', '--zap-encoder=console', '--zap-stacktrace-level=error', '--zap-time-encoding=iso8601']

    assert options.read([*given, '--kubeconfig=/a/b']).kubeconfig == '/a/b'


@pytest.mark.parametrize(
    ('arguments', 'text'),
    [
        pytest.param(['--nonsense'], 'unrecognized arguments: --nonsense; see --help', id='unknown flag'),
        pytest.param(['--leader'], 'unrecognized arguments: --leader', id='no abbreviations'),
        pytest.param(['--leader-elect=maybe'], "'maybe' is neither true nor false", id='no boolean'),
        pytest.param(['--kube-api-qps=fast'], 'argument --kube-api-qps: invalid float value', id='no number'),
        pytest.param(['--kube-api-qps=0'], 'qps: 0.0 is not a rate', id='a rate of nothing'),
        pytest.param(['--kube-api-qps=nan'], 'qps: nan is not a rate', id='no rate at all'),
        pytest.param(['--zap-log-level=loud'], "--zap-log-level: 'loud' is not one of", id='unknown level'),
        pytest.param(['--zap-log-level=0'], "--zap-log-level: '0' is not one of", id='level zero'),
        pytest.param(['--metrics-bind-address=here'], 'address "here": write HOST:PORT or :PORT', id='no address'),
        pytest.param(['--health-probe-bind-address=::1:80'], 'put an IPv6 host into brackets', id='bare IPv6'),
    ],
)
def test_bad_flags_are_named(arguments: list[str], text: str) -> None:
    with pytest.raises(options.UsageError) as refused:
        options.read(arguments)

    assert text in str(refused.value)


@pytest.mark.parametrize(
    ('content', 'text'),
    [
        pytest.param(
            'apiVersion: config.jobset.x-k8s.io/v1alpha1\nkind: Configuration\nhealht: {}\n',
            'configuration.yaml:3: healht',
            id='unknown field',
        ),
        pytest.param(
            'apiVersion: config.jobset.x-k8s.io/v1alpha1\nkind: Configuration\nwebhook:\n  port: many\n',
            'configuration.yaml:4: webhook.port',
            id='wrong type',
        ),
        pytest.param(
            'apiVersion: config.jobset.x-k8s.io/v1alpha1\nkind: Configuration\nfeatureGates:\n  Nonsense: true\n',
            'configuration.yaml:4: featureGates.Nonsense',
            id='unknown gate',
        ),
        pytest.param('a: [', 'configuration.yaml:', id='not YAML'),
    ],
)
def test_bad_files_are_named_with_line_and_field(content: str, text: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'configuration.yaml'
    path.write_text(content)

    with pytest.raises(options.UsageError) as refused:
        options.read(['--config', str(path)])

    assert text in str(refused.value)


def test_missing_file_is_named(tmp_path: pathlib.Path) -> None:
    with pytest.raises(options.UsageError, match=r'nowhere\.yaml'):
        options.read(['--config', str(tmp_path / 'nowhere.yaml')])


def test_folder_in_place_of_a_file_is_named(tmp_path: pathlib.Path) -> None:
    with pytest.raises(options.UsageError) as refused:
        options.read(['--config', str(tmp_path)])

    assert str(tmp_path) in str(refused.value)
