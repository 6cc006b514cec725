"""A small simulated cluster, and what happens in it, second by second."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from jobset.api import meta
from jobset.client import together
from jobset.kube import informer, requests
from jobset.local import clock
from jobset.local.controllers import suite
from jobset.local.simulated import nodes, outages, outcomes, simulation
from jobset.local.store import storage

PREFIX = outcomes.PREFIX


class State(meta.Partial, frozen=True, gc=False, kw_only=True, rename='camel'):
    """What is told of an object."""

    spec: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies it
    status: dict[str, Any] = {}  # noqa: RUF012


@dataclass
class Diary:
    """The cluster, and the phases of its pods as they came."""

    cluster: simulation.Simulation
    store: storage.Store
    lines: list[str] = field(default_factory=list)

    def note(self, old: State | None, new: State | None) -> None:
        """A pod has changed."""
        at = asyncio.get_running_loop().time()
        if new is None:
            assert old is not None
            self.lines.append(f'{at:g} {old.metadata.name} gone')
            return
        told = _told(new)
        if old is None or _told(old) != told:
            self.lines.append(f'{at:g} {new.metadata.name} {told}')

    async def create(self, resource: requests.Resource, body: dict[str, Any]) -> None:
        """Make an object in the namespace ``default``."""
        await self.cluster.api.send(requests.create(resource, 'default', body))

    async def pod(self, name: str, *, policy: str = 'Never', grace: int = 30, **script: str) -> None:
        """Make a pod with a script."""
        annotations = {PREFIX + key.replace('_', '-'): value for key, value in script.items()}
        container = {'name': 'main', 'image': 'x', 'resources': {'requests': {'cpu': '1'}}}
        spec = {'restartPolicy': policy, 'terminationGracePeriodSeconds': grace, 'containers': [container]}
        metadata = {'name': name, 'annotations': annotations}
        await self.create(requests.PODS, {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': metadata, 'spec': spec})

    async def delete(self, name: str) -> None:
        """Ask a pod to end."""
        await self.cluster.api.send(requests.delete(requests.PODS, 'default', name))

    def versions(self) -> int:
        """The resource version of the server: how much has been written."""
        return self.store.revision


def _told(pod: State) -> str:
    parts = [pod.status.get('phase', '')]
    conditions = {one['type']: one for one in pod.status.get('conditions') or ()}
    if conditions.get('Ready', {}).get('status') == 'True':
        parts.append('ready')
    if conditions.get('PodScheduled', {}).get('status') == 'False':
        parts.append('unschedulable')
    if pod.spec.get('nodeName') and parts == ['Pending']:
        parts.append(f'on {pod.spec["nodeName"]}')
    for container in pod.status.get('containerStatuses') or ():
        if container.get('restartCount'):
            parts.append(f'restarts {container["restartCount"]}')
        ended = container.get('state', {}).get('terminated')
        if ended:
            parts.append(f'exit {ended["exitCode"]}')
        if container.get('state', {}).get('waiting'):
            parts.append('waiting')
    if pod.metadata.deletion_timestamp:
        parts.append('terminating')
    return ' '.join(parts)


@contextlib.asynccontextmanager
async def open_(
    *,
    pools: Sequence[nodes.Pool] = (nodes.Pool(count=2, cpu='2'),),
    failing: Sequence[outages.Outage] = (),
    rules: Sequence[outcomes.Rule] = (),
    whole: bool = False,
    **settings: Any,
) -> AsyncIterator[Diary]:
    """A cluster; ``whole`` with all controllers."""
    time = clock.Clock()
    store = storage.Store()
    async with simulation.serving(store, clock=time) as served:
        await served.install()
        wanted = simulation.Settings(has_jobs=whole, has_jobsets=whole, **settings)
        cluster = simulation.Simulation(
            served.carrier,
            clock=time,
            pools=pools,
            failing=failing,
            rules=rules,
            others=[suite.on_paper] if whole else (),
            settings=wanted,
        )
        diary = Diary(cluster, store)
        pods = informer.Informer(cluster.api, requests.PODS, State)
        pods.subscribe(diary.note)
        async with cluster, together.beside([pods.run()]):
            await pods.synced()
            # From here on, times are whole seconds.
            loop = asyncio.get_running_loop()
            await asyncio.sleep(10 - loop.time())
            yield diary
