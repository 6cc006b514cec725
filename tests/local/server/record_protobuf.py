"""Records objects of a real API server in Protobuf and in JSON, and what the typed commands of kubectl send.

::

    KUBECONFIG=… python -m tests.local.server.record_protobuf

``kubectl`` is taken from the PATH. The namespace ``protobuf`` must not be there.
"""

import asyncio
import base64
import contextlib
import gzip
import json
import os
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from jobset.kube import auth
from tests.local.server import samples

RECORDED = Path(__file__).with_name('recorded_protobuf.json.gz')
PROTOBUF = 'application/vnd.kubernetes.protobuf'
COMMANDS = (
    'create namespace made',
    'create configmap made --from-literal=a=1',
    'create secret generic made --from-literal=a=1',
    'create job made --image=busybox -- sh -c true',
    'create serviceaccount made',
    'create service clusterip made --tcp=80:8080',
    'create priorityclass made --value=10 --description=text',
    'create poddisruptionbudget made --selector=a=b --min-available=50%',
    'auth can-i create jobs',
    'auth whoami',
)


async def main() -> None:
    """Asks for all, writes the file."""
    credentials = await auth.load()
    assert isinstance(credentials.ssl, ssl.SSLContext)
    connector = aiohttp.TCPConnector(ssl=credentials.ssl)
    base = credentials.server.rstrip('/')
    async with aiohttp.ClientSession(base, connector=connector, headers=credentials.headers()) as http:
        objects = await _objects(http)
    found = {'objects': objects, 'sent': await _sent()}
    RECORDED.write_bytes(gzip.compress(json.dumps(found, sort_keys=True).encode(), 9, mtime=0))
    sys.stdout.write(f'{len(objects)} objects, {len(found["sent"])} bodies\n')


async def _objects(http: aiohttp.ClientSession) -> list[Any]:
    found = []
    created: list[str] = []
    try:
        for path, obj in samples.OBJECTS:
            async with http.post(path, json=obj) as answer:
                assert answer.status == 201, await answer.text()
            item = f'{path}/{obj["metadata"]["name"]}'
            created.append(item)
            if 'status' in obj:
                patch = {'Content-Type': 'application/merge-patch+json'}
                text = json.dumps({'status': obj['status']})
                async with http.patch(f'{item}/status', data=text, headers=patch) as answer:
                    assert answer.status == 200, await answer.text()
            found.append({'title': f'{obj["kind"]} {obj["apiVersion"]}', **await _twice(http, item)})
    finally:
        for item in reversed(created):
            async with http.delete(f'{item}?gracePeriodSeconds=0') as answer:
                await answer.read()
    return found


async def _twice(http: aiohttp.ClientSession, item: str) -> dict[str, Any]:
    """The same version of an object, in both forms."""
    while True:
        async with http.get(item, headers={'Accept': PROTOBUF}) as answer:
            body = await answer.read()
        async with http.get(item) as answer:
            plain = await answer.json()
        async with http.get(item, headers={'Accept': PROTOBUF}) as answer:
            if body == await answer.read():
                return {'body': base64.b64encode(body).decode(), 'object': plain}


async def _sent() -> list[Any]:
    found = []
    async with _listening() as (address, bodies):
        for command in COMMANDS:
            bodies.clear()
            await asyncio.to_thread(_run, [f'--server={address}', *command.split()])
            assert bodies, command
            media, body = bodies[0]
            assert media == PROTOBUF, (command, media)
            plain = await asyncio.to_thread(_shown, command) if command.startswith('create ') else None
            found.append({'title': command, 'body': base64.b64encode(body).decode(), 'object': plain})
    return found


def _shown(command: str) -> Any:
    """The object that a command would send, as it shows it."""
    made, *run = command.split(' -- ')
    return json.loads(_run([*made.split(), '--dry-run=client', '-o', 'json', *(f'-- {run[0]}' if run else '').split()]))


def _run(words: Sequence[str]) -> bytes:
    surroundings = {'PATH': os.environ['PATH'], 'HOME': '/'}
    return subprocess.run(['kubectl', *words], capture_output=True, timeout=30, check=False, env=surroundings).stdout


@contextlib.asynccontextmanager
async def _listening() -> AsyncIterator[tuple[str, list[tuple[str, bytes]]]]:
    """A server that notes what is posted, and has nothing."""
    bodies: list[tuple[str, bytes]] = []

    async def handle(request: web.BaseRequest) -> web.Response:
        if request.method == 'POST':
            bodies.append((request.content_type, await request.read()))
        return web.Response(status=404)

    runner = web.ServerRunner(web.Server(handle))
    await runner.setup()
    site = web.TCPSite(runner, '127.0.0.1', 0)
    await site.start()
    try:
        yield f'http://127.0.0.1:{runner.addresses[0][1]}', bodies
    finally:
        await runner.cleanup()


if __name__ == '__main__':
    asyncio.run(main())
