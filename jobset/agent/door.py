"""The barrier as the kubelet sees it: a startup probe that does not pass before the barrier is open."""

from __future__ import annotations

import socket
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

PROBES_HELD = 16
"""Probes that wait for an answer at once; the oldest is refused when there is one more."""


class Door:
    """Answers the startup probe of the agent's container: 200 once it is open.

    Until then the answer is held back for as long as the probe waits. So the worker starts when the barrier opens,
    and not up to a period later, at each node another part of it.
    """

    def __init__(self, port: int, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._held: list[socket.socket] = []
        self._is_open = False
        self.asked = threading.Event()
        """Set when the first probe has come."""
        family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
        try:
            self._socket = socket.create_server(('', port), family=family, dualstack_ipv6=family == socket.AF_INET6)
        except OSError:
            # A machine without version 6 may still say that it has it.
            self._socket = socket.create_server(('', port))

    def open(self) -> None:
        with self._lock:
            self._is_open = True
            for held in self._held:
                _answer(held, '200 OK')
            self._held.clear()

    def serve(self) -> NoReturn:
        while True:
            asking, _ = self._socket.accept()
            try:
                asking.settimeout(1)
                asked = b''
                while b'\r\n\r\n' not in asked and len(asked) < 1 << 14:
                    piece = asking.recv(1 << 12)
                    if not piece:
                        break
                    asked += piece
                self._take(asking, asked.split(b'\r\n')[0].decode('latin-1'))
            except OSError:
                asking.close()

    def _take(self, asking: socket.socket, line: str) -> None:
        parts = line.split()
        if len(parts) != 3 or parts[0] not in ('GET', 'HEAD') or parts[1].split('?')[0] != self._path:
            _answer(asking, '404 Not Found')
            return
        self.asked.set()
        with self._lock:
            if self._is_open:
                _answer(asking, '200 OK')
                return
            self._held.append(asking)
            if len(self._held) > PROBES_HELD:
                _answer(self._held.pop(0), '503 Service Unavailable')


def _answer(asking: socket.socket, status: str) -> None:
    try:
        asking.sendall(f'HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'.encode())
    except OSError:
        pass  # the probe has waited long enough
    finally:
        asking.close()
