import dataclasses
import datetime
import pathlib
from typing import Any

import pytest

from jobset.api import configuration, features, tls

HEAD = 'apiVersion: config.jobset.x-k8s.io/v1alpha1\nkind: Configuration\n'


def load(tmp_path: pathlib.Path, text: str) -> configuration.Configuration:
    file = tmp_path / 'c.yaml'
    file.write_text(text)
    return configuration.load(file)


def seconds(number: float) -> datetime.timedelta:
    return datetime.timedelta(seconds=number)


def test_defaults() -> None:
    assert dataclasses.asdict(configuration.load(None)) == {
        'api_version': 'config.jobset.x-k8s.io/v1alpha1',
        'kind': 'Configuration',
        'webhook': {'port': 9443, 'host': '', 'cert_dir': '/tmp/k8s-webhook-server/serving-certs'},
        'leader_election': {
            'leader_elect': True,
            'lease_duration': seconds(15),
            'renew_deadline': seconds(10),
            'retry_period': seconds(2),
            'resource_lock': 'leases',
            'resource_name': '6d4f6a47.jobset.x-k8s.io',
            'resource_namespace': '',
        },
        'metrics': {'bind_address': ':8443', 'cert_dir': ''},
        'health': {
            'health_probe_bind_address': ':8081',
            'readiness_endpoint_name': 'readyz',
            'liveness_endpoint_name': 'healthz',
        },
        'tls': {'min_version': '', 'cipher_suites': ()},
        'internal_cert_management': {
            'enable': True,
            'webhook_service_name': 'jobset-webhook-service',
            'webhook_secret_name': 'jobset-webhook-server-cert',
        },
        'client_connection': {'qps': None, 'burst': None},
        'feature_gates': {},
    }


def test_a_file_with_nothing_in_it_means_the_defaults(tmp_path: pathlib.Path) -> None:
    text = (
        HEAD + 'webhook: {certDir: "", port: null}\nhealth: {readinessEndpointName: ""}\nmetrics:\nfeatureGates: {}\n'
    )

    assert load(tmp_path, text) == configuration.load(None)


def test_everything_can_be_set(tmp_path: pathlib.Path) -> None:
    text = (
        HEAD
        + """
webhook: {port: 1, host: h, certDir: /w}
leaderElection:
  leaderElect: false
  leaseDuration: 1m
  renewDeadline: 30s
  retryPeriod: 500ms
  resourceName: n
  resourceNamespace: ns
metrics: {bindAddress: "0", certDir: /m}
health: {healthProbeBindAddress: ":1", readinessEndpointName: r, livenessEndpointName: l}
tls: {minVersion: VersionTLS12, cipherSuites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_AES_128_GCM_SHA256]}
internalCertManagement: {enable: false, webhookServiceName: s, webhookSecretName: t}
clientConnection: {qps: 20, burst: 30}
featureGates: {InPlaceRestart: true, TLSOptions: true}
"""
    )

    read = load(tmp_path, text)

    assert read.webhook == configuration.Webhook(port=1, host='h', cert_dir='/w')
    assert read.leader_election == configuration.LeaderElection(
        leader_elect=False,
        lease_duration=seconds(60),
        renew_deadline=seconds(30),
        retry_period=seconds(0.5),
        resource_name='n',
        resource_namespace='ns',
    )
    assert read.metrics == configuration.Metrics(bind_address='0', cert_dir='/m')
    assert read.health == configuration.Health(
        health_probe_bind_address=':1', readiness_endpoint_name='r', liveness_endpoint_name='l'
    )
    assert read.tls == configuration.Tls(
        min_version='VersionTLS12',
        cipher_suites=('TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', 'TLS_AES_128_GCM_SHA256'),
    )
    assert read.internal_cert_management == configuration.InternalCertManagement(
        enable=False, webhook_service_name='s', webhook_secret_name='t'
    )
    assert read.client_connection == configuration.ClientConnection(qps=20.0, burst=30)
    assert read.gates == features.FeatureGates(in_place_restart=True)


@pytest.mark.parametrize(
    ('text', 'folder'),
    [
        pytest.param('', None, id='a self-signed one'),
        pytest.param('metrics: {certDir: /m}', '/m', id='a given one'),
        pytest.param(
            'internalCertManagement: {enable: false}', '/tmp/k8s-metrics-server/serving-certs', id='the usual one'
        ),
        pytest.param(
            'metrics: {certDir: /m}\ninternalCertManagement: {enable: false}', '/m', id='given though unusual'
        ),
    ],
)
def test_the_certificate_for_metrics(tmp_path: pathlib.Path, text: str, folder: str | None) -> None:
    assert load(tmp_path, HEAD + text).metrics_cert_dir == folder


@pytest.mark.parametrize(
    ('text', 'problems'),
    [
        pytest.param('', ['c.yaml:1: must hold an object, with fields such as apiVersion'], id='an empty file'),
        pytest.param('- 1\n', ['c.yaml:1: must hold an object, with fields such as apiVersion'], id='a list'),
        pytest.param(
            'metrics: {}\n',
            [
                'c.yaml: apiVersion: must be config.jobset.x-k8s.io/v1alpha1',
                'c.yaml: kind: must be Configuration',
            ],
            id='no kind',
        ),
        pytest.param(
            'apiVersion: config.jobset.x-k8s.io/v1\nkind: Configuration\n',
            ['c.yaml:1: apiVersion: must be config.jobset.x-k8s.io/v1alpha1, not config.jobset.x-k8s.io/v1'],
            id='another version',
        ),
        pytest.param(
            HEAD + 'a: {b: [\n',
            ["c.yaml:4: is no YAML: expected the node content, but found '<stream end>'"],
            id='no YAML',
        ),
        pytest.param(
            HEAD + 'webhook:\n  prot: 1\n',
            ['c.yaml:4: webhook.prot: unknown field; known here are: certDir, host, port'],
            id='an unknown field',
        ),
        pytest.param(
            HEAD + 'webhook:\n  port: 1\n  port: 2\n',
            ['c.yaml:5: webhook.port: given twice, first in line 4; remove one'],
            id='a field given twice',
        ),
        pytest.param(
            HEAD + 'featureGates:\n  RestartJob: true\n  RestartJob: true\n',
            ['c.yaml:5: featureGates.RestartJob: given twice, first in line 4; remove one'],
            id='a gate given twice',
        ),
        pytest.param(
            HEAD + 'webhook:\n  port: "1"\n  host: 1\nmetrics: []\ntls:\n  cipherSuites: x\nfeatureGates: {X: 1}\n',
            [
                "c.yaml:4: webhook.port: must be a whole number, not '1'",
                "c.yaml:5: webhook.host: must be a text (in quotes, if it looks like something else), not '1'",
                'c.yaml:6: metrics: must be an object, not a list or an object',
                "c.yaml:8: tls.cipherSuites: must be a list, not 'x'",
                "c.yaml:9: featureGates.X: must be true or false, not '1'",
            ],
            id='values of the wrong type',
        ),
        pytest.param(
            HEAD + 'leaderElection:\n  leaseDuration: 15\n  leaderElect: maybe\n',
            [
                (
                    "c.yaml:4: leaderElection.leaseDuration: '15' is no duration; write numbers with units, "
                    'as in 15s or 1m30s'
                ),
                "c.yaml:5: leaderElection.leaderElect: must be true or false, not 'maybe'",
            ],
            id='a duration without unit, and no flag',
        ),
        pytest.param(
            HEAD + 'leaderElection:\n  leaseDuration: 9s\n  retryPeriod: 10s\n  resourceLock: endpoints\n',
            [
                'c.yaml: leaderElection.renewDeadline: must be greater than 1.2 × retryPeriod: one retry must fit',
                (
                    'c.yaml:4: leaderElection.leaseDuration: must be greater than renewDeadline: '
                    'a leader must notice that it lost'
                ),
                'c.yaml:6: leaderElection.resourceLock: must be leases, not endpoints',
            ],
            id='times that do not fit together',
        ),
        pytest.param(
            HEAD + 'tls:\n  minVersion: VersionTLS10\n  cipherSuites: [A, B]\n',
            [
                (
                    'c.yaml:4: tls.minVersion: invalid minVersion: VersionTLS10 is not supported. '
                    'Please use VersionTLS12 or VersionTLS13'
                ),
                "c.yaml:5: tls.cipherSuites: invalid cipherSuites: A, B not supported or doesn't exist",
            ],
            id='an outdated version and unknown suites, told together',
        ),
        pytest.param(
            HEAD + 'tls:\n  minVersion: TLS1\n',
            [
                (
                    'c.yaml:4: tls.minVersion: invalid minVersion: unknown TLS version "TLS1". '
                    'Please use VersionTLS12 or VersionTLS13'
                )
            ],
            id='an unknown version',
        ),
        pytest.param(
            HEAD + 'tls:\n  minVersion: VersionTLS13\n  cipherSuites: [TLS_AES_128_GCM_SHA256]\n',
            ["c.yaml:5: tls.cipherSuites: may not be specified when `minVersion` is 'VersionTLS13'"],
            id='suites that cannot be chosen',
        ),
        pytest.param(
            HEAD + 'internalCertManagement:\n  webhookSecretName: a_b\n',
            [
                (
                    'c.yaml:4: internalCertManagement.webhookSecretName: a lowercase RFC 1123 subdomain must consist '
                    "of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric "
                    "character (e.g. 'example.com', regex used for validation is "
                    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                )
            ],
            id='a name that no secret can have',
        ),
        pytest.param(
            HEAD + 'featureGates:\n  Nonsense: true\n  TLSOptions: false\nwebhook: {port: 65536}\n',
            [
                (
                    'c.yaml:4: featureGates.Nonsense: unrecognized feature gate: Nonsense; known ones are: '
                    'ElasticJobSet, ExecutionAttemptsTracking, InPlaceRestart, JobSetActiveDeadlineSeconds, '
                    'JobSetWorkloadAwareSchedulingAPI, MutablePodResourcesForSuspendedJobSets, RestartJob, TLSOptions'
                ),
                (
                    'c.yaml:5: featureGates.TLSOptions: cannot set feature gate TLSOptions to false, '
                    'feature is locked to true; remove the line'
                ),
                'c.yaml:6: webhook.port: 65536 is no TCP port; ports go up to 65535',
            ],
            id='gates, and a port beyond the last',
        ),
    ],
)
def test_refused(tmp_path: pathlib.Path, text: str, problems: list[str]) -> None:
    with pytest.raises(configuration.ConfigurationError) as raised:
        load(tmp_path, text)
    assert str(raised.value).replace(f'{tmp_path}/', '').splitlines() == problems


def test_a_name_of_the_certificate_is_not_judged_when_somebody_else_makes_it(tmp_path: pathlib.Path) -> None:
    text = HEAD + 'internalCertManagement: {enable: false, webhookServiceName: 1_a}\n'

    assert load(tmp_path, text).internal_cert_management.webhook_service_name == '1_a'


@pytest.mark.parametrize(
    ('contents', 'text'),
    [
        pytest.param(None, 'cannot be read: No such file or directory', id='no file'),
        pytest.param(b'\xff', 'is no UTF-8 text: invalid start byte at 0', id='no text'),
    ],
)
def test_unreadable(tmp_path: pathlib.Path, contents: Any, text: str) -> None:
    file = tmp_path / 'c.yaml'
    if contents is not None:
        file.write_bytes(contents)

    with pytest.raises(configuration.ConfigurationError) as raised:
        configuration.load(str(file))

    assert str(raised.value) == f'{file}: {text}'


def test_every_suite_has_one_name() -> None:
    assert tls.ALWAYS_ON & tls.OPENSSL.keys() == set()
    assert len(tls.CIPHER_SUITES) == 27
