"""A plane without a node, in virtual time: objects go in, controllers act, the outcome is waited for.

The same stories can be told to a real API server (``STORIES_KUBECONFIG``), with these controllers or with those of
Kubernetes (``STORIES_CONTROLLERS=theirs``): so it is known that they are true.
"""

import asyncio
import contextlib
import functools
import os
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, Final

from jobset.kube import auth, client, errors, requests, transport
from jobset.local import clock, kinds
from jobset.local.controllers import catalogue, defaults, suite
from jobset.local.objects import Object
from jobset.local.server import direct, server
from jobset.local.store import storage

KUBECONFIG: Final = os.environ.get('STORIES_KUBECONFIG', '')
IS_THEIRS: Final = os.environ.get('STORIES_CONTROLLERS') == 'theirs'

CONFIG_MAPS: Final = defaults.CONFIG_MAPS
SECRETS: Final = requests.Resource('', 'v1', 'secrets', 'Secret')
ACCOUNTS: Final = defaults.ACCOUNTS
DEFINITIONS: Final = catalogue.DEFINITIONS
WIDGETS: Final = requests.Resource('h-g.example.com', 'v1', 'widgets', 'Widget')
CONTAINER: Final[Object] = {'name': 'c', 'image': 'x'}

WIDGETS_DEFINITION: Final[Object] = {
    'apiVersion': DEFINITIONS.api_version,
    'kind': DEFINITIONS.kind,
    'metadata': {'name': 'widgets.h-g.example.com'},
    'spec': {
        'group': 'h-g.example.com',
        'names': {'plural': 'widgets', 'singular': 'widget', 'kind': 'Widget', 'listKind': 'WidgetList'},
        'scope': 'Namespaced',
        'versions': [
            {
                'name': 'v1',
                'served': True,
                'storage': True,
                'schema': {
                    'openAPIV3Schema': {
                        'type': 'object',
                        'properties': {'spec': {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True}},
                    }
                },
            }
        ],
    },
}


class World:
    """What a story acts on."""

    def __init__(self, source: client.Client, namespace: str, now: Callable[[], datetime]) -> None:
        self.source = source
        self.namespace = namespace
        self.now = now

    async def create(self, resource: requests.Resource, name: str, **fields: Any) -> Object:
        """Makes an object in the namespace of the story; ``owners`` and ``finalizers`` go into its metadata."""
        metadata: Object = {'name': name} | fields.pop('metadata', {})
        if owners := fields.pop('owners', ()):
            metadata['ownerReferences'] = list(owners)
        if finalizers := fields.pop('finalizers', ()):
            metadata['finalizers'] = list(finalizers)
        body = {'apiVersion': resource.api_version, 'kind': resource.kind, 'metadata': metadata, **fields}
        return await self.source.request(requests.create(resource, self._in(resource), body), dict[str, Any])

    async def get(self, resource: requests.Resource, name: str) -> Object | None:
        """The object as it is, None when there is none."""
        try:
            return await self.source.request(requests.read(resource, self._in(resource), name), dict[str, Any])
        except errors.NotFound:
            return None

    async def names(self, resource: requests.Resource) -> set[str]:
        """Names of all objects of a resource in the namespace."""
        return {one['metadata']['name'] for one in await self.all(resource)}

    async def all(self, resource: requests.Resource) -> list[Object]:
        """All objects of a resource in the namespace."""
        found = await self.source.request(requests.list_(resource, self._in(resource)), dict[str, Any])
        return found['items'] or []

    async def patch(self, resource: requests.Resource, name: str, body: Object, part: str = '') -> Object:
        """A merge patch."""
        request = requests.patch(resource, self._in(resource), name, body, requests.Patch.MERGE, subresource=part)
        return await self.source.request(request, dict[str, Any])

    async def delete(
        self,
        resource: requests.Resource,
        name: str,
        propagation: requests.Propagation | None = requests.Propagation.BACKGROUND,
        *,
        grace_seconds: int | None = None,
    ) -> None:
        """A deletion."""
        await self.source.send(
            requests.delete(resource, self._in(resource), name, propagation=propagation, grace_seconds=grace_seconds)
        )

    async def settle(self, seconds: float = 2) -> None:
        """Lets everything happen that is going to happen: for stories in which nothing may."""
        await asyncio.sleep(seconds)

    async def until(self, what: Callable[[], Coroutine[None, None, Any]], seconds: float = 90) -> Any:
        """Waits until ``what`` gives something that is true, and returns it."""
        async with asyncio.timeout(seconds):
            while not (found := await what()):
                await asyncio.sleep(0.05)
            return found

    async def gone(self, resource: requests.Resource, *names: str) -> None:
        """Waits until there are no objects of these names."""

        async def look() -> bool:
            return not (set(names) & await self.names(resource))

        await self.until(look)

    def _in(self, resource: requests.Resource) -> str | None:
        return self.namespace if resource.namespaced else None


def owner(obj: Object, *, block: bool = False, controller: bool = False, **instead: str) -> Object:
    """A reference to an owner."""
    found: Object = {
        'apiVersion': obj['apiVersion'],
        'kind': obj['kind'],
        'name': obj['metadata']['name'],
        'uid': obj['metadata']['uid'],
    }
    if block:
        found['blockOwnerDeletion'] = True
    if controller:
        found['controller'] = True
    return found | instead


Story = Callable[[World], Coroutine[Any, Any, None]]


def story(
    told: Story | None = None, *, choices: suite.Choices | None = None, is_ours: bool = False
) -> Callable[..., Any]:
    """Makes a test of a story; ``is_ours`` for what is only so in this plane."""
    if told is None:
        return functools.partial(story, choices=choices, is_ours=is_ours)

    def run() -> None:
        if not KUBECONFIG:
            clock.run(_in_plane(told, choices or suite.Choices()))
        elif not is_ours:
            asyncio.run(_in_cluster(told, choices or suite.Choices()))

    run.__name__ = told.__name__
    run.__doc__ = told.__doc__
    return run


async def _in_plane(told: Story, choices: suite.Choices) -> None:
    time = clock.Clock()
    one = server.Server(storage.Store(), kinds.all_(), now=time.now)
    source = client.Client(direct.Direct(one))
    await defaults.create_first(source)
    await source.send(requests.create(requests.NAMESPACES, None, {'metadata': {'name': 'story'}}))
    async with _running(source, time.now, choices):
        await told(World(source, 'story', time.now))
    one.close()


async def _in_cluster(told: Story, choices: suite.Choices) -> None:
    def now() -> datetime:
        return datetime.now(UTC)

    credentials = await auth.load(KUBECONFIG)
    async with transport.Transport(credentials, user_agent='stories') as carrier:
        source = client.Client(carrier)
        name = f'story-{uuid.uuid4().hex[:6]}'
        await source.send(requests.create(requests.NAMESPACES, None, {'metadata': {'name': name}}))
        async with contextlib.AsyncExitStack() as stack:
            if not IS_THEIRS:
                await stack.enter_async_context(_running(source, now, choices))
            try:
                await told(World(source, name, now))
            finally:
                with contextlib.suppress(errors.NotFound):
                    await source.send(requests.delete(requests.NAMESPACES, None, name))


@contextlib.asynccontextmanager
async def _running(
    source: client.Client, now: Callable[[], datetime], choices: suite.Choices
) -> AsyncIterator[suite.Suite]:
    controllers = suite.Suite(source, now, choices=choices)
    task = asyncio.create_task(controllers.run())
    try:
        yield controllers
    finally:
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error
