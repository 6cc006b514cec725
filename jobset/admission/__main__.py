"""``python -m jobset.admission``: the webhook server as a process of its own.

The controller starts it and answers for both: it passes the health address, or an open socket (``--status-fd``), asks
``/readyz`` and ``/metrics`` there, and holds the other end of standard input (``--stop-at-end-of-input``), so that this
process ends with it, however it ends.

Exit codes: 0 after SIGTERM, SIGINT or the end of input; 1 when an address cannot be had; 2 for bad flags, a bad
configuration or unusable credentials. Anything else that is missing is waited for.
"""

import argparse
import asyncio
import contextlib
import logging
import platform
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pythonjsonlogger import json

import jobset
from jobset.admission import (
    claims,
    handshake,
    leaders,
    listen,
    metrics,
    mounted,
    reviews,
    rotation,
    server,
    status,
    upkeep,
)
from jobset.api import configuration
from jobset.kube import auth, backoff, client, transport

logger = logging.getLogger('jobset.admission')

NAMESPACE: Final = 'jobset-system'
"""Where we are installed, unless the pod or a flag says otherwise."""

HEALTH: Final = '127.0.0.1:0'


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the command line says; empty or None where it leaves a thing to the configuration file."""

    config: str | None
    kubeconfig: str | None
    namespace: str | None
    webhook_host: str | None
    webhook_port: int | None
    cert_dir: str | None
    health_probe_bind_address: str
    status_fd: int | None
    stop_at_end_of_input: bool
    log_level: str


def parse(arguments: Sequence[str]) -> Options:
    """The command line; argparse ends the process with code 2 where it is wrong."""
    parser = argparse.ArgumentParser(prog='python -m jobset.admission', description='The JobSet webhook server.')
    add = parser.add_argument
    add('--config', help='configuration file (config.jobset.x-k8s.io/v1alpha1)')
    add('--kubeconfig', help='how to reach the API server, outside a pod')
    add('--namespace', help=f'where Secret and Service are; default: that of the pod, else {NAMESPACE}')
    add('--webhook-host', help='beats webhook.host of the file')
    add('--webhook-port', type=int, help='beats webhook.port of the file')
    add('--cert-dir', help='beats webhook.certDir of the file')
    add('--health-probe-bind-address', default=HEALTH, help='plain HTTP: /healthz, /readyz, /metrics; "0" for none')
    add('--status-fd', type=int, help='an inherited listening socket to use instead of that address')
    add('--stop-at-end-of-input', action='store_true', help='end when standard input, a pipe, is closed')
    add('--log-level', default='info', choices=('debug', 'info', 'warning', 'error', 'critical'))
    return Options(**vars(parser.parse_args(arguments)))


class Process:
    """The servers of the process and what they need. Made before anything runs, so that bad settings end it at once."""

    def __init__(self, options: Options, settings: configuration.Configuration) -> None:
        """Raises BadAddressError, BadOptionsError, and OSError where a port is taken."""
        self._options = options
        self._settings = settings
        self._counters = metrics.Metrics()
        self._state = status.Status(self._counters)
        self._context = handshake.context(
            min_version=settings.tls.min_version,
            cipher_suites=settings.tls.cipher_suites,
        )
        pod = listen.in_pod()
        webhook = settings.webhook
        host = webhook.host if options.webhook_host is None else options.webhook_host
        port = webhook.port if options.webhook_port is None else options.webhook_port
        self._webhook_socket = listen.bind(listen.address(host, port, pod=pod))
        self._status_socket = _status_socket(options, pod=pod)

    async def run(self) -> int:
        """Serve until a signal or the end of input; returns the exit code."""
        try:
            async with asyncio.timeout(None) as life, contextlib.AsyncExitStack() as stack:
                await _end_when_told(life, also_at_end_of_input=self._options.stop_at_end_of_input)
                if self._status_socket is not None:
                    await stack.enter_async_context(self._state.listening(self._status_socket))
                await self._serve()
        except auth.Misconfigured as error:
            logger.error('%s', error)
            return 2
        except TimeoutError:
            if not life.expired():
                raise
        logger.info('ended')
        return 0

    async def _serve(self) -> None:
        credentials = await _credentials(self._options.kubeconfig)
        counted = self._counters.asked
        async with transport.Transport(credentials, user_agent=_user_agent(), on_answer=counted) as carrier:
            api = client.Client(carrier)
            presenter = handshake.Presenter(self._context, on_show=self._counters.certificate_expires)
            look_up = claims.Claims(api).look_up
            leading = leaders.Leaders(api)
            routes = reviews.routes(gates=self._settings.gates, look_up=look_up, leaders=leading)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(leading.follow())
                tasks.create_task(self._source(api, presenter, credentials).keep(pace=upkeep.Pace()))
                await presenter.ready.wait()
                async with server.Server(routes, self._counters).listening(self._webhook_socket, self._context):
                    host, port = self._webhook_socket.getsockname()[:2]
                    logger.info('webhooks are served at %s', listen.Address(host, port))
                    self._state.trouble = None
                    try:
                        await asyncio.Event().wait()
                    finally:
                        self._state.trouble = status.ENDING

    def _source(
        self,
        api: client.Client,
        presenter: handshake.Presenter,
        credentials: auth.Credentials,
    ) -> rotation.Rotation | mounted.Mounted:
        own = self._settings.internal_cert_management
        if not own.enable:
            return mounted.Mounted(Path(self._options.cert_dir or self._settings.webhook.cert_dir), presenter)
        # Outside a pod, the namespace of the credentials is where their user works, not where we are installed.
        pods_own = credentials.namespace if isinstance(credentials, auth.InCluster) else NAMESPACE
        place = rotation.Place(
            namespace=self._options.namespace or pods_own,
            secret=own.webhook_secret_name,
            service=own.webhook_service_name,
        )
        return rotation.Rotation(api, place, presenter)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until told to end; returns the exit code."""
    options = parse(sys.argv[1:] if arguments is None else arguments)
    _log_to_stderr(options.log_level)
    try:
        settings = configuration.load(options.config)
        process = Process(options, settings)
    except (configuration.ConfigurationError, listen.BadAddressError, handshake.BadOptionsError) as error:
        logger.error('%s', error)
        return 2
    except OSError as error:
        logger.error('%s', error)
        return 1
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(process.run())


async def _end_when_told(life: asyncio.Timeout, *, also_at_end_of_input: bool) -> None:
    """Let ``life`` expire at the first signal, or when standard input is closed."""
    loop = asyncio.get_running_loop()

    def end() -> None:
        # A second signal must not cut the requests short that are under way: the grace of the pod does, if need be.
        if not life.expired():
            life.reschedule(loop.time())

    class Input(asyncio.Protocol):
        def connection_lost(self, _: Exception | None) -> None:
            end()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    if also_at_end_of_input:
        await loop.connect_read_pipe(Input, sys.stdin)


async def _credentials(kubeconfig: str | None) -> auth.Credentials:
    retry = backoff.Backoff(base=1, cap=60)
    while True:
        try:
            return await auth.load(kubeconfig)
        except OSError as error:
            pause = retry.next()
            logger.warning('credentials: %s; trying again in %.0f s', error, pause)
            await asyncio.sleep(pause)


def _status_socket(options: Options, *, pod: bool) -> socket.socket | None:
    if options.status_fd is not None:
        return socket.socket(fileno=options.status_fd)
    address = listen.parse(options.health_probe_bind_address, pod=pod)
    return None if address is None else listen.bind(address)


def _user_agent() -> str:
    return f'jobset/{jobset.__version__} ({platform.system().lower()}/{platform.machine()}) admission'


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415 - not there on every platform
    except ImportError:
        return None
    return uvloop.new_event_loop


def _log_to_stderr(level: str) -> None:
    # The fields of the controller's log, with which this one is mixed.
    fields = '%(asctime)s %(levelname)s %(name)s %(message)s'
    names = {'asctime': 'ts', 'levelname': 'level', 'name': 'logger', 'message': 'msg', 'exc_info': 'stacktrace'}
    handler = logging.StreamHandler()
    handler.setFormatter(json.JsonFormatter(fields, rename_fields=names))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger('jobset').setLevel(level.upper())


if __name__ == '__main__':
    sys.exit(main())
