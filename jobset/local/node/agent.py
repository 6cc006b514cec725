"""The node: registers itself, follows the pods that are bound to it, and gives each of them a life."""

import asyncio
import contextlib
import errno
import logging
import os
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from jobset.kube import client, events, informer, requests
from jobset.local.node import (
    addresses,
    directory,
    folders,
    leftovers,
    lives,
    logfiles,
    logs,
    machine,
    processes,
    registration,
    scratch,
)
from jobset.local.node.model import Pod
from jobset.local.node.settings import INHERITED, Settings
from jobset.local.node.world import Now, World

logger = logging.getLogger(__name__)

_HOST_IP: Final = '127.0.0.1'
_PAUSE: Final = 10
"""Seconds after which a pod is taken on again that the node has failed to run."""


class Node:
    """Runs pods as processes of this machine.

    Everything it writes lies below ``folder``: ``pods/`` and ``logs/``. Nodes of one cluster share ``names`` and
    ``ranges``; a node that is given none makes its own.
    """

    def __init__(
        self,
        api: client.Client,
        *,
        name: str,
        folder: Path,
        now: Now,
        settings: Settings | None = None,
        names: directory.Directory | None = None,
        ranges: addresses.Addresses | None = None,
    ) -> None:
        self.name = name
        self.logs = logs.Logs(folder / 'logs', now=now)
        """What the API server reads logs from; it may be asked before the node runs."""

        self.registered = asyncio.Event()
        """Set when the Node object is there, and ready."""

        self._settings = settings or Settings()
        self._api = api
        self._folder = folder
        self._now = now
        self._names = names
        self._ranges = ranges
        self._recorder = events.Recorder(api, controller='kubelet', instance=name, clock=_loop_time, now=now)
        self._pods = informer.Informer(api, requests.PODS, Pod, field_selector=f'spec.nodeName={name}')
        self._lives: dict[str, lives.Life] = {}

    async def run(self) -> None:
        """Runs pods until cancelled; then ends all their processes.

        Raises :class:`addresses.NoneLeft`, and OSError where pods cannot be run at all.
        """
        if sys.platform != 'linux':
            raise OSError(errno.ENOTSUP, f'pods run as processes of Linux; this is {sys.platform}')
        for part in ('pods', 'logs'):
            (self._folder / part).mkdir(parents=True, exist_ok=True, mode=0o700)
        killed = leftovers.end(self._folder / 'pods')
        if killed:
            logger.warning('%d processes that an earlier run had left behind were ended', len(killed))
        own_range = self._ranges is None
        ranges = self._ranges or addresses.Addresses.claim(zlib.crc32(str(self._folder).encode()))
        try:
            await self._run(await self._look_around(ranges))
        finally:
            if own_range:
                ranges.close()

    async def execute(self, namespace: str, pod: str, command: Sequence[str], container: str = '') -> tuple[int, str]:
        """Runs a command in a running container, the first one by default; gives its exit code and what it printed.

        Raises LookupError when there is no such container, or it does not run.
        """
        found = self._pods.get(namespace, pod)
        life = None if found is None else self._lives.get(found.metadata.uid)
        if life is None:
            raise LookupError(f'there is no pod {namespace}/{pod} on this node')
        return await life.execute(command, container)

    async def _look_around(self, ranges: addresses.Addresses) -> World:
        settings = self._settings
        kind, why_none, why_no_ports = await self._try(ranges)
        if not kind:
            logger.warning('pods run without namespaces: %s', why_none)
        if why_no_ports:
            logger.warning('pods share the ports of this machine: %s', why_no_ports)
        # The folder for temporary files of the one who started this is no folder of the containers.
        left_out = {'TMPDIR'} if settings.private_tmp else set()
        inherited = {key: os.environ[key] for key in INHERITED if key in os.environ and key not in left_out}
        return World(
            api=self._api,
            node=self.name,
            folder=self._folder,
            now=self._now,
            settings=settings,
            addresses=ranges,
            directory=self._names or directory.Directory(self._api),
            logs=self.logs,
            recorder=self._recorder,
            host_ip=_HOST_IP,
            namespaces=kind,
            why_none=why_none,
            has_ports=settings.own_ports and not why_no_ports,
            why_no_ports=why_no_ports,
            shown=scratch.shown(),
            allocatable=machine.capacity(self._folder, settings.capacity),
            environment={**inherited, **settings.environment},
        )

    async def _try(self, ranges: addresses.Addresses) -> tuple[str, str, str]:
        """The kind of namespaces that can be made here, or why none can; and why pods cannot have their own ports."""
        root = self._folder / 'pods' / '.try'
        root.mkdir(exist_ok=True)
        address = ranges.take()
        asked = address if self._settings.own_ports else ''
        kinds = ['plain', 'user'] if os.geteuid() == 0 else ['user']
        why = 'switched off'
        try:
            for kind in kinds if self._settings.namespaces else []:
                why, why_no_ports = await processes.look(kind, root, address=asked)
                if not why:
                    return kind, '', why_no_ports
            return '', why, (await processes.look('', root, address=asked))[1]
        finally:
            ranges.give_back(address)

    async def _run(self, world: World) -> None:
        registering = registration.Registration(self._api, self.name, self._settings)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._recorder.run())
                if self._names is None:
                    tasks.create_task(world.directory.run())
                await world.directory.synced()
                await registering.register(world.allocatable, host_ip=world.host_ip, now=self._now())
                self.registered.set()
                tasks.create_task(registering.beat(self._now))
                self._pods.subscribe(lambda old, new: self._on_change(world, tasks, old, new))
                tasks.create_task(self._pods.run())
                await self._pods.synced()
                self._clean()
        finally:
            with contextlib.suppress(TimeoutError):
                await self._recorder.flush()

    def _on_change(self, world: World, tasks: asyncio.TaskGroup, old: Pod | None, new: Pod | None) -> None:
        if new is None:
            if old is not None and old.metadata.uid in self._lives:
                self._lives.pop(old.metadata.uid).gone()
            return
        known = self._lives.get(new.metadata.uid)
        if known is not None:
            known.update(new)
            return
        life = self._lives[new.metadata.uid] = lives.Life(world, new)
        tasks.create_task(self._live(world, life, new))

    async def _live(self, world: World, life: lives.Life, pod: Pod) -> None:
        meta = pod.metadata
        while True:
            try:
                await life.run()
            except Exception:
                # One pod's fault must not end the others. It is taken on again as after a restart of the node.
                logger.exception('pod %s/%s: the node has failed to run it', meta.namespace, meta.name)
                await asyncio.sleep(_PAUSE)
            else:
                break
            found = self._pods.get(meta.namespace, meta.name)
            if found is None or found.metadata.uid != meta.uid:
                break
            life = self._lives[meta.uid] = lives.Life(world, found)
        if not self._settings.keep_logs:
            where = logfiles.folder(self._folder / 'logs', namespace=meta.namespace, pod=meta.name, uid=meta.uid)
            await asyncio.to_thread(folders.remove, where)

    def _clean(self) -> None:
        """Removes what pods have left that are no more."""
        for left in (self._folder / 'pods').iterdir():
            if left.name not in self._lives:
                folders.remove(left)
        if self._settings.keep_logs:
            return
        for left in (self._folder / 'logs').iterdir():
            if left.name.rpartition('_')[2] not in self._lives:
                folders.remove(left)


def _loop_time() -> float:
    return asyncio.get_running_loop().time()
