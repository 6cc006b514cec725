"""An embedded cluster as a whole: API server, controllers, node and the JobSet controller in one event loop.

::

    async with jobset.local.Cluster() as cluster:
        await cluster.jobsets.create(client.build('hello', client.group('main', command=['echo', 'hello'])))
        await cluster.jobsets.wait('hello', timeout=30)

The parts speak to the API server as they would to a real one, only without sockets between them; clients outside of
this process reach it over HTTPS with :attr:`Cluster.kubeconfig`.
"""

import asyncio
import contextlib
import dataclasses
import functools
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from jobset.api import features
from jobset.client import Jobsets, together
from jobset.controller import manager, metrics
from jobset.kube import client
from jobset.local import clock, plane, reasons
from jobset.local.controllers import suite
from jobset.local.controllers.volumes import folders
from jobset.local.homes import UnusableError
from jobset.local.jobs import controller as jobs
from jobset.local.node import agent
from jobset.local.node.settings import Settings as NodeSettings
from jobset.local.objects import Object
from jobset.local.scheduling import scheduler
from jobset.local.server import identity, listener, logs
from jobset.local.store import journal, storage
from jobset.local.store.journal import Keeping as JournalSettings

__all__ = ['Access', 'Cluster', 'JournalSettings', 'NodeSettings', 'Settings']

NODE: Final = 'local'
"""The name of the one node."""

Keeping = Callable[[], Coroutine[Any, Any, object]]
"""Keeps the journal in order until cancelled."""

READY_SECONDS: Final = 20
"""How long the parts may take until pods can run."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What may be chosen about a cluster."""

    name: str = 'local'
    """What it is called in the kubeconfig."""

    port: int = 0
    """Of the API server; when 0 that of the cluster's last life, else a free one."""

    gates: features.FeatureGates = field(default_factory=features.FeatureGates)
    """Which features of the JobSet controller are on."""

    node: NodeSettings = field(default_factory=NodeSettings)
    """How pods run."""

    has_node: bool = True
    """Whether there is a node, and a scheduler that gives it pods."""

    has_jobs: bool = True
    """Whether the Job controller runs."""

    has_jobsets: bool = True
    """Whether the JobSet controller runs, and its webhooks are asked."""

    keeps_objects: bool = True
    """Whether objects are written to disk, so that the cluster goes on after a restart."""

    journal: JournalSettings = field(default_factory=JournalSettings)
    """How they are."""


@dataclass(frozen=True, slots=True)
class Access:
    """How clients outside of this process reach the API server. The representation does not show the token."""

    host: str
    port: int
    token: str = field(repr=False)
    authority: bytes = field(repr=False)
    """The certificate of the authority that its certificate comes from, as PEM."""

    @property
    def server(self) -> str:
        """Its URL."""
        return f'https://{self.host}:{self.port}'


class Cluster:
    """One embedded cluster; runs inside ``async with``.

    ``folder`` takes all that it writes. Without one, a temporary folder is used, and is gone afterwards.
    Raises :class:`~jobset.local.homes.UnusableError` when it cannot be started: port taken, folder not writable or in
    use, journal damaged.
    """

    def __init__(
        self,
        *,
        folder: Path | None = None,
        settings: Settings = Settings(),
        now: clock.Now = clock.wall,
    ) -> None:
        self._wanted_folder = folder
        self._settings = settings
        self._now = now
        self._stack = contextlib.AsyncExitStack()
        self.folder = folder or Path(tempfile.gettempdir())

    # What is there inside the block.

    folder: Path
    access: Access
    kubeconfig: Path
    api: client.Client
    """A client of the API server, without a detour over the network."""

    jobsets: Jobsets
    """The SDK on it."""

    node: agent.Node

    async def execute(self, namespace: str, pod: str, command: Sequence[str], container: str = '') -> tuple[int, str]:
        """Run a command in a running container; gives its exit code and what it printed."""
        return await self.node.execute(namespace, pod, command, container)

    async def __aenter__(self) -> Self:
        with self._explained():
            try:
                await self._start()
            except BaseException:
                # Raises what the parts have failed with, where that is what has cut the start.
                await self._stack.aclose()
                raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._explained(error):
            await self._stack.__aexit__(kind, error, traceback)

    @contextlib.contextmanager
    def _explained(self, own: BaseException | None = None) -> Iterator[None]:
        """Turns what the surroundings refuse into an error that says so; ``own`` is the user's, and goes through."""
        try:
            yield
        except Exception as error:
            text = reasons.of(error, self.folder) if error is not own else None
            if text is None:
                raise
            raise UnusableError(text) from error

    async def _start(self) -> None:
        self.folder = self._prepare_folder()
        store, keeper = self._open_store()
        known = identity.kept_in(self.folder / 'identity', self._now())
        told = _Logs()
        served = await self._stack.enter_async_context(
            plane.serving(store, now=self._now, gates=self._settings.gates, log_source=told)
        )
        await self._listen(served, known)
        self.api = served.api
        self.jobsets = Jobsets(served.api)
        self.node = agent.Node(
            served.api, name=NODE, folder=self.folder, now=self._now, settings=self._node_settings(known)
        )
        told.source = self.node.logs
        await served.install(has_webhooks=self._settings.has_jobsets)
        await self._run_parts(served, known, keeper)

    def _prepare_folder(self) -> Path:
        folder = self._wanted_folder
        if folder is None:
            folder = Path(tempfile.mkdtemp(prefix='jobset-'))
            self._stack.callback(functools.partial(shutil.rmtree, folder, ignore_errors=True))
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder.resolve()

    def _open_store(self) -> tuple[storage.Store, Keeping | None]:
        if not self._settings.keeps_objects:
            return storage.Store(), None
        keeper, recovered = journal.Journal.open(self.folder / 'data', self._settings.journal)
        self._stack.callback(keeper.close)
        store = storage.Store(journal=keeper, recovered=recovered)
        return store, lambda: keeper.run(store.everything)

    def _node_settings(self, known: identity.Identity) -> NodeSettings:
        chosen, server = self._settings.node, self.access
        # As every pod has them, for what reaches the API server from there.
        found = {'KUBERNETES_SERVICE_HOST': server.host, 'KUBERNETES_SERVICE_PORT': str(server.port)}
        return dataclasses.replace(
            chosen,
            environment=found | dict(chosen.environment),
            token=known.token,
            certificate=known.authority.decode(),
        )

    async def _run_parts(self, served: plane.Plane, known: identity.Identity, keeper: Keeping | None) -> None:
        """Start everything that works on the objects, and wait until pods can run."""
        choices = suite.Choices(authority=known.authority.decode(), place=folders.Folders(self.folder / 'volumes'))
        chosen = self._settings
        parts: list[Coroutine[Any, Any, object]] = [suite.Suite(served.api, self._now, choices=choices).run()]
        if keeper is not None:
            parts.append(keeper())
        if chosen.has_jobs:
            parts.append(jobs.Controller(served.api, now=self._now).run())
        if chosen.has_node:
            parts += [scheduler.Scheduler(served.api, now=self._now).run(), self.node.run()]
        if chosen.has_jobsets:
            parts.append(self._manager(served).run())
        await self._stack.enter_async_context(together.beside(parts))
        if chosen.has_node:
            await self._wait_until_ready()

    async def _wait_until_ready(self) -> None:
        try:
            async with asyncio.timeout(READY_SECONDS):
                await self.node.registered.wait()
        except TimeoutError:
            raise UnusableError(f'{self.folder}: no pod can run after {READY_SECONDS} s; the log says more') from None

    def _manager(self, served: plane.Plane) -> manager.Manager:
        wanted = manager.Settings(gates=self._settings.gates, leadership=None, instance='jobset-local')
        return manager.Manager(served.carrier, wanted, metrics.Metrics(), now=self._now)

    async def _listen(self, served: plane.Plane, known: identity.Identity) -> None:
        entrance = listener.Listener(served.server, known)
        self.kubeconfig = self.folder / 'kubeconfig'
        wanted = self._settings.port
        # Clients of an earlier life shall find it again: with its port where that is still free.
        try:
            await self._stack.enter_async_context(entrance.listening(wanted or identity.port_in(self.kubeconfig)))
        except listener.PortTakenError:
            if wanted:
                raise
            await self._stack.enter_async_context(entrance.listening(0))
        self.access = Access(identity.ADDRESS, entrance.port, known.token, known.authority)
        content = known.kubeconfig(self.access.server, self._settings.name)
        identity.write_private(self.kubeconfig, content.encode())


class _Logs:
    """What the server reads logs from: the node, which needs the server to be made."""

    source: logs.LogSource

    def read(self, pod: Object, wanted: logs.Wanted) -> AsyncIterator[bytes]:
        return self.source.read(pod, wanted)
