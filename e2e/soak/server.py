"""The API server as the load sees it: requests, and the story of what happened, kept by watches of our own."""

import asyncio
import base64
import contextlib
import json
import pathlib
import ssl
import tempfile
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import aiohttp
import yaml

from jobset.api import keys

Object = dict[str, Any]

SECONDS: Final = 180
"""How long anything that must happen may take; a defect, not slowness, makes it fail."""

MERGE: Final = 'application/merge-patch+json'

ROOTS: Final = {
    'jobsets': f'/apis/{keys.API_VERSION}',
    'jobs': '/apis/batch/v1',
    'services': '/api/v1',
    'persistentvolumeclaims': '/api/v1',
    'events': '/apis/events.k8s.io/v1',
    'leases': '/apis/coordination.k8s.io/v1',
}


class RefusedError(Exception):
    """An answer that is no success."""

    def __init__(self, code: int, body: Object) -> None:
        super().__init__(f'{code} {body.get("reason")}: {body.get("message")}')
        self.code = code
        self.body = body


class Server:
    """Requests with the rights of a kubeconfig, within one namespace."""

    def __init__(self, session: aiohttp.ClientSession, url: str, namespace: str) -> None:
        self.url = url
        self.namespace = namespace
        self.session = session

    def path(self, plural: str, name: str = '', part: str = '') -> str:
        """Where objects of a kind are, or one of them, or a part of it."""
        path = f'{ROOTS[plural]}/namespaces/{self.namespace}/{plural}'
        return '/'.join(each for each in (path, name, part) if each)

    async def ask(
        self, method: str, path: str, body: Object | None = None, content: str = 'application/json'
    ) -> Object:
        """The object that the server answers with. Raises RefusedError."""
        data = None if body is None else json.dumps(body)
        headers = {'Content-Type': content}
        async with self.session.request(method, self.url + path, data=data, headers=headers) as answer:
            said: Object = json.loads(await answer.read())
        if answer.status >= 300:
            raise RefusedError(answer.status, said)
        return said

    async def find(self, plural: str, name: str) -> Object | None:
        """An object, if it is there."""
        try:
            return await self.ask('GET', self.path(plural, name))
        except RefusedError as error:
            if error.code == 404:
                return None
            raise

    async def all(self, plural: str) -> list[Object]:
        """All objects of a kind."""
        found: list[Object] = (await self.ask('GET', self.path(plural)))['items']
        return found

    async def create(self, plural: str, body: Object) -> Object:
        """Make an object."""
        return await self.ask('POST', self.path(plural), body)

    async def patch(self, plural: str, name: str, change: Object, part: str = '') -> Object:
        """Change an object, by a merge patch."""
        return await self.ask('PATCH', self.path(plural, name, part), change, MERGE)

    async def delete(self, plural: str, name: str) -> None:
        """Delete an object and what belongs to it."""
        with contextlib.suppress(RefusedError):
            await self.ask('DELETE', self.path(plural, name), {'propagationPolicy': 'Background'})


@contextlib.asynccontextmanager
async def connected(kubeconfig: str, namespace: str) -> AsyncIterator[Server]:
    """A connection, and the namespace, which is made where it is missing."""
    url, tls = credentials(kubeconfig)
    connector = aiohttp.TCPConnector(ssl=tls, limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None)) as session:
        server = Server(session, url, namespace)
        with contextlib.suppress(RefusedError):
            await server.ask('POST', '/api/v1/namespaces', {'metadata': {'name': namespace}})
        yield server


def credentials(kubeconfig: str) -> tuple[str, ssl.SSLContext]:
    """URL of the server in a kubeconfig of ``e2e.cluster``, and what its certificates make of a connection."""
    config = yaml.safe_load(pathlib.Path(kubeconfig).read_text())
    cluster, user = config['clusters'][0]['cluster'], config['users'][0]['user']
    authority = base64.b64decode(cluster['certificate-authority-data']).decode()
    context = ssl.create_default_context(cadata=authority)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = pathlib.Path(folder, 'certificate'), pathlib.Path(folder, 'key')
        certificate.write_bytes(base64.b64decode(user['client-certificate-data']))
        key.write_bytes(base64.b64decode(user['client-key-data']))
        context.load_cert_chain(certificate, key)
    return cluster['server'], context


class Story:
    """What the JobSets and Jobs of a namespace are now, and every Job that there ever was."""

    def __init__(self, server: Server) -> None:
        self.objects: dict[tuple[str, str], Object] = {}
        self.births: dict[str, dict[str, Object]] = {}
        """By the uid of the owner: all its Jobs as they were first seen, by their own uid."""

        self.changes = 0
        self._server = server
        self._happened = asyncio.Condition()

    async def follow(self, plural: str, ready: asyncio.Event) -> None:
        """Keep up with a kind until cancelled. A gap would make the story worthless, so nothing is taken up again."""
        listed = await self._server.ask('GET', self._server.path(plural))
        for obj in listed['items']:
            self._see(plural, obj)
        ready.set()
        since = f'?watch=1&timeoutSeconds=7200&resourceVersion={listed["metadata"]["resourceVersion"]}'
        url = self._server.url + self._server.path(plural) + since
        async with self._server.session.get(url) as answer:
            rest = b''
            async for piece in answer.content.iter_any():
                *lines, rest = (rest + piece).split(b'\n')
                for event in map(json.loads, lines):
                    if event['type'] == 'ERROR':
                        raise RuntimeError(f'watch of {plural}: {event["object"]}')
                    self._see(plural, event['object'], gone=event['type'] == 'DELETED')
                async with self._happened:
                    self._happened.notify_all()
        raise RuntimeError(f'watch of {plural}: has ended')

    def _see(self, plural: str, obj: Object, *, gone: bool = False) -> None:
        self.changes += 1
        key = (plural, obj['metadata']['name'])
        if gone:
            self.objects.pop(key, None)
            return
        self.objects[key] = obj
        if plural == 'jobs':
            self.births.setdefault(owner(obj), {}).setdefault(obj['metadata']['uid'], obj)

    def jobs(self, uid: str) -> list[Object]:
        """The Jobs of the JobSet with that uid, as they are now."""
        return [obj for (plural, _), obj in self.objects.items() if plural == 'jobs' and owner(obj) == uid]

    def running(self) -> set[str]:
        """The names of the JobSets that have not ended."""
        return {
            name
            for (plural, name), obj in self.objects.items()
            if plural == 'jobsets' and not obj.get('status', {}).get('terminalState')
        }

    async def until(self, holds: Callable[[], bool], *, what: str, seconds: float = SECONDS) -> None:
        """Wait for a state. Raises AssertionError, naming it, when it does not come."""
        try:
            async with asyncio.timeout(seconds), self._happened:
                await self._happened.wait_for(holds)
        except TimeoutError:
            raise AssertionError(f'not within {seconds} s: {what}') from None


@contextlib.asynccontextmanager
async def told(server: Server) -> AsyncIterator[Story]:
    """The story of the namespace, from now on."""
    story = Story(server)
    followers = []
    try:
        async with asyncio.TaskGroup() as group:
            for plural in ('jobsets', 'jobs'):
                ready = asyncio.Event()
                followers.append(group.create_task(story.follow(plural, ready)))
                await ready.wait()
            yield story
            for follower in followers:
                follower.cancel()
    except* AssertionError as failed:
        raise failed.exceptions[0] from None


def owner(obj: Object) -> str:
    """The uid of the controller of an object; empty where nobody is."""
    owners = obj['metadata'].get('ownerReferences', [])
    return next((str(each['uid']) for each in owners if each.get('controller')), '')
