"""A plane that has much to read when it starts again."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.recovery.conftest import IN_FULL
from tests.recovery.diary import has_condition
from tests.recovery.processes import Plane
from tests.recovery.server import Object, Server, connected
from tests.recovery.working import NAMESPACE

JOBS: Final = 10_000 if IN_FULL else 300
AT_ONCE: Final = 16


async def test_a_start_with_many_jobs(tmp_path: Path) -> None:
    plane = Plane(tmp_path / 'plane')
    plane.start()
    try:
        await plane.ready()
        async with connected(plane.kubeconfig, NAMESPACE) as server:
            await server.once('POST', '/api/v1/namespaces', {'metadata': {'name': NAMESPACE}})
            numbers = iter(range(JOBS))
            async with asyncio.TaskGroup() as group:
                for _ in range(AT_ONCE):
                    group.create_task(create(server, numbers))
            before = await server.ask('GET', server.path('jobs'))
            await plane.kill()

            began = time.monotonic()
            plane.start()
            await plane.ready()
            ready, used = time.monotonic() - began, plane.processor_seconds()
            after = await server.ask('GET', server.path('jobs'))
            listed = time.monotonic() - began
            await server.once('POST', server.path('jobs'), job('last', suspend=False))
            await until_complete(server, 'last')
            worked, used_in_all = time.monotonic() - began, plane.processor_seconds()
        print(  # noqa: T201 - the figures are what a long run is for
            f'{JOBS} stored Jobs, {sum(file.stat().st_size for file in (plane.folder / "data").iterdir()) >> 20} MiB: '
            f'ready {ready:.2f} s after the start, all listed after {listed:.2f} s, a new one done at {worked:.2f} s; '
            f'{used:.2f} s of a processor until it was ready, {used_in_all:.2f} s in all'
        )
        assert identities(after) == identities(before)
        assert len(identities(after)) == JOBS
        assert await plane.stop() == 0
    finally:
        await plane.clear()


async def create(server: Server, numbers: Iterator[int]) -> None:
    for number in numbers:
        await server.once('POST', server.path('jobs'), job(f'job-{number}', suspend=True))


def job(name: str, *, suspend: bool) -> Object:
    container = {
        'name': 'main',
        'image': 'busybox',
        'command': ['true'],
        'env': [{'name': 'PADDING', 'value': 'x' * 500}],
    }
    pod = {'restartPolicy': 'Never', 'containers': [container]}
    meta = {'name': name, 'labels': {'app': 'many', 'part': name}}
    return {
        'apiVersion': 'batch/v1',
        'kind': 'Job',
        'metadata': meta,
        'spec': {'suspend': suspend, 'template': {'spec': pod}},
    }


async def until_complete(server: Server, name: str) -> None:
    found = await server.find('jobs', name)
    assert found is not None
    if has_condition(found, 'Complete'):
        return
    async for event in server.watch('jobs', found['metadata']['resourceVersion']):
        if event['object']['metadata']['name'] == name and has_condition(event['object'], 'Complete'):
            return


def identities(listed: Object) -> dict[str, tuple[str, str]]:
    """Uid and creation of each Job; their statuses may have changed since."""
    found = (one['metadata'] for one in listed['items'])
    return {meta['name']: (meta['uid'], meta['creationTimestamp']) for meta in found}
