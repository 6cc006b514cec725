"""Credentials from a pod's files and from kubeconfig files; no secret ever shows."""

import base64
import datetime
import logging
import ssl
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from jobset.kube import auth, client, errors, requests, transport

SECRET = 'c0ffee-secret-token'
READ = requests.read(requests.PODS, 'ns', 'a')


class Authority:
    """A certificate authority for one test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.certificate = self._certificate('authority', self.key, is_ca=True)
        self.file = folder / 'ca.crt'
        self.file.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str) -> tuple[Path, Path]:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate, private = self.folder / f'{name}.crt', self.folder / f'{name}.key'
        certificate.write_bytes(self._certificate(name, key).public_bytes(serialization.Encoding.PEM))
        private.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return certificate, private

    def _certificate(self, name: str, key: ec.EllipticCurvePrivateKey, *, is_ca: bool = False) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        issuer = subject if is_ca else self.certificate.subject
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
            .sign(self.key, hashes.SHA256())
        )


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


class Server:
    """A TLS server that says who came: the token, and the name in the client's certificate."""

    def __init__(self, authority: Authority, name: str) -> None:
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority.file))
        self.context.verify_mode = ssl.CERT_OPTIONAL
        self.context.load_cert_chain(*authority.issue(name))
        self.came: list[tuple[str | None, str | None]] = []

    async def _handle(self, request: web.BaseRequest) -> web.Response:
        assert request.transport is not None
        certificate: Any = request.transport.get_extra_info('peercert')
        subject = dict(part[0] for part in certificate['subject'])['commonName'] if certificate else None
        self.came.append((request.headers.get('Authorization'), subject))
        return web.json_response({})

    async def __aenter__(self) -> str:
        self.runner = web.ServerRunner(web.Server(self._handle))
        await self.runner.setup()
        await web.TCPSite(self.runner, '127.0.0.1', 0, ssl_context=self.context).start()
        return f'https://127.0.0.1:{self.runner.addresses[0][1]}'

    async def __aexit__(self, *_: object) -> None:
        await self.runner.cleanup()


async def ask(credentials: auth.Credentials) -> None:
    async with transport.Transport(credentials, user_agent='test') as carrier:
        await client.Client(carrier, settings=client.Retrying(attempts=1)).send(READ)


def pod(folder: Path, *, host: str = '10.0.0.1', port: str = '443') -> auth.InCluster:
    (folder / 'token').write_text(f'{SECRET}\n')
    (folder / 'namespace').write_text('batch\n')
    return auth.InCluster(root=folder, environment={'KUBERNETES_SERVICE_HOST': host, 'KUBERNETES_SERVICE_PORT': port})


@pytest.mark.parametrize(
    ('host', 'server'),
    [
        pytest.param('10.0.0.1', 'https://10.0.0.1:443', id='IPv4'),
        pytest.param('fd00::1', 'https://[fd00::1]:443', id='IPv6'),
    ],
)
def test_pod(authority: Authority, host: str, server: str) -> None:
    credentials = pod(authority.folder, host=host)

    assert credentials.server == server
    assert credentials.namespace == 'batch'
    assert credentials.headers() == {'Authorization': f'Bearer {SECRET}'}
    assert SECRET not in repr(credentials)


async def test_token_of_a_pod_is_read_again_each_minute(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    pod(authority.folder)
    environment = {'KUBERNETES_SERVICE_HOST': 'h'}
    credentials = auth.InCluster(root=authority.folder, environment=environment, clock=lambda: now)
    context = credentials.ssl
    (authority.folder / 'token').write_text('second')

    now = 1060.0
    assert not credentials.due()
    now = 1061.0
    assert credentials.due()
    await credentials.refresh()

    assert not credentials.due()
    assert credentials.headers() == {'Authorization': 'Bearer second'}
    # The same authority: connections stay.
    assert credentials.ssl is context


def test_no_pod(tmp_path: Path) -> None:
    with pytest.raises(auth.Misconfigured, match='KUBERNETES_SERVICE_HOST: not set'):
        auth.InCluster(root=tmp_path, environment={})
    with pytest.raises(auth.Misconfigured, match='No such file or directory; is the token mounted into the pod'):
        auth.InCluster(root=tmp_path, environment={'KUBERNETES_SERVICE_HOST': 'h'})


def config(folder: Path, server: str, user: dict[str, Any], **cluster: Any) -> str:
    path = folder / 'config'
    body = {
        'apiVersion': 'v1',
        'kind': 'Config',
        'current-context': 'main',
        'contexts': [
            {'name': 'main', 'context': {'cluster': 'c', 'user': 'u', 'namespace': 'team'}},
            {'name': 'other', 'context': {'cluster': 'c', 'user': 'nobody'}},
        ],
        'clusters': [{'name': 'c', 'cluster': {'server': server} | cluster}],
        'users': [{'name': 'u', 'user': user}, {'name': 'nobody', 'user': {}}],
    }
    path.write_text(yaml.safe_dump(body))
    return str(path)


def inline(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


async def test_token_and_tls_server_name(authority: Authority) -> None:
    server = Server(authority, 'kubernetes.default')
    async with server as url:
        path = config(
            authority.folder,
            url,
            {'token': SECRET},
            **{'certificate-authority-data': inline(authority.file), 'tls-server-name': 'kubernetes.default'},
        )
        credentials = await auth.load(path)
        await ask(credentials)

    assert credentials.namespace == 'team'
    assert server.came == [(f'Bearer {SECRET}', None)]
    assert SECRET not in repr(credentials)


async def test_client_certificate(authority: Authority) -> None:
    certificate, key = authority.issue('alice')
    server = Server(authority, 'kubernetes.default')
    async with server as url:
        path = config(
            authority.folder,
            url,
            {'client-certificate-data': inline(certificate), 'client-key': str(key)},
            **{'certificate-authority': str(authority.file), 'tls-server-name': 'kubernetes.default'},
        )
        await ask(await auth.load(path))

    assert server.came == [(None, 'alice')]


async def test_a_server_of_another_name_is_not_trusted_unless_told_so(authority: Authority) -> None:
    server = Server(authority, 'elsewhere')
    async with server as url:
        trusted = {'certificate-authority': str(authority.file)}
        strict = await auth.load(config(authority.folder, url, {'token': SECRET}, **trusted))
        with pytest.raises(errors.Unreachable, match='certificate verify failed: IP address mismatch') as raised:
            await ask(strict)
        assert not raised.value.sent
        assert server.came == []
        await ask(
            await auth.load(config(authority.folder, url, {'token': SECRET}, **{'insecure-skip-tls-verify': True}))
        )

    assert server.came == [(f'Bearer {SECRET}', None)]


def plugin(folder: Path, expiry: str) -> dict[str, Any]:
    """A login plugin that gives another token each time."""
    script = folder / 'login.py'
    script.write_text(
        'import json, pathlib, sys\n'
        'count = pathlib.Path(sys.argv[0] + ".count")\n'
        'number = int(count.read_text()) + 1 if count.exists() else 1\n'
        'count.write_text(str(number))\n'
        f'status = {{"token": "plugin-%d" % number, "expirationTimestamp": "{expiry}"}}\n'
        'head = {"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1"}\n'
        'print(json.dumps(head | {"status": status}))\n'
    )
    return {
        'exec': {
            'apiVersion': 'client.authentication.k8s.io/v1',
            'command': sys.executable,
            'args': [str(script)],
            'interactiveMode': 'Never',
        }
    }


@pytest.mark.parametrize(
    ('hours', 'due_after', 'due'),
    [
        pytest.param(1, 3200, False, id='a token of an hour is good for 55 minutes'),
        pytest.param(1, 3301, True, id='and is renewed after them'),
        pytest.param(-1, 59, False, id='one that is old already is tried for a minute'),
        pytest.param(-1, 61, True, id='and not longer'),
    ],
)
async def test_plugin_is_run_again_before_its_token_expires(
    tmp_path: Path,
    hours: int,
    due_after: float,
    due: bool,
) -> None:
    now = 1000.0
    expiry = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=hours)
    path = config(tmp_path, 'http://127.0.0.1:1', plugin(tmp_path, expiry.isoformat()))
    credentials = auth.KubeConfig(path, clock=lambda: now)
    await credentials.refresh()
    assert credentials.headers() == {'Authorization': 'Bearer plugin-1'}

    now += due_after

    assert credentials.due() is due
    await credentials.refresh()
    assert credentials.headers() == {'Authorization': 'Bearer plugin-2'}


async def test_a_plugin_that_fails_is_no_fault_of_the_configuration(tmp_path: Path) -> None:
    user = {'exec': {'apiVersion': 'client.authentication.k8s.io/v1', 'command': sys.executable, 'args': ['-c', '1/0']}}

    with pytest.raises(OSError, match="the login plugin of user 'u' gave no credentials"):
        await auth.load(config(tmp_path, 'http://127.0.0.1:1', user))


async def test_another_context(tmp_path: Path) -> None:
    credentials = await auth.load(config(tmp_path, 'http://127.0.0.1:1', {'token': SECRET}), context='other')

    assert credentials.headers() == {}
    assert credentials.namespace == 'default'
    assert credentials.ssl is None


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        pytest.param('', 'ConfigException: Invalid kube-config', id='empty'),
        pytest.param(f'users: [{{token: {SECRET}', 'line 1, column 36: not YAML', id='not YAML'),
        pytest.param('contexts: []\nclusters: []\nusers: []\n', 'current-context', id='no context'),
        pytest.param(
            f'current-context: a\ncontexts: [{{name: a, context: {{user: {SECRET}}}}}]\nclusters: []\nusers: []\n',
            'ConfigException: Invalid kube-config',
            id='no cluster',
        ),
        pytest.param(
            'current-context: a\ncontexts: [{name: a, context: {user: u, cluster: c}}]\n'
            'clusters: [{name: c, cluster: {server: "https://h", certificate-authority: gone}}]\n'
            f'users: [{{name: u, user: {{token: {SECRET}}}}}]\n',
            'File does not exist',
            id='no authority',
        ),
        pytest.param(
            'current-context: a\ncontexts: [{name: a, context: {user: u, cluster: c}}]\n'
            'clusters: [{name: c, cluster: {server: "http://h"}}]\n'
            f'users: [{{name: u, user: {{exec: {{args: [{SECRET}]}}}}}}]\n',
            'gave no credentials',
            id='a plugin without a command',
        ),
    ],
)
async def test_errors_of_a_file_never_quote_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, message: str
) -> None:
    caplog.set_level(logging.DEBUG)
    path = tmp_path / 'config'
    path.write_text(text)

    with pytest.raises((auth.Misconfigured, OSError)) as raised:
        await auth.load(str(path))

    assert str(raised.value).startswith(f'{path}: ')
    assert message in str(raised.value)
    told = f'{raised.value!r} {raised.value.__cause__!r} {caplog.text}'
    assert SECRET not in told


async def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(auth.Misconfigured, match='no such file; name a kubeconfig file'):
        await auth.load(str(tmp_path / 'none'))


async def test_which_credentials_are_taken(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('KUBERNETES_SERVICE_HOST', '10.0.0.1')
    monkeypatch.setenv('HOME', str(authority.folder))
    monkeypatch.delenv('KUBECONFIG', raising=False)
    pod(authority.folder)
    home = authority.folder / '.kube'
    home.mkdir()
    config(home, 'http://home', {})
    (authority.folder / 'named').mkdir()
    (authority.folder / 'set').mkdir()
    named = config(authority.folder / 'named', 'http://named', {})
    set_ = config(authority.folder / 'set', 'http://set', {})

    in_pod = await auth.load(service_account=authority.folder)
    monkeypatch.setenv('KUBECONFIG', set_)
    by_variable = await auth.load(service_account=authority.folder)
    by_flag = await auth.load(named)
    monkeypatch.delenv('KUBECONFIG')
    monkeypatch.delenv('KUBERNETES_SERVICE_HOST')
    at_home = await auth.load(service_account=authority.folder)

    assert isinstance(in_pod, auth.InCluster)
    assert [one.server for one in (in_pod, by_variable, by_flag, at_home)] == [
        'https://10.0.0.1:443',
        'http://set',
        'http://named',
        'http://home',
    ]


async def test_a_login_that_hangs_is_given_up(tmp_path: Path) -> None:
    release = threading.Event()

    class Hanging(auth.KubeConfig):
        def _read(self) -> None:
            release.wait()

    try:
        with pytest.raises(OSError, match=r'the login has not ended within 0.01 s'):
            await Hanging(config(tmp_path, 'http://h', {}), login_seconds=0.01).refresh()
    finally:
        release.set()
