"""The API server of a plane that comes and goes."""

import asyncio
import base64
import contextlib
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import aiohttp

from jobset.api import keys

Object = dict[str, Any]

SECONDS: Final = 120
"""How long a server may be away, with its starts."""

PAUSE: Final = 0.05

ROOTS: Final = {'jobsets': f'/apis/{keys.API_VERSION}', 'jobs': '/apis/batch/v1'}

MERGE: Final = 'application/merge-patch+json'


class RefusedError(Exception):
    """An answer that is no success."""

    def __init__(self, code: int, body: Object) -> None:
        super().__init__(f'{code} {body.get("reason")}: {body.get("message")}')
        self.code = code
        self.body = body


class UnansweredError(Exception):
    """The server has gone, and nobody knows whether it has done what it was asked for."""


class Server:
    """Requests with a kubeconfig that was read once: it must go on working."""

    def __init__(self, session: aiohttp.ClientSession, url: str, namespace: str) -> None:
        self.namespace = namespace
        self._session = session
        self._url = url

    def path(self, plural: str, name: str = '') -> str:
        """Where objects of a kind are, or one of them."""
        path = f'{ROOTS.get(plural, "/api/v1")}/namespaces/{self.namespace}/{plural}'
        return f'{path}/{name}' if name else path

    async def once(self, method: str, path: str, body: Object | None = None, content: str = '') -> Object:
        """The object that the server answers with. Raises RefusedError and UnansweredError."""
        data = None if body is None else json.dumps(body)
        headers = {'Content-Type': content or 'application/json'}
        try:
            async with self._session.request(method, self._url + path, data=data, headers=headers) as answer:
                said: Object = json.loads(await answer.read())
        except (aiohttp.ClientError, ConnectionError) as error:
            raise UnansweredError(f'{method} {path}: {error}') from error
        if answer.status >= 300:
            raise RefusedError(answer.status, said)
        return said

    async def ask(self, method: str, path: str, body: Object | None = None) -> Object:
        """The same, as often as it takes to be answered; for what may be done twice."""
        async with asyncio.timeout(SECONDS):
            while True:
                with contextlib.suppress(UnansweredError):
                    return await self.once(method, path, body)
                await asyncio.sleep(PAUSE)

    async def find(self, plural: str, name: str) -> Object | None:
        """An object, if it is there."""
        try:
            return await self.ask('GET', self.path(plural, name))
        except RefusedError as error:
            if error.code == 404:
                return None
            raise

    async def watch(self, plural: str, version: str) -> AsyncIterator[Object]:
        """Changes from a resource version on, until the server ends. Raises RefusedError and UnansweredError."""
        query = f'?watch=1&timeoutSeconds=7200&resourceVersion={version}'
        try:
            async with self._session.get(self._url + self.path(plural) + query) as answer:
                if answer.status >= 300:
                    raise RefusedError(answer.status, json.loads(await answer.read()))
                rest = b''
                async for piece in answer.content.iter_any():
                    *lines, rest = (rest + piece).split(b'\n')
                    for event in map(json.loads, lines):
                        if event['type'] == 'ERROR':
                            raise RefusedError(event['object']['code'], event['object'])
                        yield event
        except (aiohttp.ClientError, ConnectionError) as error:
            raise UnansweredError(f'watch of {plural}: {error}') from error


@contextlib.asynccontextmanager
async def connected(kubeconfig: Path, namespace: str) -> AsyncIterator[Server]:
    """A way to the server, for the length of the block."""
    config = json.loads(kubeconfig.read_text())  # noqa: ASYNC240 - a small file of this machine
    cluster, user = config['clusters'][0]['cluster'], config['users'][0]['user']
    context = ssl.create_default_context(cadata=base64.b64decode(cluster['certificate-authority-data']).decode())
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=context, limit=0),
        timeout=aiohttp.ClientTimeout(total=None),
        headers={'Authorization': f'Bearer {user["token"]}'},
    ) as session:
        yield Server(session, cluster['server'], namespace)
