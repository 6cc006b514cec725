"""The ``jobset-controller`` command: flags, and a process that kopf owns.

kopf starts what we run after its start-up activity, ends it in its clean-up activity, takes the signals, logs in, and
answers the liveness probe. It watches nothing: see :mod:`jobset.controller.world` for who does, and why.
"""

import asyncio
import contextlib
import datetime
import itertools
import logging
import os
import pathlib
import platform
import socket
import ssl
import sys
from collections.abc import Iterator, Sequence
from typing import Final

import aiohttp
import kopf
import uvloop

import jobset
from jobset.admission import certificates, handshake, listen
from jobset.api import configuration
from jobset.controller import login, logs, manager, metrics, options, serving, webhooks
from jobset.kube import auth, client, lease, pages, transport

logger = logging.getLogger(__name__)

BAD_CONFIGURATION: Final = 2
"""Exit code where starting again is of no use before somebody has mended something."""

LOST: Final = 1
"""Exit code where this process had to end and another one should go on: leadership lost, a defect of ours."""

ENDING_SECONDS: Final = 9
"""How long everything may take to end; less than the pod's own grace of ten seconds."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until a signal says to end; returns the exit code."""
    try:
        wanted = options.read(arguments)
    except options.UsageError as error:
        print(f'jobset-controller: {error}', file=sys.stderr)  # noqa: T201 - there are no logs yet
        return BAD_CONFIGURATION
    logs.set_up(wanted.log_level)
    logging.getLogger('kopf').setLevel(logging.WARNING)
    try:
        return uvloop.run(_run(wanted))
    except auth.Misconfigured as error:
        logger.error('no way to log in to a cluster: %s', error)
        return BAD_CONFIGURATION
    except _UnusableSettingsError as error:
        logger.error('%s', error)
        return BAD_CONFIGURATION


async def _run(wanted: options.Options) -> int:
    """Run everything; the exit code is not 0 when a part of it ended by itself."""
    credentials = await _log_in(wanted.kubeconfig)
    measured = metrics.Metrics()
    sending = transport.Requesting(qps=wanted.qps, burst=wanted.burst)
    async with transport.Transport(
        credentials, user_agent=user_agent(), settings=sending, on_answer=measured.answered
    ) as carrier:
        return await _Process(wanted, credentials, carrier, measured).run()


async def _log_in(kubeconfig: str | None) -> auth.Credentials:
    """The credentials; a login that fails for the moment is tried again, a wrong one is not."""
    for pause in _Patience():
        try:
            return await auth.load(kubeconfig)
        except OSError as error:
            logger.warning('cannot log in: %s; trying again in %s s', error, pause)
            await asyncio.sleep(pause)
    raise AssertionError('patience has no end')


class _UnusableSettingsError(Exception):
    """What the configuration names cannot be had: a port, a certificate. The text says which setting it is."""


class _Process:
    """One run of the command, once it can talk to the API server."""

    def __init__(
        self,
        wanted: options.Options,
        credentials: auth.Credentials,
        carrier: transport.Transport,
        measured: metrics.Metrics,
    ) -> None:
        self._wanted = wanted
        self._credentials = credentials
        self._measured = measured
        self._api = client.Client(carrier)
        self._manager = manager.Manager(carrier, self._settings(), measured)
        self._webhooks = self._make_webhooks()
        self._liveness = f'http://{listen.LOOPBACK}:{_free_port()}/healthz'
        self._stopping = asyncio.Event()
        self._started = asyncio.Event()

    async def run(self) -> int:
        """Serve, and let kopf own the process; returns the exit code."""
        async with contextlib.AsyncExitStack() as served:
            await self._serve(served)
            return await self._own()

    async def _own(self) -> int:
        """Hand the process to kopf, which has our parts run between its start-up and its clean-up."""
        async with asyncio.TaskGroup() as group:
            work = group.create_task(self._work(), name='controller')
            group.create_task(self._kopf(work), name='kopf')
        return LOST if work.result() else 0

    async def _kopf(self, work: 'asyncio.Task[bool]') -> None:
        await kopf.operator(
            registry=self._activities(work),
            settings=kopf.OperatorSettings(),
            standalone=True,
            clusterwide=True,
            stop_flag=self._stopping,
            liveness_endpoint=self._liveness,
        )

    def _activities(self, work: 'asyncio.Task[bool]') -> kopf.OperatorRegistry:
        registry = kopf.OperatorRegistry()

        @kopf.on.startup(registry=registry)
        async def start(settings: kopf.OperatorSettings, **_: object) -> None:
            settings.scanning.disabled = True
            settings.posting.enabled = False
            settings.networking.error_backoffs = _Patience()
            self._started.set()

        @kopf.on.login(registry=registry)
        async def log_in(**_: object) -> kopf.AiohttpSession | kopf.ConnectionInfo:
            return login.session(self._credentials, user_agent=user_agent(), pauses=_Patience())

        @kopf.on.probe(registry=registry, id='caches')
        async def caches(**_: object) -> str:
            if self._manager.has_lost:
                raise kopf.PermanentError('this replica has led and does so no more, and has not ended')
            return 'filled' if self._manager.is_synced else 'being filled'

        @kopf.on.cleanup(registry=registry)
        async def clean_up(**_: object) -> None:
            self._manager.stop()
            # What still runs after this activity is cancelled, without another word.
            await asyncio.wait({work}, timeout=ENDING_SECONDS)

        del start, log_in, caches, clean_up
        return registry

    async def _work(self) -> bool:
        """Run the controller and the webhooks until the controller ends; returns whether it ended by itself."""
        await self._started.wait()
        try:
            async with asyncio.TaskGroup() as group:
                admission = group.create_task(self._webhooks.run(), name='webhooks') if self._webhooks else None
                await self._manager.run()
                if admission is not None:
                    admission.cancel()
        except* lease.Lost as lost:
            logger.error('%s; ending, so that a fresh start decides again from the facts', _cause(lost))
        except* Exception:
            logger.exception('a part of the controller failed; ending, so that a fresh start decides from the facts')
        else:
            return False
        finally:
            self._stopping.set()
        return True

    def _settings(self) -> manager.Settings:
        wanted = self._wanted
        leadership = None
        if wanted.leader_elect:
            election = wanted.settings.leader_election
            leadership = manager.Leadership(
                namespace=election.resource_namespace or self._credentials.namespace or 'default',
                name=election.resource_name,
                identity=lease.identity(),
                settings=lease.Leasing(
                    lease_duration=election.lease_duration.total_seconds(),
                    renew_deadline=election.renew_deadline.total_seconds(),
                    retry_period=election.retry_period.total_seconds(),
                ),
            )
        instance = f'jobset-{socket.gethostname()}'
        return manager.Settings(gates=wanted.gates, leadership=leadership, instance=instance)

    def _make_webhooks(self) -> webhooks.Webhooks | None:
        if not self._wanted.webhooks:
            return None
        wanted = self._wanted
        arguments: list[str] = ['--log-level', logging.getLevelName(max(wanted.log_level, logging.DEBUG)).lower()]
        if wanted.config_file is not None:
            arguments += ['--config', wanted.config_file]
        if wanted.kubeconfig is not None:
            arguments += ['--kubeconfig', wanted.kubeconfig]
        return webhooks.Webhooks(arguments, health_port=_free_port())

    async def _serve(self, served: contextlib.AsyncExitStack) -> None:
        wanted = self._wanted
        if wanted.health is not None:
            health = wanted.settings.health
            probes = {
                f'/{health.liveness_endpoint_name}': serving.probe(lambda: _alive(self._liveness)),
                f'/{health.readiness_endpoint_name}': serving.probe(self._ready),
            }
            where = _bound('health.healthProbeBindAddress', wanted.health)
            await served.enter_async_context(pages.served(probes, where))
        if wanted.metrics is not None:
            more = self._webhooks.metrics if self._webhooks is not None else None
            measured = {serving.METRICS_PATH: serving.exposition(self._measured, self._api, more)}
            context = _metrics_tls(wanted.settings)
            where = _bound('metrics.bindAddress', wanted.metrics)
            await served.enter_async_context(pages.served(measured, where, context=context))

    async def _ready(self) -> str | None:
        if not self._manager.is_synced:
            return 'caches are being filled'
        return await self._webhooks.trouble() if self._webhooks is not None else None


def _bound(setting: str, where: listen.Address) -> socket.socket:
    """A socket of that address; the setting is to blame where it cannot be had."""
    try:
        return listen.bind(where)
    except OSError as error:
        raise _UnusableSettingsError(f'{setting}: {error.strerror}') from error


def _cause(error: BaseException) -> BaseException:
    """The first error in groups within groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def _alive(endpoint: str) -> str | None:
    """Whether kopf answers on its own endpoint, which is open to this machine only."""
    timeout = aiohttp.ClientTimeout(total=2)
    try:
        async with aiohttp.ClientSession(timeout=timeout) as session, session.get(endpoint) as answer:
            return None if answer.status == 200 else await answer.text()
    except (aiohttp.ClientError, TimeoutError) as error:
        return f'the event loop does not answer: {error!r}'


class _Patience:
    """Pauses in seconds between attempts that must not come to an end; can be iterated any number of times."""

    def __iter__(self) -> Iterator[float]:
        return itertools.chain((0.5, 1, 2, 3, 5, 8, 13, 21), itertools.repeat(30))


def user_agent() -> str:
    """Who we are to the API server; its first word names our writes in ``managedFields``."""
    machine = {'x86_64': 'amd64', 'aarch64': 'arm64'}.get(platform.machine(), platform.machine())
    commit = os.environ.get('JOBSET_COMMIT', 'unknown')[:7]
    return f'jobset/{jobset.__version__} ({sys.platform}/{machine}) {commit}'


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((listen.LOOPBACK, 0))
        return int(probe.getsockname()[1])


def _metrics_tls(settings: configuration.Configuration) -> ssl.SSLContext:
    """TLS for the metrics: with the certificate that is mounted for them, else with one that nobody vouches for."""
    context = handshake.context(min_version=settings.tls.min_version, cipher_suites=settings.tls.cipher_suites)
    presenter = handshake.Presenter(context)
    folder = settings.metrics_cert_dir
    if folder is None:
        now = datetime.datetime.now(datetime.UTC)
        made = certificates.renew(None, certificates.Due.ALL, server_name='localhost', now=now)
        presenter.show(made.server)
    else:
        try:
            certificate, key = (pathlib.Path(folder, name).read_bytes() for name in ('tls.crt', 'tls.key'))
            presenter.show(certificates.Pair(certificate=certificate, key=key))
        except (OSError, certificates.UnusableError) as error:
            raise _UnusableSettingsError(
                f'metrics.certDir: {folder}: {error}; put tls.crt and tls.key there, or set metrics.bindAddress to "0"'
            ) from error
    return context
