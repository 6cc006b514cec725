"""Requests to the API server, over HTTP/1.1 of our own: ``http.client`` takes as long to import as all else here."""

from __future__ import annotations

import json
import socket
import ssl

from jobset.agent import settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

ANSWER_SECONDS = 30
"""How long the API server may take for an answer."""


class Refused(Exception):  # noqa: N818
    """The API server does not do what was asked."""

    def __init__(self, text: str, *, after: float = 0) -> None:
        super().__init__(text)
        self.after = after
        """Seconds that it asks to wait."""


class Connection:
    """One connection over HTTP/1.1; a request at a time. Raises OSError, also for what is no HTTP."""

    def __init__(self, host: str, port: int, authority: str) -> None:
        context = ssl.create_default_context(cadata=authority)
        # New Pythons ask for extensions that the authorities of many clusters do not have, and no other client misses.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        plain = socket.create_connection((host, port), ANSWER_SECONDS)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in (('TCP_KEEPIDLE', 15), ('TCP_KEEPINTVL', 5), ('TCP_KEEPCNT', 3)):
            if hasattr(socket, option):
                # A server that is gone without a word is noticed within half a minute.
                plain.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
        self._socket = context.wrap_socket(plain, server_hostname=host)
        self._file = self._socket.makefile('rb')
        self._host = f'[{host}]:{port}' if ':' in host else f'{host}:{port}'
        self._headers: dict[str, str] = {}

    def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes, seconds: float) -> int:
        """The status of the answer, whose body is to be read next."""
        self._socket.settimeout(seconds)
        head = {'Host': self._host, 'User-Agent': 'jobset-agent', 'Content-Length': str(len(body)), **headers}
        lines = [f'{method} {path} HTTP/1.1', *(f'{name}: {value}' for name, value in head.items()), '', '']
        self._socket.sendall('\r\n'.join(lines).encode() + body)
        status = 100
        while status < 200:
            parts = self._line().split(None, 2)
            if len(parts) < 2 or not parts[1].isdigit():
                raise OSError('the answer is no HTTP')
            status = int(parts[1])
            self._headers = dict(iter(self._header, ('', '')))
        return status

    def header(self, name: str) -> str:
        return self._headers.get(name, '')

    def body(self) -> Iterator[bytes]:
        """The pieces of the answer's body, as they come."""
        if self.header('transfer-encoding') == 'chunked':
            while True:
                size = int(self._line().split(';')[0], 16)
                if size:
                    yield self._exactly(size)
                self._line()
                if not size:
                    return
        elif 'content-length' in self._headers:
            yield self._exactly(int(self.header('content-length')))
        else:
            yield from iter(lambda: self._file.read1(1 << 16), b'')
            self.close()

    def close(self) -> None:
        self._file.close()
        self._socket.close()

    def _exactly(self, size: int) -> bytes:
        data = self._file.read(size)
        if len(data) < size:
            raise OSError('the API server has cut the connection')
        return data

    def _line(self) -> str:
        line = self._file.readline(1 << 16)
        if not line.endswith(b'\n'):
            raise OSError('the API server has cut the connection')
        return line.decode('latin-1').strip()

    def _header(self) -> tuple[str, str]:
        name, _, value = self._line().partition(':')
        return name.lower(), value.strip()


class Api:
    """What the agent asks of the API server. For one thread. Raises Refused, OSError and ValueError."""

    def __init__(self, pod: settings.Settings) -> None:
        self._pod = pod
        self._idle: Connection | None = None

    def call(self, method: str, path: str, *, headers: Mapping[str, str] = {}, body: object = None) -> Any:
        """The object that is answered."""
        connection = self._open(method, path, headers, body, ANSWER_SECONDS)
        try:
            found = json.loads(b''.join(connection.body()))
        except BaseException:
            connection.close()
            raise
        if connection.header('connection').lower() == 'close':
            connection.close()
        else:
            self._idle = connection
        return found

    def annotate(self, key: str, value: str, *, manager: str) -> Any:
        """Set an annotation of the own pod, by server-side apply; returns the pod."""
        pod = self._pod
        return self.call(
            'PATCH',
            f'/api/v1/namespaces/{pod.namespace}/pods/{pod.pod}?fieldManager={manager}&force=true',
            headers={'Content-Type': 'application/apply-patch+yaml'},
            body={'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': pod.pod, 'annotations': {key: value}}},
        )

    def watch(self, path: str, headers: Mapping[str, str], seconds: int) -> Iterator[Any]:
        """The events of a watch until the server ends it, as it is asked to after ``seconds``."""
        connection = self._open('GET', f'{path}&timeoutSeconds={seconds}', headers, None, seconds + ANSWER_SECONDS)
        try:
            rest = b''
            for piece in connection.body():
                *lines, rest = (rest + piece).split(b'\n')
                yield from (json.loads(line) for line in lines)
        finally:
            connection.close()

    def _open(self, method: str, path: str, headers: Mapping[str, str], body: object, seconds: float) -> Connection:
        pod, account = self._pod, self._pod.account
        # Read each time: the kubelet replaces it, and the old one is refused then.
        token = settings.read(f'{account}/token').strip()
        connection, self._idle = self._idle, None
        if connection is None:
            connection = Connection(pod.host, pod.port, settings.read(f'{account}/ca.crt'))
        try:
            data = b'' if body is None else json.dumps(body).encode()
            status = connection.send(method, path, {'Authorization': f'Bearer {token}', **headers}, data, seconds)
            if status >= 300:
                raise _refusal(status, f'{method} {path.partition("?")[0]}', b''.join(connection.body()), connection)
        except BaseException:
            connection.close()
            raise
        return connection


def _refusal(status: int, asked: str, body: bytes, answer: Connection) -> Refused:
    try:
        text = str(json.loads(body)['message'])
    except (ValueError, KeyError, TypeError):
        text = body[:200].decode(errors='replace')
    advice = {
        401: ': the token of the service account is not accepted',
        403: ': the service account needs the role of config/agent',
    }.get(status, '')
    after = answer.header('retry-after')
    return Refused(f'{asked}: {status}{advice}: {text}', after=min(int(after), 60) if after.isdigit() else 0)
