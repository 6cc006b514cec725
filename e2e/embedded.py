"""An embedded control plane for the length of a block: what :func:`e2e.kubectl.control_plane` is of a real one."""

import asyncio
import contextlib
import os
import pathlib
import tempfile
import threading
from collections.abc import Iterator
from typing import Final

from e2e.cluster import binaries, names
from e2e.kubectl import Kubectl
from jobset.local import cluster

START_SECONDS: Final = 30
END_SECONDS: Final = 30


@contextlib.contextmanager
def control_plane() -> Iterator[Kubectl]:
    """An API server with garbage collector, without Job controller, nodes, volumes, and JobSet controller."""
    programs = binaries.present((binaries.KUBERNETES,), cache=names.cache())
    surroundings = {**os.environ, 'PATH': f'{programs["kubectl"].parent}:{os.environ["PATH"]}'}
    with tempfile.TemporaryDirectory(prefix='jobset-plane-') as folder, _running(pathlib.Path(folder)) as kubeconfig:
        kubectl = Kubectl(kubeconfig, surroundings=surroundings)
        # The real one has nobody who makes volumes, either.
        kubectl('delete', 'storageclass', '--all')
        yield kubectl


@contextlib.contextmanager
def _running(folder: pathlib.Path) -> Iterator[str]:
    settings = cluster.Settings(has_node=False, has_jobs=False, has_jobsets=False, keeps_objects=False)
    ready: threading.Event = threading.Event()
    stops: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
    kubeconfigs: list[str] = []

    async def live() -> None:
        async with cluster.Cluster(folder=folder, settings=settings) as running:
            stop = asyncio.Event()
            stops.append((asyncio.get_running_loop(), stop))
            kubeconfigs.append(str(running.kubeconfig))
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=asyncio.run, args=(live(),), name='plane', daemon=True)
    thread.start()
    if not ready.wait(START_SECONDS):
        raise TimeoutError('the embedded control plane does not start')
    try:
        yield kubeconfigs[0]
    finally:
        for loop, stop in stops:
            loop.call_soon_threadsafe(stop.set)
        thread.join(END_SECONDS)
