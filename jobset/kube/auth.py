"""Who we are to the API server, and which server it is.

In a pod the service account's files say so; outside, a kubeconfig file, read by the official ``kubernetes`` package,
which knows exec plugins, OIDC, inline certificates and contexts. That package is imported only when such a file is
read: it takes a third of a second.
"""

import abc
import asyncio
import importlib
import os
import ssl as tls  # the name that connections know it by is that of the attribute
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

SERVICE_ACCOUNT: Final = Path('/var/run/secrets/kubernetes.io/serviceaccount')
"""Where the kubelet puts the token, the authority and the namespace of a pod."""

DEFAULT_FILE: Final = '~/.kube/config'

TOKEN_SECONDS: Final = 60
"""Seconds after which the token file is read again; the kubelet replaces it at four fifths of its life."""

LOGIN_SECONDS: Final = 60
"""Seconds that a login plugin or an identity provider may take."""

EXPIRY_MARGIN_SECONDS: Final = 300
"""Seconds before its expiry at which a token is replaced, so that requests under way still find it valid."""


class Misconfigured(Exception):  # noqa: N818
    """There are no usable credentials, and waiting will not bring them."""


class Credentials(abc.ABC):
    """A server and what it must be shown. The representation never holds a secret."""

    server: str
    """Scheme, host and port, perhaps with a path."""

    namespace: str = 'default'
    """The namespace that the credentials come with: the pod's own, or that of the kubeconfig's context."""

    ssl: tls.SSLContext | None = None
    """None for plain HTTP."""

    server_hostname: str | None = None
    """The name that the server's certificate must have, where it is not the host of the URL."""

    proxy: str | None = None
    """URL of the proxy to go through."""

    @abc.abstractmethod
    def headers(self) -> Mapping[str, str]:
        """The headers to send now. Called for each request: must be cheap."""

    @abc.abstractmethod
    def due(self) -> bool:
        """Whether :meth:`refresh` should be awaited before the next request. Called for each request."""

    @abc.abstractmethod
    async def refresh(self) -> None:
        """Read or get the credentials again. Raises :class:`Misconfigured` or OSError."""

    def __repr__(self) -> str:
        return f'{type(self).__name__}({self.server})'


class Plain(Credentials):
    """A fixed server without login, or with fixed headers: for tests and the embedded control plane."""

    def __init__(
        self,
        server: str,
        *,
        headers: Mapping[str, str] | None = None,
        ssl: tls.SSLContext | None = None,
    ) -> None:
        self.server = server
        self.ssl = ssl
        self._headers = dict(headers or {})

    def headers(self) -> Mapping[str, str]:
        return self._headers

    def due(self) -> bool:
        return False

    async def refresh(self) -> None:
        """Nothing to get."""


class InCluster(Credentials):
    """The service account of the pod that we run in."""

    def __init__(
        self,
        *,
        root: Path = SERVICE_ACCOUNT,
        environment: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        environment = os.environ if environment is None else environment
        host = environment.get('KUBERNETES_SERVICE_HOST', '')
        port = environment.get('KUBERNETES_SERVICE_PORT', '443')
        if not host:
            raise Misconfigured('KUBERNETES_SERVICE_HOST: not set; outside a pod, give a kubeconfig file')
        self.server = f'https://[{host}]:{port}' if ':' in host else f'https://{host}:{port}'
        self._root = root
        self._clock = clock
        self._headers: dict[str, str] = {}
        self._authority = b''
        self._read_at = 0.0
        try:
            self._read()
            self.namespace = (root / 'namespace').read_text().strip() or 'default'
        except OSError as error:
            raise Misconfigured(f'{root}: {error.strerror}; is the token mounted into the pod?') from error

    def headers(self) -> Mapping[str, str]:
        return self._headers

    def due(self) -> bool:
        return self._clock() - self._read_at > TOKEN_SECONDS

    async def refresh(self) -> None:
        # Two small files in memory: a thread would cost more than reading them.
        self._read()

    def _read(self) -> None:
        token = (self._root / 'token').read_text().strip()
        authority = (self._root / 'ca.crt').read_bytes()
        self._headers = {'Authorization': f'Bearer {token}'}
        if authority != self._authority:
            self.ssl = _trusting(data=authority.decode())
            self._authority = authority
        self._read_at = self._clock()


class KubeConfig(Credentials):
    """A user of a kubeconfig file, or of several files merged. :meth:`refresh` must be awaited before the first use."""

    def __init__(
        self,
        path: str,
        *,
        context: str | None = None,
        login_seconds: float = LOGIN_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.server = ''
        self._clock = clock
        self._login_seconds = login_seconds
        self._path = path
        self._context = context
        self._headers: dict[str, str] = {}
        self._files: tuple[bytes, ...] = ()
        self._refresh_at: float | None = 0.0

    def headers(self) -> Mapping[str, str]:
        return self._headers

    def due(self) -> bool:
        return self._refresh_at is not None and self._clock() >= self._refresh_at

    async def refresh(self) -> None:
        # A plugin is a process that may ask a person or a network.
        try:
            async with asyncio.timeout(self._login_seconds):
                await asyncio.to_thread(self._read)
        except TimeoutError as error:
            raise OSError(f'{self._path}: the login has not ended within {self._login_seconds} s') from error

    def _read(self) -> None:
        # Imported here, see the text of this module; it has no types to speak of.
        client: Any = importlib.import_module('kubernetes.client')
        kube_config: Any = importlib.import_module('kubernetes.config.kube_config')

        if not any(Path(part).expanduser().is_file() for part in self._path.split(os.pathsep) if part):
            raise Misconfigured(f'{self._path}: no such file; name a kubeconfig file')
        try:
            merged = kube_config.KubeConfigMerger(self._path)
            loader = kube_config.KubeConfigLoader(
                config_dict=merged.config,
                active_context=self._context,
                config_base_path=None,
                config_persister=merged.save_changes,
            )
            configuration = client.Configuration()
            loader.load_and_set(configuration)
            context = loader.current_context['context']
            user = merged.config['users'].get_with_name(context['user'], safe=True) if context.get('user') else None
            self._take(configuration)
        except Misconfigured:
            raise
        except Exception as error:
            # The package raises whatever it comes across, with texts that quote the user's entry, token included:
            # "from None", so that no traceback shows them.
            raise Misconfigured(f'{self._path}: {_harmless(error)}') from None
        if user is not None and 'exec' in (user.value.get('user') or {}) and not (self._headers or self._files[1]):
            # The package logs that a plugin has failed, and goes on without any credentials.
            raise OSError(f'{self._path}: the login plugin of user {context["user"]!r} gave no credentials')
        self.namespace = context.get('namespace') or 'default'
        good_for = _good_for(getattr(loader, 'expiry', None))
        self._refresh_at = None if good_for is None else self._clock() + good_for

    def _take(self, configuration: Any) -> None:  # noqa: ANN401 - it has no types
        self.server = configuration.host
        self.proxy = configuration.proxy
        self.server_hostname = configuration.tls_server_name
        token = configuration.api_key.get('BearerToken')
        self._headers = {'Authorization': token} if token else {}
        names = (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file)
        files = tuple(Path(name).read_bytes() if name else b'' for name in names)
        if not self.server.startswith('https:'):
            self.ssl = None
        elif self.ssl is None or files != self._files:
            # Only when something has changed: another context means other connections.
            self.ssl = _context(*names, verify=configuration.verify_ssl)
        self._files = files


async def load(
    kubeconfig: str | None = None,
    *,
    context: str | None = None,
    service_account: Path = SERVICE_ACCOUNT,
) -> Credentials:
    """The credentials to use: the named file, else KUBECONFIG, else those of the pod, else ``~/.kube/config``.

    Raises :class:`Misconfigured` where none of them can be used, and OSError when a login did not work this time.
    """
    named = kubeconfig or os.environ.get('KUBECONFIG')
    if not named and context is None and _in_pod(service_account):
        return InCluster(root=service_account)
    credentials = KubeConfig(named or DEFAULT_FILE, context=context)
    await credentials.refresh()
    return credentials


def _in_pod(service_account: Path) -> bool:
    # A pod without a mounted token is one that is meant to use a file.
    return bool(os.environ.get('KUBERNETES_SERVICE_HOST')) and service_account.is_dir()


def _context(authority: str | None, certificate: str | None, key: str | None, *, verify: bool) -> tls.SSLContext:
    context = tls.create_default_context(cafile=authority)
    if not verify:
        context.check_hostname = False
        context.verify_mode = tls.CERT_NONE
    if certificate:
        context.load_cert_chain(certificate, key)
    return context


def _trusting(*, file: str | None = None, data: str | None = None) -> tls.SSLContext:
    context = tls.create_default_context(cafile=file, cadata=data)
    # New Pythons ask for extensions that the authorities of many clusters do not have, and no other client misses.
    context.verify_flags &= ~tls.VERIFY_X509_STRICT
    return context


def _good_for(expiry: object) -> float | None:
    # The package gives a date for plugins, in text or not by their age; other tokens are refreshed when refused.
    if isinstance(expiry, str):
        expiry = datetime.fromisoformat(expiry)
    if not isinstance(expiry, datetime):
        return None
    remaining = (expiry - datetime.now(UTC)).total_seconds() - EXPIRY_MARGIN_SECONDS
    # A plugin whose tokens live for minutes must not be run for each request.
    return max(remaining, TOKEN_SECONDS)


def _harmless(error: Exception) -> str:
    """What may be said of an error of a file that holds secrets: never a piece of the file."""
    mark = getattr(error, 'problem_mark', None)
    if mark is not None:
        return f'line {mark.line + 1}, column {mark.column + 1}: not YAML'
    if isinstance(error, OSError):
        return f'{error.filename}: {error.strerror}'
    # The package writes the path of a missing key as the file, a slash and the entry as a whole.
    text, brace, _ = str(error).partition('{')
    return f'{type(error).__name__}: {text}' + ('…' if brace else '')
