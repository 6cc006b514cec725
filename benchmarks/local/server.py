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
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import uvloop

from jobset.local import kinds
from jobset.local.server import identity, listener
from jobset.local.server.server import Server
from jobset.local.store import journal, storage

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
async def session(authority: str, token: str) -> AsyncIterator[aiohttp.ClientSession]:
    """Connections to the server."""
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cadata=authority))
    headers = {'Authorization': f'Bearer {token}', 'Content-Type': 'application/json'}
    async with aiohttp.ClientSession(connector=connector, headers=headers) as opened:
        yield opened


async def throughput(http: aiohttp.ClientSession, url: str, kind: str, count: int) -> float:
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


async def latency(http: aiohttp.ClientSession, url: str, kind: str) -> list[float]:
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


async def measure(where: tuple[str, str, str], pid: int, kind: str, count: int) -> dict[str, object]:
    """All figures."""
    server, authority, token = where
    url = server + path(kind)
    idle = resident(pid)
    async with session(authority, token) as http:
        used = processor_seconds(pid)
        rate = await throughput(http, url, kind, count)
        used = processor_seconds(pid) - used
        stored = resident(pid)
        times = await latency(http, url, kind)
    return {
        'kind': kind,
        'bytes': len(body(kind, 'object-0')),
        'creates_per_second': round(rate),
        'server_microseconds': round(used / count * 1e6),
        'watch_p50_ms': round(times[SAMPLES // 2] * 1000, 2),
        'watch_p99_ms': round(times[SAMPLES * 99 // 100] * 1000, 2),
        'resident_mib_idle': round(idle / 1024, 1),
        f'resident_mib_{count}': round(stored / 1024, 1),
    }


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
    """Prints the figures as JSON."""
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
        sys.stdout.write(json.dumps(figures, indent=2) + '\n')
    finally:
        process.terminate()


if __name__ == '__main__':
    main()
