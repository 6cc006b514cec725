"""The embedded control plane as the place of scenarios: it runs in a thread of its own, with pods as processes."""

import asyncio
import contextlib
import http.client
import json
import pathlib
import ssl
import threading
from collections.abc import Callable, Iterator

from jobset.local import cluster
from tests.scenarios.api import Api

START_SECONDS = 30
END_SECONDS = 60
COMMAND_SECONDS = 30


class Plane:
    """See :class:`tests.scenarios.space.Place`."""

    def __init__(self, running: cluster.Cluster, loop: asyncio.AbstractEventLoop) -> None:
        self._running = running
        self._loop = loop
        credentials = running.access
        context = ssl.create_default_context(cadata=credentials.authority.decode())

        def connect(seconds: float) -> http.client.HTTPConnection:
            return http.client.HTTPSConnection(credentials.host, credentials.port, timeout=seconds, context=context)

        self.server = Api(connect, {'Authorization': f'Bearer {credentials.token}'})

    def execute(self, namespace: str, pod: str, *command: str) -> None:
        done = asyncio.run_coroutine_threadsafe(self._running.execute(namespace, pod, command), self._loop)
        code, said = done.result(COMMAND_SECONDS)
        assert code == 0, f'{command}: exit code {code}: {said}'

    def call_soon(self, act: Callable[[], object]) -> None:
        """Have something done in the thread of the plane."""
        self._loop.call_soon_threadsafe(act)

    def diagnosis(self, namespace: str) -> str:
        """Pods and events of a namespace."""
        lines = []
        for plural in ('pods', 'events'):
            objects, _ = self.server.snapshot(f'/api/v1/namespaces/{namespace}/{plural}')
            for name, one in objects.items():
                told = one['status'] if plural == 'pods' else {key: one.get(key) for key in ('reason', 'message')}
                lines.append(f'{plural}/{name}: {json.dumps(told)[:1000]}')
        return '\n'.join(lines)


@contextlib.contextmanager
def started(folder: pathlib.Path, settings: cluster.Settings | None = None) -> Iterator[Plane]:
    """A plane for the length of the block."""
    ready = threading.Event()
    stop = asyncio.Event()
    planes: list[Plane] = []
    failures: list[BaseException] = []

    async def live() -> None:
        async with cluster.Cluster(folder=folder, settings=settings or cluster.Settings()) as running:
            planes.append(Plane(running, asyncio.get_running_loop()))
            ready.set()
            await stop.wait()

    def work() -> None:
        try:
            asyncio.run(live())
        except BaseException as error:
            failures.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=work, name='plane', daemon=True)
    thread.start()
    assert ready.wait(START_SECONDS), 'the plane does not start'
    if failures:
        raise failures[0]
    (plane,) = planes
    try:
        yield plane
    finally:
        plane.call_soon(stop.set)
        thread.join(END_SECONDS)
        assert not thread.is_alive(), 'the plane does not end'
        if failures:
            raise failures[0]
