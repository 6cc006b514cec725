"""The configuration file of the manager: ``config.jobset.x-k8s.io/v1alpha1``, kind ``Configuration``.

It is never an object in the cluster, only a file, and read strictly.
"""

import datetime
import pathlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from jobset.api import features, strictfile, tls
from jobset.api.validation import names

API_VERSION: Final = 'config.jobset.x-k8s.io/v1alpha1'
KIND: Final = 'Configuration'

RETRY_JITTER: Final = 1.2
"""By how much a retry may come late: the lease must be renewed in spite of it."""


@dataclass(frozen=True, kw_only=True)
class Webhook:
    """Where the admission server listens."""

    port: int = 9443
    """TCP port."""

    host: str = ''
    """Address to bind; every interface when empty and in a pod, else loopback."""

    cert_dir: str = '/tmp/k8s-webhook-server/serving-certs'  # noqa: S108 - where the manifests mount the secret
    """Folder with ``tls.crt`` and ``tls.key``."""


@dataclass(frozen=True, kw_only=True)
class LeaderElection:
    """Which replica writes."""

    leader_elect: bool = True
    """Whether to wait for leadership before writing anything."""

    lease_duration: datetime.timedelta = datetime.timedelta(seconds=15)
    """How long others wait since the last renewal before they take over."""

    renew_deadline: datetime.timedelta = datetime.timedelta(seconds=10)
    """How long the leader tries to renew before it gives up."""

    retry_period: datetime.timedelta = datetime.timedelta(seconds=2)
    """Time between two attempts."""

    resource_lock: str = 'leases'
    """What kind of object is held; only leases."""

    resource_name: str = '6d4f6a47.jobset.x-k8s.io'
    """Name of the lease: that of the Go controller, so that the two never write at the same time."""

    resource_namespace: str = ''
    """Namespace of the lease; that of the pod when empty."""


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """Where metrics are served."""

    bind_address: str = ':8443'
    """Address and port; ``0`` serves none."""

    cert_dir: str = ''
    """Folder with ``tls.crt`` and ``tls.key``; see :attr:`Configuration.metrics_cert_dir`."""


@dataclass(frozen=True, kw_only=True)
class Health:
    """Where the probes are answered."""

    health_probe_bind_address: str = ':8081'
    """Address and port; ``0`` answers none."""

    readiness_endpoint_name: str = 'readyz'
    """Path of the readiness probe, without the slash."""

    liveness_endpoint_name: str = 'healthz'
    """Path of the liveness probe, without the slash."""


@dataclass(frozen=True, kw_only=True)
class Tls:
    """What the servers of this process agree to speak."""

    min_version: str = ''
    """Lowest version, by its Go name; TLS 1.2 when empty."""

    cipher_suites: tuple[str, ...] = ()
    """Suites of TLS 1.2, by their Go names (:data:`jobset.api.tls.OPENSSL`); the library's own choice when empty."""


@dataclass(frozen=True, kw_only=True)
class InternalCertManagement:
    """Whether this process makes the certificate of the webhook server itself."""

    enable: bool = True
    """Off where cert-manager or somebody else does it."""

    webhook_service_name: str = 'jobset-webhook-service'
    """The Service in front of the webhook server: the certificate is for its names."""

    webhook_secret_name: str = 'jobset-webhook-server-cert'  # noqa: S105 - the name of a secret, not one
    """The Secret that holds the certificate and its key."""


@dataclass(frozen=True, kw_only=True)
class ClientConnection:
    """How fast the API server may be asked."""

    qps: float | None = None
    """Requests a second in the long run. None, and a negative number, mean no fixed rate: the server's own flow control
    tells when it is too much. The Go controller's default is 500."""

    burst: int | None = None
    """Requests at once, above that rate. The Go controller's default is 500."""


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """The whole file."""

    api_version: str = ''
    kind: str = ''
    webhook: Webhook = field(default_factory=Webhook)
    leader_election: LeaderElection = field(default_factory=LeaderElection)
    metrics: Metrics = field(default_factory=Metrics)
    health: Health = field(default_factory=Health)
    tls: Tls = field(default_factory=Tls)
    internal_cert_management: InternalCertManagement = field(default_factory=InternalCertManagement)
    client_connection: ClientConnection = field(default_factory=ClientConnection)
    feature_gates: Mapping[str, bool] = field(default_factory=dict)

    @property
    def gates(self) -> features.FeatureGates:
        """The feature gates. :func:`load` has made sure that they can be read."""
        return features.parse(self.feature_gates)

    @property
    def metrics_cert_dir(self) -> str | None:
        """The folder with the certificate for metrics; None where a self-signed one is made."""
        if self.metrics.cert_dir or self.internal_cert_management.enable:
            return self.metrics.cert_dir or None
        return '/tmp/k8s-metrics-server/serving-certs'  # noqa: S108 - where the manifests mount the secret


class ConfigurationError(ValueError):
    """The file cannot be used. ``str()`` of it has a line for each problem: file, line, field and what is wrong."""

    def __init__(self, problems: Iterable[strictfile.Problem]) -> None:
        """``problems`` is not empty."""
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line or 0))
        super().__init__('\n'.join(map(str, self.problems)))


def load(path: str | pathlib.Path | None) -> Configuration:
    """The configuration in the file, or the defaults without one; raises :class:`ConfigurationError`."""
    if path is None:
        return Configuration(api_version=API_VERSION, kind=KIND)
    reader = strictfile.Reader(str(path))
    configuration = reader.read(Configuration)
    if configuration is not None:
        for where, text in _problems(configuration):
            reader.complain(where, text)
    if configuration is None or reader.problems:
        raise ConfigurationError(reader.problems)
    return configuration


def _problems(configuration: Configuration) -> Iterable[tuple[str, str]]:
    for where, given, wanted in (
        ('apiVersion', configuration.api_version, API_VERSION),
        ('kind', configuration.kind, KIND),
    ):
        if given != wanted:
            yield where, f'must be {wanted}' + (f', not {given}' if given else '')
    yield from ((f'tls.{name}', text) for name, text in _tls_problems(configuration.tls))
    yield from _certificate_problems(configuration.internal_cert_management)
    yield from _election_problems(configuration.leader_election)
    if not 0 <= configuration.webhook.port <= 65535:
        yield 'webhook.port', f'{configuration.webhook.port} is no TCP port; ports go up to 65535'
    for name, on in configuration.feature_gates.items():
        try:
            features.parse({name: on})
        except features.FeatureGateError as error:
            yield f'featureGates.{name}', str(error)


def _tls_problems(section: Tls) -> Iterable[tuple[str, str]]:
    return tls.problems(section.min_version, section.cipher_suites)


def _certificate_problems(section: InternalCertManagement) -> Iterable[tuple[str, str]]:
    if section.enable:
        for reason in names.dns_1035_label(section.webhook_service_name):
            yield 'internalCertManagement.webhookServiceName', reason
        for reason in names.dns_1123_subdomain(section.webhook_secret_name):
            yield 'internalCertManagement.webhookSecretName', reason


def _election_problems(section: LeaderElection) -> Iterable[tuple[str, str]]:
    if section.resource_lock != 'leases':
        yield 'leaderElection.resourceLock', f'must be leases, not {section.resource_lock}'
    if section.lease_duration <= section.renew_deadline:
        yield 'leaderElection.leaseDuration', 'must be greater than renewDeadline: a leader must notice that it lost'
    if section.renew_deadline <= section.retry_period * RETRY_JITTER:
        yield 'leaderElection.renewDeadline', f'must be greater than {RETRY_JITTER} × retryPeriod: one retry must fit'
    if section.retry_period <= datetime.timedelta():
        yield 'leaderElection.retryPeriod', 'must be greater than zero'
