"""The command line, and what it and the configuration file say together.

Source: JobSet operations surface, process flags. A flag that is given beats the file; the file beats the defaults.
"""

import argparse
import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from jobset.admission import listen
from jobset.api import configuration, features

_LEVELS: Final = {
    'debug': logging.DEBUG,
    'info': logging.INFO,
    'error': logging.ERROR,
    'panic': logging.CRITICAL,
}


class UsageError(ValueError):
    """The command line or the configuration file cannot be used; the text says where and why."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What this process is to do."""

    settings: configuration.Configuration
    config_file: str | None
    kubeconfig: str | None
    log_level: int
    webhooks: bool
    leader_elect: bool
    health: listen.Address | None
    metrics: listen.Address | None
    qps: float | None
    """Requests a second; None for no fixed rate."""

    burst: int | None

    @property
    def gates(self) -> features.FeatureGates:
        """The feature gates."""
        return self.settings.gates


def read(arguments: Sequence[str] | None = None) -> Options:
    """What the command line (None: that of this process) and the file that it names say.

    Raises UsageError.
    """
    given = _parser().parse_args(arguments)
    try:
        settings = configuration.load(given.config)
        connection = settings.client_connection
        election = settings.leader_election.leader_elect
        return Options(
            settings=settings,
            config_file=given.config,
            kubeconfig=given.kubeconfig,
            log_level=_log_level(given.zap_log_level),
            webhooks=not given.disable_webhooks,
            leader_elect=election if given.leader_elect is None else given.leader_elect,
            health=_address(given.health_probe_bind_address or settings.health.health_probe_bind_address),
            metrics=_address(given.metrics_bind_address or settings.metrics.bind_address),
            qps=_rate(connection.qps if given.kube_api_qps is None else given.kube_api_qps),
            burst=_burst(connection.burst if given.kube_api_burst is None else given.kube_api_burst),
        )
    except OSError as error:
        raise UsageError(f'--config: {error}') from error
    except ValueError as error:
        raise UsageError(str(error)) from error


class _Parser(argparse.ArgumentParser):
    """Raises instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f'{message}; see --help')


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog='jobset-controller', description='The JobSet controller.', allow_abbrev=False)
    add = parser.add_argument
    add('--config', help='configuration file, config.jobset.x-k8s.io/v1alpha1')
    add('--kubeconfig', help='how to reach the API server; default: KUBECONFIG, that of the pod, ~/.kube/config')
    add('--disable-webhooks', action='store_true', help='serve no admission webhooks')
    add('--metrics-bind-address', help='HTTPS; "0" for none (default :8443)')
    add('--health-probe-bind-address', help='plain HTTP; "0" for none (default :8081)')
    add('--leader-elect', type=_boolean, nargs='?', const=True, help='only write while holding a Lease (default true)')
    add('--kube-api-qps', type=float, help='requests a second (default: as many as the server takes)')
    add('--kube-api-burst', type=int, help='requests at once above that rate')
    add('--zap-devel', type=_boolean, nargs='?', const=True, default=True, help='accepted; logs are always JSON')
    add('--zap-log-level', default='info', help='debug, info, error, panic, or a number: more says more')
    for unused in ('--zap-encoder', '--zap-stacktrace-level', '--zap-time-encoding'):
        add(unused, help='accepted and of no effect: logs are always JSON with ISO times')
    return parser


def _boolean(text: str) -> bool:
    if text.lower() in {'true', 't', '1'}:
        return True
    if text.lower() in {'false', 'f', '0'}:
        return False
    raise argparse.ArgumentTypeError(f'{text!r} is neither true nor false')


def _log_level(text: str) -> int:
    if text in _LEVELS:
        return _LEVELS[text]
    if text.isascii() and text.isdecimal() and int(text) > 0:
        # Manifests of the Go controller ship with 2, which is little more than "info" there.
        return logging.INFO if int(text) <= 2 else logging.DEBUG
    raise UsageError(f'--zap-log-level: {text!r} is not one of {", ".join(_LEVELS)} or a number above 0')


def _address(text: str) -> listen.Address | None:
    return listen.parse(text, pod=listen.in_pod())


def _rate(qps: float | None) -> float | None:
    """A rate; a negative one has always meant none."""
    if qps is None or qps < 0:
        return None
    if qps == 0 or not math.isfinite(qps):
        raise UsageError(f'clientConnection.qps: {qps} is not a rate; leave it out, or give requests a second above 0')
    return qps


def _burst(burst: int | None) -> int | None:
    if burst is not None and burst < 1:
        raise UsageError(f'clientConnection.burst: {burst} lets no request through; leave it out, or give at least 1')
    return burst
