"""A cluster of many nodes: a real control plane with Job controller and kube-scheduler, and nodes that are simulated.

Pods on these nodes run as :mod:`jobset.local.simulated` has them run. Nobody looks after heartbeats, so the controllers
that judge nodes by them do not run.
"""

import asyncio
import contextlib
import datetime
import os
import pathlib
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from e2e import controller, golden
from e2e.cluster import binaries, names, settings
from e2e.kubectl import Kubectl, control_plane
from jobset.api import keys, meta
from jobset.kube import auth, client, errors, informer, requests, transport
from jobset.local.simulated import kubelet, nodes, outcomes

RACK: Final = 'example.com/rack'
SECONDS: Final = 180
"""For what should happen soon."""

_NEVER: Final = datetime.datetime.fromtimestamp(0, datetime.UTC)
_CONTROLLERS: Final = '--controllers=*,-node-lifecycle-controller,-taint-eviction-controller'


@contextlib.contextmanager
def cluster(purpose: str, folder: pathlib.Path) -> Iterator[tuple[Kubectl, pathlib.Path]]:
    """The control plane with our controller and its webhooks, for the length of the block; and the controller's log."""
    port, authority = controller.free_port(), golden.certificate(folder)
    changes = {'webhook': {'host': '127.0.0.1', 'port': port, 'certDir': str(folder)}}
    with control_plane(purpose, f'--kcm-arg={_CONTROLLERS}') as kubectl, _scheduler(kubectl, folder):
        golden.prepare(kubectl)
        with (
            controller.running(kubectl.kubeconfig, folder, changes=changes) as running,
            golden.webhooks(kubectl, port, authority),
        ):
            yield kubectl, running.log


@contextlib.contextmanager
def _scheduler(kubectl: Kubectl, folder: pathlib.Path) -> Iterator[None]:
    program = binaries.present((binaries.KUBERNETES,), cache=names.cache())['kube-scheduler']
    flags = [
        f'--kubeconfig={kubectl.kubeconfig}',
        '--leader-elect=false',
        '--secure-port=0',
        '--kube-api-qps=500',
        '--kube-api-burst=1000',
        f'--feature-gates={settings.flag(settings.GATES)}',
    ]
    with (folder / 'kube-scheduler.log').open('wb') as log:
        running = subprocess.Popen([str(program), *flags], stdout=log, stderr=log, env=os.environ.copy())
        try:
            yield
        finally:
            running.terminate()
            running.wait()


class PodSpec(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """As much of a pod as tells where it is."""

    node_name: str = ''


class PodStatus(msgspec.Struct, frozen=True, kw_only=True):
    """And how."""

    phase: str = ''


class Pod(meta.Partial, frozen=True, kw_only=True, gc=False, rename='camel'):
    """A pod."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def job(self) -> str:
        """The name of its Job."""
        return self.metadata.labels[keys.JOB_NAME]

    @property
    def is_leader(self) -> bool:
        """Whether it is the first one of its Job."""
        return self.metadata.labels[keys.COMPLETION_INDEX] == '0'

    @property
    def runs(self) -> bool:
        """Whether it runs and nobody has asked it to end."""
        return self.status.phase == 'Running' and self.metadata.deletion_timestamp is None


class Racks:
    """The pods of one namespace, as they are."""

    def __init__(self, api: client.Client, namespace: str, rack_of: Mapping[str, str]) -> None:
        self.api = api
        self.namespace = namespace
        self._rack_of = rack_of
        self.pods = informer.Informer(api, requests.PODS, Pod, namespace=namespace)
        self._changed = asyncio.Event()
        self.pods.subscribe(lambda old, new: self._changed.set())

    async def until(self, holds: Callable[[], bool], *, what: str) -> None:
        """Wait for a state of the pods."""
        try:
            async with asyncio.timeout(SECONDS):
                while not holds():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            seen = '\n'.join(
                f'  {pod.metadata.name} {pod.status.phase} on {pod.spec.node_name or "no node"}'
                f'{" ending" if pod.metadata.deletion_timestamp else ""}'
                for pod in sorted(self.pods.values(), key=lambda pod: pod.metadata.name)
            )
            raise AssertionError(f'not within {SECONDS} s: {what}\n{seen}') from None

    def racks(self) -> dict[str, set[str]]:
        """Where the running pods of each Job are."""
        where: dict[str, set[str]] = {}
        for pod in self.pods.values():
            if pod.runs:
                where.setdefault(pod.job, set()).add(self._rack_of[pod.spec.node_name])
        return where

    def running(self) -> dict[str, int]:
        """How many pods of each Job run."""
        counts: dict[str, int] = {}
        for pod in self.pods.values():
            counts[pod.job] = counts.get(pod.job, 0) + pod.runs
        return counts

    async def kill(self, pod: Pod) -> None:
        """Delete a pod at once, if it is still there."""
        request = requests.delete(requests.PODS, *pod.metadata.ref, grace_seconds=0, uid=pod.metadata.uid)
        with contextlib.suppress(errors.NotFound, errors.Conflict):
            await self.api.send(request)


@contextlib.asynccontextmanager
async def racks(kubeconfig: str, namespace: str, pools: Sequence[nodes.Pool]) -> AsyncIterator[Racks]:
    """Nodes that run pods, and a namespace of its own, for the length of the block."""
    credentials = await auth.load(kubeconfig)
    # The kubelets of hundreds of nodes write at once what their pods do.
    sending = transport.Requesting(in_flight=64)
    async with transport.Transport(credentials, user_agent='racks', settings=sending) as carrier:
        api = client.Client(carrier)
        await api.send(requests.create(requests.NAMESPACES, None, {'metadata': {'name': namespace}}))
        for pool in pools:
            await nodes.create(api, pool)
        rack_of = {
            node['metadata']['name']: node['metadata']['labels'].get(RACK, '')
            for pool in pools
            for node in pool.made(lambda: _NEVER)
        }
        made = Racks(api, namespace, rack_of)
        served = kubelet.Kubelet(
            api, serves=rack_of.__contains__, settings=kubelet.Settings(default=outcomes.Outcome())
        )
        tasks = [asyncio.ensure_future(each.run()) for each in (served, made.pods)]
        try:
            await made.pods.synced()
            yield made
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await api.send(requests.delete(requests.NAMESPACES, None, namespace))


def jobset(name: str, *, jobs: int, pods: int, exclusive: bool, cpu: str = '1') -> dict[str, Any]:
    """A JobSet of equal Jobs whose pods run for ever."""
    container = {'name': 'main', 'image': 'busybox', 'resources': {'requests': {'cpu': cpu}}}
    spec = {'backoffLimit': 10_000, 'parallelism': pods, 'completions': pods}
    template = spec | {'template': {'spec': {'containers': [container], 'terminationGracePeriodSeconds': 1}}}
    return {
        'apiVersion': keys.API_VERSION,
        'kind': keys.KIND,
        'metadata': {'name': name, 'annotations': {keys.EXCLUSIVE_TOPOLOGY: RACK} if exclusive else {}},
        'spec': {'replicatedJobs': [{'name': 'w', 'replicas': jobs, 'template': {'spec': template}}]},
    }
