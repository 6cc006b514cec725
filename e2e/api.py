"""The way to the API server of a real cluster: one ``kubectl proxy`` that listens on a Unix socket.

That costs no process for a look, and reaches a cluster in a network of its own.
"""

import contextlib
import http.client
import pathlib
import select
import socket
import tempfile
from collections.abc import Iterator
from typing import IO, Final

from e2e.kubectl import Kubectl
from tests.scenarios.api import Api

_START_SECONDS: Final = 20


class _Connection(http.client.HTTPConnection):
    """HTTP on a Unix socket."""

    def __init__(self, path: str, seconds: float) -> None:
        super().__init__('localhost', timeout=seconds)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


@contextlib.contextmanager
def connected(kubectl: Kubectl) -> Iterator[Api]:
    """The server of a cluster, for the length of the block."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / 'api.sock')
        with kubectl.start('proxy', f'--unix-socket={path}') as proxy:
            try:
                assert proxy.stdout
                _wait_for_words(proxy.stdout)
                yield Api(lambda seconds: _Connection(path, seconds))
            finally:
                proxy.terminate()


def _wait_for_words(output: IO[str]) -> None:
    """The proxy says where it listens once it does."""
    ready, _, _ = select.select([output], [], [], _START_SECONDS)
    said = output.readline() if ready else ''
    if 'Starting to serve' not in said:
        raise RuntimeError(f'kubectl proxy: did not start: {said.strip() or "silence"}')
