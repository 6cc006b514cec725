"""Pods a second that the webhook server answers for on one core, over TLS, and how long it takes for one.

::

    python -m benchmarks.webhook [--count 80000] [--profile FILE]

The server is the one that runs in production, a process of its own, with a cache that follows an API server with the
leaders of 100 Jobs in it (the embedded one, a third process, which has next to nothing to do meanwhile). Reviews are
those of the pods of Jobs of eight: each is asked about twice, to complete it and to judge it. As an API server does,
the load keeps its connections; it does so little itself that one core is enough for it.

Beside the wall clock stands what the server's process used: reviews for each second of its CPU time, which tell what
one core does when others share the machine.
"""

import argparse
import asyncio
import contextlib
import datetime
import itertools
import json
import multiprocessing
import os
import pathlib
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

import uvloop
import yaml

from benchmarks.controller import process
from benchmarks.local import machine
from jobset.admission import certificates
from jobset.api import keys, meta
from jobset.core.jobs import job_key
from jobset.kube import auth, client, requests, transport

JOBS: Final = 100
PODS: Final = 8
"""Of each Job: one leader and its followers."""

IN_FLIGHT: Final = 16
GOAL_RATE: Final = 8000
GOAL_MILLISECONDS: Final = 5
TOPOLOGY: Final = 'example.com/rack'
NAMESPACE: Final = 'default'
READY_SECONDS: Final = 30


def pod(job: int, index: int, uid: str, suffix: str = '') -> dict[str, Any]:
    """A pod as the Job controller sends it."""
    name = f'train-workers-{job}'
    marks = {
        keys.JOBSET_NAME: 'train',
        keys.JOBSET_UID: '6f1b2c1e-7d0a-4c57-9a3c-0d6b8a6f7e10',
        keys.REPLICATED_JOB_NAME: 'workers',
        keys.REPLICATED_JOB_REPLICAS: str(JOBS),
        keys.GLOBAL_REPLICAS: str(JOBS),
        keys.JOB_INDEX: str(job),
        keys.JOB_GLOBAL_INDEX: str(job),
        keys.JOB_GROUP_INDEX: str(job),
        keys.JOB_KEY: job_key(NAMESPACE, name),
        keys.RESTART_ATTEMPT: '0',
        keys.GROUP_NAME: 'default',
        keys.GROUP_REPLICAS: str(JOBS),
        keys.COMPLETION_INDEX: str(index),
    }
    of_job = {
        keys.JOB_NAME: name,
        'job-name': name,
        'controller-uid': uid,
        'batch.kubernetes.io/controller-uid': uid,
    }
    owner = {'apiVersion': 'batch/v1', 'kind': 'Job', 'name': name, 'uid': uid, 'controller': True}
    environment = [{'name': f'VARIABLE_{n}', 'value': 'v' * 40} for n in range(12)]
    resources = {'requests': {'cpu': '1', 'memory': '1Gi'}, 'limits': {'cpu': '2', 'memory': '2Gi'}}
    container = {'name': 'main', 'image': 'registry.example.com/image:tag', 'command': ['python3', '-m', 'train']}
    return {
        'apiVersion': 'v1',
        'kind': 'Pod',
        'metadata': {
            'namespace': NAMESPACE,
            'generateName': f'{name}-{index}-',
            **({'name': f'{name}-{index}-{suffix}'} if suffix else {}),
            'labels': marks | of_job,
            'annotations': marks | {keys.EXCLUSIVE_TOPOLOGY: TOPOLOGY},
            'ownerReferences': [owner | {'blockOwnerDeletion': True}],
            'finalizers': ['batch.kubernetes.io/job-tracking'],
        },
        'spec': {
            'containers': [container | {'env': environment, 'resources': resources}],
            'restartPolicy': 'Never',
            'subdomain': 'train',
            'hostname': f'{name}-{index}',
            'schedulerName': 'default-scheduler',
            'priority': 0,
            'tolerations': [
                {'key': f'node.kubernetes.io/{key}', 'operator': 'Exists', 'effect': 'NoExecute'}
                for key in ('not-ready', 'unreachable')
            ],
        },
    }


def request(path: str, sent: dict[str, Any]) -> bytes:
    """A request as it goes over the connection."""
    kind = {'group': '', 'version': 'v1', 'kind': 'Pod'}
    resource = {'group': '', 'version': 'v1', 'resource': 'pods'}
    asked = {
        'uid': '705ab4f5-6393-11e8-b7cc-42010a800002',
        'kind': kind,
        'resource': resource,
        'requestKind': kind,
        'requestResource': resource,
        'namespace': NAMESPACE,
        'operation': 'CREATE',
        'userInfo': {
            'username': 'system:serviceaccount:kube-system:job-controller',
            'uid': '0d6b8a6f-7e10-4c57-9a3c-6f1b2c1e7d0a',
            'groups': ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'],
        },
        'object': sent,
        'oldObject': None,
        'dryRun': False,
        'options': {'kind': 'CreateOptions', 'apiVersion': 'meta.k8s.io/v1'},
    }
    body = json.dumps({'kind': 'AdmissionReview', 'apiVersion': 'admission.k8s.io/v1', 'request': asked}).encode()
    head = (
        f'POST {path}?timeout=10s HTTP/1.1\r\nHost: jobset-webhook-service.jobset-system.svc:443\r\n'
        'User-Agent: kube-apiserver-admission\r\nAccept: application/json, */*\r\n'
        f'Content-Type: application/json\r\nAccept-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n'
    )
    return head.encode() + body


def reviews(uids: Sequence[str]) -> list[bytes]:
    """What is asked about all pods: first to complete, then to judge."""
    asked = []
    for job, index in itertools.product(range(JOBS), range(PODS)):
        sent = pod(job, index, uids[job])
        asked.append(request(keys.MUTATE_POD_PATH, sent))
        completed = sent | {'spec': sent['spec'] | ({'nodeSelector': {TOPOLOGY: f'rack-{job}'}} if index else {})}
        asked.append(request(keys.VALIDATE_POD_PATH, completed))
    return asked


class Connection(asyncio.Protocol):
    """Asks one review after the other."""

    def __init__(self, asked: Iterator[bytes], took: list[float]) -> None:
        self._asked = asked
        self._took = took
        self._buffer = b''
        self._length: int | None = None
        self._began = 0.0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, made: asyncio.BaseTransport) -> None:
        """Begins."""
        self._transport = cast(asyncio.Transport, made)
        self._next()

    def data_received(self, data: bytes) -> None:
        """An answer, or a part of one."""
        self._buffer += data
        head, separator, body = self._buffer.partition(b'\r\n\r\n')
        if not separator:
            return
        if self._length is None:
            lines = head.lower().split(b'\r\n')
            if lines[0] != b'http/1.1 200 ok':
                self.done.set_exception(RuntimeError(self._buffer.decode(errors='replace')))
                return
            self._length = next(int(line[15:]) for line in lines if line.startswith(b'content-length:'))
        if len(body) >= self._length:
            if b'"allowed":true' not in body:
                self.done.set_exception(RuntimeError(body.decode()))
                return
            self._took.append(time.perf_counter() - self._began)
            self._buffer, self._length = b'', None
            self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        """The end of all."""
        if not self.done.done():
            self.done.set_exception(exc or RuntimeError('the server has closed the connection'))

    def _next(self) -> None:
        following = next(self._asked, None)
        if following is None:
            self.done.set_result(None)
            self._transport.close()
            return
        self._began = time.perf_counter()
        self._transport.write(following)


async def load(port: int, authority: bytes, asked: list[bytes], count: int) -> list[float]:
    """Seconds that each of ``count`` reviews took."""
    context = ssl.create_default_context(cadata=authority.decode())
    took: list[float] = []
    stream = itertools.islice(itertools.cycle(asked), count)
    loop = asyncio.get_running_loop()
    made = [
        await loop.create_connection(
            lambda: Connection(stream, took), '127.0.0.1', port, ssl=context, server_hostname='localhost'
        )
        for _ in range(IN_FLIGHT)
    ]
    await asyncio.gather(*(connection.done for _, connection in made))
    return took


def serve_plane(where: 'multiprocessing.Queue[str]', folder: str) -> None:
    """An embedded API server until it is killed."""
    from jobset.local import cluster  # noqa: PLC0415 - only this process is one

    async def live() -> None:
        settings = cluster.Settings(has_node=False, has_jobs=False, has_jobsets=False, keeps_objects=False)
        async with cluster.Cluster(folder=pathlib.Path(folder), settings=settings) as running:
            where.put(str(running.kubeconfig))
            await asyncio.Event().wait()

    uvloop.run(live())


@contextlib.contextmanager
def plane(folder: pathlib.Path) -> Iterator[str]:
    """A kubeconfig of an API server for the length of the block."""
    where: multiprocessing.Queue[str] = multiprocessing.Queue()
    serving = multiprocessing.Process(target=serve_plane, args=(where, str(folder / 'plane')), daemon=True)
    serving.start()
    try:
        yield where.get(timeout=READY_SECONDS)
    finally:
        serving.kill()
        serving.join()


async def fill(kubeconfig: str) -> list[str]:
    """A node for each Job, and its leader there; returns the uids of the Jobs."""
    credentials = await auth.load(kubeconfig)
    async with transport.Transport(credentials, user_agent='benchmark') as carrier:
        api = client.Client(carrier)
        uids = []
        for job in range(JOBS):
            made = await api.request(requests.create(requests.JOBS, NAMESPACE, _job(job)), meta.Partial)
            uids.append(made.metadata.uid)
            metadata = {'name': f'node-{job}', 'labels': {TOPOLOGY: f'rack-{job}'}}
            await api.send(requests.create(requests.NODES, None, {'metadata': metadata}))
            leader = pod(job, 0, uids[job], 'abcde')
            leader['spec'] = {'containers': [{'name': 'main', 'image': 'busybox'}], 'nodeName': f'node-{job}'}
            await api.send(requests.create(requests.PODS, NAMESPACE, leader))
        return uids


def _job(job: int) -> dict[str, Any]:
    containers = [{'name': 'main', 'image': 'busybox'}]
    spec = {'suspend': True, 'template': {'spec': {'containers': containers, 'restartPolicy': 'Never'}}}
    return {'metadata': {'name': f'train-workers-{job}'}, 'spec': spec}


@contextlib.contextmanager
def server(folder: pathlib.Path, kubeconfig: str, profile: str | None) -> Iterator[tuple[int, int, bytes]]:
    """The webhook server for the length of the block: process, port, authority of its certificate."""
    bundle = certificates.renew(
        None, certificates.Due.ALL, server_name='localhost', now=datetime.datetime.now(datetime.UTC)
    )
    (folder / 'tls.crt').write_bytes(bundle.server.certificate)
    (folder / 'tls.key').write_bytes(bundle.server.key)
    port, health = _free_port(), _free_port()
    configuration = {
        'apiVersion': 'config.jobset.x-k8s.io/v1alpha1',
        'kind': 'Configuration',
        'webhook': {'host': '127.0.0.1', 'port': port, 'certDir': str(folder)},
        'internalCertManagement': {'enable': False},
    }
    (folder / 'configuration.yaml').write_text(yaml.safe_dump(configuration))
    command = [sys.executable, *(('-m', 'cProfile', '-o', profile) if profile else ()), '-m', 'jobset.admission']
    command += ['--config', str(folder / 'configuration.yaml'), '--kubeconfig', kubeconfig]
    command += ['--health-probe-bind-address', f'127.0.0.1:{health}', '--log-level', 'warning']
    running = subprocess.Popen(command, env=os.environ.copy())
    try:
        _wait_until_ready(f'http://127.0.0.1:{health}/readyz', running)
        yield running.pid, port, bundle.authority
    finally:
        running.terminate()
        running.wait()


def _free_port() -> int:
    import socket  # noqa: PLC0415 - here only

    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return int(probe.getsockname()[1])


def _wait_until_ready(url: str, running: 'subprocess.Popen[bytes]') -> None:
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end:
        if running.poll() is not None:
            raise RuntimeError(f'the webhook server ended with code {running.returncode}')
        try:
            with urllib.request.urlopen(url, timeout=2) as answer:  # noqa: S310 - our own
                answer.read()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise RuntimeError('the webhook server does not become ready')


def main() -> None:
    """Measure, and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--count', type=int, default=80_000)
    parser.add_argument('--profile', help='write a profile of the server there (cProfile); it is slower then')
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='jobset-webhook-') as scratch, contextlib.ExitStack() as stack:
        folder = pathlib.Path(scratch)
        kubeconfig = stack.enter_context(plane(folder))
        asked = reviews(asyncio.run(fill(kubeconfig)))
        pid, port, authority = stack.enter_context(server(folder, kubeconfig, chosen.profile))
        uvloop.run(load(port, authority, asked, len(asked)))
        loop = machine.loop()
        used, began = process.Process(pid).cpu_seconds(), time.perf_counter()
        took = sorted(uvloop.run(load(port, authority, asked, chosen.count)))
        wall = time.perf_counter() - began
        used = process.Process(pid).cpu_seconds() - used
        loop = (loop + machine.loop()) / 2
    tell(took, wall, used, loop, sum(map(len, asked)) / len(asked))


def tell(took: list[float], wall: float, used: float, loop: float, size: float) -> None:
    """What was measured, beside the goals."""
    rate, of_core = len(took) / wall, len(took) / used
    p99 = took[len(took) * 99 // 100] * 1000
    print(f'{len(took)} reviews of {size:.0f} bytes, {IN_FLIGHT} in flight, in {wall:.2f} s')
    print(f'  {rate:.0f} a second (goal {GOAL_RATE}: {_verdict(rate >= GOAL_RATE)})')
    print(f"  {of_core:.0f} for each second of the server's CPU, {used / len(took) * 1e6:.0f} us for each:")
    print(f'  {used / len(took) * 1e6 / loop:.1f} loops of a thousand steps of Python, now {loop:.1f} us long')
    print(f'  half within {statistics.median(took) * 1000:.2f} ms, 99 % within {p99:.2f} ms', end=' ')
    print(f'(goal {GOAL_MILLISECONDS} ms: {_verdict(p99 < GOAL_MILLISECONDS)})')


def _verdict(is_met: bool) -> str:
    return 'met' if is_met else 'missed'


if __name__ == '__main__':
    main()
