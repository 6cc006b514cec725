"""Creates a second, and how long a watch is behind them: the API server alone, over HTTPS, with real kinds.

::

    python -m benchmarks.local.server [--kind configmaps|jobs] [--count 12000] [--journal FOLDER]

The server has one process, hence one core; the client another one. Latency is that of one create at a time: from the
call to the moment the event of it has been read from a watch over its own connection.
"""

import argparse
import asyncio
import contextlib
import datetime
import json
import multiprocessing
import os
import ssl
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import uvloop

from benchmarks.local import machine
from jobset.local import kinds
from jobset.local.server import identity, listener
from jobset.local.server.server import Server
from jobset.local.store import journal, storage

if TYPE_CHECKING:
    import aiohttp

CONNECTIONS = 16
SAMPLES = 1000


def body(kind: str, name: str) -> bytes:
    """An object of about 1 KB (config map) or 1.9 KB (Job, 2.8 KB stored)."""
    metadata = {'name': name, 'labels': {f'example.com/label-{n}': f'value-{n}' for n in range(6)}}
    if kind == 'configmaps':
        return json.dumps({'metadata': metadata, 'data': {f'key-{n}': 'v' * 60 for n in range(10)}}).encode()
    environment = [{'name': f'VARIABLE_{n}', 'value': 'v' * 40} for n in range(12)]
    resources = {'requests': {'cpu': '1', 'memory': '1Gi'}, 'limits': {'cpu': '2', 'memory': '2Gi'}}
    container = {'name': 'main', 'image': 'registry.example.com/image:tag', 'command': ['python3', '-m', 'train']}
    pod = {'restartPolicy': 'Never', 'containers': [container | {'env': environment, 'resources': resources}]}
    template = {'metadata': {'annotations': {f'example.com/annotation-{n}': 'a' * 50 for n in range(5)}}, 'spec': pod}
    spec = {'parallelism': 4, 'completions': 4, 'completionMode': 'Indexed', 'backoffLimit': 0, 'template': template}
    return json.dumps({'metadata': metadata, 'spec': spec}).encode()


def path(kind: str) -> str:
    """Where such objects are created."""
    return f'{"/api/v1" if kind == "configmaps" else "/apis/batch/v1"}/namespaces/default/{kind}'


def serve(where: 'multiprocessing.Queue[tuple[str, str, str]]', folder: Path | None) -> None:
    """A server until it is killed."""

    def now() -> datetime.datetime:
        return datetime.datetime.now(tz=datetime.UTC)

    async def main() -> None:
        if folder is None:
            store = storage.Store()
        else:
            keeper, recovered = journal.Journal.open(folder)
            store = storage.Store(journal=keeper, recovered=recovered)
        if store.get('namespaces', '', 'default') is None:
            metadata = {'name': 'default', 'uid': 'of-default'}
            store.create('namespaces', {'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': metadata})
        known = identity.make(now())
        entrance = listener.Listener(Server(store, kinds.all_(), now=now), known)
        async with entrance.listening():
            where.put((entrance.url, known.authority.decode(), known.token))
            await asyncio.Event().wait()

    uvloop.run(main())


@contextlib.asynccontextmanager
async def session(authority: str, token: str) -> AsyncIterator['aiohttp.ClientSession']:
    """Connections to the server."""
    # The process of the server imports this module, too, and its memory is measured.
    import aiohttp  # noqa: PLC0415

    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cadata=authority))
    headers = {'Authorization': f'Bearer {token}', 'Content-Type': 'application/json'}
    async with aiohttp.ClientSession(connector=connector, headers=headers) as opened:
        yield opened


async def throughput(http: 'aiohttp.ClientSession', url: str, kind: str, count: int) -> float:
    """Creates a second over :data:`CONNECTIONS` connections."""
    bodies = iter([body(kind, f'object-{n}') for n in range(count)])

    async def work() -> None:
        for one in bodies:
            async with http.post(url, data=one) as answer:
                await answer.read()
                assert answer.status == 201, await answer.text()

    started = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(CONNECTIONS):
            group.create_task(work())
    return count / (time.perf_counter() - started)


async def latency(http: 'aiohttp.ClientSession', url: str, kind: str) -> list[float]:
    """Seconds from create to watch event, sorted."""
    found: list[float] = []
    seen = asyncio.Event()
    async with http.get(url, params={'limit': '1'}) as answer:
        version = (await answer.json())['metadata']['resourceVersion']
    async with http.get(url, params={'watch': '1', 'resourceVersion': version}) as watch:

        async def read() -> None:
            async for _ in watch.content:
                seen.set()

        reading = asyncio.create_task(read())
        for n in range(SAMPLES):
            seen.clear()
            one = body(kind, f'late-{n}')
            started = time.perf_counter()
            async with http.post(url, data=one) as answer:
                await seen.wait()
                found.append(time.perf_counter() - started)
                await answer.read()
        reading.cancel()
        await asyncio.wait([reading])
    return sorted(found)


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What one run has shown."""

    rate: float
    """Creates a second."""

    cost: float
    """Microseconds of CPU that the server uses for one."""

    loops: float
    """The same in loops of :mod:`benchmarks.local.machine`."""

    late: Sequence[float]
    """Seconds from create to watch event, sorted."""

    idle: int
    """KiB of the server's memory before."""

    stored: int
    """And with all objects."""


async def measure(where: tuple[str, str, str], pid: int, kind: str, count: int) -> Figures:
    """All figures."""
    server, authority, token = where
    url = server + path(kind)
    idle = resident(pid)
    async with session(authority, token) as http:
        loop = machine.loop()
        used = processor_seconds(pid)
        rate = await throughput(http, url, kind, count)
        used = (processor_seconds(pid) - used) / count * 1e6
        loop = (loop + machine.loop()) / 2
        stored = resident(pid)
        late = await latency(http, url, kind)
    return Figures(rate=rate, cost=used, loops=used / loop, late=late, idle=idle, stored=stored)


def resident(pid: int) -> int:
    """KiB of memory of a process."""
    return int(
        next(line for line in Path(f'/proc/{pid}/status').read_text().splitlines() if 'VmRSS' in line).split()[1]
    )


def processor_seconds(pid: int) -> float:
    """What a process has used so far."""
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def main() -> None:
    """Prints the figures, and the goals for Jobs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--kind', choices=('configmaps', 'jobs'), default='jobs')
    parser.add_argument('--count', type=int, default=10_000)
    parser.add_argument('--journal', type=Path)
    chosen = parser.parse_args()
    context = multiprocessing.get_context('spawn')
    where: multiprocessing.Queue[tuple[str, str, str]] = context.Queue()
    process = context.Process(target=serve, args=(where, chosen.journal), daemon=True)
    process.start()
    assert process.pid is not None
    try:
        figures = uvloop.run(measure(where.get(timeout=60), process.pid, chosen.kind, chosen.count))
        middle, late = (figures.late[SAMPLES * share // 100] * 1000 for share in (50, 99))
        size = len(body(chosen.kind, 'object-0'))
        print(f'{chosen.kind} of {size} bytes over HTTPS, {chosen.count} of them:')
        print(f'creates a second       {figures.rate:8.0f}   goal 4000')
        print(f'CPU of the server      {figures.cost:8.0f} µs{figures.loops:6.1f} loops   goal 250')
        print(f'create to watch event  {middle:8.2f} ms, p99 {late:.2f} ms   goal 3')
        print(f'memory of the server   {figures.stored / 1024:8.0f} MiB, {figures.idle / 1024:.0f} before   goal 120')
    finally:
        process.terminate()


if __name__ == '__main__':
    main()
