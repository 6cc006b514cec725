"""The command as a process: its exit codes, its logs, and that no secret is in them."""

import asyncio
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import pytest
import yaml

from jobset.admission import listen
from jobset.api import configuration
from jobset.controller import main, options, world
from jobset.kube import requests
from tests.controller import plane
from tests.kube import fakes

ROOT = pathlib.Path(__file__).parents[2]
SECONDS = 60
TOKEN = 'a-token-that-nobody-may-see'


class Process:
    """A started command; its configuration has one replica on loopback, unless changed."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(('127.0.0.1', 0))
            self.port = int(probe.getsockname()[1])
        self.process: asyncio.subprocess.Process | None = None

    async def start(self, *arguments: str, **changes: Any) -> None:
        path = self.folder / 'configuration.yaml'
        content = {
            'apiVersion': 'config.jobset.x-k8s.io/v1alpha1',
            'kind': 'Configuration',
            'health': {'healthProbeBindAddress': f'127.0.0.1:{self.port}'},
            'metrics': {'bindAddress': '0'},
            'leaderElection': {'leaderElect': False},
        }
        path.write_text(yaml.safe_dump(content | changes))
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            *('-m', 'jobset.controller', '--config', str(path), '--disable-webhooks', '--zap-log-level', 'debug'),
            *arguments,
            cwd=ROOT,
            env=os.environ | {'HOME': str(self.folder)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    async def get(self, path: str) -> tuple[int, str] | None:
        try:
            url = f'http://127.0.0.1:{self.port}{path}'
            async with aiohttp.ClientSession() as session, session.get(url) as answer:
                return answer.status, await answer.text()
        except aiohttp.ClientError:
            return None

    async def until(self, path: str, holds: Callable[[tuple[int, str] | None], bool]) -> None:
        async with asyncio.timeout(SECONDS):
            while not holds(await self.get(path)):
                assert self.process is not None
                assert self.process.returncode is None
                await asyncio.sleep(0.02)

    def signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    async def ended(self) -> tuple[int, str]:
        """The exit code and the log."""
        assert self.process is not None
        async with asyncio.timeout(SECONDS):
            _, log = await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode, log.decode()


@pytest.fixture
async def process(tmp_path: pathlib.Path) -> AsyncIterator[Process]:
    one = Process(tmp_path)
    yield one
    if one.process is not None and one.process.returncode is None:
        one.process.kill()
        await one.process.communicate()


def command(*arguments: str, home: pathlib.Path) -> subprocess.CompletedProcess[str]:
    """A run that ends by itself."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith('KUBE')}
    return subprocess.run(
        [sys.executable, '-m', 'jobset.controller', *arguments],
        cwd=ROOT,
        env=environment | {'HOME': str(home)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@pytest.mark.parametrize(
    ('arguments', 'said'),
    [
        pytest.param(['--nonsense'], 'jobset-controller: unrecognized arguments: --nonsense; see --help', id='flag'),
        pytest.param(['--config', 'FILE'], 'configuration.yaml:3: healht', id='configuration file'),
        pytest.param(['--config', 'nowhere'], 'nowhere', id='no such configuration file'),
        pytest.param(['--kubeconfig', 'nowhere'], 'nowhere: no such file; name a kubeconfig file', id='no kubeconfig'),
        pytest.param(['--kubeconfig', 'BROKEN'], 'line 1, column 5: not YAML', id='a kubeconfig that is none'),
        pytest.param([], 'no such file; name a kubeconfig file', id='nothing to log in with'),
    ],
)
def test_bad_configuration_is_named_and_ends_with_2(arguments: list[str], said: str, tmp_path: pathlib.Path) -> None:
    bad, broken = tmp_path / 'configuration.yaml', tmp_path / 'broken'
    bad.write_text('apiVersion: config.jobset.x-k8s.io/v1alpha1\nkind: Configuration\nhealht: {}\n')
    broken.write_text('a: [')
    given = [{'FILE': str(bad), 'BROKEN': str(broken)}.get(each, each) for each in arguments]

    done = command(*given, home=tmp_path)

    assert done.returncode == 2
    assert said in done.stderr
    assert 'Traceback' not in done.stderr


def test_help_is_no_error(tmp_path: pathlib.Path) -> None:
    done = command('--help', home=tmp_path)

    assert done.returncode == 0
    assert '--leader-elect' in done.stdout


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT], ids=['SIGTERM', 'SIGINT'])
async def test_signal_ends_with_0_and_the_lease_is_given_back(process: Process, number: int) -> None:
    server = plane.Plane()
    server.apply()
    election = {'leaderElect': True, 'resourceName': 'lock'}
    async with fakes.served(server) as url:
        await process.start('--kubeconfig', plane.kubeconfig(process.folder, url), leaderElection=election)
        await process.until('/readyz', lambda answer: answer == (200, 'ok'))
        async with asyncio.timeout(SECONDS):
            await server.until(lambda: 'status' in server.objects[world.JOBSETS.item('default', 'js')])
        alive = await process.get('/healthz')
        process.signal(number)
        code, _ = await process.ended()

    assert alive == (200, 'ok')
    assert code == 0
    assert 'holderIdentity' not in server.objects[requests.LEASES.item('default', 'lock')]['spec']


async def test_replica_that_waits_for_its_turn_ends_with_0(process: Process) -> None:
    server = plane.Plane()
    held = {'holderIdentity': 'other', 'leaseDurationSeconds': 600, 'leaseTransitions': 0}
    server.put(requests.LEASES, 'default', 'lock', spec=held)
    election = {'leaderElect': True, 'resourceName': 'lock'}
    async with fakes.served(server) as url:
        await process.start('--kubeconfig', plane.kubeconfig(process.folder, url), leaderElection=election)
        await process.until('/readyz', lambda answer: answer == (200, 'ok'))
        process.signal(signal.SIGTERM)
        code, log = await process.ended()

    assert code == 0
    assert 'Traceback' not in log
    assert server.objects[requests.LEASES.item('default', 'lock')]['spec'] == held


async def test_lost_leadership_ends_with_1(process: Process) -> None:
    server = plane.Plane()
    election = {'leaderElect': True, 'resourceName': 'lock', 'retryPeriod': '100ms'}
    lock = requests.LEASES.item('default', 'lock')
    async with fakes.served(server) as url:
        await process.start('--kubeconfig', plane.kubeconfig(process.folder, url), leaderElection=election)
        async with asyncio.timeout(SECONDS):
            await server.until(lambda: lock in server.objects)
        server.put(requests.LEASES, 'default', 'lock', spec={'holderIdentity': 'other', 'leaseDurationSeconds': 600})
        code, log = await process.ended()

    assert code == 1
    assert 'lease default/lock: taken by other; ending, so that a fresh start decides again from the facts' in log


async def test_server_that_cannot_be_reached_is_waited_for(process: Process) -> None:
    server = plane.Plane()
    server.apply()
    with socket.create_server(('127.0.0.1', 0)) as nobody:
        url = f'http://127.0.0.1:{nobody.getsockname()[1]}'
    await process.start('--kubeconfig', plane.kubeconfig(process.folder, url))

    await process.until('/readyz', lambda answer: answer == (500, 'caches are being filled\n'))
    alive = await process.get('/healthz')
    process.signal(signal.SIGTERM)
    code, log = await process.ended()

    assert alive == (200, 'ok')
    assert code == 0
    assert 'Unreachable' in log
    assert server.seen == []


async def test_logs_are_json_lines_without_secrets(process: Process) -> None:
    server = plane.Plane()
    server.apply()
    trouble = iter(range(1000))
    server.refuse = lambda seen: (
        fakes.refusal((401, 403, 429, 500)[next(trouble) % 4], 'Trouble', 'no') if next(trouble) % 3 == 0 else None
    )
    async with fakes.served(server) as url:
        await process.start('--kubeconfig', plane.kubeconfig(process.folder, url, token=TOKEN))
        async with asyncio.timeout(SECONDS):
            await server.until(lambda: 'status' in server.objects[world.JOBSETS.item('default', 'js')])
        process.signal(signal.SIGTERM)
        _, log = await process.ended()

    assert server.seen[0].headers['Authorization'] == f'Bearer {TOKEN}'
    assert TOKEN not in log
    records = [json.loads(line) for line in log.splitlines()]
    assert {'ts', 'level', 'logger', 'msg'} <= set.intersection(*(set(record) for record in records))
    assert 'caches are filled and this replica leads; passes begin' in [record['msg'] for record in records]


@pytest.mark.parametrize('code', [401, 403, 404, 410, 429, 500])
async def test_refused_look_at_the_kinds_is_waited_out(code: int, process: Process) -> None:
    server = plane.Plane()
    server.refuse = lambda seen: fakes.refusal(code, 'Trouble', 'no') if seen.path in {'/api', '/apis'} else None
    async with fakes.served(server) as url:
        await process.start('--kubeconfig', plane.kubeconfig(process.folder, url))
        async with asyncio.timeout(SECONDS):
            await server.until(lambda: server.counted('GET /apis') >= 2 and server.counted('GET /api') >= 2)
        await process.until('/readyz', lambda answer: answer == (200, 'ok'))
        server.refuse = lambda seen: None
        process.signal(signal.SIGTERM)
        exit_code, log = await process.ended()

    assert exit_code == 0
    assert f'GET /apis: {code} ' in log


async def test_user_agent_names_us(process: Process) -> None:
    server = plane.Plane()
    async with fakes.served(server) as url:
        await process.start('--kubeconfig', plane.kubeconfig(process.folder, url))
        async with asyncio.timeout(SECONDS):
            await server.until(lambda: {'GET /apis', 'GET /api/v1/services'} <= {str(one) for one in server.seen})

    assert {seen.headers['User-Agent'].partition('/')[0] for seen in server.seen} == {'jobset'}


@pytest.mark.parametrize('held', [{}, {'tls.crt': 'no certificate', 'tls.key': 'no key'}], ids=['nothing', 'nonsense'])
def test_a_metrics_certificate_that_cannot_be_used_names_the_setting(
    tmp_path: pathlib.Path, held: dict[str, str]
) -> None:
    for name, text in held.items():
        (tmp_path / name).write_text(text)
    settings = configuration.Configuration(metrics=configuration.Metrics(cert_dir=str(tmp_path)))

    with pytest.raises(main._UnusableSettingsError) as raised:
        main._metrics_tls(settings)

    assert str(raised.value).startswith(f'metrics.certDir: {tmp_path}: ')
    assert str(raised.value).endswith('put tls.crt and tls.key there, or set metrics.bindAddress to "0"')


def test_a_port_in_use_names_the_setting() -> None:
    with socket.socket() as other:
        other.bind(('127.0.0.1', 0))
        other.listen()
        taken = listen.Address('127.0.0.1', other.getsockname()[1])

        with pytest.raises(
            main._UnusableSettingsError,
            match=r'^health\.healthProbeBindAddress: cannot listen on .*: Address already in use$',
        ):
            main._bound('health.healthProbeBindAddress', taken)


@pytest.mark.parametrize('burst', ['0', '-1'])
def test_a_burst_that_lets_nothing_through_is_refused(burst: str) -> None:
    with pytest.raises(options.UsageError, match=r'^clientConnection\.burst: '):
        options.read(['--kube-api-burst', burst])
