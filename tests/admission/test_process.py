"""``python -m jobset.admission`` as the controller starts it: ready, serving, ending, and its ways to fail."""

import asyncio
import contextlib
import json
import pathlib
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable
from typing import Any

import aiohttp
import pytest
import yaml

from jobset.admission import certificates, rotation
from jobset.api import keys
from tests.kube import fakes

ROOT = pathlib.Path(__file__).parents[2]

REVIEW = {
    'apiVersion': 'admission.k8s.io/v1',
    'kind': 'AdmissionReview',
    'request': {
        'uid': 'u-1',
        'kind': {'group': '', 'version': 'v1', 'kind': 'Pod'},
        'operation': 'CREATE',
        'object': {'metadata': {'name': 'p'}, 'spec': {}},
    },
}


@pytest.fixture
async def api() -> AsyncIterator[tuple[fakes.Server, str]]:
    """An API server with an empty Secret, and its URL."""
    server = fakes.Server()
    server.put(rotation.SECRETS, 'jobset-system', 'jobset-webhook-server-cert')
    for resource, name in rotation.CONFIGURATIONS:
        server.put(resource, '', name, webhooks=[])
    async with fakes.served(server) as url:
        yield server, url


@pytest.fixture
def kubeconfig(api: tuple[fakes.Server, str], tmp_path: pathlib.Path) -> str:
    context = {'cluster': 'c', 'user': 'u', 'namespace': 'somewhere'}
    path = tmp_path / 'kubeconfig'
    path.write_text(
        yaml.safe_dump(
            {
                'apiVersion': 'v1',
                'kind': 'Config',
                'clusters': [{'name': 'c', 'cluster': {'server': api[1]}}],
                'users': [{'name': 'u', 'user': {}}],
                'contexts': [{'name': 'x', 'context': context}],
                'current-context': 'x',
            }
        )
    )
    return str(path)


def free_port() -> int:
    with socket.create_server(('127.0.0.1', 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


class Process:
    """A started process, with the end of a pipe as its input and a socket of ours for its status."""

    def __init__(self, process: asyncio.subprocess.Process, status_port: int) -> None:
        self.process = process
        self._status = f'http://127.0.0.1:{status_port}'

    async def get(self, path: str) -> tuple[int, str]:
        async with aiohttp.ClientSession(self._status) as session, session.get(path) as response:
            return response.status, await response.text()

    async def ready(self) -> None:
        """Returns once it is. The probe asks as the controller does, again and again."""
        while (await self.get('/readyz'))[0] != 200:
            assert self.process.returncode is None

    async def ended(self) -> tuple[int, str]:
        """The exit code and all that it has logged."""
        # Its input stays open: that would end it.
        assert self.process.stderr is not None
        log = await self.process.stderr.read()
        return await self.process.wait(), log.decode()


@contextlib.asynccontextmanager
async def started(*arguments: str) -> AsyncIterator[Process]:
    with socket.create_server(('127.0.0.1', 0)) as status:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *('-m', 'jobset.admission', '--status-fd', str(status.fileno()), '--stop-at-end-of-input'),
            *arguments,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[status.fileno()],
        )
        port = status.getsockname()[1]
    try:
        yield Process(process, port)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def records(log: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.splitlines()]


async def test_it_makes_its_certificate_serves_and_ends_at_a_signal(
    api: tuple[fakes.Server, str], kubeconfig: str
) -> None:
    server, _ = api
    port = free_port()
    async with started('--kubeconfig', kubeconfig, '--webhook-port', str(port)) as one:
        await one.ready()

        path = '/api/v1/namespaces/jobset-system/secrets/jobset-webhook-server-cert'
        made = rotation.read(server.objects[path])
        assert made is not None
        context = ssl.create_default_context(cadata=made.authority.decode())
        name = 'jobset-webhook-service.jobset-system.svc'
        url = f'https://127.0.0.1:{port}{keys.VALIDATE_POD_PATH}'
        session = aiohttp.ClientSession()
        async with session, session.post(url, json=REVIEW, ssl=context, server_hostname=name) as response:
            assert (await response.json())['response'] == {'uid': 'u-1', 'allowed': True}

        _, metrics = await one.get('/metrics')
        labels = f'code="200",webhook="{keys.VALIDATE_POD_PATH}"'
        assert f'controller_runtime_webhook_requests_total{{{labels}}} 1.0\n' in metrics
        expiry = certificates.check(made.server).timestamp()
        samples = dict(line.rsplit(' ', 1) for line in metrics.splitlines() if not line.startswith('#'))
        assert float(samples['jobset_webhook_certificate_expiry_timestamp_seconds']) == expiry

        one.process.send_signal(signal.SIGTERM)
        code, log = await one.ended()
    assert code == 0
    assert records(log)[-1]['msg'] == 'ended'
    assert 'PRIVATE KEY' not in log


async def test_it_ends_with_the_process_that_started_it(
    tmp_path: pathlib.Path, bundle: certificates.Bundle, kubeconfig: str
) -> None:
    # With certificates of somebody else, from files.
    config = tmp_path / 'config.yaml'
    config.write_text(
        yaml.safe_dump(
            {
                'apiVersion': 'config.jobset.x-k8s.io/v1alpha1',
                'kind': 'Configuration',
                'internalCertManagement': {'enable': False},
                'webhook': {'port': free_port(), 'certDir': str(tmp_path)},
            }
        )
    )
    (tmp_path / 'tls.crt').write_bytes(bundle.server.certificate)
    (tmp_path / 'tls.key').write_bytes(bundle.server.key)
    async with started('--kubeconfig', kubeconfig, '--config', str(config)) as one:
        await one.ready()
        assert one.process.stdin is not None
        one.process.stdin.close()
        code, _ = await one.ended()
    assert code == 0


async def test_it_is_alive_and_not_ready_without_a_certificate(api: tuple[fakes.Server, str], kubeconfig: str) -> None:
    server, _ = api
    server.drop(rotation.SECRETS, 'jobset-system', 'jobset-webhook-server-cert')
    async with started('--kubeconfig', kubeconfig, '--webhook-port', str(free_port())) as one:
        await server.until(lambda: any(seen.path.endswith('/jobset-webhook-server-cert') for seen in server.seen))
        assert await one.get('/healthz') == (200, 'ok')
        assert await one.get('/readyz') == (503, 'certificates are not ready')
        one.process.send_signal(signal.SIGINT)
        code, log = await one.ended()
    assert code == 0
    assert 'create it, empty, as config/components/internalcert does' in log


async def test_bad_configuration(tmp_path: pathlib.Path) -> None:
    config = tmp_path / 'config.yaml'
    config.write_text('apiVersion: config.jobset.x-k8s.io/v1alpha1\nkind: Configuration\nwebhok: {}\n')
    async with started('--config', str(config)) as one:
        code, log = await one.ended()
    assert code == 2
    [record] = records(log)
    assert record['level'] == 'ERROR'
    assert f'{config}' in record['msg']
    assert 'webhok' in record['msg']


async def test_unusable_credentials(tmp_path: pathlib.Path) -> None:
    missing = tmp_path / 'nowhere'
    async with started('--kubeconfig', str(missing), '--webhook-port', str(free_port())) as one:
        code, log = await one.ended()
    assert code == 2
    assert records(log)[-1]['msg'] == f'{missing}: no such file; name a kubeconfig file'


async def test_a_taken_port() -> None:
    with socket.create_server(('127.0.0.1', 0)) as taken:
        port = taken.getsockname()[1]
        async with started('--webhook-port', str(port)) as one:
            code, log = await one.ended()
    assert code == 1
    assert records(log)[-1]['msg'] == f'[Errno 98] cannot listen on 127.0.0.1:{port}: Address already in use'


def loaded(modules: Iterable[str]) -> set[str]:
    return {name.partition('.')[0] for name in modules}


def test_what_is_not_imported() -> None:
    # It starts beside the controller, on the path of every pod: what only the controller needs would double the start.
    program = 'import sys, jobset.admission.__main__; print(*sys.modules)'
    done = subprocess.run([sys.executable, '-c', program], cwd=ROOT, capture_output=True, text=True, check=True)
    names = done.stdout.split()
    assert loaded(names) & {'kopf', 'kubernetes'} == set()
    assert [name for name in names if name.startswith('jobset.controller')] == []
    assert sorted(name for name in names if name.startswith('jobset.core')) == ['jobset.core', 'jobset.core.placement']
